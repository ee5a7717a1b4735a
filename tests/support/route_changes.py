# SPDX-License-Identifier: Apache-2.0
"""Sends packets across a route change, in guest runs and in a model. The model of links and cures computes the same
arrivals.

The packets go from Madrid to Tokyo, and cross one of the two route changes in the constellation's first minute. At 30
s, a satellite switches to a shorter path, and at 47 s, Madrid switches to another satellite. A burst of equal packets
reaches the switching node just before the change. At Madrid, links are slow, so the burst forms a queue.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import leowarp as lw

EXAMPLES = Path(__file__).parents[2] / "examples"
MS, S = 1_000_000, 1_000_000_000
HEADERS_BYTES = 8 + 20 + 14
PAYLOAD_BYTES = 1000
SLOW_BPS, FAST_BPS = 10_000_000, 100_000_000
FULL_BYTES = 1514
AT_NS = 2 * S
"""The run time of the route change."""
SKY = {"constellation.node_offset": "0 deg", "constellation.greenwich": "0 deg"}
"""The settings of the constellation for the two changes of this module."""


@dataclass(frozen=True)
class Change:
    """A route change of a test. `start` is the constellation's clock 2 s before the change. `ground_bps` is the rate of
    ground links. `node` is the node that switches. `first` is the time at which the first packet is sent."""

    start: str
    ground_bps: int
    node: str
    first: str


# A packet needs 11.8 ms from Madrid to the switching satellite.
AT_A_SATELLITE = Change("28 s", FAST_BPS, "s-01-06", "1.986 s")
AT_THE_STATION = Change("45 s", SLOW_BPS, "Madrid", "1.998 s")


def made(folder: Path, change: Change, cures: dict[str, Any], **more: Any) -> Any:
    """Make a run of 3 s with 40 packets, which are sent 84 us apart. The last packets reach the switching node only
    after the route change."""
    flow = {"kind": "udp", "source": "Madrid", "destination": "Tokyo", "packet_rate": "11900 pkts/s", "packets": 40}
    flow |= {"payload": f"{PAYLOAD_BYTES} B", "start": change.first}
    keys: dict[str, Any] = {
        "flows": [flow], "run.duration": "3 s", "run.start": change.start, "routing.interval": "2 s",
        "routing.link_interval": "2 s", "ground.rate": f"{change.ground_bps // 1_000_000} Mbit/s",
        "observe.packets": "all",
    }  # fmt: skip
    keys |= SKY | {f"cures.{key}": value for key, value in cures.items()} | more
    return lw.run(EXAMPLES / "madrid-tokyo.toml", keys, folder / "run", report=False, progress=False)


@dataclass(frozen=True)
class Ways:
    """The old and the new path of a route change, as lists of nodes. The class also has the delay of each link, and the
    rate of ground links."""

    before: list[str]
    after: list[str]
    delay_ns: Callable[[str, str, int], int]
    ground_bps: int

    @staticmethod
    def of(run: Any, change: Change) -> Ways:
        paths = run.routes()
        paths = paths[paths.source == "Madrid"].sort_values("t_ns").path
        delays = run.timeline()
        delays = delays[delays.event == "delay"]

        def delay_ns(a: str, b: str, at_ns: int) -> int:
            known = delays[(delays.a == a) & (delays.b == b) & (delays.t_ns <= at_ns)]
            return int(known.sort_values("t_ns").delay_ns.iloc[-1])

        before, after = (list(path) for path in (paths.iloc[0], paths.iloc[-1]))
        return Ways(before, after, delay_ns, change.ground_bps)

    def serialise_ns(self, a: str, b: str, frame_bytes: int = PAYLOAD_BYTES + HEADERS_BYTES) -> int:
        is_ground = not (a.startswith("s-") and b.startswith("s-"))
        return frame_bytes * 8 * S // (self.ground_bps if is_ground else FAST_BPS)

    def rest_ns(self, path: list[str], at: int, *, longest: bool) -> int:
        """Return the time that a packet takes from a node of the path to the end of the path. With `longest`, it is the
        time of a full packet, with the larger of the delays before and after the change."""
        links = list(itertools.pairwise(path[at:]))
        if not longest:
            return sum(self.delay_ns(a, b, AT_NS) for a, b in links)
        return sum(
            max(self.delay_ns(a, b, AT_NS), self.delay_ns(a, b, AT_NS - 1) if b in self.before else 0)
            + self.serialise_ns(a, b, FULL_BYTES)
            + 1
            for a, b in links
        )


class Link:
    """A link with a FIFO, a serialiser and a delay line."""

    def __init__(self, ways: Ways, a: str, b: str) -> None:
        self.a, self.b, self.ways = a, b, ways
        self.free_ns = self.last_ns = 0

    def carry(self, offered_ns: int, frame_bytes: int = PAYLOAD_BYTES + HEADERS_BYTES) -> int:
        start_ns = max(offered_ns, self.free_ns)
        self.free_ns = start_ns + self.ways.serialise_ns(self.a, self.b, frame_bytes)
        # the delay is taken at the instant when the last bit departs. A change at AT_NS is in force from AT_NS on
        self.last_ns = max(self.last_ns, self.free_ns + self.ways.delay_ns(self.a, self.b, self.free_ns))
        return self.last_ns


def carried(
    ways: Ways, path: Sequence[str], offered: Iterable[tuple[int, int]], marked: Marked | None = None
) -> list[tuple[int, int]]:
    """Return the arrivals of packets that are offered to the first node of a path. Packets and arrivals are (time,
    number)."""
    now = list(offered)
    for a, b in itertools.pairwise(path):
        link = Link(ways, a, b)
        bytes_of = {MARKER: marked.frame_bytes} if marked else {}
        now = [
            (link.carry(at_ns, bytes_of.get(number, PAYLOAD_BYTES + HEADERS_BYTES)), number)
            for at_ns, number in sorted(now)
        ]
    return now


@dataclass(frozen=True)
class Marked:
    """Models the end marker, and the packets that wait for it at the node where the paths meet."""

    frame_bytes: int
    wait_ns: int

    def passed(
        self, arrivals: Sequence[tuple[int, int]], marker_ns: int | None
    ) -> tuple[list[tuple[int, int]], dict[str, int]]:
        """Return two values. The first lists (time, number) for each packet of the new path. The time is when the
        packet is passed on. Also return a dict with the number of packets that waited, and the longest wait."""
        first_ns = min((at_ns for at_ns, _ in arrivals), default=0)
        ended_ns = min(first_ns + self.wait_ns, first_ns + self.wait_ns if marker_ns is None else marker_ns)
        waited = [at_ns for at_ns, _ in arrivals if at_ns < ended_ns]
        did = {"waited_pkts": len(waited), "longest_ns": max((ended_ns - at_ns for at_ns in waited), default=0)}
        return [(max(at_ns, ended_ns), number) for at_ns, number in arrivals], did


MARKER = 1 << 20
"""The number of the end marker, beyond the packets' numbers."""


