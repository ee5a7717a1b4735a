# SPDX-License-Identifier: Apache-2.0
"""The verb `reorder`: an arrival sequence to all metrics of RFC 4737 and RFC 5236."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leowarp.cli import options
from leowarp.cli.output import say
from leowarp.errors import HostError, ScenarioError
from leowarp.printable import one_line

if TYPE_CHECKING:
    from leowarp.reordering import Flow, Measured, Source


class Format(StrEnum):
    """What a file may be."""

    text = "text"
    csv = "csv"
    parquet = "parquet"
    pcap = "pcap"


class Protocol(StrEnum):
    """What numbers the packets of a capture."""

    icmp = "icmp"
    tcp = "tcp"
    rtp = "rtp"
    udp = "udp"


class TimeUnit(StrEnum):
    """Of a column with times."""

    s = "s"
    ms = "ms"
    us = "us"
    ns = "ns"


class Order(StrEnum):
    """Which byte of a number comes first."""

    big = "big"
    little = "little"


class Drawn(StrEnum):
    """A figure's format."""

    svg = "svg"
    pdf = "pdf"
    png = "png"


_METRICS, _TABLES, _CAPTURES = "Metrics", "CSV and Parquet", "Captures"


def reorder(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Text (a sequence number a line), CSV, Parquet, pcap or pcapng; - is standard input."
        ),
    ],
    threshold: Annotated[
        int, typer.Option("--threshold", "-t", help="D_T: displaced by more is lost, in RD.", rich_help_panel=_METRICS)
    ] = 200,
    buffer_threshold: Annotated[
        int | None,
        typer.Option(help="B_T: places in RBD's buffer; as --threshold if not given.", rich_help_panel=_METRICS),
    ] = None,
    loss_window: Annotated[
        int, typer.Option(help="RFC 4737: later by more numbers than this is lost.", rich_help_panel=_METRICS)
    ] = 65_536,
    n_max: Annotated[int, typer.Option(help="n-reordering up to this n.", rich_help_panel=_METRICS)] = 10,
    first: Annotated[
        int | None, typer.Option(help="Number of the first packet that was sent.", rich_help_panel=_METRICS)
    ] = None,
    sent: Annotated[
        int | None, typer.Option(help="Packets that were sent: shows losses at the end.", rich_help_panel=_METRICS)
    ] = None,
    bits: Annotated[
        int | None, typer.Option(help="Width of numbers that wrap around: 16, 32.", rich_help_panel=_METRICS)
    ] = None,
    input_: Annotated[
        Format | None, typer.Option("--input", help="What FILE is; by its first bytes and its name if not given.")
    ] = None,
    sequence: Annotated[
        str | None, typer.Option(help="Column of the numbers: name, or number from 1.", rich_help_panel=_TABLES)
    ] = None,
    time_: Annotated[
        str | None, typer.Option("--time", help="Column of the arrivals' times.", rich_help_panel=_TABLES)
    ] = None,
    time_unit: Annotated[
        TimeUnit | None, typer.Option(help="Its unit, unless its name ends in _s, ..., _ns.", rich_help_panel=_TABLES)
    ] = None,
    bytes_: Annotated[
        str | None, typer.Option("--bytes", help="Column of the payloads.", rich_help_panel=_TABLES)
    ] = None,
    header: Annotated[
        bool, typer.Option("--header/--no-header", help="Whether a first line names columns.", rich_help_panel=_TABLES)
    ] = True,
    protocol: Annotated[
        Protocol | None,
        typer.Option(help="ICMP echo requests or TCP data are found; RTP and UDP must be named.",
                     rich_help_panel=_CAPTURES),
    ] = None,
    flow: Annotated[
        int | None, typer.Option(help="Which flow, counted from 0, if there are several.", rich_help_panel=_CAPTURES)
    ] = None,
    flows: Annotated[
        bool, typer.Option("--flows", help="List the flows and measure none.", rich_help_panel=_CAPTURES)
    ] = False,
    field_offset: Annotated[
        int | None, typer.Option(help="UDP: bytes of payload before the number.", rich_help_panel=_CAPTURES)
    ] = None,
    field_size: Annotated[int, typer.Option(help="UDP: its bytes, 2, 4 or 8.", rich_help_panel=_CAPTURES)] = 4,
    field_order: Annotated[
        Order, typer.Option(help="UDP: which of them comes first.", rich_help_panel=_CAPTURES)
    ] = Order.big,
    figures: Annotated[Path | None, typer.Option(help="Draw RD, RBD and n-reordering into this directory.")] = None,
    format_: Annotated[
        list[Drawn] | None, typer.Option("--format", help="Of the figures; may be repeated; all three if not given.")
    ] = None,
    json_: options.Json = False,
) -> None:  # fmt: skip
    """Reordering of any arrival sequence, by RFC 4737 and RFC 5236: text, CSV, Parquet or a capture."""
    from leowarp import reordering
    from leowarp.cli.output import note, print_json

    source = reordering.Source(
        format=input_, sequence=sequence, time=time_, time_unit=time_unit, bytes=bytes_, header=header,
        protocol=protocol, flow=flow, field_offset=field_offset, field_size=field_size, field_order=field_order,
    )  # fmt: skip
    if flows:
        _print_flows(file, source, json_)
        return
    if format_ and figures is None:
        raise ScenarioError("--format is of figures, and none are drawn", hint="--figures DIRECTORY")
    with _Shown(file) as shown:
        measured = reordering.measure_file(
            file, source=source, sent_pkts=sent, on_progress=shown, threshold_pkts=threshold,
            buffer_threshold_pkts=buffer_threshold, loss_window_pkts=loss_window, n_max=n_max, first_seq=first,
            bits=bits,
        )  # fmt: skip
    for text in measured.notes:
        note(f"warning: {text}")
    drawn = [] if figures is None else _draw(measured, file, figures, format_ or list(Drawn))
    if json_:
        print_json(
            {**_facts(measured, file), **measured.reordering.to_dict(), "figures": [str(path) for path in drawn]}
        )
        return
    _print_tables(measured, file)
    for path in drawn:
        say(path)


