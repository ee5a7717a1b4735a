# SPDX-License-Identifier: Apache-2.0
"""Read captures: the arrivals of one flow, skipped packets, and warnings about the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skip, skipped_line
from leowarp.reordering.arrivals import CapturedAt, Flow, Part, Reading, Source
from leowarp.reordering.native import native


def parts(this: Reading, chunks: Iterator[bytes], source: Source) -> Iterator[Part]:
    """Yield the arrivals of one flow, in parts. While the capture is read, the function fills in the flows, counts,
    skipped packets and notes of `this`.

    Raises ScenarioError if there are several flows and none is selected, or if the selected flow does not exist.
    """
    capture = _reader(source, source.flow)
    for chunk in chunks:
        part = _part(capture.feed(chunk))
        # The first flow may be the only flow, so its packets are measured immediately. If a second flow appears, the
        # error below discards this measurement.
        if source.flow is not None or capture.flow_count() < 2:
            yield part
    last = _part(capture.finish())
    _fill(this, capture)
    if source.flow is None and len(this.flows) > 1:
        raise ScenarioError(
            f"{this.name} holds {len(this.flows)} flows: {'; '.join(map(described, this.flows[:_FLOWS_SHOWN]))}"
            + ("; ..." if len(this.flows) > _FLOWS_SHOWN else ""),
            hint="choose one by its number: --flow 0; all of them: --flows",
        )
    if source.flow is not None and source.flow >= len(this.flows):
        raise ScenarioError(
            f"{this.name} has no flow {source.flow}: it holds {len(this.flows)} (0 is the first)",
            hint="leowarp reorder FILE --flows",
        )
    if this.flows:
        if (found := capture.place()) is not None:
            this.captured_at = CapturedAt(tuple(found[0]), "; ".join(found[1]))
        this.notes += _notes(this, this.flows[source.flow or 0], capture.merged())
    yield last


def survey(this: Reading, chunks: Iterator[bytes], source: Source) -> None:
    """Fill in flows, counts and skipped packets without measuring a flow."""
    capture = _reader(source, _FLOW_OF_NONE)
    for chunk in chunks:
        capture.feed(chunk)
    capture.finish()
    _fill(this, capture)


def _reader(source: Source, flow: int | None) -> Any:
    return native.Capture(
        protocol=source.protocol,
        flow=flow,
        offset=source.field_offset or 0,
        size=source.field_size,
        big_endian=source.field_order == "big",
    )


def _fill(this: Reading, capture: Any) -> None:
    this.flows = [_flow(number, flow) for number, flow in enumerate(capture.flows())]
    this.counts = capture.counts()
    this.skipped = [Skip(n, f"packet{'' if n == 1 else 's'} {what}") for n, what in capture.skipped()]


def _notes(this: Reading, flow: Flow, merged: tuple[int, int, int | None] | None) -> list[str]:
    counts, notes = this.counts, []
    # The reason for skipping packets is recognised by its text, because the crate provides no other identifier.
    if any(" cut off by the end" in skip.why for skip in this.skipped):
        notes.append(
            "the file ends inside a packet, and what was captured after it is missing: it was copied while it was "
            "written, or a length in it is damaged"
        )
    if counts["undecided_pkts"]:
        notes.append(
            f"{counts['undecided_pkts']} segments filled a hole, and neither timestamps nor IP identifications "
            "tell whether they were overtaken or sent again: they are taken for overtaken"
        )
    if counts["missed_bytes"]:
        notes.append(
            f"the receiver acknowledged {counts['missed_bytes']:,} bytes that are not in the capture (about "
            f"{counts['missed_pkts']:,} segments): the capture missed them, and they do not count as lost"
        )
    if counts["cut_pkts"]:
        notes.append(
            f"{counts['cut_pkts']:,} packets between the flow's ends were cut by the capture before their number: "
            "those that are of this flow count as lost (capture whole packets: tcpdump -s 0)"
        )
    if merged is not None:
        pkts, longest_bytes, unit_bytes = merged
        unit = "" if unit_bytes is None else f", a full one has {unit_bytes:,}"
        notes.append(
            f"{pkts:,} segments are several in one (up to {longest_bytes:,} bytes{unit}): each counts as one packet, "
            "and reordering inside it is not seen (ethtool -K DEVICE gro off lro off, at a sender tso off gso off)"
        )
    at = this.captured_at
    if at is not None and at.places and "receiver" not in at.places:
        where = {
            ("sender",): "where the flow is sent",
            ("middle",): "on the flow's way",
            ("sender", "middle"): "where the flow is sent, or on its way",
        }[at.places]
        advice = "--protocol icmp-reply measures the replies" if flow.protocol == "icmp" else "capture at the receiver"
        notes.append(f"captured {where} ({at.evidence}): the network behind it shows in nothing here; {advice}")
    return notes


def described(flow: Flow) -> str:
    """Return a flow as one line: number, protocol, ends, number of packets.

    >>> described(Flow(0, "icmp", "10.0.0.1", "10.0.0.2", 7, 100, 5600, None, None))
    '0: icmp 10.0.0.1 > 10.0.0.2 id 7, 100 packets'
    """
    identity = "" if flow.id is None else f" id {flow.id}"
    ends = f"{flow.source} > {flow.destination}"
    inside = "" if flow.inside is None else f", inside {flow.inside}"
    return f"{flow.flow}: {flow.protocol} {ends}{identity}, {flow.packets_pkts} packets{inside}"


def _part(columns: tuple[bytes, bytes, bytes]) -> Part:
    """Convert columns from the crate. The bytes have native order, so numpy can use them without copying."""
    seq, t_ns, len_bytes = columns
    # pcapng's simple packet blocks have no times. The times of a shorter column cannot be assigned to packets.
    numbers, instants = np.frombuffer(seq, dtype=np.uint64), np.frombuffer(t_ns, dtype=np.int64)
    return Part(numbers, instants if len(instants) == len(numbers) else None, np.frombuffer(len_bytes, dtype=np.uint32))


def _flow(number: int, flow: dict[str, Any]) -> Flow:
    # ICMP has no ports. The `id` distinguishes two pings between the same hosts.
    ends = []
    for end in ("source", "destination"):
        address, port = flow[end], flow.pop(f"{end}_port")
        # An IPv6 address contains colons, so it needs brackets (RFC 3986, 3.2.2).
        bracketed = f"[{address}]" if ":" in address else address
        ends.append(address if port is None else f"{bracketed}:{port}")
    return Flow(flow=number, **{**flow, "source": ends[0], "destination": ends[1]})


def what_is_there(file: Reading) -> str:
    """Return a hint for a capture without sequence numbers. The hint depends on the packets in the capture."""
    counts = file.counts
    if counts["udp_pkts"]:
        return (
            f"it holds {counts['udp_pkts']} UDP packets: --protocol rtp, or --protocol udp --field-offset BYTES "
            "with the place of the sequence number"
        )
    if counts["without_field_pkts"]:
        return f"{counts['without_field_pkts']} UDP packets are too short for the field, or no RTP"
    told = [f"of its {counts['packets_pkts']} packets none is numbered: no ICMP echo request, no TCP data"]
    if counts["answer_pkts"]:
        told.append(
            f"{counts['answer_pkts']} are TCP without data, or echo replies, which --protocol icmp-reply measures"
        )
    if (line := skipped_line(file.skipped)) is not None:
        told.append(line)
    if any(" cut to " in skip.why for skip in file.skipped):
        told.append("capture whole packets: tcpdump -s 0")
    if any("link type" in skip.why for skip in file.skipped):
        told.append(f"link types that are read: {native.Capture.known_link_types()}")
    return "; ".join(told)


_FLOWS_SHOWN = 10
"""The largest number of flows that an error message lists."""
_FLOW_OF_NONE = 2**32
"""A flow number that no capture can have. A reader with this number measures no flow."""
