# SPDX-License-Identifier: Apache-2.0
"""The verb `reorder`: all metrics of RFC 4737 and RFC 5236 for an arrival sequence."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leowarp.base.errors import HostError, ScenarioError
from leowarp.base.printable import one_line
from leowarp.base.progress import PLAIN_INTERVAL_S
from leowarp.base.status import is_terminal
from leowarp.cli import options
from leowarp.cli.output import note, notes, print_json, print_table, say, scalar_text

if TYPE_CHECKING:
    from leowarp.reordering import Flow, Measured, Skip, Source

# Options that accept only certain words are enumerations. typer lists the words in the help and rejects others.
# `crates/arrivals` reads text and captures. Arrow reads CSV and Parquet.
Format = StrEnum("Format", ["text", "csv", "parquet", "pcap"])
Protocol = StrEnum("Protocol", {"icmp": "icmp", "icmp_reply": "icmp-reply", "tcp": "tcp", "rtp": "rtp", "udp": "udp"})
TimeUnit = StrEnum("TimeUnit", ["s", "ms", "us", "ns"])
Order = StrEnum("Order", ["big", "little"])
Drawn = StrEnum("Drawn", ["svg", "pdf", "png"])

_METRICS, _TABLES, _CAPTURES = "Metrics", "CSV and Parquet", "Captures"


def reorder(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Text (one sequence number per line), CSV, Parquet, pcap or pcapng; - is standard input.",
        ),
    ],
    threshold: Annotated[
        int,
        typer.Option(
            "--threshold", "-t", help="D_T: in RD, a packet displaced by more counts as lost.", rich_help_panel=_METRICS
        ),
    ] = 1000,
    buffer_threshold: Annotated[
        int | None,
        typer.Option(help="B_T: size of RBD's buffer in packets; default: --threshold.", rich_help_panel=_METRICS),
    ] = None,
    # The default is 2^16, the number of different sequence numbers in RTP (RFC 3550, 5.1) and ICMP echo (RFC 792). A
    # packet that is late by more than 2^16 numbers could have the same number as another packet.
    loss_window: Annotated[
        int,
        typer.Option(help="RFC 4737: a packet that is late by more numbers counts as lost.", rich_help_panel=_METRICS),
    ] = 65_536,
    n_max: Annotated[int, typer.Option(help="n-reordering up to this n.", rich_help_panel=_METRICS)] = 10,
    first: Annotated[
        int | None, typer.Option(help="Number of the first packet that was sent.", rich_help_panel=_METRICS)
    ] = None,
    sent: Annotated[
        int | None,
        typer.Option(help="Number of packets that were sent; it shows losses at the end.", rich_help_panel=_METRICS),
    ] = None,
    bits: Annotated[
        int | None, typer.Option(help="Width in bits of numbers that wrap around: 16, 32.", rich_help_panel=_METRICS)
    ] = None,
    input_: Annotated[
        Format | None, typer.Option("--input", help="Format of FILE; default: by its first bytes and its name.")
    ] = None,
    sequence: Annotated[
        str | None, typer.Option(help="Column of the numbers: its name, or its number from 1.", rich_help_panel=_TABLES)
    ] = None,
    time_: Annotated[
        str | None, typer.Option("--time", help="Column of the arrivals' times.", rich_help_panel=_TABLES)
    ] = None,
    time_unit: Annotated[
        TimeUnit | None,
        typer.Option(help="Unit of that column, unless its name ends in _s, ..., _ns.", rich_help_panel=_TABLES),
    ] = None,
    bytes_: Annotated[str | None, typer.Option("--bytes", help="Column of the payloads.", rich_help_panel=_TABLES)] = (
        None
    ),
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether a first line names columns.", rich_help_panel=_TABLES)
    ] = True,
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            help="Protocol: ICMP echo requests and TCP data are found; echo replies, RTP and UDP must be named.",
            rich_help_panel=_CAPTURES,
        ),
    ] = None,
    flow: Annotated[
        int | None, typer.Option(help="Number of the flow, from 0, if there are several.", rich_help_panel=_CAPTURES)
    ] = None,
    flows: Annotated[
        bool, typer.Option("--flows", help="List the flows and compute no metrics.", rich_help_panel=_CAPTURES)
    ] = False,
    field_offset: Annotated[
        int | None, typer.Option(help="UDP: bytes of payload before the sequence number.", rich_help_panel=_CAPTURES)
    ] = None,
    field_size: Annotated[int, typer.Option(help="UDP: its bytes, 2, 4 or 8.", rich_help_panel=_CAPTURES)] = 4,
    field_order: Annotated[
        Order, typer.Option(help="UDP: byte order of the sequence number.", rich_help_panel=_CAPTURES)
    ] = Order.big,
    figures: Annotated[
        Path | None, typer.Option(help="Write figures of RD, RBD and n-reordering into this directory.")
    ] = None,
    format_: Annotated[
        list[Drawn] | None, typer.Option("--format", help="One of these figures; may be repeated; default: all three.")
    ] = None,
    json_: options.Json = False,
) -> None:
    """Reordering of any arrival sequence, by RFC 4737 and RFC 5236. The sequence is text, CSV, Parquet or a capture."""
    # The import is here, so that printing a help page does not import numpy.
    from leowarp import reordering

    source = reordering.Source(
        format=input_, sequence=sequence, time=time_, time_unit=time_unit, bytes=bytes_, header=header,
        protocol=protocol, flow=flow, field_offset=field_offset, field_size=field_size, field_order=field_order,
    )  # fmt: skip
    # Opening a named pipe waits until another process writes into the pipe, so a message says that leowarp waits. An
    # anonymous pipe (/dev/fd/63) opens at once, and needs no message.
    if Path(os.path.realpath(file)).is_fifo():
        note(f"{_name(file)} is a named pipe: waiting for a process that writes into it (Ctrl-C ends this)")
    if flows:
        _print_flows(file, source, json_)
        return
    # This is checked before the file is read. A mistake in the options is thus reported at once, and not after minutes
    # of measurement.
    if format_ and figures is None:
        raise ScenarioError("--format is for figures, and there is no --figures", hint="--figures DIRECTORY")
    with _shown(file) as shown:
        measured = reordering.measure_file(
            file, source=source, sent_pkts=sent, on_progress=shown, threshold_pkts=threshold,
            buffer_threshold_pkts=buffer_threshold, loss_window_pkts=loss_window, n_max=n_max, first_seq=first,
            bits=bits,
        )  # fmt: skip
    _say_skipped(measured.skipped)
    notes("warning", measured.notes)
    # Each figure is drawn in all three formats, which takes little time compared with the measurement.
    drawn = [] if figures is None else _draw(measured, file, figures, format_ or list(Drawn))
    if json_:
        print_json(
            {**_facts(measured, file), **measured.reordering.to_dict(), "figures": [str(path) for path in drawn]}
        )
        return
    _print_tables(measured, file)
    for path in drawn:
        say(path)


def _facts(measured: Measured, file: str) -> dict[str, Any]:
    """Return facts about the measurement, as RFC 4737, 1.3, requires: the file, the flow, the other contents of a
    capture, and warnings."""
    flow = None if measured.flow is None else asdict(measured.flow)
    at = None if measured.captured_at is None else asdict(measured.captured_at)
    return {"file": file, "format": measured.format, "flow": flow, "capture": measured.counts or None,
            "captured_at": at, "skipped": [asdict(skip) for skip in measured.skipped],
            "warnings": measured.notes}  # fmt: skip


def _say_skipped(skipped: list[Skip]) -> None:
    from leowarp import reordering

    if (line := reordering.skipped_line(skipped)) is not None:
        note(line)


def _print_flows(file: str, source: Source, as_json: bool) -> None:
    """Print the flows of a capture with their numbers. The user can then choose a flow by its number."""
    from leowarp import reordering

    found = reordering.survey(file, source=source)
    listed = found.flows
    _say_skipped(found.skipped)
    if as_json:
        print_json({"file": file, "flows": [asdict(flow) for flow in listed], "capture": found.counts,
                    "skipped": [asdict(skip) for skip in found.skipped]})  # fmt: skip
        return
    print_table(
        f"{_name(file)}, flows: {len(listed)}",
        ("flow", "protocol", "from", "to", "id", "packets", "payload, bytes", "seconds", "inside"),
        [
            (flow.flow, flow.protocol, flow.source, flow.destination, flow.id, flow.packets_pkts, flow.payload_bytes,
             _seconds(flow), flow.inside)
            for flow in listed
        ],
        text=("protocol", "from", "to", "inside"),
    )  # fmt: skip


def _seconds(flow: Flow) -> str | None:
    if flow.first_ns is None or flow.last_ns is None:
        return None
    return f"{(flow.last_ns - flow.first_ns) / 1e9:.3f}"


def _print_tables(measured: Measured, file: str) -> None:
    result = measured.reordering
    title = _name(file) if measured.flow is None else f"{file}, {_flow_text(measured.flow)}"
    rows = [(name, scalar_text(value)) for name, value in _scalars(result.to_dict())]
    if measured.captured_at is not None:
        rows.insert(0, ("captured_at", measured.captured_at.text()))
    print_table(title, ("quantity", "value"), rows)
    print_table(
        f"RD: share of packets by displacement (early negative, late positive), D_T = {result.density.threshold_pkts}",
        ("displacement", "packets", "share"),
        [(row, pkts, scalar_text(share)) for row, pkts, share in
         compact(result.density.displacement_pkts, result.density.pkts, result.density.counted_pkts)],
    )  # fmt: skip
    print_table(
        f"RBD: share of arrivals by packets in the buffer, B_T = {result.buffer_density.threshold_pkts}",
        ("in the buffer", "arrivals", "share"),
        [(row, pkts, scalar_text(share)) for row, pkts, share in
         compact(result.buffer_density.occupancy_pkts, result.buffer_density.pkts, result.buffer_density.counted_pkts)],
    )  # fmt: skip
    n = result.n_reordering
    print_table(
        "n-reordering: share of the packets received",
        ("n", "packets", "share"),
        [(at, pkts, scalar_text(share)) for at, pkts, share in zip(n.n, n.pkts, n.share.tolist(), strict=True)],
    )


def compact(values: Any, counts: Any, total: int, rows: int = 21) -> list[tuple[str, int, float]]:
    """Return the rows of a density. If there are few values, each value has its own row. Otherwise, a row has a range
    of values. Each range is twice as wide as the range before.

    values, counts: The displacements or buffer occupancies, and the number of packets with each of them.
    total: The number of packets that corresponds to a share of 100 %.
    rows: The maximum number of values for which each value has its own row.
    Returns: Rows of (text, count, share), ordered by value. Ranges begin at powers of two on both sides of 0. All files
        have the same ranges, so results can be compared.

    >>> compact([-1, 0, 2], [1, 8, 1], 10)
    [('-1', 1, 0.1), ('0', 8, 0.8), ('2', 1, 0.1)]
    """
    pairs = [(int(value), int(count)) for value, count in zip(values, counts, strict=True)]
    # A window of 1000 packets can have 2000 different displacements. Ranges of displacements reduce any density to two
    # dozen rows and keep its shape near 0.
    if len(pairs) <= rows:
        return [(str(value), count, count / total) for value, count in pairs]
    lines: dict[tuple[int, int], int] = {}
    for value, count in pairs:
        # The ranges are 0, 1, 2-3, 4-7, 8-15, ..., and for negative values -1, -3 to -2, -7 to -4, ...
        low = 1 << (abs(value).bit_length() - 1) if value else 0
        ends = (low, 2 * low - 1) if value > 0 else (1 - 2 * low, -low) if value else (0, 0)
        lines[ends] = lines.get(ends, 0) + count
    return [
        (str(low) if low == high else f"{low} to {high}", count, count / total)
        for (low, high), count in sorted(lines.items())
    ]


def _scalars(document: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return each quantity as (name, value). In the groups extent, gaps and runs, each name begins with the name of the
    group.

    >>> _scalars({"received_pkts": 3, "extent": {"mean": 1.0}})
    [('received_pkts', 3), ('extent: mean', 1.0)]
    """
    lines = []
    for key, value in document.items():
        # The values of the keys below are long lists, or are printed as separate tables.
        if key in ("density", "buffer_density", "n_reordering", "overtaken_ratio"):
            continue
        if isinstance(value, dict):
            lines += [(f"{key}: {name}", number) for name, number in value.items() if not isinstance(number, dict)]
        else:
            lines.append((key, value))
    return lines


