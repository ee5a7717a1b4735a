# SPDX-License-Identifier: Apache-2.0
"""Tests of a player's buffer and its stalls, compared with calculations by hand."""

import json

from .measures import Measures
from .playback import Playback

S = 10**9


def played(tmp_path, *steps, begin_s: float = 2, resume_s: float = 2):
    """Return two values: the buffer's content in s after each step, and the lines of measurements. A step is (time in
    s, arrived media in s)."""
    buffers = []
    with Measures(tmp_path / "measures.jsonl") as measures:
        playback = Playback(0, round(begin_s * S), round(resume_s * S), measures)
        for at_s, media_s in steps:
            if media_s == "stop":
                playback.stop(round(at_s * S))
            else:
                playback.add(round(at_s * S), 2 * S, is_last=media_s == "last")
            buffers.append(playback.buffer_ns / S)
    lines = [json.loads(line) for line in (tmp_path / "measures.jsonl").read_text().splitlines()]
    times = [(line["kind"], line["start_ns"] / S, line["end_ns"] / S if "end_ns" in line else None) for line in lines]
    return buffers, times


def test_it_begins_once_enough_is_there_and_empties_by_the_clock(tmp_path):
    assert played(tmp_path, (1, 2), (2, 2), (3.5, 2), begin_s=4) == ([2, 4, 4.5], [("startup", 0, 2)])


def test_a_stall_lasts_from_the_empty_buffer_until_enough_has_come(tmp_path):
    # The buffer has 2 s of media at 1 s, so it is empty at 3 s. The media that arrive at 5 s are enough to resume; with
    # `resume_s` of 4 s, playback would also need the segment at 6 s.
    steps = ((1, 2), (5, 2), (6, 2))
    assert played(tmp_path, *steps) == ([2, 2, 3], [("startup", 0, 1), ("stall", 3, 5)])
    assert played(tmp_path, *steps, resume_s=4) == ([2, 2, 4], [("startup", 0, 1), ("stall", 3, 6)])


def test_a_segment_that_comes_as_the_last_one_ends_is_no_stall(tmp_path):
    assert played(tmp_path, (1, 2), (3, 2)) == ([2, 2], [("startup", 0, 1)])


def test_the_end_of_the_video_is_no_stall(tmp_path):
    assert played(tmp_path, (1, 2), (2, "last"), (9, "stop")) == ([2, 3, 0], [("startup", 0, 1)])
    # The complete video is shorter than `begin_s`, so playback begins with the last segment.
    assert played(tmp_path, (1, "last"), begin_s=4) == ([2], [("startup", 0, 1)])


def test_who_goes_while_waiting_leaves_it_without_an_end(tmp_path):
    assert played(tmp_path, (1, "stop")) == ([0], [("startup", 0, None)])
    assert played(tmp_path, (1, 2), (7, "stop")) == ([2, 0], [("startup", 0, 1), ("stall", 3, None)])
