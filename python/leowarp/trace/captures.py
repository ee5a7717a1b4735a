# SPDX-License-Identifier: Apache-2.0
"""Compute the table `packets` (packet truth) from captures at both ends of TCP connections.

Captures of a real path or of another emulator can then be evaluated like a trace. If the captures are from leowarp's
own guest, the result is an independent check of the agent's table.
"""

from __future__ import annotations

import bisect
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from leowarp.base.errors import TraceError
from leowarp.trace.pcap import Segment, segments
from leowarp.trace.schema.packets import PACKETS

SYN, ACK = 0x02, 0x10


def packets_from_captures(
    source: Path | str, destination: Path | str, *, clock_offset_ns: int = 0, start_ns: int | None = None
) -> pa.Table:
    """Return the packet truth of the TCP connections that are in both captures.

    source, destination: The capture at the host that opens the connections, and the capture at the host that accepts
        them. Offloads must have been off at both hosts (`ethtool -K DEV tso off gso off gro off`). With offloads, the
        two captures contain different segments.
    clock_offset_ns: The offset that is added to the destination's times to convert them to the source's clock. The
        offset cannot be computed from the captures, because they give only the sum of the two one-way delays.
    start_ns: The time on the source's clock that becomes 0. By default, this is the time of the first segment of any
        connection.
    Returns: A table with the columns of `packets`. `path_id`, `drop_direction` and `drop_cause` are null, because
        captures do not contain these values. If a packet seems to arrive before it was sent, the offset is wrong, and
        an error is raised.
    Raises TraceError if a file cannot be read, if no connection is in both captures, or if most segments are in only
    one of the captures.

    A connection is identified by the addresses and ports of its two ends. A connection that is opened twice with the
    same addresses and ports counts as one connection. The flows are numbered in the order of their first segment at the
    source. The entry `flows` of the metadata contains the two ends of each connection.
    """
    # All segments are in memory, because a retransmission is recognised only by comparison with earlier segments.
    here, there = list(segments(source)), list(segments(destination))
    arrivals = [(segment, segment.t_ns + clock_offset_ns) for segment in there]
    connections = _connections(here, {_ends(segment) for segment in there})
    if not connections:
        raise TraceError(
            f"no TCP connection is in both {source} ({len(here)} segments) and {destination} ({len(there)})",
            hint="address translation between the captures, or captures of different times?",
        )
    # By default, time 0 is the sending time of the first segment of a common connection. Other traffic is ignored,
    # because it may begin much earlier than the first common connection.
    zero_ns = min(segment.t_ns for segment in here if _ends(segment) in connections) if start_ns is None else start_ns
    rows: list[_Packet] = []
    for ends, (flow, opener) in connections.items():
        outward = [(s, s.t_ns) for s in here if _ends(s) == ends and s.source == opener]
        arrived = [(s, t_ns) for s, t_ns in arrivals if _ends(s) == ends and s.source == opener]
        back = [(s, t_ns) for s, t_ns in arrivals if _ends(s) == ends and s.source != opener]
        returned = [(s, s.t_ns) for s in here if _ends(s) == ends and s.source != opener]
        base = (_first_byte(outward), _first_byte(back))
        rows += _direction(flow, 0, _matched(outward, arrived, str(source)), base)
        # Packets in the return direction are sent at the destination, so the two captures change roles. In this
        # direction, the first bytes of the two streams are exchanged too.
        rows += _direction(flow, 1, _matched(back, returned, str(destination)), base[::-1])
    # Rows of all flows and directions are sorted by sending time, as in the guest's own table.
    rows.sort(key=lambda row: row.sent_ns)
    return _table(rows, zero_ns, connections)


@dataclass
class _Packet:
    """A row of the table `packets`. `seq` and `ack` are in bytes from the start of the stream, and times are on the
    captures' clocks."""

    flow: int
    direction: int
    sent_ns: int
    received_ns: int | None
    seq: int
    len_bytes: int
    ack: int | None
    is_retransmission: bool = False
    is_spurious: bool | None = None
    is_late: bool | None = None
    extent_pkts: int | None = None


Ends = frozenset[tuple[bytes, int]]
# Segments, each with its time on the source's clock. For a segment of the destination's capture, `t_ns` is still on the
# destination's clock.
Timed = list[tuple[Segment, int]]


def _ends(segment: Segment) -> Ends:
    """Return the two ends in a fixed order, so that both directions have the same key."""
    return frozenset((segment.source, segment.destination))


