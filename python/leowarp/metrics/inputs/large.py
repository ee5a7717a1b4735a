# SPDX-License-Identifier: Apache-2.0
"""The storage of large tables in little memory. Each column is read when it is first needed, and stored in as few bytes
as possible.

A run of 2,000 flows has 2 million samples of sockets with 43 columns. As a data frame, these samples take 690 MB,
because an integer that may be missing becomes a float64. Most columns are never read, and most numbers fit into two
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from leowarp.trace.frames import values_of

Place = slice | np.ndarray
"""The selected rows: a slice with a start and an end, or ascending row indexes."""

_NARROW = tuple((pa.from_numpy_dtype(name), np.iinfo(name)) for name in ("uint8", "int8", "uint16", "int16", "int32"))


@dataclass(frozen=True)
class _Column:
    """The values of a column, in the smallest type that can hold all of them.

    values: array of shape (rows,), or an array of pandas for types that are not numbers.
    missing: bool array of shape (rows,), or None if no value is missing. The number in place of a missing value has no
        meaning.
    kind: The type in which values are returned, as in `trace.frames.data_frame`.
    """

    values: Any
    missing: np.ndarray | None
    kind: np.dtype[Any] | None

    @staticmethod
    def of(column: pa.ChunkedArray, field: pa.Field, order: np.ndarray | None) -> _Column:
        if pa.types.is_integer(field.type):
            missing = column.is_null().to_numpy() if column.null_count else None
            filled = column if missing is None else pc.fill_null(column, 0)
            values = filled.cast(_narrowest(filled)).to_numpy()
            kind = np.dtype("float64") if field.nullable else field.type.to_pandas_dtype()
        else:
            values, missing, kind = values_of(column, field), None, None
        if order is not None:
            values = values.take(order)
            missing = None if missing is None else missing.take(order)
        return _Column(values, missing, kind)

    def at(self, place: Place) -> Any:
        """Return the values of the rows at `place`. They have the same type as in a data frame."""
        values = self.values[place]
        if self.kind is None:
            return values
        found = values.astype(self.kind)
        if self.missing is not None:
            found[self.missing[place]] = np.nan
        return found


def _narrowest(column: pa.ChunkedArray) -> pa.DataType:
    bounds = pc.min_max(column).as_py()
    if bounds["min"] is None:
        return column.type
    fits = (kind for kind, info in _NARROW if info.min <= bounds["min"] and bounds["max"] <= info.max)
    narrow = next(fits, column.type)
    return narrow if narrow.bit_width < column.type.bit_width else column.type


class LargeTable:
    """The rows of a large table. The class has the part of a data frame's interface that metrics and figures use.

    The values, types and indexes are the same as in the data frame of `trace.frames.data_frame`. For other attributes,
    the data frame with all columns is built and used.
    """

    def __init__(self, columns: _Columns, place: Place) -> None:
        self._columns, self._place = columns, place

    @staticmethod
    def of(
        names: Sequence[str], read: Callable[[str], pa.Table], row_count: int, order: np.ndarray | None = None
    ) -> LargeTable:
        """Return a table that is read column by column.

        read: A function that returns a column by its name, as a table.
        order: The order of this table, as row indexes of shape (rows,). None means the order of `read`.
        """
        return LargeTable(_Columns(tuple(names), read, order), slice(0, row_count))

    @property
    def iloc(self) -> _ByNumber:
        """The rows, selected by their numbers in this table, as in `iloc[10:20]` and `iloc[array]`."""
        return _ByNumber(self._columns, self._place)

    @property
    def index(self) -> pd.Index:
        """The indexes that the selected rows have in the whole table."""
        place = self._place
        return pd.Index(place) if isinstance(place, np.ndarray) else pd.RangeIndex(place.start, place.stop)

    @property
    def columns(self) -> pd.Index:
        """The names of the columns."""
        return pd.Index(self._columns.names)

    def frame(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows as a data frame, with some columns or all of them."""
        names = self._columns.names if names is None else names
        return pd.DataFrame({name: self._columns[name].at(self._place) for name in names}, index=self.index)

    def __len__(self) -> int:
        place = self._place
        return len(place) if isinstance(place, np.ndarray) else place.stop - place.start

    def __contains__(self, name: object) -> bool:
        return name in self._columns.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.names)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return pd.Series(self._columns[key].at(self._place), index=self.index, name=key, copy=False)
        if isinstance(key, list):
            return self.frame(key)
        is_chosen = key.to_numpy(dtype=bool, na_value=False) if isinstance(key, pd.Series) else key
        return self.iloc[np.flatnonzero(is_chosen)]

    def __getattr__(self, name: str) -> Any:
        # Python calls `__getattr__` for attributes that do not exist. Names of Python's own protocols (copying,
        # pickling) must not read a table.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.frame(), name)


@dataclass(frozen=True)
class _ByNumber:
    columns: _Columns
    place: Place

    def __getitem__(self, numbers: Any) -> Any:
        mine = self.place
        if isinstance(numbers, int | np.integer):
            whole = range(mine.start, mine.stop) if isinstance(mine, slice) else mine
            return LargeTable(self.columns, np.array([whole[numbers]])).frame().iloc[0]
        if isinstance(mine, np.ndarray):
            return LargeTable(self.columns, mine[numbers])
        if isinstance(numbers, slice):
            start, stop, step = numbers.indices(mine.stop - mine.start)
            if step == 1:
                return LargeTable(self.columns, slice(mine.start + start, mine.start + max(start, stop)))
            numbers = np.arange(start, stop, step)
        return LargeTable(self.columns, np.asarray(numbers) + mine.start)


class _Columns:
    """The columns of a table by name. Each column is read once."""

    def __init__(self, names: tuple[str, ...], read: Callable[[str], pa.Table], order: np.ndarray | None) -> None:
        self.names = names
        self._read, self._order = read, order
        self._known: dict[str, _Column] = {}

    def __getitem__(self, name: str) -> _Column:
        if name not in self._known:
            if name not in self.names:
                raise KeyError(name)
            table = self._read(name)
            self._known[name] = _Column.of(table.column(name), table.schema.field(name), self._order)
            del table
            # Without this call, Arrow keeps the memory in which it decoded the column.
            pa.default_memory_pool().release_unused()
        return self._known[name]
