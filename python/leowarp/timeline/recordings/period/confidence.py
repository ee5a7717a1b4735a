# SPDX-License-Identifier: Apache-2.0
"""The share of answers that are right, calibrated on synthetic recordings.

The odds of `search` would be true odds only if signs were as independent as assumed. The choice of the best of very
many candidates also distorts the odds. The odds are therefore treated as a score. The meaning of the score was
calibrated on synthetic recordings with known answers (`tests/support/recordings.py`; `finding_test.py` lists the
seeds). Nearly all recordings without a period scored below -3, and nearly all with a period scored higher. In most
wrong answers about a period, the runner-up had a close score.
"""

from __future__ import annotations

import numpy as np

from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.period.search import Search

BELIEVED = -3.0
"""Log odds above which the answer is that there is a period. Near this value, half of the answers are right."""

_SLOPE = 1.2
_MARGIN_SLOPE, _MARGIN_OFFSET = 0.6, -0.5
_SAME_RATIO = 0.02
_NONE_AT_MOST = 0.95
"""A schedule may leave no visible sign."""


def believed(found: Search | None) -> bool:
    """Whether the best candidate is more likely right than "no period"."""
    return found is not None and found.candidates[0].log_odds >= BELIEVED


def confidence(found: Search | None) -> float:
    """Probability that an answer with this evidence is right. The answer is the best candidate if that candidate is
    `believed`; otherwise the answer is that there is no period.

    found: Result of the search; None if the series is too short.
    Returns: 0 to 1. The value is a product of two logistic curves, fitted to synthetic recordings: one of the best
        candidate's log odds, and one of its margin over the best other answer. Logistic curves are the usual treatment
        of classifier scores (Platt, "Probabilistic Outputs for Support Vector Machines", 1999).
    """
    if found is None:
        return 0.5  # The series is too short for four periods, so nothing is known.
    best, *others = found.candidates
    exists = _logistic(_SLOPE * (best.log_odds - BELIEVED))
    if not believed(found):
        return _NONE_AT_MOST * (1 - exists)
    # Parts and other multiples of a period are not rivals, because a separate test has decided between them.
    part_s = best.period_s / found.multiple
    rivals = [
        one
        for one in others
        if found.multiple == 1 or abs(one.period_s / part_s - round(one.period_s / part_s)) > _SAME_RATIO
    ]
    # The margin over the next best candidate: wrong answers have a close runner-up (see above), whatever their own
    # odds.
    margin = min(best.log_odds - max((one.log_odds for one in rivals), default=-np.inf), found.split_log_odds)
    return exists * _logistic(_MARGIN_SLOPE * max(margin, 0.0) + _MARGIN_OFFSET)


def shared(rest: float, others: list[tuple[Schedule | None, float]]) -> tuple[tuple[Schedule | None, float], ...]:
    """The remaining probability, divided among the other answers by their log odds, largest share first.

    rest: One minus the confidence of the answer.
    others: list of (Schedule or None, float). Other answers, each with its log odds; None: no period.
    """
    if not others:
        return ()
    log_odds = np.array([one for _, one in others])
    # The largest value is subtracted before the exponential, which would overflow for log odds of some hundred.
    weight = np.exp(_MARGIN_SLOPE * (log_odds - log_odds.max()))
    shares = rest * weight / weight.sum()
    found = [(schedule, float(share)) for (schedule, _), share in zip(others, shares, strict=True)]
    return tuple(sorted(found, key=lambda one: -one[1]))


def _logistic(x: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(x, -50, 50))))
