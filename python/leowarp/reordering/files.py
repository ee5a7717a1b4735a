# SPDX-License-Identifier: Apache-2.0
"""Read arrival sequences from files, in parts of limited size: text, CSV, Parquet, pcap and pcapng."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from leowarp.base.errors import HostError, ScenarioError, TraceError
from leowarp.base.skips import Skip
from leowarp.reordering import captures
from leowarp.reordering.arrivals import CapturedAt, Flow, Part, Reading, Source, first_bytes, total_bytes
from leowarp.reordering.measures import Meter
from leowarp.reordering.native import native
from leowarp.reordering.results import Reordering

_CHUNK_BYTES = 1 << 20
"""The number of bytes that are read and passed to the crate at once. The limit keeps a reader's memory independent of
the file's length."""


@contextmanager
def reading(path: Path | str, source: Source | None = None, bits: int | None = None) -> Iterator[Reading]:
    """Open a file of arrivals (`-` is standard input). The parts are read during the caller's iteration.

    Parameters
    ----------
    path : path
        Text, CSV, Parquet, pcap or pcapng, or `-`.
    source : Source, optional
        The description of the file: facts that the file itself does not contain.
    bits : int, optional
        The width in bits of the sequence numbers in a text file, 8 to 63. A number that needs more bits is an error.

    Yields
    ------
    Reading
        The open file. Read all parts first. The attributes `flows`, `counts` and `notes` are complete only after the
        last part.

    Raises
    ------
    ScenarioError
        If the file does not exist, or if a column or a flow must be selected.
    TraceError
        If the file contains invalid sequence numbers, or is truncated. The message names the line, the row, or the
        packet and byte at fault.
    """
    source = source or Source()
    with _opened(path, source) as (stream, name, kind):
        if kind in ("text", "pcap"):
            read = _text if kind == "text" else _capture
            yield Reading(name, kind, lambda this: read(this, stream, source, bits))
            return
        # The import is here, because reading text or a capture does not need pyarrow.
        from leowarp.reordering import tables

        parts = tables.csv_parts if kind == "csv" else tables.parquet_parts
        yield Reading(name, kind, lambda this: parts(this, stream, source))


@dataclass(frozen=True)
class Survey:
    """The contents of a capture.

    Attributes
    ----------
    flows : list of Flow
        The flows in the order of their first packets.
    counts : dict of str to int
        The other content of the capture, with the number of packets of each kind.
    skipped : list of Skip
        The packets of the capture that were not read, with the reasons.
    """

    flows: list[Flow]
    counts: dict[str, int]
    skipped: list[Skip]


@dataclass(frozen=True, eq=False)
class Measured:
    """The metrics of the sequence in a file, and facts about the file and its packets.

    Attributes
    ----------
    reordering : Reordering
        The metrics.
    format : str
        One of `arrivals.FORMATS`.
    flow : Flow or None
        The measured flow of a capture. None for other formats.
    counts : dict of str to int
        For each kind of packet, the number of packets in the capture, including packets that belong to no flow.
    notes : list of str
        The warnings about the result.
    skipped : list of Skip
        The packets of a capture that were not read, with the reasons.
    captured_at : CapturedAt or None
        The place at which a capture was made, relative to its flow.
    """

    reordering: Reordering
    format: str
    flow: Flow | None
    counts: dict[str, int]
    notes: list[str]
    skipped: list[Skip]
    captured_at: CapturedAt | None


def measure_file(
    path: Path | str,
    *,
    source: Source | None = None,
    sent_pkts: int | None = None,
    on_progress: Callable[[float | None, int], None] | None = None,
    **settings: Any,
) -> Measured:
    """Compute all metrics of the arrivals in a file. The file is read in parts, so its length does not affect the
    memory.

    Parameters
    ----------
    path : path
        Text (one sequence number per line), CSV, Parquet, pcap or pcapng. `-` is standard input.
    source : Source, optional
        The description of the file: facts that the file itself does not contain.
    sent_pkts : int, optional
        The number of packets that were sent.
    on_progress : callable, optional
        A function that is called with two values: the share of the file that has been read (None if unknown), and the
        number of packets read.
    **settings
        The fields of `Settings`.

    Raises
    ------
    ScenarioError, TraceError
        As for `reading` and `measure`.
    """
    meter = Meter(**settings)
    source = source or Source()
    # The meter checks its settings before the file is opened, which may be a pipe from which no data has come.
    packets = 0
    with reading(path, source, meter.settings.bits) as file:
        # The protocol gives the width of a packet's number, and the crate handles its wrap-around.
        if file.format == "pcap" and meter.settings.bits is not None:
            raise ScenarioError("the numbers of a capture have widths of their own", hint="leave out --bits")
        for part in file:
            meter.arrive(part.seq, t_ns=part.t_ns, len_bytes=part.len_bytes)
            packets += len(part.seq)
            if on_progress is not None:
                on_progress(file.done_ratio, packets)
    if not packets:
        of_text = "a sequence number a line, or a column of them"
        hint = captures.what_is_there(file) if file.format == "pcap" else of_text
        raise TraceError(f"{file.name} holds no arrival, so no metric is defined", hint=hint)
    chosen = file.flows[source.flow or 0] if file.flows else None
    result = meter.measured(sent_pkts)
    # After a single number that is far too large, or an undeclared wrap-around, all later numbers count as too late.
    if result.too_late_pkts > result.received_pkts:
        file.notes.append(
            f"{result.too_late_pkts} of {result.arrived_pkts} arrivals are more than {meter.settings.loss_window_pkts} "
            "below the largest number and count as lost: is one number wrong, or do they wrap around (--bits)?"
        )
    if beyond := result.density.early_beyond_pkts + result.density.late_beyond_pkts:
        file.notes.append(
            f"{beyond} packets are displaced by more than {result.density.threshold_pkts}: RD, MD and entropy take "
            "them for lost, and those around them for packets in order (--threshold)"
        )
    copies = result.duplicate_pkts
    if file.format == "pcap" and copies * 4 > result.arrived_pkts:
        file.notes.append(
            f"{copies} of {result.arrived_pkts} packets repeat the number of an earlier one and count as copies: a "
            "second run with the same numbers, or each packet captured twice (on several devices)?"
        )
    return Measured(result, file.format, chosen, file.counts, file.notes, file.skipped, file.captured_at)


