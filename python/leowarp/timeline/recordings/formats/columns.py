# SPDX-License-Identifier: Apache-2.0
"""Reads numbers in columns without a header. The columns are `time sequence rtt`, or the user names them, as in
`--columns t_ns,rtt_ms` (docs/guides/your-own-measured-path.md). Each row is a probe, and the time is the probe's
sending time. If columns must be named, the error message contains a guess for the user to confirm.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.lines import RECORD_HINT, end_notes, numbered, text_of, without_line
from leowarp.timeline.recordings.formats.numbered_probes import sent_in_order
from leowarp.timeline.recordings.measurement import Delays, Measurement, Series, Times

_UNIT_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
TIMES = tuple(f"t_{unit}" for unit in _UNIT_NS)
DELAYS = tuple(f"{what}_{unit}" for what in ("rtt", "delay") for unit in _UNIT_NS)
SEQUENCE, SKIPPED = "seq", "-"
_THREE = ("t_s", SEQUENCE, "rtt_ms")
_LOST = frozenset({"", "lost", "nan", "none", "null", "-", "*", "timeout", "-1", "-1.0"})
"""If a probe was lost, recorders write one of these texts instead of a delay."""

_GUESSED_FROM_ROWS = 1000
# The longest accepted delay is one minute, as in the other formats: a larger value has another unit, or belongs to
# another column.
_LONGEST_NS = 60_000_000_000
_NUMBERS_OF_16_BITS = 65536
"""The number of values of icmp_seq, which restarts at 0 after 65535."""
_NEIGHBOURS = 8
_RISES = 0.9
"""In a column of times, the values rise or stay equal in more than this share of the steps. The column may therefore
contain times of a clock that is occasionally set back."""

# A time above 1e9 s is a wall-clock time: 1e9 s since 1970 is the year 2001, and no measurement lasts that long.
_CLOCK_NS = 1_000_000_000 * 1_000_000_000
# Largest accepted time in ns: half of the range of int64, so that the difference of two times fits as well.
_LAST_NS = 2**62
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?|[+-]?\.\d+([eE][+-]?\d+)?")
_APART = re.compile(r"\s*[,;]\s*|\s+")
_NAMES_HINT = (
    f"name each column, in order: --columns {','.join(_THREE)}; a time is one of {', '.join(TIMES)}, a round trip "
    f"rtt_ or a one-way delay delay_ with such a unit, {SEQUENCE} the probe's number, {SKIPPED} any other"
)


@dataclass(frozen=True)
class Guess:
    """The likely meaning of each column, and the file's first row, which error messages show."""

    columns: tuple[str, ...]
    reading: str


def parsed_columns(text: str) -> tuple[str, ...]:
    """Return the column names in the value of the option `--columns`.

    Raises ScenarioError if a name is unknown, or if there is not exactly one time and one delay among them.
    """
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in (*TIMES, *DELAYS, SEQUENCE, SKIPPED):
            raise ScenarioError(f"--columns {text}: {name!r} is no column", _NAMES_HINT)
    for what, among in (("time", TIMES), ("delay", DELAYS)):
        count = sum(name in among for name in names)
        if count != 1:
            raise ScenarioError(
                f"--columns {text}: {count or 'no'} columns are a {what}, and one has to be", _NAMES_HINT
            )
    if names.count(SEQUENCE) > 1:
        raise ScenarioError(f"--columns {text}: {SEQUENCE} stands twice", _NAMES_HINT)
    return names


def looks_like_columns(text: str) -> bool:
    """Return whether the first line begins with a number, and has at least two cells that are numbers."""
    lines = numbered(text[:4096])
    numbers = [bool(_NUMBER.fullmatch(cell)) for cell in _cells(lines[0][1])] if lines else []
    return sum(numbers) > 1 and numbers[0]