def _connections(here: Iterable[Segment], known: set[Ends]) -> dict[Ends, tuple[int, tuple[bytes, int]]]:
    """Return the number of each connection, and the end that opened it. The opening end is the sender of the SYN, or of
    the first segment if no SYN was captured.

    A SYN with ACK answers a SYN, so the receiver of the SYN with ACK opened the connection.
    """
    connections: dict[Ends, tuple[int, tuple[bytes, int]]] = {}
    for segment in here:
        ends = _ends(segment)
        if ends in known and ends not in connections:
            answers = segment.flags & SYN and segment.flags & ACK
            connections[ends] = (len(connections), segment.destination if answers else segment.source)
    return connections


def _first_byte(sent: Timed) -> int | None:
    """Return the sequence number at which the payload of the stream begins. The first payload byte has the sequence
    number after the SYN. If the stream has no SYN, the payload begins at the first captured byte."""
    for segment, _ in sent:
        if segment.flags & SYN:
            return (segment.seq + 1) & _MASK
    return sent[0][0].seq if sent else None


def _matched(sent: Timed, arrived: Timed, name: str) -> list[tuple[Segment, int, int | None]]:
    """Return each sent segment with its sending time and its arrival time. The arrival time is None if the segment did
    not arrive. The arrival is the first unused segment with the same bytes, at or after the sending time.

    Raises TraceError if segments arrived before they were sent, or if more than half of the segments never arrived. The
    check for missing arrivals needs more than 20 segments.
    """
    waiting: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
    for segment, t_ns in arrived:
        waiting[_same(segment)].append(t_ns)
    pairs: list[tuple[Segment, int, int | None]] = []
    early = 0
    for segment, t_ns in sent:
        # Equal segments (such as a keep-alive and its repetition) are matched with their arrivals in the order of
        # sending. If links keep the order of packets, equal segments also arrive in the order of sending.
        queue = waiting[_same(segment)]
        # Segments that arrive too early are counted, because the error states their number.
        if queue and queue[0] < t_ns:
            early += 1
            queue.popleft()
        pairs.append((segment, t_ns, queue.popleft() if queue else None))
    lost = sum(1 for *_, received in pairs if received is None)
    if early:
        raise TraceError(
            f"{early} segments sent in {name} arrived at the other end before they were sent: the clocks disagree",
            hint="give clock_offset_ns, what to add to the destination's times",
        )
    # A path usually loses only some percent of its packets. If more than half of the packets are missing, the two
    # captures do not contain the same segments.
    if len(pairs) > 20 and lost > len(pairs) / 2:
        raise TraceError(
            f"{lost} of {len(pairs)} segments sent in {name} are not in the other capture",
            hint="was segmentation offload on? ethtool -K DEV tso off gso off gro off",
        )
    return pairs


def _same(segment: Segment) -> tuple[int, ...]:
    """Return the fields that identify a segment in the other capture. Routers do not change these fields."""
    # The IP identification is included because Linux increments it for each packet of a connection. Without the
    # identification, a segment and its retransmission could not be distinguished.
    return segment.seq, segment.len_bytes, segment.ack, segment.flags, segment.ip_id


def _direction(
    flow: int, direction: int, pairs: list[tuple[Segment, int, int | None]], base: tuple[int | None, int | None]
) -> list[_Packet]:
    """Return the packets of one direction in the order of sending, each with its arrival or loss.

    flow, direction: The flow and the direction of all returned packets. Direction 0 starts at the end that opened the
        connection. Direction 1 is the opposite direction.
    pairs: The result of `_matched`.
    base: (int or None, int or None). The sequence numbers of the first payload bytes. The first number is for this
        direction, the second for the direction whose bytes it acknowledges.
    """
    own, other = _Unwrapped(base[0]), _Unwrapped(base[1])
    sent_to, rows, arrived = 0, [], _Ranges()
    for segment, sent_ns, received_ns in pairs:
        # A SYN takes one sequence number, which precedes the first byte of the stream (RFC 9293, 3.4).
        begin = own(segment.seq + 1 if segment.flags & SYN else segment.seq)
        end = begin + segment.len_bytes
        ack = other(segment.ack) if segment.flags & ACK and base[1] is not None else None
        row = _Packet(flow, direction, sent_ns, received_ns, begin, segment.len_bytes, ack)
        row.is_retransmission = segment.len_bytes > 0 and begin < sent_to
        if row.is_retransmission:
            # A retransmission is spurious if packets that were sent earlier delivered all of its bytes. The arrival
            # times of these packets do not matter.
            row.is_spurious = arrived.holds(begin, end)
        # `sent_to` never decreases: after a retransmission, the stream continues with new data, which must not count as
        # retransmissions.
        sent_to = max(sent_to, end)
        if received_ns is not None and segment.len_bytes:
            arrived.add(begin, end)
        rows.append(row)
    _judge_order(rows)
    return rows


