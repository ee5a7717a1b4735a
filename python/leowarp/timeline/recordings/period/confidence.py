# SPDX-License-Identifier: Apache-2.0
"""The confidence in the period that `finding` reports for a recording. This confidence is the share of right answers
among all answers with a similar score. This share was measured on synthetic recordings.

The odds from `search` would give the probability of an answer only if the signs were as independent as assumed.
Moreover, `search` compares very many candidates, so the best candidate has high odds even by chance. The odds are
therefore used as a score. The relation between score and confidence was measured on synthetic recordings whose
schedules are known (`tests/support/recordings.py`; `finding_test.py` lists the seeds). Nearly all recordings without a
period scored below -3, and nearly all recordings with a period scored above -3. If the answer was a wrong period, the
second-best candidate mostly had nearly the same score.
"""

from __future__ import annotations

import numpy as np

from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.period.search import Search

BELIEVED = -3.0
"""A period counts as found if the best candidate's log odds are at least this value. If the log odds are near this
value, half of the answers are right."""

_SLOPE = 1.2
_MARGIN_SLOPE, _MARGIN_OFFSET = 0.6, -0.5
_SAME_RATIO = 0.02
_NONE_AT_MOST = 0.95
"""The confidence in "no period" is at most this value, because a schedule may have no visible sign."""


def believed(found: Search | None) -> bool:
    """Return whether the evidence for the best candidate is strong enough to prefer it to "no period"."""
    return found is not None and found.candidates[0].log_odds >= BELIEVED


def confidence(found: Search | None) -> float:
    """Return the probability that the answer is right. If the best candidate is `believed`, it is the answer.
    Otherwise, the answer is that there is no period.

    found: The result of the search. None means that the series is too short.
    Returns: 0 to 1. The value is the product of two logistic curves that were fitted to synthetic recordings. One curve
        is a function of the best candidate's log odds. The other is a function of its margin over the next best answer.
        Logistic curves are the usual method to convert classifier scores to probabilities (Platt, "Probabilistic
        Outputs for Support Vector Machines", 1999).
    """
    if found is None:
        return 0.5  # The series is too short for four periods, so it is equally likely that a period exists or not.
    best, *others = found.candidates
    exists = _logistic(_SLOPE * (best.log_odds - BELIEVED))
    if not believed(found):
        return _NONE_AT_MOST * (1 - exists)
    # Multiples and parts of the found period are not compared here, because `search` has a separate test that selects
    # one of them.
    part_s = best.period_s / found.multiple
    rivals = [
        one
        for one in others
        if found.multiple == 1 or abs(one.period_s / part_s - round(one.period_s / part_s)) > _SAME_RATIO
    ]
    # The margin is the difference to the next best candidate. Wrong answers have a small margin, even if their own odds
    # are high (see the module's docstring).
    margin = min(best.log_odds - max((one.log_odds for one in rivals), default=-np.inf), found.split_log_odds)
    return exists * _logistic(_MARGIN_SLOPE * max(margin, 0.0) + _MARGIN_OFFSET)


def shared(rest: float, others: list[tuple[Schedule | None, float]]) -> tuple[tuple[Schedule | None, float], ...]:
    """Divide the probability that the answer is wrong among the other answers, according to their log odds. The largest
    share comes first.

    rest: The probability to divide, which is 1 minus the confidence of the answer.
    others: list of (Schedule or None, float). The other possible answers, each with its log odds. The answer None means
        that there is no period.
    """
    if not others:
        return ()
    log_odds = np.array([one for _, one in others])
    # The largest log odds are subtracted first, because the exponential of some hundred would overflow.
    weight = np.exp(_MARGIN_SLOPE * (log_odds - log_odds.max()))
    shares = rest * weight / weight.sum()
    found = [(schedule, float(share)) for (schedule, _), share in zip(others, shares, strict=True)]
    return tuple(sorted(found, key=lambda one: -one[1]))


def _logistic(x: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(x, -50, 50))))
