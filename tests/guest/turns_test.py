# SPDX-License-Identifier: Apache-2.0
"""Tests kernel loops that make many iterations at one instant (guest/clock/turns.c)."""

import pytest

pytestmark = pytest.mark.guest

READING_NS = 256


@pytest.mark.parametrize("flags", [(), ("-DREAL_TIME",)], ids=["a shorter slice", "real time"])
def test_a_parent_and_a_thread_that_free_the_same_entries_of_proc_both_end(end_of, guest_directory, flags):
    end = end_of("turns_init", guest_directory, "-pthread", *flags)
    # The last thread of a child sleeps for 4 ms, plus up to 50 us (timer slack)
    assert 4_000_000 < end["longest_ns"] < 4_100_000
    # the two writes cause 9,984 and 10,240 calls of cond_resched()
    assert end["work_ns"] == [READING_NS, READING_NS + 1000]