def guess(path: Path, text: str) -> Guess | None:
    """Return the likely meaning of the columns, or None if no meaning fits.

    A column that rises in similar steps is the time. A column of whole numbers that count up is the sequence number.
    The first remaining column is the round trip. The unit of the round trip is chosen so that the values are between
    0.1 ms and 10 s.

    Only the first 1000 rows of the text are used. Rows with an unusual number of cells are ignored.
    """
    rows = [_cells(line) for _, line in numbered(text)[:_GUESSED_FROM_ROWS]]
    width = _usual_width(rows)
    # Truncated rows and remarks among the rows are ignored, because they do not show which columns the table has.
    rows = [cells for cells in rows if len(cells) == width]
    if width < 2:
        return None
    if len(rows) == 1 and width == len(_THREE) and rows[0][1].isdigit():
        return _of_first_row(path, rows[0], _THREE)
    columns: dict[str, str] = {}
    names = [SKIPPED] * width
    for place in range(width):
        known = [Decimal(cells[place]) for cells in rows if _NUMBER.fullmatch(cells[place])]
        # A column that is mostly words (host names, flags) is neither time, sequence number nor delay, even if it
        # contains some numbers.
        if len(known) * 2 < len(rows):
            continue
        values = np.array([float(value) for value in known])
        # 1e20 ns is longer than any time, so a column with such numbers contains identifiers and not quantities.
        if not len(values) or np.abs(values).max() > 1e20:
            continue
        steps = np.diff(values)
        # A column is tested for sequence numbers before it is tested for times, because times rise as well.
        if "seq" not in columns and _counts_on(values):
            columns["seq"] = names[place] = SEQUENCE
        elif "time" not in columns and (not len(steps) or (steps.any() and (steps >= 0).mean() > _RISES)):
            columns["time"] = names[place] = f"t_{_time_unit(values)}"
        elif "delay" not in columns:
            columns["delay"] = names[place] = f"rtt_{_delay_unit(float(np.median(values)))}"
    if "time" not in columns and "seq" in columns:
        columns["time"] = names[names.index(SEQUENCE)] = "t_s"  # Without times, one probe per second is assumed.
    if not {"time", "delay"} <= columns.keys():
        return None
    return _of_first_row(path, rows[0], tuple(names))


def _of_first_row(path: Path, cells: list[str], columns: tuple[str, ...]) -> Guess | None:
    try:
        first = _Row(path, 1, cells, columns)
    except ScenarioError:
        return None
    delay = "lost" if first.delay_ns is None else f"{first.delay_ns / 1e6:g} ms"
    return Guess(columns, f"{_instant(first.t_ns)}, {delay}")


def read_columns(path: Path, columns: tuple[str, ...] | None = None) -> Measurement:
    """Return round trips, or one-way delays, from numbers in columns.

    columns: The names from `parsed_columns`. Three columns without names are time, sequence and round trip if the
        second column counts up.
    Raises ScenarioError with file and line. If no columns were given and their meaning is uncertain, the message shows
    what was guessed.
    """
    text = text_of(path)
    lines = numbered(text)
    if not lines:
        raise ScenarioError(f"{path} is empty", RECORD_HINT)
    notes: tuple[str, ...] = ()
    # A guess is made even if the user gave columns, so that an error can show the guess next to the user's columns.
    seems = guess(path, text)
    if columns is None:
        if seems is None or seems.columns != _THREE:
            said = (
                "and nothing says what its columns are"
                if seems is None
                else (
                    f"and what its columns are can only be guessed: {','.join(seems.columns)} "
                    f"(the first row would be: {seems.reading})"
                )
            )
            hint = _NAMES_HINT if seems is None else f"if that is right, type: --columns {','.join(seems.columns)}"
            raise ScenarioError(f"{path}:{lines[0][0]}: a table without a header, {said}", hint)
        columns = _THREE
        notes = (f"read as {' '.join(_THREE)}, the first row as: {seems.reading}",)
    elif (width := _usual_width([_cells(line) for _, line in lines])) != len(columns):
        raise ScenarioError(
            f"{path}:{lines[0][0]}: {width} columns, and {','.join(columns)} are {len(columns)}",
            _NAMES_HINT
            if seems is None
            else f"they seem to be --columns {','.join(seems.columns)} (the first row would be: {seems.reading})",
        )
    notes = (*notes, *end_notes(text, lines[-1][0]))
    # Every row must fit the columns: a row that does not fit is an error, and not a lost probe.
    rows = []
    for number, line in lines:
        cells = _cells(line)
        if len(cells) != len(columns):
            raise ScenarioError(
                f"{path}:{number}: {line[:40]!r} has {len(cells)} of {len(columns)} columns ({','.join(columns)})",
                f"if the rest is right, leave that line out: {without_line(path, number)}",
            )
        rows.append(_Row(path, number, cells, columns))
    one_way = any(name.startswith("delay_") for name in columns)
    zeros = sum(row.delay_ns == 0 for row in rows)
    if zeros:
        notes = (*notes, f"{zeros} delays are 0, and are read as such: if that means lost, write -1 or nan instead")
    measurement = _with_numbers(path, rows, notes) if SEQUENCE in columns else _without_numbers(path, rows, notes)
    if not one_way:
        return measurement
    return replace(measurement, round_trip=None, down=measurement.round_trip)