# Implements RFC 4737, 3.3 (reordered).
# Implements RFC 4737, 4.2.3 (extent).
# Implements RFC 4737, 6.1 (retransmissions).
def _judge_order(rows: list[_Packet]) -> None:
    """Set `is_late` and `extent_pkts` of the packets that arrived. The extent of a late packet is a number of arrivals.
    Counting begins when the first packet arrives that was sent later. It ends before the late packet's own arrival. A
    retransmission is never late, but it may make other packets late.

    Retransmissions and packets without payload may overtake other packets. If they do not, lateness and extents follow
    RFC 4737.

    rows: list of _Packet. The packets are in the order of sending.
    """
    # Packets are compared by the order of sending and not by their bytes, because a packet without payload has no bytes
    # but can be late.
    came = [(row.received_ns, number, row) for number, row in enumerate(rows) if row.received_ns is not None]
    # Packets that arrive at the same time are not reordered, so they are sorted by the order of sending.
    came.sort(key=lambda one: (one[0], one[1]))
    highest: list[int] = []
    for place, (_, number, row) in enumerate(came):
        row.is_late = not row.is_retransmission and bool(highest) and number < highest[-1]
        if row.is_late:
            # The extent of a late packet begins at the first arrival with a larger number than the packet's own.
            row.extent_pkts = place - bisect.bisect_right(highest, number)
        highest.append(max(number, highest[-1]) if highest else number)


@dataclass
class _Unwrapped:
    """A converter from 32-bit sequence numbers to offsets from the start of the stream, in bytes. Successive results
    differ by at most 2^31."""

    base: int | None
    last: int = 0

    def __call__(self, number: int) -> int:
        wrapped = (number - (self.base or 0)) & _MASK
        # The number of wrap-arounds is chosen so that the result is within 2^31 of the previous one (RFC 9293, 3.4:
        # comparison modulo 2^32). In Python, a right shift rounds a negative number down. If a late packet's number is
        # before the first byte, the result is therefore negative.
        turns = (self.last - wrapped + (1 << 31)) >> 32
        self.last = wrapped + (turns << 32)
        return self.last


@dataclass
class _Ranges:
    """A sorted list of half-open byte ranges that do not overlap."""

    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, begin: int, end: int) -> None:
        """Add a range, and merge it with the ranges that it touches or overlaps."""
        # Ranges that touch are also merged. `holds` is then true for a segment that crosses the border between them.
        first = bisect.bisect_left(self.ends, begin)
        last = bisect.bisect_right(self.begins, end)
        if first < last:
            begin, end = min(begin, self.begins[first]), max(end, self.ends[last - 1])
        self.begins[first:last], self.ends[first:last] = [begin], [end]

    def holds(self, begin: int, end: int) -> bool:
        """Return whether all bytes from `begin` to `end` lie in a single range."""
        at = bisect.bisect_right(self.begins, begin) - 1
        return at >= 0 and self.ends[at] >= end


def _table(rows: list[_Packet], zero_ns: int, connections: dict[Ends, tuple[int, tuple[bytes, int]]]) -> pa.Table:
    """Return the rows as an Arrow table. The times in `rows` become relative to `zero_ns`."""
    for row in rows:
        row.sent_ns -= zero_ns
        row.received_ns = None if row.received_ns is None else row.received_ns - zero_ns
    flows = []
    for ends, (_, opener) in connections.items():
        # If a connection is from an endpoint to itself, its two ends are equal (RFC 9293, 3.5, allows this with a
        # simultaneous open).
        accepts = next((end for end in ends if end != opener), opener)
        flows.append({"kind": "tcp", "source": _text(opener), "destination": _text(accepts)})
    # All other columns are null, because only the guest knows the path, the place of a drop, and the reason for storing
    # a packet.
    return pa.Table.from_pylist([vars(row) for row in rows], schema=PACKETS.arrow({"flows": flows}))


def _text(end: tuple[bytes, int]) -> str:
    import ipaddress

    address = ipaddress.ip_address(end[0])
    return f"[{address}]:{end[1]}" if address.version == 6 else f"{address}:{end[1]}"


_MASK = 0xFFFFFFFF
