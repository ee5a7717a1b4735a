# SPDX-License-Identifier: Apache-2.0
"""Arrow tables as data frames of pandas, with types that depend on the schema alone."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

_TEXT = pd.Series(dtype="str").dtype
"""The type of text columns: pandas 2 has objects, pandas 3 a type of its own."""


def data_frame(table: pa.Table, *, units: bool = True) -> pd.DataFrame:
    """A table as pandas: types depend on the schema, not on the data.

    Integers that may be missing become float64 with NaN (exact below 2^53 ns = 104 days), truth values that may be
    missing become pandas' `boolean`. `frame.attrs["units"]` maps columns to units, if `units` is set: pandas copies
    that dictionary with every selection, which is a fifth of the time of the metrics of a small run.

    units: Whether to attach the units.
    Returns: Same columns and order; an index from 0.
    """
    columns = {}
    for field in table.schema:
        column = table.column(field.name)
        if field.nullable and pa.types.is_integer(field.type):
            # Not pa's cast: that refuses what float64 cannot hold exactly, and counters of bytes can be that long.
            columns[field.name] = column.to_numpy().astype("float64")
        elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            columns[field.name] = column.to_numpy()
        elif field.nullable and pa.types.is_boolean(field.type):
            columns[field.name] = pd.BooleanDtype().__from_arrow__(column)
        elif pa.types.is_string(field.type) and isinstance(_TEXT, pd.StringDtype):
            # What `to_pandas` ends in, too, by a way that takes three times as long.
            columns[field.name] = _TEXT.__from_arrow__(column)
        else:
            columns[field.name] = column.to_pandas()
    frame = pd.DataFrame(columns)
    if units:
        frame.attrs["units"] = {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in table.schema}
    return frame


def counted_frame(table: pa.Table) -> pd.DataFrame:
    """A table as its reader computes with it: counts are integers, missing values `pd.NA`, dictionaries categorical."""
    frame = data_frame(table)
    for field in table.schema:
        if field.nullable and pa.types.is_integer(field.type):
            # One integer type for all counts: with int32 here and int64 there a sum or a join of two tables would
            # depend on which.
            column = table.column(field.name).cast(pa.int64())
            frame[field.name] = column.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    frame.attrs["units"] = {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in table.schema}
    return frame
