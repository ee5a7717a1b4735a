# SPDX-License-Identifier: Apache-2.0
"""Checks the footer of a Parquet file before Arrow decodes it. The values in the footer are counted, because the counts
that the footer states may be wrong.

Arrow creates an object of some kB for each column of each row group, so a footer of 6 MB takes 1.5 GB of memory. This
module checks only the length of the footer and the number of values in it. The footer is in Apache Thrift's compact
protocol (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 8 << 20
"""The maximum size of a footer in bytes. With 10,000 links, the names take 2 MB of the footer."""

MOST_VALUES = 200_000
"""The largest number of integers and texts in a footer. A footer of leowarp has some 30 values per column and 262,144
rows."""

_FEW_BYTES = 256 << 10
"""The size below which the values of a footer are not counted. A small footer takes at most 60 MB once it is
decoded."""

_TRAILER_BYTES = 8

# Types of Thrift's compact protocol.
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)


def why_too_large(path: Path) -> str | None:
    """Return the end of an error message if a file's footer is too large to be decoded. If the footer is small enough,
    the result is None.

    The result is also None if the file has no footer, because Arrow itself reports this error.

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
    """Yield one item per value, structure and list of a footer, and stop at bytes that are not valid Thrift."""
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

    # `waiting` has one entry for each structure or list that has not ended. For a list, the entry is the type and
    # number of its remaining items. For a structure, the type is None.
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
                    varint()  # the field's number, which does not fit into the field's header
                waiting.append((None, 0))
                in_list = False
            elif left == 0:
                continue
            else:
                waiting.append((kind, left - 1))
                in_list = True
            yield None
            if kind in (_TRUE, _FALSE):
                at += in_list  # the type of a field contains its boolean value; in a list, a boolean takes a byte
            elif kind == _BYTE:
                at += 1
            elif kind in (_I16, _I32, _I64):
                varint()
            elif kind == _DOUBLE:
                at += 8
            elif kind == _BINARY:
                # `at += varint()` would be wrong: Python would read `at` before the call, which changes it.
                length_bytes = varint()
                at += length_bytes
            elif kind in (_LIST, _SET):
                head = footer[at]
                at += 1
                waiting.append((head & 15, head >> 4 if head >> 4 < 15 else varint()))
            elif kind == _STRUCT:
                waiting.append((None, 0))
            else:
                return  # Parquet's footer has no maps
    except IndexError:
        return
