# SPDX-License-Identifier: Apache-2.0
"""Finds the rows of a large table that a run needs. The rows are sorted by time. A binary search therefore finds the
first needed row without reading the rows before it.

For example, a run needed a thousandth of a table of 10^7 rows. Reading the whole table took 6.2 GB of memory. A mistake
in a row remains unnoticed if the run does not read this row. The search ends at anything unexpected, such as a time
that is not a number. If the search ends early, the whole table is read. Its reader then reports the mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import BinaryIO

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.base.machine.memory import usable_memory_bytes

FROM_BYTES = 16 << 20
"""A file is read in part only if it is at least this large. Smaller files take at most 400 MB of memory if they are
read completely."""

MARGIN_NS = 120 * 10**9
"""Rows within this time before and after the run are also read. `MARGIN_NS` is twice the longest delay, so that the
rows include all replies to the run's packets."""

MEMORY_PER_BYTE = 25
"""The bytes of memory that a reader needs per byte of text if it reads a whole measurement. For example, 10^7 rows in
250 MB took 6.2 GB."""

LONGEST_LINE_BYTES = 1 << 20

_STEP_BYTES = 1 << 20
_WALL_NS = 10**18
_WORDS = (b"down", b"lost", b"")


@dataclass(frozen=True)
class Stretch:
    """The part of a measurement that a run needs. Times are on the measurement's clock.

    margin_ns: The rows in this time before and after the needed part are also read.
    """

    begin_ns: int
    end_ns: int
    margin_ns: int = MARGIN_NS


@dataclass(frozen=True)
class Part:
    """The lines of a table.

    lines: The header and the rows, each with its line number in the file. The lines are stripped, and comments are left
        out.
    zero_ns: The time of the table's first row if times are on the wall clock, otherwise None.
    longest_ns: If the table ends before the stretch, the longest time between two successive rows of the whole table.
        Otherwise None.
    """

    lines: list[tuple[int, str]]
    zero_ns: int | None
    longest_ns: int | None


def check_memory(path: Path, count_bytes: int) -> None:
    """Check that the rows of a text fit into memory.

    Raises ScenarioError if the rows do not fit.
    """
    needed_bytes, usable_bytes = count_bytes * MEMORY_PER_BYTE, usable_memory_bytes()
    if needed_bytes > usable_bytes:
        raise ScenarioError(
            f"reading a measurement: the {count_bytes >> 20} MiB of {path} take about {needed_bytes >> 20} MiB of "
            f"memory, and {usable_bytes >> 20} MiB are usable",
            f"take a part of it (head -n 1000000 {path} > part.csv). A table in CSV, not packed and not repeated, is "
            "read only as far as the run needs: shorten run.duration",
        )


def part_of(path: Path, stretch: Stretch) -> Part | None:
    """Return the rows of a large CSV table that a run needs (`stretch`), and some rows around them. None means that the
    whole table must be read.

    Raises ScenarioError if the needed rows do not fit into the memory limit.
    """
    try:
        if path.stat().st_size < FROM_BYTES:
            return None
        with plainfiles.opened(path, links=True) as file:
            return _Table(path, file).part(stretch)
    except (OSError, _Unexpected):
        # If the result is None, the caller reads the whole table, and reports the mistake in the table.
        return None


def is_large_table(path: Path) -> bool:
    """Return whether a file is a CSV table and large enough to be read in part. The file's first line shows whether the
    file is a CSV table."""
    try:
        if path.stat().st_size < FROM_BYTES:
            return False
        with plainfiles.opened(path, links=True) as file:
            _Table(path, file)
    except (OSError, _Unexpected):
        return False
    return True


class _Unexpected(Exception):
    """Something in the table is unexpected. The whole table is then read, so that the mistake is reported."""


