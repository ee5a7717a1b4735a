# SPDX-License-Identifier: Apache-2.0
"""Check the tables of `[cures]` that are about route changes. The values are compared with plan, timeline and stored
packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from leowarp.base.nodes import host_node
from leowarp.crosscheck.changes import Changes, Notice, Switch
from leowarp.crosscheck.findings import Findings
from leowarp.crosscheck.network import Link
from leowarp.crosscheck.stations import Queue, Stations, queue_at

if TYPE_CHECKING:
    from leowarp.results.run import Run

CARRIED_OUT_WITHIN_NS = 1_000_000
"""The guest may apply an event of the timeline late, by at most this time in ns. Some delay is normal, because each
reading of the agent's clock advances the clock by 512 ns."""

# The size of a marker's packet in bytes: IPv4 and ICMP header, magic number, marker's number (design/cures.md).
_MARKER_IP_BYTES = 32

T = TypeVar("T", Switch, Notice)


@dataclass(frozen=True)
class Judge:
    """A run and the actions that its cures require, with one check per table. `stations` is None if at least one packet
    of the run was not stored."""

    run: Run
    changes: Changes
    stations: Stations | None

    def notices(self) -> Findings:
        """Check that each host got its true and false notices at the right time and with the right content."""
        found, cures = Findings(), self.run.plan.cures
        rows = list(self.run.notices().itertuples(index=False))
        for number, row in enumerate(rows, 1):
            found.compare(f"notice {row.number}", "number", row.number, number)
        keys = [(row.told_host, row.destination_host, self._link(row.to_direction), bool(row.is_false)) for row in rows]
        wanted = [(each.told, each.destination, each.link, each.is_false) for each in self.changes.notices]
        for row, expected in self._matched(rows, keys, self.changes.notices, wanted, found, "notices"):
            where = f"notice {row.number}"
            found.compare(where, "old_delay_ns", row.old_delay_ns, expected.old_delay_ns)
            found.compare(where, "new_delay_ns", row.new_delay_ns, expected.new_delay_ns)
            delay_ns = 0 if expected.is_false else cures.notify_delay_ns
            late = row.t_ns + delay_ns > self.run.end_ns
            if not (late and pd.isna(row.sent_ns)):
                found.compare(where, "sent_ns", row.sent_ns, None if row.is_lost else row.t_ns + delay_ns)
            if cures.notify_loss_ratio in (0, 1):
                found.compare(where, "is_lost", bool(row.is_lost), cures.notify_loss_ratio == 1)
            wait_ns = self._wait_ns(int(row.t_ns), expected)
            if wait_ns is None:
                found.unknown.append(f"{where}: wait_ns")
            else:
                found.compare(where, "wait_ns", row.wait_ns, wait_ns)
        return found

    def switches(self) -> Findings:
        """Check the records of the switches: the packets that each switch moved, held or copied."""
        found, cures = Findings(), self.run.plan.cures
        # If packets are not copied, a switch has a row only if it moved or held packets.
        all_wanted = cures.duplicate_ns is not None
        for row, switch in self._of_switches(self.run.switches(), found, "switches", all_wanted=all_wanted):
            where = f"switch of {switch.old[0]} for {switch.host} at {row.t_ns} ns"
            if cures.duplicate_ns is not None:
                found.compare(where, "refused", row.refused, switch.copies_refused)
                self._copies(where, row, switch, found)
            queue = self._queue(int(row.t_ns), switch)
            if queue is None:
                if cures.move_queue != "off" or cures.hold:
                    found.unknown.append(f"{where}: moved_pkts, hold_ns")
                continue
            moves = cures.move_queue == "kept" or (cures.move_queue == "lost" and switch.rests is not None)
            found.compare(where, "moved_pkts", row.moved_pkts, queue.waiting_pkts if moves else 0)
            found.compare(where, "moved_bytes", row.moved_bytes, queue.waiting_bytes if moves else 0)
            hold_ns = self._ahead_ns(int(row.t_ns), switch, queue) if cures.hold else 0
            found.compare(where, "hold_ns", row.hold_ns, max(hold_ns, 0) or None)
            found.within(where, "held_back_longest_ns", row.held_back_longest_ns, 0, max(hold_ns, 0))
        return found

    def merges(self) -> Findings:
        """Check where each marker ended an old path, and how long packets waited for the marker."""
        found, cures = Findings(), self.run.plan.cures
        for row, switch in self._of_switches(self.run.merges(), found, "merges", all_wanted=True):
            where = f"merge of {switch.old[0]} for {switch.host} at {row.t_ns} ns"
            found.compare(where, "refused", row.refused, switch.marker_refused)
            if switch.met is None or switch.rests is None:
                continue
            found.compare(where, "old_direction", row.old_direction, self._direction(switch.met[0]))
            found.compare(where, "new_direction", row.new_direction, self._direction(switch.met[1]))
            found.within(where, "longest_ns", row.longest_ns, 0, cures.end_marker_wait_ns)
            found.within(where, "waiting_max_bytes", row.waiting_max_bytes, 0, int(row.waited_bytes))
            if not pd.isna(row.marker_ns):
                # The last link before the node at which the two paths meet may be the old link itself.
                old, by_old = switch.rests.old, switch.met[0]
                to_there = old[: old.index(by_old) + 1] if by_old in old else ()
                fastest_ns = int(row.t_ns) + switch.old_delay_ns + sum(self._least_delay_ns(link) for link in to_there)
                found.within(where, "marker_ns", row.marker_ns, fastest_ns, 1 << 62)
        return found

    def _copies(self, where: str, row: Any, switch: Switch, found: Findings) -> None:
        if switch.copies_refused is not None:
            found.compare(where, "copied_pkts", row.copied_pkts, None)
            return
        until_ns = int(row.t_ns) + (self.run.plan.cures.duplicate_ns or 0)
        node, host = switch.old[0], switch.host
        # If the node switches again for the same host, packets no longer use the link of the old path.
        others = [each for each in self.changes.switches if (each.old[0], each.host) == (node, host)]
        end_ns = min((each.t_ns for each in others if each.t_ns > switch.t_ns), default=self.run.end_ns)
        if self.stations is None or not self._is_station(node) or min(end_ns, self.run.end_ns) < until_ns:
            found.unknown.append(f"{where}: copied_pkts")
            return
        sent = self.stations.sent(switch.new, switch.host, int(row.t_ns), until_ns)
        found.compare(where, "copied_pkts", row.copied_pkts, len(sent))
        on_link = self.stations.on_link(sent)
        if on_link is not None and (sent["len_bytes"] > 0).all():
            found.compare(where, "copied_bytes", row.copied_bytes, int(on_link["link_bytes"].sum()))

    def _wait_ns(self, t_ns: int, notice: Notice) -> int | None:
        """Return the time in ns after which the acknowledgement of the last packet on the old path can have reached the
        sender. None means that this check cannot compute it."""
        if notice.is_false or notice.switch is None:
            return notice.wait_ns
        if notice.switch.rests is None or notice.answer_ns is None:
            return 0
        # If the notice is sent before the change, it is not yet known which packets will be waiting at the change.
        if self.run.plan.cures.notify_delay_ns < 0:
            return None
        queue = self._queue(t_ns, notice.switch)
        if queue is None:
            return None
        ahead_ns = self._ahead_ns(t_ns, notice.switch, queue)
        until_ns = notice.switch.rests.old_ns + notice.answer_ns + self._left(queue)[1] - t_ns
        return until_ns if ahead_ns > 0 and until_ns > 0 else 0

    def _left(self, queue: Queue) -> tuple[int, int]:
        """Return how many waiting packets stay at the old link, and when its last packet arrives at the far end."""
        if self.run.plan.cures.move_queue != "off":
            return 0, queue.begun_arrived_ns
        return queue.waiting_pkts, queue.all_arrived_ns

    def _ahead_ns(self, t_ns: int, switch: Switch, queue: Queue) -> int:
        """Return the arrival of the last packet on the old path, minus that of the first on the new path, in ns."""
        if switch.rests is None:
            return 0
        return self._left(queue)[1] + switch.rests.old_ns - (t_ns + switch.new_delay_ns + switch.rests.new_ns)

    def _queue(self, t_ns: int, switch: Switch) -> Queue | None:
        """Return the queue at the link that a node stops using at a switch. None means unknown."""
        node, host = switch.old[0], switch.host
        earlier = [each for each in self.changes.switches if each.old[0] == node and each.t_ns < switch.t_ns]
        # Arrivals are recorded only at stations. If packets were held, their arrivals at the link are unknown.
        if self.stations is None or not self._is_station(node) or (self.run.plan.cures.hold and earlier):
            return None
        packets = self.stations.packets
        if set(packets["target"][packets["source"] == host_node(node)]) != {host}:
            return None
        since_ns = max((each.t_ns for each in earlier), default=0)
        sent = self.stations.on_link(self.stations.sent(switch.old, host, since_ns, t_ns))
        if sent is None:
            return None
        delays, rates = (self._events(switch.old, event) for event in ("delay", "rate"))
        former_ns = int(delays[delays["t_ns"] < switch.t_ns]["delay_ns"].iloc[-1])
        limits = rates["rate_bps"].dropna()
        rate_bps = int(limits.iloc[-1]) if len(limits) else None
        return queue_at(sent, t_ns, rate_bps, switch.old_delay_ns, former_ns, self._marker_bytes(t_ns, switch))

    def _marker_bytes(self, t_ns: int, switch: Switch) -> int | None:
        """Return the bytes of a switch's marker on the old link. None means that none was sent or accepted."""
        drops = self.run.tables.drops
        refused = (drops["t_ns"] == t_ns) & (drops["direction"] == self._direction(switch.old)) & drops["flow"].isna()
        if not self.run.plan.cures.end_marker or switch.met is None or refused.any():
            return None
        return _MARKER_IP_BYTES + self.run.plan.ground.overhead_bytes

    def _is_station(self, node: str) -> bool:
        return any(station.name == node for station in self.run.plan.stations)

    def _events(self, link: Link, event: str) -> pd.DataFrame:
        timeline = self.run.tables.timeline
        return timeline[(timeline["event"] == event) & (timeline["a"] == link[0]) & (timeline["b"] == link[1])]

    def _least_delay_ns(self, link: Link) -> int:
        delays = self._events(link, "delay")["delay_ns"]
        return int(delays.min()) if len(delays) else 0

    def _link(self, direction: int) -> Link:
        return self.run.tables.directions[int(direction)][:2]

    def _direction(self, link: Link) -> int | None:
        return self.run.tables.direction_of(*link)

    def _of_switches(
        self, frame: pd.DataFrame, found: Findings, table: str, *, all_wanted: bool
    ) -> Iterator[tuple[Any, Switch]]:
        """Yield each row of `switches` or `merges` with its switch (`_matched`)."""
        rows, expected = list(frame.itertuples(index=False)), self.changes.switches
        keys = [(self._link(row.from_direction), self._link(row.to_direction), row.host) for row in rows]
        wanted = [(each.old, each.new, each.host) for each in expected]
        return self._matched(rows, keys, expected, wanted, found, table, all_wanted=all_wanted)

    def _matched(
        self, rows: Sequence[Any], keys: Sequence[Any], expected: Sequence[T], wanted: Sequence[Any],
        found: Findings, table: str, *, all_wanted: bool = True,
    ) -> Iterator[tuple[Any, T]]:  # fmt: skip
        """Yield each row of a table with the required action that it matches. Others become differences in `found`."""
        left = list(zip(wanted, expected, strict=True))
        for row, key in zip(rows, keys, strict=True):
            found.checked += 1
            at = next(
                (place for place, (name, each) in enumerate(left)
                 if name == key and each.t_ns <= row.t_ns < each.t_ns + CARRIED_OUT_WITHIN_NS), None,
            )  # fmt: skip
            if at is None:
                found.wrong.append(f"{table}: a row of {key} at {row.t_ns} ns, and the timeline has no such change")
                continue
            yield row, left.pop(at)[1]
        if all_wanted:
            found.wrong += [
                f"{table}: none of {name} at {each.t_ns} ns, and the timeline has it" for name, each in left
            ]
