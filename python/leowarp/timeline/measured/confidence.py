# SPDX-License-Identifier: Apache-2.0
"""How often an answer is right."""

from __future__ import annotations

import numpy as np

from leowarp.timeline.measured.search import Search


def confidence_of_period(found: Search) -> float:
    best = found.candidates[0]
    return float(1 / (1 + np.exp(-best.log_odds)))


def confidence_of_none(found: Search | None) -> float:
    return 0.5


def shared(rest, weighed):
    odds = np.array([one for _, one in weighed])
    w = np.exp(0.5 * (odds - odds.max())) if len(odds) else odds
    return [(s, float(rest * x / w.sum())) for (s, _), x in zip(weighed, w)]