# Implements RFC 4737, 1.3 (context).
def _facts(measured: Measured, file: str) -> dict[str, Any]:
    from dataclasses import asdict

    flow = None if measured.flow is None else asdict(measured.flow)
    return {"file": file, "format": measured.format, "flow": flow, "capture": measured.counts or None,
            "warnings": measured.notes}  # fmt: skip


def _print_flows(file: str, source: Source, as_json: bool) -> None:
    from dataclasses import asdict

    from leowarp import reordering
    from leowarp.cli.output import print_json, print_table

    found = reordering.flows(file, source=source)
    if as_json:
        print_json({"file": file, "flows": [asdict(flow) for flow in found]})
        return
    print_table(
        f"{_name(file)}, flows: {len(found)}",
        ("flow", "protocol", "from", "to", "id", "packets", "payload, bytes", "seconds"),
        [
            (flow.flow, flow.protocol, flow.source, flow.destination, flow.id, flow.packets_pkts, flow.payload_bytes,
             _seconds(flow))
            for flow in found
        ],
        text=("protocol", "from", "to"),
    )  # fmt: skip


def _seconds(flow: Flow) -> str | None:
    if flow.first_ns is None or flow.last_ns is None:
        return None
    return f"{(flow.last_ns - flow.first_ns) / 1e9:.3f}"


def _print_tables(measured: Measured, file: str) -> None:
    from leowarp.cli.output import print_table

    found = measured.reordering
    title = _name(file) if measured.flow is None else f"{file}, {_flow_text(measured.flow)}"
    print_table(title, ("quantity", "value"), [(name, _text(value)) for name, value in _scalars(found.to_dict())])
    print_table(
        f"RD: share of packets by displacement (early negative, late positive), D_T = {found.density.threshold_pkts}",
        ("displacement", "packets", "share"),
        [(row, pkts, _text(share)) for row, pkts, share in
         compact(found.density.displacement_pkts, found.density.pkts, found.density.counted_pkts)],
    )  # fmt: skip
    print_table(
        f"RBD: share of arrivals by packets in the buffer, B_T = {found.buffer_density.threshold_pkts}",
        ("in the buffer", "arrivals", "share"),
        [(row, pkts, _text(share)) for row, pkts, share in
         compact(found.buffer_density.occupancy_pkts, found.buffer_density.pkts, found.buffer_density.counted_pkts)],
    )  # fmt: skip
    n = found.n_reordering
    print_table(
        "n-reordering: share of the packets received",
        ("n", "packets", "share"),
        [(at, pkts, _text(share)) for at, pkts, share in zip(n.n, n.pkts, n.share.tolist(), strict=True)],
    )


