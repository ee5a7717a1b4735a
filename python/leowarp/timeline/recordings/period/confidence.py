# SPDX-License-Identifier: Apache-2.0
"""How often an answer is right, as made-up recordings show it.

The odds of `search` are odds only if signs are as independent as they are taken for, and the best of very many
candidates is compared. So they are a score, and what it is worth was read off made-up recordings of known truth
(`tests/support/recordings.py`; `finding_test.py` names the seeds). Of those without a period nearly all had scores
below -3, of those with one nearly all had higher ones; among these, most wrong answers had a runner-up that was near.
"""

from __future__ import annotations

import numpy as np

from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.period.search import Search

BELIEVED = -3.0
"""Log odds from which on there is a period: half of the answers near it are right."""

_SLOPE = 1.2
_MARGIN_SLOPE, _MARGIN_OFFSET = 0.6, -0.5
_SAME_RATIO = 0.02
_NONE_AT_MOST = 0.95
"""A schedule may leave no sign that can be seen."""


def believed(found: Search | None) -> bool:
    """Whether the best candidate is more likely right than there being no period."""
    return found is not None and found.candidates[0].log_odds >= BELIEVED


def confidence(found: Search | None) -> float:
    """How often such an answer is right: the best candidate if it is `believed`, else that there is no period.

    found: None: the series is too short.
    Returns: 0 to 1. Two logistic curves, of the best candidate's log odds and of its margin over the best other answer,
        fitted to made-up recordings, as scores of classifiers usually are (Platt, "Probabilistic Outputs for Support
        Vector Machines", 1999).
    """
    if found is None:
        return 0.5  # too short to hold four periods: nothing is known
    best, *others = found.candidates
    exists = _logistic(_SLOPE * (best.log_odds - BELIEVED))
    if not believed(found):
        return _NONE_AT_MOST * (1 - exists)
    # The part of a period, and its other multiples, are no rivals of it: that it is this one was judged by other means.
    part_s = best.period_s / found.multiple
    rivals = [
        one
        for one in others
        if found.multiple == 1 or abs(one.period_s / part_s - round(one.period_s / part_s)) > _SAME_RATIO
    ]
    # How far ahead of the next best: wrong answers have a runner-up that is near (see above), whatever their own odds.
    margin = min(best.log_odds - max((one.log_odds for one in rivals), default=-np.inf), found.split_log_odds)
    return exists * _logistic(_MARGIN_SLOPE * max(margin, 0.0) + _MARGIN_OFFSET)


def shared(rest: float, others: list[tuple[Schedule | None, float]]) -> tuple[tuple[Schedule | None, float], ...]:
    """What is left of certainty, shared among the other answers by their log odds; the largest share first.

    rest: One less the confidence of the answer.
    others: list of (Schedule or None, float). Each with its log odds; None: no period.
    """
    if not others:
        return ()
    log_odds = np.array([one for _, one in others])
    # Less the largest before the exponential, which would overflow for log odds of some hundred.
    weight = np.exp(_MARGIN_SLOPE * (log_odds - log_odds.max()))
    shares = rest * weight / weight.sum()
    found = [(schedule, float(share)) for (schedule, _), share in zip(others, shares, strict=True)]
    return tuple(sorted(found, key=lambda one: -one[1]))


def _logistic(x: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(x, -50, 50))))
