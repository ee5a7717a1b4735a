# SPDX-License-Identifier: Apache-2.0
"""Tests the rule by which virtual time follows real time. The test sets the real-time clock."""

import pytest

from leowarp.guest.live.pace import Pace

MS = 1_000_000


class Wall:
    """A real-time clock whose value the test sets."""

    def __init__(self) -> None:
        self.ns = 77 * MS

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def pace(wall: Wall) -> Pace:
    return Pace(MS, 20 * MS, wall)


def test_a_step_is_let_go_once_it_lies_in_the_past(pace: Pace, wall: Wall) -> None:
    pace.arrive(0)
    assert pace.wait_ns(has_news=False) == MS
    wall.ns += 400_000
    assert pace.wait_ns(has_news=False) == 600_000
    wall.ns += 600_000
    assert (pace.wait_ns(has_news=False), pace.lost_ns) == (0, 0)


def test_news_of_the_host_let_it_go_at_once_but_never_more_than_a_step_ahead(pace: Pace, wall: Wall) -> None:
    pace.arrive(0)
    wall.ns += 100_000
    assert pace.wait_ns(has_news=True) == 0
    pace.arrive(MS)
    assert pace.wait_ns(has_news=True) == 900_000


def test_what_is_within_the_slack_is_made_up_for(pace: Pace, wall: Wall) -> None:
    pace.arrive(0)
    wall.ns += 15 * MS
    for step in range(1, 15):
        pace.arrive(step * MS)
        assert pace.wait_ns(has_news=False) == 0
    pace.arrive(15 * MS)
    assert (pace.wait_ns(has_news=False), pace.lost_ns) == (MS, 0)


def test_what_is_beyond_it_is_lost_and_not_made_up_for(pace: Pace, wall: Wall) -> None:
    pace.arrive(0)
    wall.ns += 822 * MS
    pace.arrive(MS)
    assert (pace.lost_ns, pace.wait_ns(has_news=False), pace.wall_ns) == (800 * MS, 0, 822 * MS)
    pace.arrive(21 * MS)
    assert pace.wait_ns(has_news=False) == 0
    pace.arrive(22 * MS)
    assert pace.wait_ns(has_news=False) == MS, "no faster than the clock on the wall from here on"


def test_steps_that_lie_in_the_past_need_no_wait(pace: Pace, wall: Wall) -> None:
    pace.arrive(0)
    assert pace.spare_steps() == 0
    wall.ns += 10 * MS
    pace.arrive(MS)
    # From 1 ms on, the next step ends at 2 ms. Eight steps after the step that ends at 2 ms, the guest reaches 10 ms,
    # where it waits.
    assert pace.spare_steps() == 8
    pace.arrive((1 + 1 + 8) * MS)
    assert (pace.spare_steps(), pace.wait_ns(has_news=False)) == (0, MS)


def test_a_guest_of_half_the_speed_loses_half_of_the_time(pace: Pace, wall: Wall) -> None:
    pace.arrive(0)
    for step in range(1, 1001):
        wall.ns += 2 * MS
        pace.arrive(step * MS)
    assert pace.wall_ns == 2000 * MS
    assert pace.lost_ns == pytest.approx(1000 * MS, abs=22 * MS)