class _Table:
    """An open table with its header and rows. A row is identified by the position of its first byte in the file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file = path, file
        self._size_bytes = path.stat().st_size
        first = self._first(0)
        if first is None:
            raise _Unexpected
        at, header = first
        names = [name.strip().strip(b'"') for name in header.removeprefix(b"\xef\xbb\xbf").split(b",")]
        if b"t_s" not in names or b'"' in header:
            raise _Unexpected
        self._place = names.index(b"t_s")
        # In these columns, a cell may contain a word instead of a delay.
        self._delays = [place for place, name in enumerate(names) if name in (b"delay_ms", b"rtt_ms", b"delay_up_ms")]
        self._header = (at, header)
        self._begin = self._file.tell()

    def part(self, stretch: Stretch) -> Part:
        first = self._first(self._begin)
        if first is None:
            raise _Unexpected
        begin, zero_ns = first[0], self._time_ns(first[1])
        offset_ns = zero_ns if zero_ns >= _WALL_NS else 0
        from_ns = stretch.begin_ns - stretch.margin_ns + offset_ns
        until_ns = stretch.end_ns + stretch.margin_ns + offset_ns
        start = self._last_before(from_ns, begin)
        # The delay of a row without a connection or with a lost probe comes from an earlier row, so reading begins at
        # that earlier row.
        while start > begin and (row := self._first(start)) is not None and not self._is_known(row[1]):
            start = self._row_at(max(start - _STEP_BYTES, begin), begin)
        lines = [(self._number_at(self._header[0]), self._header[1].removeprefix(b"\xef\xbb\xbf").decode())]
        read_bytes, most_bytes = 0, usable_memory_bytes() // MEMORY_PER_BYTE
        last_ns, known = zero_ns, False
        for at, line, number in self._numbered(start, self._number_at(start)):
            lines.append((number, line.decode()))
            last_ns = self._time_ns(line)
            known = known or (last_ns > until_ns - stretch.margin_ns and self._is_known(line))
            if last_ns > until_ns and known:
                return Part(lines, offset_ns or None, None)
            read_bytes = at - start
            if read_bytes > most_bytes:
                check_memory(self._path, self._size_bytes)
                most_bytes = self._size_bytes
        ends_early = last_ns < stretch.end_ns + offset_ns
        return Part(lines, offset_ns or None, self._longest_ns(begin) if ends_early else None)

    def _last_before(self, t_ns: int, begin: int) -> int:
        """Return the offset at which a row begins. The row is not later than `t_ns`. It begins at most `_STEP_BYTES`
        before the last row that is not later than `t_ns`. If all rows are later than `t_ns`, the result is the offset
        of the first row."""
        low, high = begin, self._size_bytes
        while high - low > _STEP_BYTES:
            middle = self._row_at((low + high) // 2, low)
            line = self._first(middle)
            if middle <= low or line is None:
                break
            if self._time_ns(line[1]) <= t_ns:
                low = middle
            else:
                high = (low + high) // 2
        return low

    def _row_at(self, at: int, begin: int) -> int:
        """Return the first byte of the first row that begins at or after position `at`."""
        if at <= begin:
            return begin
        self._file.seek(at - 1)
        # The line with the byte before `at` is read to its end. If a row begins at `at`, only a line end is read.
        self._readline()
        found = self._first(self._file.tell())
        return begin if found is None else found[0]

    def _first(self, at: int) -> tuple[int, bytes] | None:
        """Find the first row from position `at` on. Return the position of its first byte, and its text without
        surrounding blanks. `at` must be the beginning of a line. None means that there is no row.

        After the call, the file position is directly after the returned row.
        """
        return next(((here, line) for here, line, _ in self._numbered(at, 0)), None)

    def _numbered(self, at: int, number: int) -> Iterator[tuple[int, bytes, int]]:
        """Yield the lines from position `at` on. Each item has the position of the first byte, the text without
        surrounding blanks, and the line number. A line must begin at `at`. Blank lines and comments are left out."""
        self._file.seek(at)
        while raw := self._readline():
            line = raw.strip()
            if line and not line.startswith(b"#"):
                yield at, line, number
            at += len(raw)
            number += 1

    def _readline(self) -> bytes:
        raw = self._file.readline(LONGEST_LINE_BYTES)
        if len(raw) == LONGEST_LINE_BYTES:
            raise ScenarioError(
                f"{self._path}: a line of more than {LONGEST_LINE_BYTES >> 20} MiB is no row of a table",
                "write one row a line: t_s,delay_ms",
            )
        return raw

    def _number_at(self, at: int) -> int:
        """Return the line number of the line that begins at the file position `at`."""
        self._file.seek(0)
        count = 1
        for begin in range(0, at, _STEP_BYTES):
            count += self._file.read(min(_STEP_BYTES, at - begin)).count(b"\n")
        return count

    def _time_ns(self, line: bytes) -> int:
        cells = line.split(b",")
        try:
            return int(Decimal(cells[self._place].strip().decode()) * 10**9)
        except (InvalidOperation, ValueError, IndexError, OverflowError):
            raise _Unexpected from None

    def _is_known(self, line: bytes) -> bool:
        cells = line.split(b",")
        return all(len(cells) > place and cells[place].strip() not in _WORDS for place in self._delays)

    def _longest_ns(self, begin: int) -> int:
        longest_ns, before_ns = 0, None
        for _, line, _ in self._numbered(begin, 0):
            t_ns = self._time_ns(line)
            longest_ns, before_ns = max(longest_ns, t_ns - before_ns if before_ns is not None else 0), t_ns
        return longest_ns