class _Row:
    """A row of the file. The names of the columns determine how its cells are converted."""

    def __init__(self, path: Path, line: int, cells: list[str], columns: tuple[str, ...]) -> None:
        self.line, self._where, self._columns, self._path = line, f"{path}:{line}", columns, path
        self.t_ns, self.sequence, self.delay_ns = 0, 0, None
        for name, cell in zip(columns, cells, strict=True):
            if name in TIMES:
                self.t_ns = self._whole_ns(name, cell, _LAST_NS)
            elif name == SEQUENCE:
                self.sequence = self._whole(cell)
            elif name in DELAYS and cell.lower() not in _LOST:
                self.delay_ns = self._whole_ns(name, cell, _LONGEST_NS)

    def _whole_ns(self, name: str, cell: str, most_ns: int) -> int:
        try:
            # Decimal is used because a float cannot represent 1734546419.040123 s exactly: floats of this size are 238
            # ns apart, so the error is up to 119 ns.
            value = Decimal(cell) * _UNIT_NS[name.rsplit("_", 1)[1]]
        except DecimalException:
            value = Decimal("nan")
        if not value.is_finite():
            raise ScenarioError(f"{self._where}: {name} = {cell[:40]!r}: not a number", self._hint)
        if not 0 <= value <= most_ns:
            raise ScenarioError(
                f"{self._where}: {name} = {cell[:40]!r}: must be from 0 to {most_ns / 1e9:g} s", self._hint
            )
        return int(value)

    def _whole(self, cell: str) -> int:
        if not (cell.isascii() and cell.isdigit()) or len(cell) > 12:
            raise ScenarioError(f"{self._where}: {SEQUENCE} = {cell[:40]!r}: not a whole number", self._hint)
        return int(cell)

    @property
    def _hint(self) -> str:
        return (
            f"read as {','.join(self._columns)}: if the columns are others, say so (--columns, with {', '.join(TIMES)} "
            f"or rtt_ms); else leave that line out: {without_line(self._path, self.line)}"
        )


def _with_numbers(path: Path, rows: list[_Row], notes: tuple[str, ...]) -> Measurement:
    first: dict[int, _Row] = {}
    for number, row in zip(_counted_on(path, rows), rows, strict=True):
        # The first reply gives the round trip of the path. Every later reply with the same sequence number is a copy,
        # which some link made.
        first.setdefault(number, row)
    duplicates = len(rows) - len(first)
    if duplicates:
        notes = (*notes, f"{duplicates} duplicates were left out")
    numbers = sorted(first)
    sent = sent_in_order(str(path), np.array(numbers, dtype=np.int64), *_arrays([first[number] for number in numbers]))
    return Measurement(
        source=str(path),
        format="columns",
        round_trip=sent.series,
        wall_ns=sent.zero_ns if sent.zero_ns >= _CLOCK_NS else None,
        duplicates=duplicates,
        clock_steps=sent.clock_steps,
        steady_ns=sent.steady_ns,
        notes=notes,
    )


def _arrays(rows: list[_Row]) -> tuple[Times, Delays]:
    delays = [np.nan if row.delay_ns is None else row.delay_ns for row in rows]
    return np.array([row.t_ns for row in rows], dtype=np.int64), np.array(delays, dtype=np.float64)