def flows(path: Path | str, *, source: Source | None = None) -> list[Flow]:
    """Return the flows of a capture in the order of their first packets. The complete file is read.

    Raises
    ------
    ScenarioError, TraceError
        If the file does not exist, is not a capture, or is damaged.
    """
    return survey(path, source=source).flows


def survey(path: Path | str, *, source: Source | None = None) -> Survey:
    """Return the contents of a capture: its flows, and the packets that were not read. The complete file is read, but
    no flow is measured.

    Raises
    ------
    ScenarioError, TraceError
        For the same reasons as `flows`.
    """
    source = source or Source()
    # The file is opened only once, because data from a pipe cannot be read again.
    with _opened(path, source) as (stream, name, kind):
        if kind != "pcap":
            raise ScenarioError(f"{name} is read as {kind}, which has no flows: only captures have")
        file = Reading(name, kind, lambda this: iter(()))
        with _refused(file):
            captures.survey(file, _chunks(file, stream), source)
    return Survey(file.flows, file.counts, file.skipped)


@contextmanager
def _opened(path: Path | str, source: Source) -> Iterator[tuple[BinaryIO, str, str]]:
    """Yield an open file, with its name in messages and its format."""
    if str(path) == "-":
        stream, name = sys.stdin.buffer, "standard input"
        yield stream, name, source.format or _format_of(stream, name)
        return
    try:
        stream = Path(path).open("rb")  # noqa: SIM115, closed below
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}", hint="a file, or - for standard input") from error
    with stream:
        yield stream, str(path), source.format or _format_of(stream, str(path))


def _format_of(stream: BinaryIO, name: str) -> str:
    """Return the format of a file from its first bytes, or else from its name, or else "text"."""
    head = first_bytes(stream)
    # First bytes of gzip, zstd and xz files.
    for magic, packer in ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zX", "xz")):
        if head.startswith(magic):
            raise ScenarioError(f"{name} is compressed", hint=f"{packer} -dc FILE | leowarp reorder -")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head[:4] in _CAPTURES:
        return "pcap"
    for magic, capture in _OTHER_CAPTURES.items():
        if head.startswith(magic):
            raise ScenarioError(f"{name} is a capture of another format ({capture})", "editcap -F pcap FILE NEW.pcap")
    return _ENDINGS.get(Path(name).suffix.lower(), "text")


def _chunks(this: Reading, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a stream in pieces, and update `done_ratio`."""
    total, done = total_bytes(stream), 0
    while True:
        try:
            chunk = stream.read(_CHUNK_BYTES)
        except OSError as error:
            raise HostError(f"reading {this.name}: {error.strerror}") from error
        if not chunk:
            return
        done += len(chunk)
        # The file may have grown while it was read.
        this.done_ratio = min(1.0, done / total) if total else None
        yield chunk


@contextmanager
def _refused(this: Reading) -> Iterator[None]:
    """Convert errors of the crate `arrivals` to TraceError. The errors name the line, packet or byte."""
    try:
        yield
    except native.InputError as error:
        message, hint = error.args
        raise TraceError(f"cannot read {this.name} as {this.format}: {message}", hint=hint) from error


def _text(this: Reading, stream: BinaryIO, source: Source, bits: int | None) -> Iterator[Part]:
    """Yield the arrivals of a text file. The crate joins a line that is split between two chunks."""
    text = native.Text(bits)
    with _refused(this):
        for chunk in _chunks(this, stream):
            yield Part(np.frombuffer(text.feed(chunk), dtype=np.uint64))
        yield Part(np.frombuffer(text.finish(), dtype=np.uint64))


def _capture(this: Reading, stream: BinaryIO, source: Source, bits: int | None) -> Iterator[Part]:
    # `bits` is not used, because the protocol gives the number of bits.
    with _refused(this):
        yield from captures.parts(this, _chunks(this, stream), source)


# `_CAPTURES` contains the first bytes of pcapng's section header, and of pcap in both byte orders. The times of pcap
# are in microseconds (a1b2c3d4) or nanoseconds (a1b23c4d).
_OTHER_CAPTURES = {
    b"\x34\xcd\xb2\xa1": "pcap, modified by Kuznetzov",
    b"\xa1\xb2\xcd\x34": "pcap, modified by Kuznetzov",
    b"snoop\0\0\0": "snoop",
    b"btsnoop\0": "btsnoop",
    b"RTSS": "Network Monitor 1",
    b"GMBU": "Network Monitor 2",
    b"TRSNIFF data": "Sniffer",
    b"iptrace 2.0": "AIX iptrace",
}
"""Wireshark can read some formats (wiretap) that leowarp cannot read. These are the first bytes of such formats."""
_CAPTURES = (b"\x0a\x0d\x0d\x0a", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")
_ENDINGS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pcap": "pcap", ".pcapng": "pcap", ".cap": "pcap"}
