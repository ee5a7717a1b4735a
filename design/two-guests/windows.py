# SPDX-License-Identifier: Apache-2.0
"""How long two guests in lock-step take, from what each has to do in each window.

Conservative synchronisation (Chandy and Misra 1979; Nicol 1993): what one side sends reaches the other no sooner than
the look-ahead, the smallest delay of a link between them. So both may compute a window of that length without a word.
"""

from __future__ import annotations

import numpy as np


def by_window(t_ns: np.ndarray, side: np.ndarray, amount: np.ndarray, window_ns: int, end_ns: int) -> np.ndarray:
    """Sums of `amount`, shape (windows, 2), by time and side. What lies at `end_ns` or later is left out."""
    count = -(-end_ns // window_ns)
    kept = t_ns < end_ns
    cell = (t_ns[kept] // window_ns) * 2 + side[kept]
    return np.bincount(cell, weights=amount[kept], minlength=2 * count).reshape(count, 2)


def barrier_s(work_s: np.ndarray, meeting_s: float) -> float:
    """Both sides wait for each other at the end of each window.

    Parameters
    ----------
    work_s : ndarray, shape (windows, 2)
        Processor time of each side.
    meeting_s : float
        What a meeting costs.
    """
    return float(work_s.max(axis=1).sum() + meeting_s * len(work_s))


def promises_s(work_s: np.ndarray, parts: int, word_s: float) -> float:
    """Each side waits only for what the other has promised (null messages), `parts` of them in a look-ahead.

    Parameters
    ----------
    work_s : ndarray, shape (steps, 2)
        Processor time of each side, of steps that are the `parts`-th part of the look-ahead.
    parts : int
        A side may begin a step when the other has ended the step so many before it.
    word_s : float
        What a promise costs its sender, and its receiver if it has to wait.
    """
    ends = np.zeros((len(work_s) + parts, 2))
    for step, spent in enumerate(work_s):
        at = step + parts
        ends[at] = np.maximum(ends[at - 1], ends[step, ::-1]) + spent + word_s
    return float(ends[-1].max())
