# SPDX-License-Identifier: Apache-2.0
"""CSV with a header: the user's own table of a path's delays, or only of its capacity. The guide
docs/guides/your-own-measured-path.md says what each column means. A table of capacity has the columns ``t_s``,
``rate_mbps`` (or ``mbps``), and optionally ``rate_up_mbps``.

If a column for B to A is missing, the value of A to B also applies to B to A. An empty cell is an error, because
leowarp would have to guess its value.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.lines import numbered, text_of
from leowarp.timeline.recordings.measurement import UNSHAPED, Capacity, Measurement, Series
from leowarp.timeline.recordings.window import Stretch, part_of

COLUMNS = ("t_s", "delay_ms", "rtt_ms", "rate_mbps", "loss_ratio", "delay_up_ms", "rate_up_mbps", "loss_up_ratio")
_CAPACITY_COLUMNS = ("t_s", "rate_mbps", "rate_up_mbps")
_OTHER_NAMES = {"mbps": "rate_mbps"}
_HEADER = f"columns: t_s, delay_ms (or rtt_ms), and if known {', '.join(COLUMNS[3:])}"
_CAPACITY_HEADER = "columns: t_s, rate_mbps (or mbps), and if known rate_up_mbps"
_CLOCK_S = 1_000_000_000
"""If the first time is at least this value, times are on the wall clock. Interpreted as seconds since 1970, this value
is a time on 2001-09-09."""


def looks_like_csv(text: str) -> bool:
    """Return whether the file's first line is a header of a table of delays or of capacity."""
    lines = numbered(text)
    return bool(lines) and "t_s" in {name.strip() for name in lines[0][1].split(",")}


def read_csv(path: Path, stretch: Stretch | None = None) -> Measurement:
    """Return a table of delays. If the table is large and `stretch` is given, only the rows around the stretch are read
    (`window`).

    Raises ScenarioError, with file and line.
    """
    table = _read(path, COLUMNS, _HEADER, stretch)
    if ("delay_ms" in table.columns) == ("rtt_ms" in table.columns):
        what = "both delay_ms and rtt_ms" if "rtt_ms" in table.columns else "missing columns: 'delay_ms'"
        raise ScenarioError(f"{path}:{table.header_line}: {what}", _HEADER)
    if "rtt_ms" in table.columns and "delay_up_ms" in table.columns:
        raise ScenarioError(f"{path}:{table.header_line}: delay_up_ms beside rtt_ms", "one-way delays or round trips")
    delay = "delay_ms" if "delay_ms" in table.columns else "rtt_ms"
    cut = table.words(delay, "down")
    # `check_cut` is called before any number is read. Otherwise, cells that must be empty would cause an error about a
    # missing number.
    table.check_cut(delay, cut)
    t_ns, wall_ns = table.times_ns()
    lost = table.words(delay, "lost")
    loss = table.numbers("loss_ratio", cut) if "loss_ratio" in table.columns else None
    loss_up = table.numbers("loss_up_ratio", cut) if "loss_up_ratio" in table.columns else None
    series = Series(t_ns=t_ns, delay_ns=table.numbers(delay, cut | lost), lost=lost, cut=cut, loss_ratio=loss)
    one_way = delay == "delay_ms"
    return Measurement(
        source=str(path),
        format="csv",
        round_trip=None if one_way else series,
        down=series if one_way else None,
        up=_up(table, series, cut, loss_up) if one_way else None,
        loss_up_ratio=None if one_way else loss_up,
        capacity_down=table.capacity("rate_mbps", t_ns, cut),
        capacity_up=table.capacity("rate_up_mbps", t_ns, cut),
        probes=False,
        wall_ns=wall_ns,
        longest_step_ns=table.longest_ns,
    )


def read_capacity_csv(path: Path) -> tuple[Capacity, Capacity | None, int | None]:
    """Return the capacity down, the capacity up, and the wall-clock time of the table's time 0. The capacity up and the
    time are None if the table lacks them.

    Raises ScenarioError with file and line if the table is malformed.
    """
    table = _read(path, _CAPACITY_COLUMNS, _CAPACITY_HEADER)
    if "rate_mbps" not in table.columns:
        raise ScenarioError(f"{path}:{table.header_line}: missing columns: 'rate_mbps'", _CAPACITY_HEADER)
    t_ns, wall_ns = table.times_ns()
    never = np.zeros(len(t_ns), dtype=bool)
    down = table.capacity("rate_mbps", t_ns, never)
    assert down is not None
    return down, table.capacity("rate_up_mbps", t_ns, never), wall_ns


