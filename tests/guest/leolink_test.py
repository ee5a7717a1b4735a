# SPDX-License-Identifier: Apache-2.0
"""Tests that leolink makes each change of a link, or refuses it with a message. The tests change links with and without
packets."""

import errno

import pytest

pytestmark = pytest.mark.guest

FRAME_BYTES = 100 + 8 + 20 + 14
NEEDS_A_LIMIT = "leolink: packets that overtake need a limit of 1 to 65536 packets"


@pytest.fixture(scope="module")
def said(end_of, tmp_path_factory):
    """A dict with an entry for each step in leolink_init.c. The key is the step's name, and the value is the kernel's
    answers and counts."""
    directory = tmp_path_factory.mktemp("leolink")
    for name in ("in", "out"):
        (directory / name).mkdir()
    end = end_of("leolink_init", directory, duration_ns=10_000_000_000)
    return {what: rest for what, *rest in end["said"]}


@pytest.mark.parametrize("change", ["overtaking without a limit", "limit 0", "limit 65537"])
def test_packets_that_overtake_need_a_limit(said, change):
    assert said[change] == [errno.EINVAL, NEEDS_A_LIMIT]


def test_a_limit_is_obeyed_while_packets_overtake(said):
    # the five numbers are waiting packets, waiting bytes, delivered packets, dropped packets and held packets. One of
    # the ten offered packets is in transmission
    assert said["overtaking, limit 4"] == [0, ""]
    assert said["10 offered"] == [4, 4 * FRAME_BYTES, 0, 5, 5]


def test_a_limit_that_rises_while_packets_wait_has_room_for_more(said):
    assert said["limit 8"] == [0, ""]
    assert said["10 more"] == [8, 8 * FRAME_BYTES, 0, 11, 9]


def test_a_limit_that_falls_takes_no_more_and_loses_none(said):
    assert said["limit 2"] == [0, ""]
    assert said["1 more"] == [8, 8 * FRAME_BYTES, 0, 12, 9]
    assert said["after 3 and a half transmissions"] == [5, 5 * FRAME_BYTES, 3, 12, 6]
    assert said["at the end"] == [0, 0, 9, 12, 0]


def test_order_changes_only_while_nothing_is_held(said):
    words = "leolink: overhead, tables and order cannot change while packets are held"
    assert said["in order again, while packets are held"] == [errno.EBUSY, words]
    assert said["in order, limit 0"] == [0, ""]
    assert said["3 in order"] == [0, 0, 9, 14, 1]


def test_of_two_options_that_contradict_each_other_none_is_ignored(said):
    assert said["rate and capacity at once"] == [errno.EINVAL, "leolink: a rate, and there is a table of capacities"]


def test_a_limit_that_another_discipline_has_is_refused(said):
    assert said["a child"] == [0, ""]
    words = "leolink: a limit, and the discipline in place of the FIFO has its own: change that"
    assert said["a limit that the child has"] == [errno.EINVAL, words]
