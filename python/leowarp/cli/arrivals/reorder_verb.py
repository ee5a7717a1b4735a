# SPDX-License-Identifier: Apache-2.0
"""The verb `reorder`: all metrics of RFC 4737 and RFC 5236 for an arrival sequence."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import HostError
from leowarp.base.printable import one_line
from leowarp.base.status import is_terminal
from leowarp.cli.arrivals.reorder_request import Drawn, Request
from leowarp.cli.options import verb_of
from leowarp.cli.output import note, print_json, print_table, say

if TYPE_CHECKING:
    from leowarp.reordering import Flow, Measured, Skip, Source


@verb_of(Request)
def reorder(request: Request) -> None:
    """Reordering of any arrival sequence, by RFC 4737 and RFC 5236. The sequence is text, CSV, Parquet or a capture."""
    from leowarp import reordering

    file, source = request.file, request.source()
    # Opening a named pipe waits until another process writes into the pipe, so a message says that leowarp waits. An
    # anonymous pipe (/dev/fd/63) opens at once, and needs no message.
    if Path(os.path.realpath(file)).is_fifo():
        note(f"{_name(file)} is a named pipe: waiting for a process that writes into it (Ctrl-C ends this)")
    if request.flows:
        _print_flows(file, source, request.json_)
        return
    # The formats are checked before the file is read. A mistake in the options is thus reported at once, and not after
    # minutes of measurement.
    formats = request.formats()
    with _Shown(file) as shown:
        measured = reordering.measure_file(
            file, source=source, sent_pkts=request.sent, on_progress=shown, **request.settings().to_dict()
        )
    _say_skipped(measured.skipped)
    for text in measured.notes:
        note(f"warning: {text}")
    drawn = [] if request.figures is None else _draw(measured, file, request.figures, formats)
    if request.json_:
        print_json(
            {**_facts(measured, file), **measured.reordering.to_dict(), "figures": [str(path) for path in drawn]}
        )
        return
    _print_tables(measured, file)
    for path in drawn:
        say(path)


# Context of the measurement, as RFC 4737, 1.3, requires.
def _facts(measured: Measured, file: str) -> dict[str, Any]:
    """Return facts about the measurement: the file, the flow, the other contents of a capture, and warnings (RFC 4737,
    1.3).

    Returns: The facts. ``flow`` is None for text and tables. ``capture`` and ``captured_at`` are None if the file is
        not a capture.
    """
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
    """Print the flows of a capture with their numbers. The user can then choose a flow by its number.

    Raises LeowarpError in the same cases as `reordering.flows`: the file is not a capture, or cannot be read.
    """
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
    """Return the duration of a flow as text. The result is None if the capture has no times for the flow."""
    if flow.first_ns is None or flow.last_ns is None:
        return None
    return f"{(flow.last_ns - flow.first_ns) / 1e9:.3f}"


def _print_tables(measured: Measured, file: str) -> None:
    result = measured.reordering
    title = _name(file) if measured.flow is None else f"{file}, {_flow_text(measured.flow)}"
    rows = [(name, _text(value)) for name, value in _scalars(result.to_dict())]
    if measured.captured_at is not None:
        rows.insert(0, ("captured_at", measured.captured_at.text()))
    print_table(title, ("quantity", "value"), rows)
    print_table(
        f"RD: share of packets by displacement (early negative, late positive), D_T = {result.density.threshold_pkts}",
        ("displacement", "packets", "share"),
        [(row, pkts, _text(share)) for row, pkts, share in
         compact(result.density.displacement_pkts, result.density.pkts, result.density.counted_pkts)],
    )  # fmt: skip
    print_table(
        f"RBD: share of arrivals by packets in the buffer, B_T = {result.buffer_density.threshold_pkts}",
        ("in the buffer", "arrivals", "share"),
        [(row, pkts, _text(share)) for row, pkts, share in
         compact(result.buffer_density.occupancy_pkts, result.buffer_density.pkts, result.buffer_density.counted_pkts)],
    )  # fmt: skip
    n = result.n_reordering
    print_table(
        "n-reordering: share of the packets received",
        ("n", "packets", "share"),
        [(at, pkts, _text(share)) for at, pkts, share in zip(n.n, n.pkts, n.share.tolist(), strict=True)],
    )


def compact(values: Any, counts: Any, total: int, rows: int = 21) -> list[tuple[str, int, float]]:
    """Return the rows of a density. If there are few values, each value has its own row. Otherwise, a row has a range
    of values. Each range is twice as wide as the range before.

    values, counts: sequences of int. `values` has the displacements or buffer occupancies, and `counts` has the number
        of packets with each of them.
    total: The number of packets that corresponds to a share of 100 %.
    rows: The maximum number of values for which each value has its own row.
    Returns: list of (text, count, share). Rows are ordered by value. Ranges begin at powers of two on both sides of 0.
        All files have the same ranges, so results can be compared.

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


