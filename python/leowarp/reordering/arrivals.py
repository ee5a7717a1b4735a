# SPDX-License-Identifier: Apache-2.0
"""What all readers of arrivals have in common: what a file holds, its parts, its flows, how far it has been read."""

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
"""What a file may be (`Source.format`)."""
PROTOCOLS = ("icmp", "icmp-reply", "tcp", "rtp", "udp")
"""What may number the packets of a capture (`Source.protocol`)."""
TIME_UNITS = ("s", "ms", "us", "ns")
"""Units that a column of times may have (`Source.time_unit`, or the end of its name)."""
_PLACES = 3
"""Sender, middle, receiver: if all are left, nothing is known."""


@dataclass(frozen=True)
class Source:
    """What a file holds, where it does not say so itself.

    Attributes
    ----------
    format : str, optional
        One of `FORMATS`; by its first bytes, then by its name, if not given.
    sequence, time, bytes : str, optional
        Columns of CSV and Parquet: name, or number counted from 1. Without `sequence` the only column, or one that is
        called so.
    time_unit : str, optional
        One of `TIME_UNITS`; not needed if the column's name ends in it (`received_ns`) or its type is a time.
    header : bool
        Whether the first line of a CSV file names the columns.
    protocol : str, optional
        One of `PROTOCOLS`: what numbers the packets of a capture. Without it ICMP echo requests and TCP are looked for;
        echo replies only if they are named.
    flow : int, optional
        Which flow of a capture, counted from 0; needed if there are several.
    field_offset, field_size : int
        Of UDP's number: bytes of payload before it, and 2, 4 or 8 bytes.
    field_order : {"big", "little"}
        Which of its bytes comes first.

    Raises
    ------
    ScenarioError
        If a value is none of those allowed, or UDP's protocol and the place of its field are not given together.
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
        # No UDP payload is longer (RFC 768: a length of 16 bits).
        if self.field_offset is not None and not 0 <= self.field_offset <= 65_535:
            raise ScenarioError(f"field_offset = {self.field_offset} is not within 0 and 65535")
        # UDP says nothing of its payload: without the place of the number there is none to be read.
        if (self.protocol == "udp") != (self.field_offset is not None):
            raise ScenarioError(
                "a UDP payload's sequence field needs both the protocol and the field's place",
                hint="--protocol udp --field-offset BYTES, and --field-size and --field-order if not 4 and big",
            )


@dataclass(frozen=True)
class Part:
    """Some arrivals, in order of arrival; None what the file does not have.

    Attributes
    ----------
    seq : uint64 array of shape (n,)
        Sequence numbers in packets.
    t_ns : int64 array of shape (n,), optional
        Instants of arrival.
    len_bytes : uint32 array of shape (n,), optional
        Payloads.
    """

    seq: np.ndarray
    t_ns: np.ndarray | None = None
    len_bytes: np.ndarray | None = None


@dataclass(frozen=True)
class Flow:
    """Packets of a capture that are numbered together; see `leowarp reorder FILE --flows`.

    Attributes
    ----------
    flow : int
        Its number, from 0, in the order of the flows' first packets.
    protocol : str
        One of `PROTOCOLS`.
    source, destination : str
        Address, with a port if the protocol has ports: "10.0.0.1:5001", "[2001:db8::1]:5001".
    id : int or None
        Identifier of an ICMP echo, SSRC of RTP.
    packets_pkts, payload_bytes : int
        What is in the capture of it.
    first_ns, last_ns : int or None
        Times of its first and last packet, ns since 1970.
    inside : str or None
        The encapsulations around its packets: "PPPoE", "GRE, IP in IP"; None: none, or VLAN tags alone.
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
    """Where a capture was made, seen from the flow that is measured.

    Attributes
    ----------
    places : tuple of str
        "sender", "middle", "receiver": those that nothing speaks against. None of them: the evidence is contradictory.
    evidence : str
        What speaks against the others; empty if all three are left.
    """

    places: tuple[str, ...]
    evidence: str

    def text(self) -> str | None:
        """The places in words; None if they are not known.

        >>> CapturedAt(("sender", "middle"), "").text(), CapturedAt(("sender", "middle", "receiver"), "").text()
        ('sender or middle', None)
        """
        return " or ".join(self.places) if 0 < len(self.places) < _PLACES else None


@dataclass
class Reading:
    """A file while it is read: iterate over it once.

    Attributes
    ----------
    name : str
        What messages call it.
    format : str
        One of `FORMATS`.
    parts : callable
        Gives its parts, each a `Part`; it fills in the attributes below while it does.
    done_ratio : float or None
        How much of the file has been read; None if its length is not known.
    flows : list of Flow
        Of a capture.
    counts : dict
        What else was in a capture.
    skipped : list of Skip
        Packets of a capture that were not read, the most frequent reason first.
    captured_at : CapturedAt or None
        Of a capture's measured flow.
    notes : list of str
        What to look at before the result is trusted.
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

    # Once: the parts are read from a stream, which a pipe cannot begin again.
    def __iter__(self) -> Iterator[Part]:
        return self.parts(self)


def first_bytes(stream: BinaryIO) -> bytes:
    """The first bytes of a stream, which stay in it; fewer than its buffer holds if it is short or slow."""
    return stream.peek(1) if isinstance(stream, io.BufferedReader) else b""


def total_bytes(stream: BinaryIO) -> int | None:
    """Length of a file; None of a pipe."""
    # A pipe has no length; progress of it is a count of packets alone.
    if not stream.seekable():
        return None
    # Where it stood is kept: the first bytes may have been looked at already.
    at = stream.tell()
    total = stream.seek(0, io.SEEK_END)
    stream.seek(at)
    return total
