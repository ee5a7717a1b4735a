# SPDX-License-Identifier: Apache-2.0
"""The status lines of `leowarp live`. They show the time, the path, and the lag of virtual time that will not be caught
up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from leowarp.guest import Pace

STATUS_NS = 500_000_000
LOSS_NS = 5_000_000_000
"""The minimum real time, in ns, between two reports about the lag of virtual time."""
_ADVICE = " Packets came late by that. Lower rates, --no-flows, or a machine with less to do."


class Way:
    """The path from one station to another at each time. The path is read from a table of routes."""

    def __init__(self, routes: pa.Table, source: str, destination: str) -> None:
        chosen = pc.and_(pc.equal(routes["source"], source), pc.equal(routes["destination"], destination))
        self._rows = routes.filter(chosen).select(["t_ns", "path_id", "delay_ns"]).to_pylist()
        self._next = 0
        self.path_id: int | None = None
        self.delay_ns: int | None = None

    def advance(self, t_ns: int) -> bool:
        """Advance to time `t_ns`, and return whether the path has changed. The first path does not count as a
        change."""
        before, is_first = self.path_id, self._next == 0
        while self._next < len(self._rows) and self._rows[self._next]["t_ns"] <= t_ns:
            row = self._rows[self._next]
            self.path_id, self.delay_ns = row["path_id"], row["delay_ns"]
            self._next += 1
        return not is_first and self.path_id != before


class Account:
    """Reports time, path and lag as lines of text.

    stations: The names of the stations where connections begin and end.
    say: A function that is called with a line of text for each event (example: a route change).
    status: A function that is called every `STATUS_NS` with a line about the time.
    """

    def __init__(
        self, pace: Pace, routes: pa.Table, stations: tuple[str, str], say: Callable[[str], None],
        status: Callable[[str], None] | None = None, clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:  # fmt: skip
        self._pace, self._say, self._status, self._clock_ns = pace, say, status, clock_ns
        self._there, self._back = Way(routes, *stations), Way(routes, *reversed(stations))
        self._lost_ns = 0
        self._told_of_loss_ns: int | None = None
        self._told_status_ns: int | None = None

    def look(self) -> None:
        """Make all reports that are due. The method is called while the guest waits for real time."""
        virtual_ns, now_ns = self._pace.virtual_ns, self._clock_ns()
        assert virtual_ns is not None
        # The reported round trip depends on the paths of both directions, so both directions are advanced first.
        changed = [
            (name, way) for name, way in (("there", self._there), ("back", self._back)) if way.advance(virtual_ns)
        ]
        for name, way in changed:
            path = "none" if way.path_id is None else f"number {way.path_id}"
            self._say(f"{virtual_ns / 1e9:.3f} s: another path {name}, {path}; {self._trip()}")
        if self._pace.lost_ns > self._lost_ns and _is_due(self._told_of_loss_ns, now_ns, LOSS_NS):
            self._say(
                f"{virtual_ns / 1e9:.3f} s: warning: the guest fell behind the clock on the wall by "
                f"{(self._pace.lost_ns - self._lost_ns) / 1e9:.3f} s, {self._pace.lost_ns / 1e9:.3f} s in all."
                + (_ADVICE if self._told_of_loss_ns is None else "")
            )
            self._lost_ns, self._told_of_loss_ns = self._pace.lost_ns, now_ns
        if self._status is not None and _is_due(self._told_status_ns, now_ns, STATUS_NS):
            self._told_status_ns = now_ns
            self._status(f"{self._times()}; {self._trip()}")

    def summary(self) -> str:
        """Return the line that is printed at the end of the session."""
        return "over before it began" if self._pace.virtual_ns is None else f"over: {self._times()}"

    def _times(self) -> str:
        virtual_ns = self._pace.virtual_ns or 0
        behind = f", {self._pace.lost_ns / 1e9:.3f} s behind" if self._pace.lost_ns else ""
        return f"{virtual_ns / 1e9:.1f} virtual s in {self._pace.wall_ns / 1e9:.1f} s on the wall{behind}"

    def _trip(self) -> str:
        delays_ns = (self._there.delay_ns, self._back.delay_ns)
        if delays_ns[0] is None or delays_ns[1] is None:
            return "round trip unknown"
        return f"round trip {(delays_ns[0] + delays_ns[1]) / 1e6:.1f} ms without queues"


def _is_due(told_ns: int | None, now_ns: int, interval_ns: int) -> bool:
    return told_ns is None or now_ns - told_ns >= interval_ns