def _text(value: Any) -> str | None:
    """Return a number as text: integers with separators, other numbers with six digits.

    >>> _text(1_234_567), _text(0.12345678)
    ('1,234,567', '0.123457')
    """
    if value is None:
        return None
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if value < 1e6 else f"{value:,.0f}"


def _name(file: str) -> str:
    return "standard input" if file == "-" else Path(file).name


def _flow_text(flow: Flow) -> str:
    from leowarp.reordering.captures import described

    return f"flow {described(flow)}"


def _draw(measured: Measured, file: str, folder: Path, formats: list[Drawn]) -> list[Path]:
    """Draw RD, RBD and n-reordering in each of the formats.

    Returns: The written files. If a density has no packets, its figure is left out.
    Raises HostError if the folder cannot be written.
    """
    from leowarp.report.curves import densities
    from leowarp.report.style import save

    result = measured.reordering
    rd, rbd, n = result.density, result.buffer_density, result.n_reordering
    # The footer names file, flow, counts and threshold, so that a reader understands the figure without the command.
    where = _name(file) if measured.flow is None else f"{_name(file)}, {_flow_text(measured.flow)}"
    counts = f"{where} · received: {result.received_pkts:,} · duplicates: {result.duplicate_pkts:,} · lost: "
    counts += f"{result.lost_pkts:,}"
    scalars = f"MD = {_text(rd.mean_displacement_pkts)} packets, E_r = {_text(rd.entropy_nats)} nats"
    mean = f"mean {_text(rbd.buffer_mean_pkts)} packets"
    figures = {}
    # A density without packets cannot be drawn; the figure of n-reordering then says that there are no packets.
    if rd.counted_pkts:
        figures["density"] = densities.density(
            [densities.Shares(rd.displacement_pkts, rd.share)],
            footer=f"{counts} · threshold: {rd.threshold_pkts:,} packets",
            title=scalars,
        )
    if rbd.counted_pkts:
        figures["buffer-density"] = densities.buffer_density(
            [densities.Shares(rbd.occupancy_pkts, rbd.share)],
            footer=f"{counts} · threshold: {rbd.threshold_pkts:,} packets",
            title=mean,
        )
    figures["n-reordering"] = densities.n_reordering([densities.Shares(n.n, n.share)], footer=counts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for name, figure in figures.items() for path in save(figure, folder / name, formats)]
    except OSError as error:
        raise HostError(f"writing figures into {folder}: {error.strerror}", hint="--figures DIRECTORY") from error


class _Shown:
    """Shows progress on stderr while a long file is read. On a terminal, the progress is a bar. Otherwise, it is a line
    every few seconds.

    `reordering.measure_file` calls the object with two arguments: the share that is done (or None), and the number of
    packets. Nothing is shown for a short file, because on a terminal the bar appears only after half a second.
    """

    def __init__(self, file: str) -> None:
        self._file = one_line(_name(file))
        self._said = 0.0
        self._begun = 0.0

    def __enter__(self) -> _Shown:
        # stderr is looked up here, because a test or a notebook may have replaced it after the import.
        self._clock, self._stream, self._is_terminal = time.monotonic, sys.stderr, is_terminal()
        self._begun = self._said = self._clock()
        return self

    def __exit__(self, *what: object) -> None:
        if self._is_terminal and self._said > self._begun:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    def __call__(self, done_ratio: float | None, packets: int) -> None:
        from leowarp.base.progress import PLAIN_INTERVAL_S

        now = self._clock()
        # On a terminal, the bar may change twice per second. In a log every line remains, so lines come less often.
        if now - self._said < (0.5 if self._is_terminal else PLAIN_INTERVAL_S):
            return
        self._said = now
        share = "" if done_ratio is None else f"{100 * done_ratio:.0f} % read, "
        line = f"{self._file}: {share}{packets:,} packets, {now - self._begun:.0f} s"
        print(f"\r\x1b[K{line}" if self._is_terminal else line, end="" if self._is_terminal else "\n",
              file=self._stream, flush=True)  # fmt: skip