def _up(table: _Table, down: Series, cut: NDArray[np.bool_], loss_up: NDArray[np.float64] | None) -> Series | None:
    if "delay_up_ms" not in table.columns and loss_up is None:
        return None
    lost, delay_ns = down.lost, down.delay_ns
    if "delay_up_ms" in table.columns:
        lost = table.words("delay_up_ms", "lost")
        delay_ns = table.numbers("delay_up_ms", cut | lost)
    # An uplink without columns equals the downlink (see the module's docstring). If the table had no loss ratio, the
    # uplink must not get a loss ratio, because 0 would be an invented value.
    ratio = down.loss_ratio if loss_up is None else loss_up
    return Series(t_ns=down.t_ns, delay_ns=delay_ns, lost=lost, cut=cut, loss_ratio=ratio)


@dataclass(frozen=True)
class _Table:
    """The cells of the table by column, and the line of each row.

    zero_ns: If only a part of the table was read, the wall-clock time of the table's first row. None means that time 0
        is the first row that was read.
    longest_ns: The longest time between two successive rows of the whole table, if only a part of the table was read.
    """

    path: Path
    header_line: int
    lines: list[int]
    columns: dict[str, list[str]]
    hint: str
    zero_ns: int | None = None
    longest_ns: int | None = None

    def times_ns(self) -> tuple[NDArray[np.int64], int | None]:
        """Return the times relative to the table's time 0, and the wall-clock time at time 0."""
        # Times are computed with Decimal, not with float: seconds since 1970 with nine decimals have 19 digits, but a
        # float has 15 to 17.
        t_ns = np.array([int(t_s * 1_000_000_000) for t_s in self._decimals("t_s", None)], dtype=np.int64)
        for place in np.flatnonzero(np.diff(t_ns) <= 0)[:1]:
            raise ScenarioError(
                f"{self.path}:{self.lines[place + 1]}: t_s = {t_ns[place + 1] / 1e9:g} is not after the "
                f"{t_ns[place] / 1e9:g} of line {self.lines[place]}",
                "rows are in order of time, each time once",
            )
        if t_ns[0] >= _CLOCK_S * 1_000_000_000:
            zero_ns = int(t_ns[0]) if self.zero_ns is None else self.zero_ns
            return t_ns - zero_ns, zero_ns
        return t_ns, None

    def words(self, name: str, word: str) -> NDArray[np.bool_]:
        """Return whether each cell of a column is this word, as a bool array of shape (rows,)."""
        return np.array([cell == word for cell in self.columns[name]], dtype=bool)

    def numbers(self, name: str, without: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the numbers of a column, delays in ns. If `without` is True for a row, its number is nan.

        without: bool array of shape (rows,). In the marked rows, the cell is empty or contains a word instead of a
            number.
        Raises ScenarioError, with file and line, for a cell that is not a number or out of range.
        """
        return np.array([float(value) for value in self._decimals(name, without)])

    def capacity(self, name: str, t_ns: NDArray[np.int64], cut: NDArray[np.bool_]) -> Capacity | None:
        """Return the rates of a column as a capacity. The result is None if the column is missing, or if no row has a
        connection.

        t_ns: int64 array of shape (rows,)
        cut: bool array of shape (rows,). True for the rows without a connection.
        """
        if name not in self.columns:
            return None
        unshaped = self.words(name, "unshaped")
        rates = self._decimals(name, cut | unshaped)
        known = np.flatnonzero(~cut)
        if not len(known):
            return None
        rate_bps = np.array([UNSHAPED if rate.is_nan() else int(rate) for rate in rates], dtype=np.int64)
        # While there is no connection, the rate has no effect, so rows without a connection get the previous row's
        # rate.
        rate_bps = rate_bps[known[np.maximum(np.searchsorted(known, np.arange(len(t_ns)), side="right") - 1, 0)]]
        # `prepend=-2` makes the first row always begin a new entry: -2 is neither a rate nor UNSHAPED (-1).
        begins = np.flatnonzero(np.diff(rate_bps, prepend=-2))
        return Capacity(t_ns=t_ns[begins], rate_bps=rate_bps[begins], end_ns=int(t_ns[-1]))

    def check_cut(self, delay: str, cut: NDArray[np.bool_]) -> None:
        """Check that only the time and `delay` have values in a row without a connection."""
        for place in np.flatnonzero(cut):
            for name, cells in self.columns.items():
                if cells[place] and name not in ("t_s", delay):
                    raise self._error(int(place), name, "a row that is down has no other values")

    def _decimals(self, name: str, without: NDArray[np.bool_] | None) -> Iterable[Decimal]:
        unit = name.rsplit("_", 1)[1]
        for place, text in enumerate(self.columns[name]):
            if without is not None and without[place]:
                yield Decimal("nan")
                continue
            if not text:
                raise self._error(place, name, "a gap is written as `down` in the delay's column; nothing is filled in")
            try:
                value = Decimal(text)
            except InvalidOperation:
                value = Decimal("nan")
            if not value.is_finite():
                raise self._error(place, name, "not a number")
            # The range is checked before the conversion, because Decimal accepts 1e999999, which as an int would have a
            # million digits.
            if not 0 <= value <= _HIGHEST[unit]:
                raise self._error(place, name, f"must be from 0 to {_HIGHEST[unit]}")
            # ms become ns, and Mbit/s become bit/s.
            yield (value * 1_000_000).to_integral_value() if unit in ("ms", "mbps") else value

    def _error(self, place: int, name: str, rule: str) -> ScenarioError:
        return ScenarioError(
            f"{self.path}:{self.lines[place]}: {name} = {self.columns[name][place]!r}: {rule}", self.hint
        )


def _read(path: Path, allowed: tuple[str, ...], hint: str, stretch: Stretch | None = None) -> _Table:
    part = None if stretch is None else part_of(path, stretch)
    lines = numbered(text_of(path)) if part is None else part.lines
    if not lines:
        raise ScenarioError(f"{path} is empty: a table needs a header and at least one row", hint)
    # The table is read line by line, so that every error can name its line. A quoted cell that extends over two lines
    # would need another reader. A table of numbers has no such cells.
    rows = [(number, _cells(path, number, line, hint)) for number, line in lines]
    header_line, header = rows[0][0], [_OTHER_NAMES.get(name, name) for name in rows[0][1]]
    unknown = [name for name in header if name not in allowed]
    missing = ["t_s"] if "t_s" not in header else []
    twice = sorted({name for name in header if header.count(name) > 1})
    for what, names in (("unknown columns", unknown), ("missing columns", missing), ("columns given twice", twice)):
        if names:
            raise ScenarioError(f"{path}:{header_line}: {what}: {', '.join(repr(name) for name in names)}", hint)
    for number, cells in rows[1:]:
        if len(cells) != len(header):
            raise ScenarioError(f"{path}:{number}: {len(cells)} cells under a header of {len(header)} columns", hint)
    if len(rows) == 1:
        raise ScenarioError(f"{path}:{header_line}: the table has a header and no rows", hint)
    columns = {name: [cells[place] for _, cells in rows[1:]] for place, name in enumerate(header)}
    known = (None, None) if part is None else (part.zero_ns, part.longest_ns)
    return _Table(path, header_line, [number for number, _ in rows[1:]], columns, hint, *known)


def _cells(path: Path, number: int, line: str, hint: str) -> list[str]:
    # csv raises an error for a cell of more than 131,072 characters, which is no number.
    try:
        return [cell.strip() for cell in next(csv.reader([line]))]
    except csv.Error as error:
        raise ScenarioError(f"{path}:{number}: {line[:40]!r} is no row of a table ({error})", hint) from error


_HIGHEST = {"s": 9_000_000_000, "ms": 60_000, "mbps": 1_000_000, "ratio": 1}
"""The largest number of a column, by the unit in which the column's name ends."""
