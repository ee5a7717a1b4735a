# SPDX-License-Identifier: Apache-2.0
"""Decodes the footer of a Parquet file before Arrow does.

Arrow creates an object of some kB for each column of each row group, so a footer of 6 MB takes 1.5 GB of memory. This
module therefore limits the length of the footer and the number of values in it.

It also returns the sizes of the columns. pyarrow has the same numbers. However, its `RowGroupMetaData.column` ends the
process if the C++ library finds an error in a column's metadata, because pyarrow declares the function without `except
+`. One changed byte of a footer is enough.

The footer is in Apache Thrift's compact protocol
(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). The numbers of fields are from
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_BYTES = 8 << 20
"""The maximum size of a footer in bytes. With 10,000 links, the names take 2 MB of the footer."""

MOST_VALUES = 200_000
"""The largest number of values, structures and lists in a footer. A footer of leowarp has some 30 per column and
262,144 rows."""

_MOST_NESTED = 32
"""The greatest depth of structures and lists. The format needs 6."""

_TRAILER_BYTES = 8

# Types of Thrift's compact protocol.
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)

# Arrow reads the items of these lists as the type that the format prescribes, whatever type the file states. Without a
# check, Arrow and this module could read the same bytes as different footers.
_COLUMN = (4, 1, 3)
_KINDS_OF_ITEMS = {
    (2,): _STRUCT, (4,): _STRUCT, (5,): _STRUCT, (7,): _STRUCT, (4, 1): _STRUCT, (4, 4): _STRUCT,
    (*_COLUMN, 2): _I32, (*_COLUMN, 3): _BINARY, (*_COLUMN, 8): _STRUCT, (*_COLUMN, 13): _STRUCT,
    (*_COLUMN, 16, 2): _I64, (*_COLUMN, 16, 3): _I64, (*_COLUMN, 17, 2): _I32,
}  # fmt: skip

_PHYSICAL_TYPES = (
    "BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY",
)  # fmt: skip
_PLAIN_DICTIONARY, _RLE_DICTIONARY = 2, 8


class FooterError(ValueError):
    """The footer is too large, or it is damaged."""


@dataclass(frozen=True)
class Chunk:
    """The values of a column in one row group, as the footer describes them.

    path: The names of the column and of the structures around it.
    physical_type: One of `_PHYSICAL_TYPES`.
    values: The number of values. It differs from `rows` in a column of lists.
    size_bytes: The size without compression.
    has_dictionary: Whether values may be stored as numbers of entries of a dictionary.
    """

    path: tuple[str, ...]
    physical_type: str
    rows: int
    values: int
    size_bytes: int
    has_dictionary: bool


def footer_of(path: Path) -> bytes:
    """Return the bytes of a file's footer. They are empty if the file has no footer; Arrow itself reports that error.

    Raises FooterError if the footer is too large to be decoded, and OSError if the file cannot be read.
    """
    with path.open("rb") as file:
        size_bytes = file.seek(0, 2)
        if size_bytes < _TRAILER_BYTES:
            return b""
        file.seek(size_bytes - _TRAILER_BYTES)
        length_bytes = int.from_bytes(file.read(4), "little")
        if file.read(4) != b"PAR1" or length_bytes > size_bytes - _TRAILER_BYTES:
            return b""
        if length_bytes > MOST_BYTES:
            raise FooterError(f"its footer has {length_bytes:,} bytes, and the largest that is read {MOST_BYTES:,}")
        file.seek(size_bytes - _TRAILER_BYTES - length_bytes)
        return file.read(length_bytes)


def chunks(footer: bytes) -> Iterator[Chunk]:
    """Yield the columns of each row group of a footer (`footer_of`).

    Raises FooterError if the footer has more than `MOST_VALUES` values, or is not a footer of Parquet.
    """
    try:
        for group in _Reader(footer).structure().get(4, []):
            rows = int(group[3])
            for column in group[1]:
                about = column[3]
                yield Chunk(
                    path=tuple(name.decode() for name in about[3]),
                    physical_type=_PHYSICAL_TYPES[about[1]],
                    rows=rows,
                    values=int(about[5]),
                    size_bytes=int(about[6]),
                    has_dictionary=not {_PLAIN_DICTIONARY, _RLE_DICTIONARY}.isdisjoint(about[2]),
                )
    except (LookupError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise FooterError("its footer is not one of Parquet") from error


class _Reader:
    """Reads Thrift's compact protocol. A structure becomes a dict from the numbers of its fields to their values.

    A place is the numbers of the fields around a value, from the outside to the inside.
    Raises IndexError if the bytes end too early, LookupError for other damage, and FooterError if there are too many
    values.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._count = 0

    def structure(self, place: tuple[int, ...] = ()) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            self._count_one()
            kind, step = head & 15, head >> 4
            number = number + step if step else self._integer()
            # The type of a boolean field contains its value.
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, (*place, number))
        return fields

    def _value(self, kind: int, place: tuple[int, ...]) -> Any:
        if len(place) > _MOST_NESTED:
            raise LookupError("too deep")
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._natural())
        if kind == _STRUCT:
            return self.structure(place)
        if kind in (_LIST, _SET):
            return self._list(place)
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind in (_BYTE, _TRUE, _FALSE):
            return self._byte()
        raise LookupError(f"type {kind}")  # Parquet's footer has no maps.

    def _list(self, place: tuple[int, ...]) -> list[Any]:
        head = self._byte()
        kind, length = head & 15, head >> 4 if head >> 4 < 15 else self._natural()
        if length and kind != _KINDS_OF_ITEMS.get(place, kind):
            raise LookupError(f"a list of type {kind}")
        items = []
        for _ in range(length):
            self._count_one()
            items.append(self._value(kind, place))
        return items

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MOST_VALUES:
            raise FooterError(f"its footer has more than {MOST_VALUES:,} values")

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _bytes(self, length: int) -> bytes:
        self._at += length
        if self._at > len(self._content):
            raise IndexError("the footer ends too early")
        return self._content[self._at - length : self._at]

    def _natural(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift > 63:
                return value

    def _integer(self) -> int:
        value = self._natural()
        return (value >> 1) ^ -(value & 1)
