# SPDX-License-Identifier: Apache-2.0
"""Tests the line of a player's buffer against values computed by hand. tests/guest/ tests the figures."""

import pandas as pd

from leowarp.report.figures.applications import buffer_over_time

S = 10**9


def corners(*segments: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the line for segments with 2 s of video each. A segment is a pair of values in s: the time of its arrival,
    and the buffer's content just after the arrival."""
    rows = [{"end_ns": came_s * S, "buffer_ns": after_s * S, "media_ns": 2 * S} for came_s, after_s in segments]
    t_s, buffer_s = buffer_over_time(pd.DataFrame(rows))
    return list(zip(t_s.tolist(), buffer_s.tolist(), strict=True))


def test_a_buffer_falls_by_the_clock_and_rises_by_a_segment():
    assert corners((1, 2), (2, 3)) == [(1, 0), (1, 0), (1, 2), (2, 1), (2, 1), (2, 3), (5, 0)]


def test_it_stands_still_before_the_first_picture_and_at_nothing_in_a_stall():
    # Playback needs a buffer of 4 s to begin, so nothing plays from 1 s to 2 s. The buffer is empty at 6 s, and the
    # next segment arrives at 8 s.
    line = corners((1, 2), (2, 4), (8, 2))
    assert line[3] == (1, 2), "nothing has been played"
    assert line[6:8] == [(6, 0), (8, 0)]
