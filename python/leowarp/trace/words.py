# SPDX-License-Identifier: Apache-2.0
"""Replace the numbers of enumerations, hosts and nodes in trace tables by words and names.

The files in a run directory contain numbers, because metrics need numbers. All other code gets words from this module,
as Arrow, data frame or CSV.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.base.tables.metadata import decode_metadata
from leowarp.base.tables.parquetfiles import conditions
from leowarp.trace.bbr import BBR_GAINS, with_bbr_mode
from leowarp.trace.convert import read
from leowarp.trace.schema import COMPUTED, TABLES
from leowarp.trace.schema.columns import Column


def read_in_words(
    trace: Path | str, table: str, *, columns: list[str] | None = None, filters: Any = None, categories: bool = False
) -> pa.Table:
    """Read one table of a run's `30-trace/` directory, in words.

    trace: The directory `30-trace`.
    table: A name in `TABLES`.
    columns, filters: As in `pyarrow.parquet.read_table`. Filters contain words instead of numbers: ``[("direction",
        "==", "data")]``.
    categories: Whether enumerations are dictionaries, as in data frames. A dictionary has all words in the order of
        their numbers. Otherwise, enumerations are strings. Arrow can sort strings.
    Raises TraceError: The errors of `trace.read`.
    Raises ScenarioError if a filter does not fit the table. Also raised if the filter's value is not a word of its
    column.
    """
    asked = [] if isinstance(filters, pc.Expression) else conditions(filters or ())
    coded = {column.name for column in _columns(table) if column.words or column.names}
    if not isinstance(filters, pc.Expression) and coded.isdisjoint(name for name, _, _ in asked):
        # The filter uses no column with words, so it is applied while the file is read.
        return in_words(_read(trace, table, columns, filters), table, categories=categories)
    whole = _read(trace, table)
    known = _words(whole.schema, table)
    for name, _, value in asked:
        for each in value if isinstance(value, (list, tuple, set)) else [value]:
            if name in known and each not in known[name].values():
                message = f"filtering the table {table}: {name} is never {each!r:.60}"
                raise ScenarioError(message, hint=one_of(each, known[name].values()))
    expression = filters if isinstance(filters, pc.Expression) else pq.filters_to_expression(filters)
    try:
        chosen = in_words(whole, table, categories=categories).filter(expression)
    except pa.ArrowException as error:
        columns_of = f"its columns: {', '.join(whole.schema.names)}"
        raise ScenarioError(f"filtering the table {table}: {error}", hint=columns_of) from error
    return chosen if columns is None else chosen.select(columns)


def _read(trace: Path | str, table: str, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """Read the table with numbers. The columns that leowarp computes are added if `columns` is None or names one of
    them."""
    computed = {column.name for column in COMPUTED.get(table, ())}
    if not computed or (columns is not None and computed.isdisjoint(columns)):
        return read(trace, table, columns=columns, filters=filters)
    stored = None
    if columns is not None:
        stored = [name for name in dict.fromkeys([*columns, "flow", *BBR_GAINS]) if name not in computed]
    found = with_bbr_mode(read(trace, table, columns=stored, filters=filters))
    return found if columns is None else found.select(columns)


def _columns(table: str) -> tuple[Column, ...]:
    return (*TABLES[table].columns, *COMPUTED.get(table, ()))


def in_words(table: pa.Table, name: str, *, categories: bool = False) -> pa.Table:
    """Return a trace table with words instead of numbers.

    table: The result of `trace.read`, with all or some of its columns.
    categories: The same as for `read_in_words`. Hosts and nodes are always strings.
    Returns: The table. If a newer version wrote a number for which there is no word, the number is returned as text.
    """
    enumerations = {column.name for column in _columns(name) if column.words}
    for column, words in _words(table.schema, name).items():
        place = table.schema.get_field_index(column)
        if place >= 0:
            worded = _worded(table.column(place), words)
            worded = worded if categories and column in enumerations else worded.cast(pa.string())
            table = table.set_column(place, table.schema.field(place).with_type(worded.type), worded)
    return table


def _words(schema: pa.Schema, name: str) -> dict[str, Mapping[int, str]]:
    """Return, for each column with words, a dict from each number to its word. The names of hosts and nodes come from
    the file's metadata."""
    words = {column.name: column.words for column in _columns(name) if column.words}
    for column in TABLES[name].columns:
        names = decode_metadata(schema, column.names) if column.names else None
        if names is not None:
            words[column.name] = dict(enumerate(names))
    return words


def _worded(numbers: pa.ChunkedArray, words: Mapping[int, str]) -> pa.DictionaryArray:
    others = sorted(set(pc.unique(numbers).drop_null().to_pylist()) - words.keys())
    codes = pa.array([*words, *others], type=numbers.type)
    # The column is combined into one chunk, because several chunks could have different dictionaries.
    places = pc.index_in(numbers.combine_chunks(), value_set=codes)
    return pa.DictionaryArray.from_arrays(places, pa.array([*words.values(), *map(str, others)], type=pa.string()))
