# SPDX-License-Identifier: Apache-2.0
"""The timeline of a measured path: one link that follows a table.

The table is CSV with a header. Columns: ``t_s, delay_ms, rate_mbps, loss_ratio`` for A to B (and B to A, unless
``delay_up_ms, rate_up_mbps, loss_up_ratio`` say otherwise; each of the three by itself). Only ``t_s`` and ``delay_ms``
must be there: without a rate the link is unshaped, without a loss it loses nothing. Lines that begin with ``#`` are
comments.

- A row holds from its time on, until the next row; the last one to the end of the run. Times increase strictly, and
  the first is not later than the run's start.
- A gap is written, not left: ``down`` as ``delay_ms`` takes the link down in both directions until the next row; the
  other cells of that row are then empty. An empty cell elsewhere is an error, because a value would have to be guessed.
- The rate ``unshaped`` is allowed.
- ``run.start`` is the time of the table at which the run begins.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from leowarp.errors import ScenarioError
from leowarp.scenario.schema import Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.rounding import rounded_ns
from leowarp.timeline.row_of_routers import row_of_routers


@dataclass(frozen=True)
class Direction:
    """What one direction of the link does from a row on."""

    delay_ns: int
    rate_bps: int | None
    loss_ratio: float


@dataclass(frozen=True)
class Row:
    """A row of the table; `there` and `back` are None while the link is down."""

    line: int
    t_ns: int
    there: Direction | None
    back: Direction | None


def from_measured(plan: Plan) -> pa.Table:
    """The timeline of a plan's ``[measured]``; columns as in `timeline.schema`, metadata `warnings`.

    Raises
    ------
    ScenarioError
        If the table cannot be read or breaks a rule above; with file and line.
    """
    if plan.measured is None:
        raise ValueError("the plan has no measured path")
    path = plan.measured.file.path
    rows = measured_rows(path)
    start_ns = plan.run.start_ns
    # Of the rows up to the run's start only the last is in force.
    first = sum(row.t_ns <= start_ns for row in rows) - 1
    if first < 0:
        raise ScenarioError(
            f"{path}:{rows[0].line}: the table begins at {rows[0].t_ns / 1e9:g} s, the run at {start_ns / 1e9:g} s of "
            "its clock: the path is unknown before",
            f'begin the table at 0, or set run.start = "{rows[0].t_ns / 1e9:g} s"',
        )
    end_ns = start_ns + plan.run.duration_ns
    in_run = [row for row in rows[first:] if row.t_ns < end_ns]
    link = LinkKind.shaped(plan, "isl", plan.measured, "drain")
    events, _ = row_of_routers(plan, 1, link)
    _play(plan, events, link, in_run, start_ns)
    return events.table({"warnings": _warnings(path, rows, end_ns)})


def _play(plan: Plan, events: Events, link: LinkKind, rows: list[Row], start_ns: int) -> None:
    up = True  # row_of_routers has taken it up
    now: list[Direction | None] = [None, None]
    for row in rows:
        t_ns = max(row.t_ns - start_ns, 0)
        if row.there is None or row.back is None:
            if up:
                events.link_down(t_ns, 0, 1, link)
            up = False
            continue
        if not up:
            events.link_up(t_ns, 0, 1, link)
            now = [None, None]
        up = True
        for i, direction in enumerate((row.there, row.back)):
            before, now[i] = now[i], direction
            if before is None or before.delay_ns != direction.delay_ns:
                delay_ns = np.array([rounded_ns(plan, direction.delay_ns)])
                events.delays(t_ns, np.array([i]), np.array([1 - i]), delay_ns, both_ways=False)
            if before is None or before.rate_bps != direction.rate_bps:
                events.rate(t_ns, i, 1 - i, direction.rate_bps)
            if (before is None and direction.loss_ratio) or (before and before.loss_ratio != direction.loss_ratio):
                events.loss(t_ns, i, 1 - i, direction.loss_ratio)
    if link.limit_counts_flying:
        alive = [direction for row in rows for direction in (row.there, row.back) if direction is not None]
        rates = [direction.rate_bps for direction in alive if direction.rate_bps is not None]
        longest_ns = max((direction.delay_ns for direction in alive), default=0)
        events.make_room_for_flying({(0, 1): longest_ns}, max(rates, default=None))


def _warnings(path: Path, rows: list[Row], end_ns: int) -> list[str]:
    if len(rows) < 2:
        return []
    longest_ns = max(b.t_ns - a.t_ns for a, b in pairwise(rows))
    held_ns = end_ns - rows[-1].t_ns
    if held_ns <= longest_ns:
        return []
    return [
        f"{path}: the table ends at {rows[-1].t_ns / 1e9:g} s and its last row is held for {held_ns / 1e9:g} s, "
        f"longer than any other ({longest_ns / 1e9:g} s)"
    ]


def measured_rows(path: Path) -> list[Row]:
    """The table in a file; see the module for its rules.

    Raises
    ------
    ScenarioError
        With file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScenarioError(
            f"reading measured.file: {path}: {error.strerror}", "give the path of a CSV table"
        ) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"reading measured.file: {path} is not a text file (byte {error.start})") from error
    lines = ((n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#"))
    numbered = [(n, [cell.strip() for cell in next(csv.reader([line]))]) for n, line in lines]
    if not numbered:
        raise ScenarioError(f"{path} is empty: measured.file needs a header and at least one row", _HEADER)
    header_line, header = numbered[0]
    _check_header(path, header_line, header)
    rows = list(_rows(path, header, numbered[1:]))
    if not rows:
        raise ScenarioError(f"{path}:{header_line}: the table has a header and no rows", _HEADER)
    return rows


def _check_header(path: Path, line: int, header: list[str]) -> None:
    unknown = [name for name in header if name not in _COLUMNS]
    missing = [name for name in ("t_s", "delay_ms") if name not in header]
    twice = sorted({name for name in header if header.count(name) > 1})
    for what, names in (("unknown columns", unknown), ("missing columns", missing), ("columns given twice", twice)):
        if names:
            raise ScenarioError(f"{path}:{line}: {what}: {', '.join(repr(name) for name in names)}", _HEADER)


def _rows(path: Path, header: list[str], numbered: list[tuple[int, list[str]]]) -> Iterator[Row]:
    before: Row | None = None
    for line, cells in numbered:
        if len(cells) != len(header):
            raise ScenarioError(f"{path}:{line}: {len(cells)} cells under a header of {len(header)} columns", _HEADER)
        reader = _Cells(path, line, dict(zip(header, cells, strict=True)))
        row = reader.row()
        if before is not None and row.t_ns <= before.t_ns:
            raise ScenarioError(
                f"{path}:{line}: t_s = {row.t_ns / 1e9:g} is not after the {before.t_ns / 1e9:g} of line {before.line}",
                "rows are in order of time, each time once",
            )
        before = row
        yield row


@dataclass(frozen=True)
class _Cells:
    path: Path
    line: int
    cells: dict[str, str]

    def row(self) -> Row:
        t_ns = int(self._number("t_s", 1_000_000_000) * 1_000_000_000)
        if self.cells["delay_ms"] == "down":
            rest = [name for name, cell in self.cells.items() if cell and name not in ("t_s", "delay_ms")]
            if rest:
                raise self._error(rest[0], "a row that is down has no other values")
            return Row(self.line, t_ns, None, None)
        there = Direction(self._delay_ns("delay_ms"), self._rate_bps("rate_mbps"), self._loss("loss_ratio"))
        back = Direction(
            self._delay_ns("delay_up_ms") if "delay_up_ms" in self.cells else there.delay_ns,
            self._rate_bps("rate_up_mbps") if "rate_up_mbps" in self.cells else there.rate_bps,
            self._loss("loss_up_ratio") if "loss_up_ratio" in self.cells else there.loss_ratio,
        )
        return Row(self.line, t_ns, there, back)

    def _delay_ns(self, name: str) -> int:
        return int((self._number(name, 60_000) * 1_000_000).to_integral_value())

    def _rate_bps(self, name: str) -> int | None:
        if name not in self.cells or self.cells[name] == "unshaped":
            return None
        rate_bps = int((self._number(name, 1_000_000) * 1_000_000).to_integral_value())
        if rate_bps == 0:
            raise self._error(name, "a rate of 0 sends nothing, ever: write `down` as delay_ms")
        return rate_bps

    def _loss(self, name: str) -> float:
        return float(self._number(name, 1)) if name in self.cells else 0.0

    def _number(self, name: str, high: int) -> Decimal:
        text = self.cells[name]
        if not text:
            raise self._error(name, "a gap is written as `down` in delay_ms; nothing is filled in")
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("nan")
        if not value.is_finite():
            raise self._error(name, "not a number")
        if not 0 <= value <= high:
            raise self._error(name, f"must be from 0 to {high}")
        return value

    def _error(self, name: str, rule: str) -> ScenarioError:
        return ScenarioError(f"{self.path}:{self.line}: {name} = {self.cells[name]!r}: {rule}", _HEADER)


_COLUMNS = ("t_s", "delay_ms", "rate_mbps", "loss_ratio", "delay_up_ms", "rate_up_mbps", "loss_up_ratio")
_HEADER = f"columns: t_s, delay_ms, and if known {', '.join(_COLUMNS[2:])}"
