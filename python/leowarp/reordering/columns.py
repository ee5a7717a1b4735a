# SPDX-License-Identifier: Apache-2.0
"""Convert columns of the usual types (lists, numpy, Arrow, pandas) to the three types of the native meter."""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.base.errors import TraceError
from leowarp.reordering.settings import SEQ_MAX

Place = tuple[str, int]
"""How error messages name the position of a value: the word ("row" or "index"), and the number of the first
position."""
FROM_0: Place = ("index", 0)
"""The place of values in memory. As in Python, the first value has index 0."""


def sequence_column(values: Any, bits: int | None = None, place: Place = FROM_0) -> np.ndarray:
    """Return the sequence numbers as a uint64 array of shape (n,).

    values: The integers in a list, a numpy array, an Arrow array or chunked array, or a pandas or Polars series.
    bits: The width of a number.
    Raises TraceError if a number is negative, missing, too large or not whole. The message names the position.
    """
    return _whole(values, "sequence number", np.uint64, SEQ_MAX if bits is None else (1 << bits) - 1, place)


def time_column(values: Any, place: Place = FROM_0) -> np.ndarray | None:
    """Return the times in ns as an int64 array of shape (n,), or None for None. `datetime64` arrays are converted.

    Raises TraceError if a time is missing, is not whole, or does not fit into 64 bits. Negative times are allowed,
        because only differences between times matter.
    """
    if values is None:
        return None
    array = _array(values, "instant of arrival", place)
    if array.dtype.kind in "Mm":
        if np.isnat(array).any():
            raise _missing("instant of arrival", np.isnat(array), place)
        array = array.astype(f"{array.dtype.kind}8[ns]").view(np.int64)
    return _whole(array, "instant of arrival in ns", np.int64, SEQ_MAX, place)


def length_column(values: Any, place: Place = FROM_0) -> np.ndarray | None:
    """Return the payload lengths in bytes as a uint32 array of shape (n,), or None for None. Raises TraceError for the
    same reasons as `sequence_column`."""
    return None if values is None else _whole(values, "length in bytes", np.uint32, 2**32 - 1, place)


def _whole(values: Any, what: str, kind: type, largest: int, place: Place) -> np.ndarray:
    array = _array(values, what, place)
    if array.ndim != 1:
        raise TraceError(f"{what}s come as one column, not as an array of shape {array.shape}")
    # numpy makes an empty list a float64 array.
    if array.size == 0:
        return np.zeros(0, dtype=kind)
    if array.dtype.kind == "O":
        array = _of_objects(array, what, place)
    if array.dtype.kind == "f" and np.isnan(array).any():
        # If values are missing, pandas converts a column of whole numbers to floats with nan.
        raise _missing(what, np.isnan(array), place)
    # Columns of floats are rejected even if all values are whole, because two different integers above 2^53 may become
    # the same float.
    if array.dtype.kind not in "iu":
        raise TraceError(
            f"a {what} is a whole number, but the column is of type {array.dtype}", hint="array.astype('int64')"
        )
    # The range is checked before the conversion, because the conversion would wrap large values around.
    lowest = 0 if np.dtype(kind).kind == "u" else -SEQ_MAX - 1
    for wrong, why in ((array < lowest, "is negative"), (array > largest, f"is larger than {largest}")):
        if wrong.any():
            at = int(wrong.argmax())
            raise TraceError(f"the {what} {array[at]} at {place[0]} {place[1] + at} {why}")
    return np.ascontiguousarray(array, dtype=kind)


def _array(values: Any, what: str, place: Place) -> np.ndarray:
    # A masked array is rejected, because numpy would return the meaningless values below its mask.
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise _missing(what, np.ma.getmaskarray(values), place)
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    # `null_count` is a property in PyArrow and a method in Polars. Lists have no marker for missing values.
    null_count = values.null_count if hasattr(values, "null_count") else 0
    if null_count() if callable(null_count) else null_count:
        raise _missing(what, np.asarray(values.is_null()), place)
    if hasattr(values, "combine_chunks"):
        values = values.combine_chunks()
    if hasattr(values, "to_numpy") and hasattr(values, "null_count"):
        try:
            return values.to_numpy(zero_copy_only=False)
        except TypeError:
            return values.to_numpy()  # a Polars series
    return np.asarray(values)


def _of_objects(array: np.ndarray, what: str, place: Place) -> np.ndarray:
    """Convert objects, which numpy uses for a list in which an integer does not fit into 64 bits."""
    for at, value in enumerate(array):
        # pandas' marker for missing values is recognised by its type's name, because pandas may not be installed.
        if type(value).__name__ == "NAType":
            raise TraceError(f"the {what} at {place[0]} {place[1] + at} is missing")
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TraceError(f"the {what} {value!r} at {place[0]} {place[1] + at} is not a whole number")
        if value > SEQ_MAX:
            raise TraceError(f"the {what} {value} at {place[0]} {place[1] + at} is larger than {SEQ_MAX}")
        if value < -SEQ_MAX:
            raise TraceError(f"the {what} {value} at {place[0]} {place[1] + at} is negative")
    return array.astype(np.int64)


def _missing(what: str, where: np.ndarray, place: Place) -> TraceError:
    return TraceError(f"the {what} at {place[0]} {place[1] + int(np.argmax(where))} is missing")
