# SPDX-License-Identifier: Apache-2.0
"""Writes a measurement from any tool as CSV, which `[measured]` and `leowarp timeline describe` read."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.base import plainfiles, printable
from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.description import gaps_of
from leowarp.timeline.recordings.measurement import UNSHAPED, Capacity, Measurement, Series, Times


def csv_of(measurement: Measurement) -> Iterator[str]:
    """Yield the lines of the CSV, with line ends: comments about the origin, a header, rows.

    The times are wall-clock times if the measurement has a wall clock. The times and delays are exact to the ns, and
    rates to the bit/s. If the table has no column for some values, they are omitted, and a comment says so. Examples of
    omitted values are retransmissions, congestion windows, and the direction of a loss.

    Raises ScenarioError if the measurement contains neither delays nor rates.
    """
    t_ns, columns = _transfer(measurement) if measurement.transfer is not None else _rows(measurement)
    for note in _notes(measurement):
        # A line feed in a name is replaced. Otherwise, the rest of the name would be read as a row of the table
        # (`test_names_cannot_break_out_of_a_comment`).
        yield f"# {printable.one_line(note)}\n"
    yield ",".join(("t_s", *columns)) + "\n"
    cells = list(columns.values())
    for row, at_ns in enumerate((t_ns + (measurement.wall_ns or 0)).tolist()):
        yield ",".join((_decimal(at_ns, 9), *(column[row] for column in cells))) + "\n"


def _rows(measurement: Measurement) -> tuple[Times, dict[str, list[str]]]:
    # Round trips are preferred to one-way delays, because one-way delays are differences of two clocks.
    series = measurement.round_trip if measurement.round_trip is not None else measurement.down
    columns: dict[str, list[str]] = {}
    if series is not None and len(series):
        t_ns, cut = series.t_ns, series.cut
        columns["delay_ms" if measurement.round_trip is None else "rtt_ms"] = _delays(series)
        up = measurement.up if measurement.round_trip is None else None
        # A table has only one column of times. If the directions have different times, the uplink is left out, because
        # resampling needs the user's request.
        if up is not None and np.array_equal(up.t_ns, t_ns):
            columns["delay_up_ms"] = _delays(up, of_cut="")
        loss_up = measurement.loss_up_ratio if up is None else up.loss_ratio
        for name, ratio in (("loss_ratio", series.loss_ratio), ("loss_up_ratio", loss_up)):
            if ratio is not None:
                columns[name] = ["" if here else f"{value:.12g}" for value, here in zip(ratio, cut, strict=True)]
    elif measurement.capacity_down is not None:
        t_ns = measurement.capacity_down.t_ns
        if measurement.capacity_up is not None:
            t_ns = np.union1d(t_ns, measurement.capacity_up.t_ns)
        cut = np.zeros(len(t_ns), dtype=bool)
    else:
        raise ScenarioError(f"{measurement.source}: it holds neither delays nor rates", "there is nothing to write")
    for name, capacity in (("rate_mbps", measurement.capacity_down), ("rate_up_mbps", measurement.capacity_up)):
        if capacity is not None:
            columns[name] = _rates(capacity, t_ns, cut)
    return t_ns, columns


def _transfer(measurement: Measurement) -> tuple[Times, dict[str, list[str]]]:
    transfer = measurement.transfer
    assert transfer is not None
    columns = {}
    if not np.isnan(transfer.rtt_ns).any() and (transfer.rtt_ns > 0).all():
        columns["rtt_ms"] = [_decimal(round(value), 6) for value in transfer.rtt_ns.tolist()]
    # The column `rate_mbps` contains the downlink's transfer if both directions were tested, and otherwise the only
    # transfer. A table without delays must have the column `rate_mbps`.
    back = measurement.transfer_back
    for name, one in (("rate_mbps", back or transfer), ("rate_up_mbps", None if back is None else transfer)):
        if one is not None:
            columns[name] = [_decimal(round(rate), 6) for rate in one.rate_bps.tolist()]
    return transfer.t_ns, columns


def _delays(series: Series, of_cut: str = "down") -> list[str]:
    """Return the cells of a column of delays, in ms. If a row has no connection, its cell is `of_cut`."""
    return [
        of_cut if cut else "lost" if lost or delay_ns != delay_ns else _decimal(int(delay_ns), 6)
        for delay_ns, lost, cut in zip(series.delay_ns.tolist(), series.lost.tolist(), series.cut.tolist(), strict=True)
    ]


def _rates(capacity: Capacity, t_ns: Times, cut: NDArray[np.bool_]) -> list[str]:
    """Return the cells of a rate column, in Mbit/s. Each cell contains the rate that is valid at its row's time."""
    place = np.maximum(np.searchsorted(capacity.t_ns, t_ns, side="right") - 1, 0)
    return [
        "" if here else "unshaped" if rate == UNSHAPED else _decimal(rate, 6)
        for rate, here in zip(capacity.rate_bps[place].tolist(), cut.tolist(), strict=True)
    ]


def _notes(measurement: Measurement) -> Iterator[str]:
    yield f"{Path(measurement.source).name} ({measurement.format})"
    yield from measurement.notes
    if measurement.transfer is not None:
        way = "down, and up" if measurement.transfer_back is not None else measurement.transfer.way
        yield f"each row is an interval of a transfer, {way}; its round trip was measured at its end"
        yield "retransmissions and congestion windows have no column here"
    if any(lost is not None and lost.any() for lost in (measurement.lost_down, measurement.lost_up)):
        yield "which way probes were lost has no column here"
    if measurement.clock_steps:
        yield f"the sender's clock was set {len(measurement.clock_steps)} times, and times are as it showed them"
    series = measurement.round_trip if measurement.round_trip is not None else measurement.down
    gaps = gaps_of(series, probes=True) if series is not None and measurement.probes else ()
    if gaps:
        longest_s = max(gap.length_ns for gap in gaps) / 1e9
        yield f"{len(gaps)} gaps, the longest {longest_s:g} s: in a table the row before one holds through it"


def _decimal(value: int, places: int) -> str:
    """Return `value` divided by 10^`places` as decimal text, without trailing zeros."""
    # Decimal is exact, so that reading the file gives the same value in ns.
    return f"{Decimal(value).scaleb(-places).normalize():f}"


def csv_path(source: Path, out: Path | None, *, force: bool) -> Path:
    """Return the path of the CSV file for a measurement.

    Raises ScenarioError if the file exists and `force` is not set, if it is not a plain file, or if it is the
        measurement itself.
    """
    target = source.with_suffix(".csv") if out is None else out
    plainfiles.refuse_link(target)
    if target.exists() and source.exists() and target.samefile(source):
        raise ScenarioError(f"cannot write {target}: it is what is read", "name another file: --out FILE.csv")
    if target.is_file() and not force:
        raise ScenarioError(f"cannot write {target}: it is there", "name another file (--out), or say --force")
    return target


def write_csv(lines: Iterator[str], target: Path) -> int:
    """Write the lines, and return the number of rows.

    Raises ScenarioError if the file cannot be written.
    """
    # All lines are computed before the file is opened, so that an error in a cell does not leave a partial file.
    text = list(lines)
    try:
        # /dev/stdout is written directly, because `plainfiles.write` would replace it by a new file.
        if str(target).startswith("/dev/"):
            target.write_text("".join(text), encoding="utf-8")
        else:
            plainfiles.write(target, "".join(text).encode())
    except OSError as error:
        raise ScenarioError(f"cannot write {target}: {error.strerror}", "name another file: --out FILE.csv") from error
    return sum(not line.startswith("#") for line in text) - 1
