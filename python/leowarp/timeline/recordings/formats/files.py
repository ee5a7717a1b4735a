# SPDX-License-Identifier: Apache-2.0
"""Reads any measured file as a `Measurement`, and recognises by the content which tool wrote the file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.columns import looks_like_columns, read_columns
from leowarp.timeline.recordings.formats.documents import JSON_HINT
from leowarp.timeline.recordings.formats.iperf3 import looks_like_iperf3, read_iperf3
from leowarp.timeline.recordings.formats.irtt import looks_like_irtt, read_irtt
from leowarp.timeline.recordings.formats.lines import FORMATS_HINT, RECORD_HINT, end_notes, numbered, text_of
from leowarp.timeline.recordings.formats.mahimahi import OPPORTUNITY_BYTES, read_mahimahi
from leowarp.timeline.recordings.formats.other_tools import refused_tool
from leowarp.timeline.recordings.formats.ping import looks_like_ping, read_ping
from leowarp.timeline.recordings.formats.table import looks_like_csv, read_capacity_csv, read_csv
from leowarp.timeline.recordings.measurement import PING_BYTES, Capacity, Measurement, Series
from leowarp.timeline.recordings.repetition import repeated_capacity
from leowarp.timeline.recordings.window import Stretch, is_large_table

_LEOREPLAYER_INTERVAL_NS = 10_000_000
_LEOREPLAYER_LONGEST_MS = 60_000


def read(
    path: str | Path,
    format: str = "auto",
    interval_ns: int | None = None,
    columns: tuple[str, ...] | None = None,
    stretch: Stretch | None = None,
) -> Measurement:
    """Read a file of delays, or of a transfer.

    format: csv, irtt, ping, columns, leoreplayer or iperf3. With auto, the format is recognised from the file's
        content.
    interval_ns: The time between lines, for a format that does not contain it.
    columns: The names of the columns, if the table has no header (`columns.parsed_columns`). If names are given, the
        format is columns.
    stretch: The part of the measurement that is needed. Only this part of a large CSV table is read.
    Raises ScenarioError with file and line if the file cannot be read.
    """
    path = Path(path)
    if columns is not None and format not in ("auto", "columns"):
        raise ScenarioError(
            f"{path}: columns have no effect: they are of a table without a header, not of {format}", "take them out"
        )
    if format == "auto" and stretch is not None and columns is None and is_large_table(path):
        # Only the first line is inspected, because the whole text of a large table would take much memory.
        format = "csv"
    kind = "columns" if columns is not None else format_of(path) if format == "auto" else format
    # An option that has no effect for this format is rejected, because its user expects an effect.
    if interval_ns is not None and kind in ("csv", "irtt", "columns", "iperf3"):
        raise ScenarioError(f"{path}: an interval has no effect: {kind} says when each sample was", "take it out")
    match kind:
        case "csv":
            return read_csv(path, stretch)
        case "irtt":
            return read_irtt(path)
        case "ping":
            return read_ping(path, interval_ns)
        case "columns":
            return read_columns(path, columns)
        case "iperf3":
            return read_iperf3(path)
        case "leoreplayer":
            return _leoreplayer(path, _LEOREPLAYER_INTERVAL_NS if interval_ns is None else interval_ns)
    raise ValueError(f"no reader of {kind}")


def _leoreplayer(path: Path, interval_ns: int) -> Measurement:
    """Return the downlink delays of LeoReplayer's file: one line per 10 ms, with the one-way delay in whole ms. The
    delay of a line is valid until the next line. After the last line, LeoReplayer begins again (in leowarp:
    ``repeat``).

    The format is from SpaceNetLab/LeoCC, leoreplayer/README.md and replayer/src/frontend/delay_queue.cc at 867e673.
    """
    hint = "each line is one delay in whole ms, for instance 12"
    text = text_of(path)
    lines = numbered(text)
    if not lines:
        raise ScenarioError(f"{path} is empty", hint)
    for line, cell in lines:
        # isascii is needed in addition to isdigit, because isdigit accepts superscripts and the digits of all scripts.
        # int raises ValueError for thousands of digits, so the length is checked first.
        if not (cell.isascii() and cell.isdigit()) or len(cell) > 18 or int(cell) > _LEOREPLAYER_LONGEST_MS:
            rule = f"a whole number up to {_LEOREPLAYER_LONGEST_MS}"
            raise ScenarioError(f"{path}:{line}: {cell[:40]!r} is not a delay in ms ({rule})", hint)
    delay_ms = np.array([int(cell) for _, cell in lines], dtype=np.int64)
    series = Series.of(np.arange(len(delay_ms), dtype=np.int64) * interval_ns, delay_ms * 1e6)
    return Measurement(
        source=str(path),
        format="leoreplayer",
        down=series,
        # The delays are halves of ping's round trips, so they include the transmission time of a ping packet.
        probe_bytes=PING_BYTES,
        probes=False,
        end_ns=len(delay_ms) * interval_ns,
        notes=end_notes(text, lines[-1][0]),
    )


def read_capacity(
    path: str | Path, format: str = "auto", *, packet_bytes: int = OPPORTUNITY_BYTES, until_ns: int | None = None
) -> tuple[Capacity, Capacity | None, int | None]:
    """Read a file of capacity. The result is (capacity down, capacity up, wall-clock time in ns at the file's time 0).
    The second and the third are None if the file does not contain them.

    format: csv or mahimahi. With auto, the content decides.
    packet_bytes: The size of one opportunity in a Mahimahi trace.
    until_ns: The time until which the trace repeats.
    Raises ScenarioError with file and line if the file cannot be read.
    """
    path, kind = Path(path), format
    if kind == "auto":
        # A Mahimahi file has no header and contains only numbers. Every file without a header is therefore read as
        # Mahimahi, and the Mahimahi reader rejects files of other formats.
        kind = "csv" if looks_like_csv(text_of(path)) else "mahimahi"
    if kind == "mahimahi":
        return read_mahimahi(path, packet_bytes, until_ns), None, None
    if kind != "csv":
        raise ValueError(f"no reader of {kind}")
    down, up, wall_ns = read_capacity_csv(path)
    if until_ns is None:
        return down, up, wall_ns
    return repeated_capacity(down, until_ns), None if up is None else repeated_capacity(up, until_ns), wall_ns


def capacity_format_of(path: Path) -> str | None:
    """If the file can only contain capacity, return its format, csv or mahimahi. If the file may contain delays, return
    None."""
    lines = numbered(text_of(path))
    if lines and looks_like_csv(lines[0][1]):
        names = {name.strip() for name in lines[0][1].split(",")}
        return None if names & {"delay_ms", "rtt_ms"} else "csv"
    # Mahimahi's times of delivery opportunities never decrease, while delays do.
    numbers = [int(line) for _, line in lines if line.isascii() and line.isdigit() and len(line) < 18]
    rising = len(numbers) == len(lines) > 1 and all(a <= b for a, b in pairwise(numbers))
    return "mahimahi" if rising and numbers[-1] > numbers[0] else None


def format_of(path: Path) -> str:
    """Return the name of the file's format: csv, irtt, ping, columns, leoreplayer or iperf3.

    Raises ScenarioError if the file has none of these formats.
    """
    text = text_of(path)
    lines = numbered(text)
    if not lines:
        raise ScenarioError(f"{path} is empty", RECORD_HINT)
    first, line = lines[0]
    # Lines of ping -D begin with a bracket, as a JSON list does, so ping is checked before JSON.
    if looks_like_ping(text):
        return "ping"
    if not line.startswith("{") and (other := refused_tool(path, text)) is not None:
        raise other
    # A shell's 2>&1 puts warnings before the JSON.
    if line.startswith(("{", "[")) or any(line.startswith("{") for _, line in lines[:100]):
        if looks_like_iperf3(text):
            return "iperf3"
        if looks_like_irtt(text):
            return "irtt"
        raise ScenarioError(f"{path}: JSON with neither iperf3's intervals nor irtt's round_trips", JSON_HINT)
    # The format `columns` is checked before CSV. Its numbers may be separated by commas, as in a CSV table, but it has
    # no header.
    if looks_like_columns(text):
        return "columns"
    # A file whose header has wrong column names counts as CSV, so that the CSV reader reports the mistake.
    if looks_like_csv(text) or "," in line:
        return "csv"
    if line.isascii() and line.isdigit():
        return "leoreplayer"
    if "t_s" in {name.strip() for name in line.split(";")}:
        raise ScenarioError(
            f"{path}:{first}: a table whose cells are apart by semicolons, and not by commas",
            f"write a point in each number, and commas between cells: sed 's/,/./g; s/;/,/g' {path} > table.csv",
        )
    raise ScenarioError(
        f"{path}:{first}: neither a table with the column t_s, nor irtt's, ping's, iperf3's or LeoReplayer's",
        FORMATS_HINT,
    )