def compact(values: Any, counts: Any, total: int, rows: int = 21) -> list[tuple[str, int, float]]:
    """Value or range of values, count and share: a line each if there are few, else ranges that double in width."""
    pairs = [(int(value), int(count)) for value, count in zip(values, counts, strict=True)]
    if len(pairs) <= rows:
        return [(str(value), count, count / total) for value, count in pairs]
    lines: dict[tuple[int, int], int] = {}
    for value, count in pairs:
        # 0, 1, 2-3, 4-7, 8-15, ... and the same below 0
        low = 1 << (abs(value).bit_length() - 1) if value else 0
        ends = (low, 2 * low - 1) if value > 0 else (1 - 2 * low, -low) if value else (0, 0)
        lines[ends] = lines.get(ends, 0) + count
    return [
        (str(low) if low == high else f"{low} to {high}", count, count / total)
        for (low, high), count in sorted(lines.items())
    ]


def _scalars(found: dict[str, Any]) -> list[tuple[str, Any]]:
    """Quantities by name, those of extent, gaps and runs with their group before."""
    lines = []
    for key, value in found.items():
        if key in ("density", "buffer_density", "n_reordering", "overtaken_ratio"):
            continue
        if isinstance(value, dict):
            lines += [(f"{key}: {name}", number) for name, number in value.items() if not isinstance(number, dict)]
        else:
            lines.append((key, value))
    return lines


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if value < 1e6 else f"{value:,.0f}"


def _name(file: str) -> str:
    return "standard input" if file == "-" else Path(file).name


def _flow_text(flow: Flow) -> str:
    from leowarp.reordering.files import described

    return f"flow {described(flow)}"


def _draw(measured: Measured, file: str, folder: Path, formats: list[Drawn]) -> list[Path]:
    from leowarp.report import densities
    from leowarp.report.style import save

    found = measured.reordering
    rd, rbd, n = found.density, found.buffer_density, found.n_reordering
    where = _name(file) if measured.flow is None else f"{_name(file)}, {_flow_text(measured.flow)}"
    counts = f"{where} · received: {found.received_pkts:,} · duplicates: {found.duplicate_pkts:,} · lost: "
    counts += f"{found.lost_pkts:,}"
    scalars = f"MD = {_text(rd.mean_displacement_pkts)} packets, E_r = {_text(rd.entropy_nats)} nats"
    mean = f"mean {_text(rbd.mean_occupancy_pkts)} packets"
    figures = {}
    if rd.counted_pkts:
        figures["density"] = densities.density(
            [densities.Shares(rd.displacement_pkts, rd.share)],
            footer=f"{counts} · threshold: {rd.threshold_pkts:,} packets", title=scalars,
        )  # fmt: skip
    if rbd.counted_pkts:
        figures["buffer-density"] = densities.buffer_density(
            [densities.Shares(rbd.occupancy_pkts, rbd.share)],
            footer=f"{counts} · threshold: {rbd.threshold_pkts:,} packets", title=mean,
        )  # fmt: skip
    figures["n-reordering"] = densities.n_reordering([densities.Shares(n.n, n.share)], footer=counts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for name, figure in figures.items() for path in save(figure, folder / name, formats)]
    except OSError as error:
        raise HostError(f"writing figures into {folder}: {error.strerror}", hint="--figures DIRECTORY") from error


class _Shown:
    """How far a long file has been read, on stderr: a bar on a terminal, elsewhere a line every few seconds."""

    def __init__(self, file: str) -> None:
        self._file = one_line(_name(file))
        self._said = 0.0
        self._begun = 0.0

    def __enter__(self) -> _Shown:
        self._clock, self._stream, self._is_terminal = time.monotonic, sys.stderr, sys.stderr.isatty()
        self._begun = self._said = self._clock()
        return self

    def __exit__(self, *what: object) -> None:
        if self._is_terminal and self._said > self._begun:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    def __call__(self, done_ratio: float | None, packets: int) -> None:
        from leowarp.progress import PLAIN_INTERVAL_S

        now = self._clock()
        if now - self._said < (0.5 if self._is_terminal else PLAIN_INTERVAL_S):
            return
        self._said = now
        share = "" if done_ratio is None else f"{100 * done_ratio:.0f} % read, "
        line = f"{self._file}: {share}{packets:,} packets, {now - self._begun:.0f} s"
        print(f"\r\x1b[K{line}" if self._is_terminal else line, end="" if self._is_terminal else "\n",
              file=self._stream, flush=True)  # fmt: skip
