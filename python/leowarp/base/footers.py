# SPDX-License-Identifier: Apache-2.0
"""Footers of Parquet files, checked before Arrow decodes them: the check counts their content and does not trust the
counts that they state.

Arrow creates an object of some kB for each column of each row group, so a footer of 6 MB takes 1.5 GB. Only the
footer's length and the number of its values are checked here. Apache Thrift's compact protocol is specified in
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 8 << 20
"""Largest size of a footer. The footer of a network of 10,000 links has 2 MB of names."""

MOST_VALUES = 200_000
"""Largest number of integers and texts in a footer. leowarp's tables have some 30 values for each column and 262,144
rows."""

_FEW_BYTES = 256 << 10
"""A footer of this size takes at most 60 MB in memory, so its values are not counted."""

_TRAILER_BYTES = 8

# Types of Thrift's compact protocol.
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)


def why_too_large(path: Path) -> str | None:
    """Reason why a file's footer is too large to be decoded, as text that ends a sentence; None if it is small enough.

    A file without a footer is not checked, because Arrow reports its fault.

    Raises OSError if the file cannot be read.
    """
    with path.open("rb") as file:
        size_bytes = file.seek(0, 2)
        if size_bytes < _TRAILER_BYTES:
            return None
        file.seek(size_bytes - _TRAILER_BYTES)
        length_bytes = int.from_bytes(file.read(4), "little")
        if file.read(4) != b"PAR1" or length_bytes > size_bytes - _TRAILER_BYTES or length_bytes <= _FEW_BYTES:
            return None
        if length_bytes > MOST_BYTES:
            return f"its footer has {length_bytes:,} bytes, and the largest that is read {MOST_BYTES:,}"
        file.seek(size_bytes - _TRAILER_BYTES - length_bytes)
        footer = file.read(length_bytes)
    for count, _ in enumerate(_values(footer)):
        if count > MOST_VALUES:
            return f"its footer has more than {MOST_VALUES:,} values"
    return None


def _values(footer: bytes) -> Iterator[None]:
    """One item for each value, structure and list, in the order of the bytes; the iteration stops at bytes that are not
    valid Thrift."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = footer[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift > 63:
                return value

    # Open structures and lists: the type of the remaining items, or None for the fields of a structure.
    waiting: list[tuple[int | None, int]] = [(None, 0)]
    try:
        while waiting:
            kind, left = waiting.pop()
            if kind is None:
                head = footer[at]
                at += 1
                kind = head & 15
                if kind == _STOP:
                    continue
                if head < 16:
                    varint()  # This is the field's number, for which its header has no space.
                waiting.append((None, 0))
                in_list = False
            elif left == 0:
                continue
            else:
                waiting.append((kind, left - 1))
                in_list = True
            yield None
            if kind in (_TRUE, _FALSE):
                at += in_list  # In a field, the type already contains the value.
            elif kind == _BYTE:
                at += 1
            elif kind in (_I16, _I32, _I64):
                varint()
            elif kind == _DOUBLE:
                at += 8
            elif kind == _BINARY:
                # The code does not use `at += varint()`, because Python would add the result to the value that `at` had
                # before the call.
                length_bytes = varint()
                at += length_bytes
            elif kind in (_LIST, _SET):
                head = footer[at]
                at += 1
                waiting.append((head & 15, head >> 4 if head >> 4 < 15 else varint()))
            elif kind == _STRUCT:
                waiting.append((None, 0))
            else:
                return  # Parquet has no maps.
    except IndexError:
        return