def _counted_on(path: Path, rows: list[_Row]) -> list[int]:
    """Return the sequence numbers as numbers that never restart: numbers of 16 bits continue with 65536. If they
    restart after any other number than 65535 and stay low, the file contains a second measurement, which is an
    error."""
    numbers = np.array([row.sequence for row in rows], dtype=np.int64)
    t_ns, _ = _arrays(rows)
    short = int(numbers.max()) < _NUMBERS_OF_16_BITS
    for place in (1 + np.flatnonzero(np.diff(numbers) < 0)).tolist():
        ends, begins = slice(max(place - _NEIGHBOURS, 0), place), slice(place, place + _NEIGHBOURS)
        back = np.median(numbers[ends]) - np.median(numbers[begins])
        # If a reply was overtaken or is a duplicate, only a single row has a lower number. The medians of several rows
        # are therefore compared. In a file with unordered rows, times go back as well as numbers.
        if back <= 0 or np.median(t_ns[begins]) <= np.median(t_ns[ends]) or len(numbers) - place < min(3, place):
            continue
        if short and back > _NUMBERS_OF_16_BITS // 2:
            numbers[place:] += _NUMBERS_OF_16_BITS
            continue
        line = rows[place].line
        raise ScenarioError(
            f"{path}:{line}: number {rows[place].sequence} later than number {rows[place - 1].sequence} of line "
            f"{rows[place - 1].line}: a second run begins, whose probes are others",
            f"read them apart: head -n {line - 1} {path} > first.txt; tail -n +{line} {path} > second.txt",
        )
    return numbers.tolist()


def _without_numbers(path: Path, rows: list[_Row], notes: tuple[str, ...]) -> Measurement:
    # Without numbers, lost probes cannot be detected, nor can an adjusted clock be distinguished from unordered rows.
    t_ns, delay_ns = _arrays(rows)
    if (np.diff(t_ns) < 0).any():
        place = int(np.flatnonzero(np.diff(t_ns) < 0)[0]) + 1
        raise ScenarioError(
            f"{path}:{rows[place].line}: t = {_instant(rows[place].t_ns)} is before that of line "
            f"{rows[place - 1].line}",
            "rows are in order of sending; with a column of sequence numbers (seq) they need not be",
        )
    # A series has one delay per instant, so only the first of several rows with the same time is used.
    kept = np.concatenate([[True], np.diff(t_ns) > 0])
    duplicates = int((~kept).sum())
    if duplicates:
        notes = (*notes, f"{duplicates} rows with the time of the row before were left out")
    zero_ns = int(t_ns[0])
    return Measurement(
        source=str(path),
        format="columns",
        round_trip=Series.of(t_ns[kept] - zero_ns, delay_ns[kept]),
        wall_ns=zero_ns if zero_ns >= _CLOCK_NS else None,
        duplicates=duplicates,
        notes=notes,
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _APART.split(line.strip())]


def _usual_width(rows: list[list[str]]) -> int:
    widths = Counter(len(cells) for cells in rows)
    # If two numbers of cells per row are equally frequent, the larger one is used. A missing cell is more likely than
    # an extra cell.
    return max(widths, key=lambda width: (widths[width], width), default=0)


def _counts_on(values: NDArray[np.float64]) -> bool:
    # Sequence numbers are whole, and rise by one, or by more if probes are missing.
    # If every second probe is missing, at least half of the remaining steps are still 1. A column of times in whole ms
    # rarely has that many steps of 1.
    steps = np.diff(values)
    return bool(len(steps) and values[0] < 1e9 and (steps >= 0).all() and not (values % 1).any()
                and np.count_nonzero(steps == 1) * 2 >= np.count_nonzero(steps))  # fmt: skip


def _time_unit(values: NDArray[np.float64]) -> str:
    # For wall-clock times, the size of the first value shows the unit. The unit of other times follows from the step
    # between rows, because probes are 0.5 ms to 60 s apart.
    for unit, low in (("ns", 1e18), ("us", 1e15), ("ms", 1e12), ("s", 1e9)):
        if low <= values[0] < 10 * low:
            return unit
    step = float(np.median(np.diff(values))) if len(values) > 1 else 1.0
    return "s" if step < 1 or (values % 1).any() else "ms" if step < 60_000 else "us" if step < 6e7 else "ns"


def _delay_unit(median: float) -> str:
    # Round trips of networks take 0.5 ms to 5 s.
    return "s" if median < 0.5 else "ms" if median < 5_000 else "us" if median < 1e6 else "ns"


def _instant(t_ns: int) -> str:
    if t_ns < _CLOCK_NS:
        return f"{t_ns / 1e9:.6f} s"
    since = datetime.datetime.fromtimestamp(t_ns // 1_000_000_000, datetime.UTC)
    return f"{since:%Y-%m-%d %H:%M:%S}.{t_ns % 1_000_000_000 // 1_000_000:03d} UTC"
