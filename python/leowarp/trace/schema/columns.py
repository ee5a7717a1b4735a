# SPDX-License-Identifier: Apache-2.0
"""The classes of a table and a column of the trace, and the columns that several tables share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from leowarp.base.tables.metadata import column, table_schema


@dataclass(frozen=True)
class Kind:
    """The type of a column's values, in Parquet and in the guest's records.

    type: In Parquet.
    wire: The type in a record, little endian: one of `i64 u64 i32 u32 u16 u8 f64` (design/interfaces.md, section 5).
        The text is empty if the column is not in the records.
    """

    type: pa.DataType
    wire: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    name: The name of the column, which ends in the unit.
    unit: The unit, or "" if the column has none.
    doc: The meaning of the column, for the file and the reference page.
    nullable: Whether a value may be missing. If `nullable` is false, a record without the value is an error.
    words: The word for each number, if the column is an enumeration. Otherwise empty. Tables of a `Run` contain the
        words instead of the numbers.
    names: If the values are hosts or nodes, the metadata entry with their names. Otherwise empty. Tables of a `Run`
        contain the names instead of the numbers.
    """

    name: str
    kind: Kind
    unit: str
    doc: str
    nullable: bool = True
    words: Mapping[int, str] = field(default_factory=dict)
    names: str = ""

    @property
    def type(self) -> pa.DataType:
        return self.kind.type

    def field(self) -> pa.Field:
        """Return the Arrow field with `unit` and `doc` as its metadata."""
        return column(self.name, self.type, self.unit, self.doc, nullable=self.nullable)


@dataclass(frozen=True)
class TableSchema:
    """A table of `30-trace/`.

    This object alone defines how a table is read, written, documented, and declared in Rust.

    name: The name of the table and of its files: `NAME.rec` of the guest, `NAME.parquet` of the run.
    record: The name of the Rust type of a row, or empty if the agent does not write the table.
    columns: The columns in the order of the records.

    >>> from leowarp.trace.schema import TABLES
    >>> TABLES["echoes"].names
    ['flow', 'index', 'sent_ns', 'received_ns', 'reply_ns']
    """

    name: str
    record: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def arrow(self, metadata: dict[str, object] | None = None) -> pa.Schema:
        """Return the Arrow schema of the table, with further entries for its metadata (`table_schema`)."""
        return table_schema(self.name, self.doc, self._fields, metadata)

    @cached_property
    def _fields(self) -> list[pa.Field]:
        return [column.field() for column in self.columns]


def key(name: str, kind: Kind, unit: str, doc: str, words: Mapping[int, str] | None = None) -> Column:
    """Return a column in which a value is never missing."""
    return Column(name, kind, unit, doc, nullable=False, words=words or {})


def host(name: str, doc: str) -> Column:
    """Return a column of host numbers."""
    return Column(name, U31, "", doc, nullable=False, names="hosts")


# Parquet files contain signed integers, because every program can compute with them. The guest's records have the
# unsigned types of the kernel.
I64, U64, U32 = Kind(pa.int64(), "i64"), Kind(pa.int64(), "u64"), Kind(pa.int64(), "u32")
I32, U16 = Kind(pa.int32(), "i32"), Kind(pa.int32(), "u16")
# U31 is for values far below 2^31, such as numbers of objects and sizes of packets. A value of 2^31 or more is rejected
# when a record is read.
U31 = Kind(pa.int32(), "u32")
U8, BOOL, F64 = Kind(pa.uint8(), "u8"), Kind(pa.bool_(), "u8"), Kind(pa.float64(), "f64")
# A record contains an index into `names`, a list in the file's header.
NAME = Kind(pa.dictionary(pa.int32(), pa.string()), "u32")
NS, BYTES, PKTS = "ns", "bytes", "pkts"
T_NS = key("t_ns", I64, NS, "time since the run's start")
FLOW = key("flow", U31, "", "number of the flow, as in the plan, from 0")
LINK_DIRECTION = key(
    "direction", U31, "", "2 * link + (0 for a>b, 1 for b>a); the table's metadata `directions` names both ends"
)