def _name(file: str) -> str:
    return "standard input" if file == "-" else Path(file).name


def _flow_text(flow: Flow) -> str:
    from leowarp.reordering.captures import described

    return f"flow {described(flow)}"


def _draw(measured: Measured, file: str, folder: Path, formats: list[Drawn]) -> list[Path]:
    """Draw RD, RBD and n-reordering in each of the formats, and return the written files."""
    from leowarp.report.curves import densities
    from leowarp.report.style import save

    result = measured.reordering
    rd, rbd, n = result.density, result.buffer_density, result.n_reordering
    # The footer names file, flow, counts and threshold, so that a reader understands the figure without the command.
    where = _name(file) if measured.flow is None else f"{_name(file)}, {_flow_text(measured.flow)}"
    counts = f"{where} · received: {result.received_pkts:,} · duplicates: {result.duplicate_pkts:,} · lost: "
    counts += f"{result.lost_pkts:,}"
    scalars = f"MD = {scalar_text(rd.mean_displacement_pkts)} packets, E_r = {scalar_text(rd.entropy_nats)} nats"
    mean = f"mean {scalar_text(rbd.buffer_mean_pkts)} packets"
    figures = {}
    # A density without packets cannot be drawn; the figure of n-reordering then says that there are no packets.
    if rd.counted_pkts:
        figures["density"] = densities.figure_of(
            densities.draw_density,
            [densities.Shares(rd.displacement_pkts, rd.share)],
            footer=f"{counts} · threshold: {rd.threshold_pkts:,} packets",
            title=scalars,
        )
    if rbd.counted_pkts:
        figures["buffer-density"] = densities.figure_of(
            densities.draw_buffer_density,
            [densities.Shares(rbd.occupancy_pkts, rbd.share)],
            footer=f"{counts} · threshold: {rbd.threshold_pkts:,} packets",
            title=mean,
        )
    shares = [densities.Shares(n.n, n.share)]
    figures["n-reordering"] = densities.figure_of(densities.draw_n_reordering, shares, footer=counts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for name, figure in figures.items() for path in save(figure, folder / name, formats)]
    except OSError as error:
        raise HostError(f"writing figures into {folder}: {error.strerror}", hint="--figures DIRECTORY") from error


@contextmanager
def _shown(file: str) -> Iterator[Callable[[float | None, int], None]]:
    """Yield a function that shows progress on stderr while a long file is read. Its arguments are the share that is
    done (or None), and the number of packets. On a terminal, the progress is a bar. Otherwise, it is a line every few
    seconds. Nothing is shown for a short file, because on a terminal the bar appears only after half a second.
    """
    is_bar = is_terminal()
    begun = said = time.monotonic()

    def show(done_ratio: float | None, packets: int) -> None:
        nonlocal said
        now = time.monotonic()
        # On a terminal, the bar may change twice per second. In a log every line remains, so lines come less often.
        if now - said < (0.5 if is_bar else PLAIN_INTERVAL_S):
            return
        said = now
        share = "" if done_ratio is None else f"{100 * done_ratio:.0f} % read, "
        line = f"{one_line(_name(file))}: {share}{packets:,} packets, {now - begun:.0f} s"
        print(f"\r\x1b[K{line}" if is_bar else line, end="" if is_bar else "\n", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if is_bar and said > begun:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