def expected(
    run: Any, change: Change, *, moves: bool, holds: bool, marked: Marked | None = None, copies: bool = False
) -> tuple[dict[int, int], dict[str, int]]:
    """Return the arrival time of each packet at Tokyo. Also return the actions of the switching node and of the merging
    node."""
    ways = Ways.of(run, change)
    echoes = run.echoes().sort_values("index")
    at = ways.before.index(change.node)
    table = run.merges() if marked else run.switches() if moves or holds or copies else None
    switched_ns = int(table.t_ns.iloc[0]) if table is not None else AT_NS
    arrivals = carried(ways, ways.before[: at + 1], zip(echoes.sent_ns, echoes["index"], strict=True))
    early = [(t, n) for t, n in arrivals if t < switched_ns]
    late = [(t, n) for t, n in arrivals if t >= switched_ns]
    old, new = Link(ways, *ways.before[at : at + 2]), Link(ways, *ways.after[at : at + 2])
    moved = []
    by_old = []
    for t, n in early:
        if moves and max(t, old.free_ns) > switched_ns:
            moved.append((switched_ns, n))
        else:
            by_old.append((old.carry(t), n))
    if copies:
        by_old += [(old.carry(t), n) for t, n in late]
    if marked:
        by_old.append((old.carry(switched_ns, marked.frame_bytes), MARKER))
    queue = [*moved, *late]
    did = {"moved_pkts": len(moved), "hold_ns": 0, "held_back_pkts": 0, "held_back_longest_ns": 0}
    if holds:
        rest_ns = ways.rest_ns(ways.before, at + 1, longest=True)
        until_ns = old.last_ns + rest_ns - ways.rest_ns(ways.after, at, longest=False)
        held = [(t, n) for t, n in queue if t < until_ns]
        did |= {"hold_ns": max(until_ns - switched_ns, 0), "held_back_pkts": len(held)}
        did["held_back_longest_ns"] = max((until_ns - t for t, _ in held), default=0)
        queue = [(max(t, until_ns), n) for t, n in queue]
    by_new = [(new.carry(t), n) for t, n in queue]
    meet = next(node for node in ways.after[at + 1 :] if node in ways.before)
    by_old = carried(ways, ways.before[at + 1 : ways.before.index(meet) + 1], by_old, marked)
    by_new = carried(ways, ways.after[at + 1 : ways.after.index(meet) + 1], by_new)
    if marked:
        [marker_ns] = [at_ns for at_ns, number in by_old if number == MARKER]
        by_old.remove((marker_ns, MARKER))
        by_new, waited = marked.passed(by_new, marker_ns)
        did |= waited | {"marker_ns": marker_ns}
    end = carried(ways, ways.after[ways.after.index(meet) :], [*by_old, *by_new])
    # if a packet has two copies, the copy that arrives first is kept
    return {number: at_ns for at_ns, number in sorted(end, reverse=True)}, did


def went_a_new_way(run: Any, change: Change) -> set[int]:
    """Return the packets that reached the switching node after the change, and took the new path."""
    ways = Ways.of(run, change)
    echoes = run.echoes().sort_values("index")
    at = ways.before.index(change.node)
    arrivals = carried(ways, ways.before[: at + 1], zip(echoes.sent_ns, echoes["index"], strict=True))
    return {n for t, n in arrivals if t >= AT_NS}


def received(run: Any) -> dict[int, int]:
    """Return a dict from packet number to arrival time. It lacks the packets that did not arrive."""
    echoes = run.echoes().dropna(subset="received_ns")
    return dict(zip(echoes["index"].tolist(), echoes.received_ns.astype("int64").tolist(), strict=True))


def late_pkts(arrival_ns: dict[int, int]) -> int:
    """Return the number of packets that arrived after a packet with a larger number."""
    by_arrival = sorted(arrival_ns, key=lambda number: (arrival_ns[number], number))
    return int((np.maximum.accumulate(by_arrival) > by_arrival).sum())
