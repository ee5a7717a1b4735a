# SPDX-License-Identifier: Apache-2.0
"""Tests reports about time and path. The tests set the clocks."""

import pyarrow as pa
import pytest

from leowarp.guest import Pace
from leowarp.running.account import Account

MS = 1_000_000
ROUTES = pa.table(
    {
        "t_ns": [0, 0, 1000 * MS, 1000 * MS, 2000 * MS, 2000 * MS],
        "source": ["A", "B"] * 3,
        "destination": ["B", "A"] * 3,
        "path_id": [0, 0, 1, 0, 1, None],
        "delay_ns": [30 * MS, 30 * MS, 45 * MS, 31 * MS, 46 * MS, None],
    }
)


class Told:
    """An account that collects its lines, and the clock of this account."""

    def __init__(self) -> None:
        self.wall_ns = 5 * MS
        self.said: list[str] = []
        self.statuses: list[str] = []

        def clock() -> int:
            return self.wall_ns

        self.pace = Pace(clock_ns=clock)
        self.account = Account(self.pace, ROUTES, ("A", "B"), self.said.append, self.statuses.append, clock)

    def at(self, virtual_ms: int, wall_ms: int) -> list[str]:
        """Return the lines that the account reports at this virtual time and this real time."""
        self.wall_ns = (5 + wall_ms) * MS
        self.pace.arrive(virtual_ms * MS)
        self.said.clear()
        self.account.look()
        return list(self.said)


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_change_of_the_path_is_told_once_with_the_round_trip(told: Told) -> None:
    assert told.at(0, 0) == []
    assert told.at(999, 999) == []
    assert told.at(1000, 1000) == ["1.000 s: another path there, number 1; round trip 76.0 ms without queues"]
    assert told.at(2000, 2000) == ["2.000 s: another path back, none; round trip unknown"]
    assert told.at(3000, 3000) == []


def test_a_guest_that_falls_behind_is_warned_of_now_and_then(told: Told) -> None:
    told.at(0, 0)
    (first,) = told.at(1, 801)
    assert first.startswith("0.001 s: warning: the guest fell behind the clock on the wall by 0.779 s, 0.779 s in all.")
    assert "--no-flows" in first
    assert told.at(2, 900) == [], "not all the time"
    (second,) = told.at(900, 6000)
    assert "--no-flows" not in second, "what to do is said once"
    assert told.account.summary() == f"over: 0.9 virtual s in 6.0 s on the wall, {told.pace.lost_ns / 1e9:.3f} s behind"


def test_the_time_is_told_twice_a_second(told: Told) -> None:
    for ms in range(0, 1101, 100):
        told.at(ms, ms)
    assert told.statuses == [
        "0.0 virtual s in 0.0 s on the wall; round trip 60.0 ms without queues",
        "0.5 virtual s in 0.5 s on the wall; round trip 60.0 ms without queues",
        "1.0 virtual s in 1.0 s on the wall; round trip 76.0 ms without queues",
    ]
