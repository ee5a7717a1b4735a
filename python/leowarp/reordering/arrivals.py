# SPDX-License-Identifier: Apache-2.0
"""Shared by all readers of arrivals: description of a file, parts, flows, reading progress."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skip
from leowarp.base.spelling import one_of

FORMATS = ("text", "csv", "parquet", "pcap")
"""Supported file formats (`Source.format`)."""
PROTOCOLS = ("icmp", "icmp-reply", "tcp", "rtp", "udp")
"""Protocols that can number the packets of a capture (`Source.protocol`)."""
TIME_UNITS = ("s", "ms", "us", "ns")
"""Units of a column of times (`Source.time_unit`, or the end of the column's name)."""
_PLACES = 3
"""Sender, middle, receiver: if all three remain, the place is unknown."""


@dataclass(frozen=True)
class Source:
    """Description of a file, for facts that the file itself does not contain.

    Attributes
    ----------
    format : str, optional
        One of `FORMATS`; if not given, decided by the first bytes, then by the name.
    sequence, time, bytes : str, optional
        Columns of CSV and Parquet: name, or number counted from 1. The default of `sequence` is the only column, or the
        one with that name.
    time_unit : str, optional
        One of `TIME_UNITS`; not needed if the column's name ends in the unit (`received_ns`) or its type is a time.
    header : bool
        Whether the first line of a CSV file names the columns.
    protocol : str, optional
        One of `PROTOCOLS`, which numbers the packets of a capture. By default ICMP echo requests and TCP are searched;
        echo replies must be selected explicitly.
    flow : int, optional
        Number of the flow in a capture, from 0; required if there are several.
    field_offset, field_size : int
        Place of UDP's number: bytes of payload before it, and length of 2, 4 or 8 bytes.
    field_order : {"big", "little"}
        Byte order of the number.

    Raises
    ------
    ScenarioError
        If a value is not allowed, or UDP's protocol and the place of its field are not given together.
    """

    format: str | None = None
    sequence: str | None = None
    time: str | None = None
    time_unit: str | None = None
    bytes: str | None = None
    header: bool = True
    protocol: str | None = None
    flow: int | None = None
    field_offset: int | None = None
    field_size: int = 4
    field_order: str = "big"

    def __post_init__(self) -> None:
        for name, allowed in (("format", FORMATS), ("protocol", PROTOCOLS), ("time_unit", TIME_UNITS)):
            if (value := getattr(self, name)) is not None and value not in allowed:
                raise ScenarioError(f"{name} = {value!r} does not exist", hint=one_of(value, allowed))
        if self.field_size not in (2, 4, 8) or self.field_order not in ("big", "little"):
            raise ScenarioError(
                f"a sequence field of {self.field_size} bytes, {self.field_order} end first, is not known",
                hint="its size is 2, 4 or 8 bytes, its order big or little",
            )
        if self.flow is not None and self.flow < 0:
            raise ScenarioError(f"flow = {self.flow}: flows are counted from 0")
        # The maximum length of a UDP payload (RFC 768: a length of 16 bits).
        if self.field_offset is not None and not 0 <= self.field_offset <= 65_535:
            raise ScenarioError(f"field_offset = {self.field_offset} is not within 0 and 65535")
        # UDP does not describe its payload: without the place of the number, it cannot be read.
        if (self.protocol == "udp") != (self.field_offset is not None):
            raise ScenarioError(
                "a UDP payload's sequence field needs both the protocol and the field's place",
                hint="--protocol udp --field-offset BYTES, and --field-size and --field-order if not 4 and big",
            )


@dataclass(frozen=True)
class Part:
    """Some arrivals in order; None for columns that the file does not have.

    Attributes
    ----------
    seq : uint64 array of shape (n,)
        Sequence numbers in packets.
    t_ns : int64 array of shape (n,), optional
        Instants of arrival.
    len_bytes : uint32 array of shape (n,), optional
        Lengths of payloads.
    """

    seq: np.ndarray
    t_ns: np.ndarray | None = None
    len_bytes: np.ndarray | None = None


@dataclass(frozen=True)
class Flow:
    """Packets of a capture that share a number sequence; see `leowarp reorder FILE --flows`.

    Attributes
    ----------
    flow : int
        Number from 0, in the order of the flows' first packets.
    protocol : str
        One of `PROTOCOLS`.
    source, destination : str
        Address, plus port if the protocol has ports: "10.0.0.1:5001", "[2001:db8::1]:5001".
    id : int or None
        Identifier of an ICMP echo, or SSRC of RTP.
    packets_pkts, payload_bytes : int
        Number of the flow's packets in the capture.
    first_ns, last_ns : int or None
        Times of its first and last packet, ns since 1970.
    inside : str or None
        Encapsulations around the flow's packets: "PPPoE", "GRE, IP in IP"; None: none, or only VLAN tags.
    """

    flow: int
    protocol: str
    source: str
    destination: str
    id: int | None
    packets_pkts: int
    payload_bytes: int
    first_ns: int | None
    last_ns: int | None
    inside: str | None = None


@dataclass(frozen=True)
class CapturedAt:
    """Place of a capture relative to the measured flow.

    Attributes
    ----------
    places : tuple of str
        Places "sender", "middle", "receiver" that the evidence does not exclude. Empty: the evidence is contradictory.
    evidence : str
        Evidence against the other places; empty if all three remain.
    """

    places: tuple[str, ...]
    evidence: str

    def text(self) -> str | None:
        """The possible places as text; None if they are unknown.

        >>> CapturedAt(("sender", "middle"), "").text(), CapturedAt(("sender", "middle", "receiver"), "").text()
        ('sender or middle', None)
        """
        return " or ".join(self.places) if 0 < len(self.places) < _PLACES else None


@dataclass
class Reading:
    """A file being read; it can be iterated only once.

    Attributes
    ----------
    name : str
        Name of the file in messages.
    format : str
        One of `FORMATS`.
    parts : callable
        Yields the parts of the file, each a `Part`, and fills in the attributes below meanwhile.
    done_ratio : float or None
        Share of the file that has been read; None if its length is unknown.
    flows : list of Flow
        Flows of a capture.
    counts : dict
        Other contents of a capture.
    skipped : list of Skip
        Packets of a capture that were not read, the most frequent reason first.
    captured_at : CapturedAt or None
        Place of a capture relative to its measured flow.
    notes : list of str
        Warnings about the result.
    """

    name: str
    format: str
    parts: Callable[[Reading], Iterator[Part]]
    done_ratio: float | None = None
    flows: list[Flow] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    skipped: list[Skip] = field(default_factory=list)
    captured_at: CapturedAt | None = None
    notes: list[str] = field(default_factory=list)

    # A file can be iterated only once: the parts come from a stream, and a pipe cannot be rewound.
    def __iter__(self) -> Iterator[Part]:
        return self.parts(self)


def first_bytes(stream: BinaryIO) -> bytes:
    """First bytes of a stream, without consuming them; fewer than its buffer size if it is short or slow."""
    return stream.peek(1) if isinstance(stream, io.BufferedReader) else b""


def total_bytes(stream: BinaryIO) -> int | None:
    """Length of a file; None for a pipe."""
    # A pipe has no length; its progress is only a count of packets.
    if not stream.seekable():
        return None
    # The position is restored, because the first bytes may already have been examined.
    at = stream.tell()
    total = stream.seek(0, io.SEEK_END)
    stream.seek(at)
    return total
