# SPDX-License-Identifier: Apache-2.0
"""The definitions that the readers of all file formats share."""

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
"""The file formats that can be read (`Source.format`)."""
PROTOCOLS = ("icmp", "icmp-reply", "tcp", "rtp", "udp")
"""In a capture of these protocols, a number in each packet gives the order of the packets (`Source.protocol`)."""
TIME_UNITS = ("s", "ms", "us", "ns")
"""The units that a column of times can have. The unit is given by `Source.time_unit`, or by the end of the column's
name."""


@dataclass(frozen=True)
class Source:
    """A description of a file. It gives facts that the file itself does not contain.

    Attributes
    ----------
    format : str, optional
        One of `FORMATS`. By default, the format is found from the file's first bytes. If these bytes are not
        conclusive, the file's name decides.
    sequence, time, bytes : str, optional
        The columns of CSV and Parquet files, by name, or by number from 1. The default for `sequence` is the file's
        only column, or the only column with one of the usual names.
    time_unit : str, optional
        One of `TIME_UNITS`. The unit is not needed if the column's name ends in the unit (`received_ns`), or if its
        type is a time.
    header : bool
        True if the first line of a CSV file has the names of the columns.
    protocol : str, optional
        The protocol whose packets in a capture are measured, one of `PROTOCOLS`. The default is ICMP echo requests and
        TCP packets. Echo replies must be selected explicitly.
    flow : int, optional
        The number of the flow in a capture, from 0. A capture with several flows requires the number.
    field_offset, field_size : int
        The number of bytes in a UDP payload before the sequence number, and the length of the sequence number: 2, 4 or
        8 bytes.
    field_order : {"big", "little"}
        The byte order of the sequence number in a UDP payload.

    Raises
    ------
    ScenarioError
        If a value is not allowed, if UDP is set without the position of its number, or if the position is set without
        UDP.
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
        # 65,535 is the maximum length of a UDP payload (RFC 768 has 16 bits for the length).
        if self.field_offset is not None and not 0 <= self.field_offset <= 65_535:
            raise ScenarioError(f"field_offset = {self.field_offset} is not within 0 and 65535")
        # UDP does not define the format of its payload.
        if (self.protocol == "udp") != (self.field_offset is not None):
            raise ScenarioError(
                "a UDP payload's sequence field needs both the protocol and the field's place",
                hint="--protocol udp --field-offset BYTES, and --field-size and --field-order if not 4 and big",
            )


@dataclass(frozen=True)
class Part:
    """A part of the arrivals in a file, in their order. A column that the file lacks is None.

    Attributes
    ----------
    seq : uint64 array of shape (n,)
        The sequence numbers in packets.
    t_ns : int64 array of shape (n,), optional
        The instants of arrival.
    len_bytes : uint32 array of shape (n,), optional
        The lengths of payloads.
    """

    seq: np.ndarray
    t_ns: np.ndarray | None = None
    len_bytes: np.ndarray | None = None


@dataclass(frozen=True)
class Flow:
    """A group of packets in a capture. The sequence numbers of these packets belong together. The groups are listed by
    `leowarp reorder FILE --flows`.

    Attributes
    ----------
    flow : int
        The number of the flow, from 0, in the order of the flows' first packets.
    protocol : str
        One of `PROTOCOLS`.
    source, destination : str
        The addresses, each with the port if the protocol has ports: "10.0.0.1:5001", "[2001:db8::1]:5001".
    id : int or None
        The identifier of an ICMP echo, or the SSRC of RTP. None for other protocols.
    packets_pkts, payload_bytes : int
        The number of the flow's packets in the capture, and the sum of their payload bytes.
    first_ns, last_ns : int or None
        The times of its first and last packet, in ns since 1970.
    inside : str or None
        The encapsulations around the flow's packets, for example "PPPoE" or "GRE, IP in IP". None means no
        encapsulation except VLAN tags.
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
    """The place of a capture: at the sender of the measured flow, at its receiver, or in between.

    Attributes
    ----------
    places : tuple of str
        The places ("sender", "middle", "receiver") that the evidence does not exclude. The tuple is empty if the
        evidence is contradictory.
    evidence : str
        The reason why the packets cannot have been captured at some places. The text is empty if no place is excluded.
    """

    places: tuple[str, ...]
    evidence: str

    def text(self) -> str | None:
        """Return a text with the possible places of the capture. None means that the packets do not show where they
        were captured.

        >>> CapturedAt(("sender", "middle"), "").text(), CapturedAt(("sender", "middle", "receiver"), "").text()
        ('sender or middle', None)
        """
        # If the evidence excludes none of the three places, the place is unknown.
        return " or ".join(self.places) if 0 < len(self.places) < 3 else None


@dataclass
class Reading:
    """A file that is being read, which can be iterated only once.

    Attributes
    ----------
    name : str
        The name of the file in messages.
    format : str
        One of `FORMATS`.
    parts : callable
        A function that returns an iterator. The iterator yields the parts of the file (`Part`). The iterator fills in
        the attributes below.
    done_ratio : float or None
        The share of the file that has been read so far. None means that its length is unknown.
    flows : list of Flow
        The flows of a capture.
    counts : dict
        The number of packets of each kind in the capture, including packets of no flow.
    skipped : list of Skip
        The packets of a capture that were not read, the most frequent reason first.
    captured_at : CapturedAt or None
        Where the capture was made: at the sender, at the receiver or in between.
    notes : list of str
        The warnings about the result.
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

    # The parts come from a stream, and a pipe cannot be rewound, so a file can be iterated only once.
    def __iter__(self) -> Iterator[Part]:
        return self.parts(self)


def first_bytes(stream: BinaryIO) -> bytes:
    """Return the first bytes of a stream, without consuming them. A short or slow stream gives fewer bytes."""
    return stream.peek(1) if isinstance(stream, io.BufferedReader) else b""


def total_bytes(stream: BinaryIO) -> int | None:
    """Return the length of a file, or None for a pipe."""
    if not stream.seekable():
        return None
    # The old position is restored, because the stream may already have been read in part.
    at = stream.tell()
    total = stream.seek(0, io.SEEK_END)
    stream.seek(at)
    return total
