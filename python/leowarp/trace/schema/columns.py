# SPDX-License-Identifier: Apache-2.0
"""Definitions of a table and a column of the trace, and columns that several tables have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from leowarp.base.metadata import encode_metadata

SCHEMA_VERSION = 1
"""Version in the metadata of each file. All tables of the trace have the same version."""


@dataclass(frozen=True)
class Kind:
    """Type of a column's values, in Parquet and in the guest's records.

    type: In Parquet.
    wire: Type in a record, little endian: one of `i64 u64 i32 u32 u16 u8 f64` (design/interfaces.md, section 5). `wire`
        is empty if records do not contain the column.
    """

    type: pa.DataType
    wire: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    name: Name of the column, which ends in the unit.
    unit: Unit; "" if the column has none.
    doc: Meaning of the column, which is written into the file and into the reference page.
    nullable: False if a value is never missing. If a record lacks the value, reading it is an error.
    words: For an enumeration, the word for each number, which replaces the number in tables of a `Run`; otherwise
        empty.
    names: For numbers of hosts or nodes, the metadata entry with their names, which replace the numbers in tables of a
        `Run`; otherwise empty.
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
        """Arrow type in Parquet."""
        return self.kind.type

    def field(self) -> pa.Field:
        """Arrow field with `unit` and `doc` as its metadata."""
        return pa.field(self.name, self.type, self.nullable, metadata={"unit": self.unit, "doc": self.doc})


@dataclass(frozen=True)
class TableSchema:
    """A table of `30-trace/`.

    This object alone defines how a table is read, written, documented, and declared in Rust.

    name: Name of the table and of its files: `NAME.rec` of the guest, `NAME.parquet` of the run.
    record: Name of the Rust type of a row; empty if the agent does not write the table.
    columns: Columns in the order of the records.

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
        """The names of the columns in their order."""
        return [column.name for column in self.columns]

    def arrow(self, metadata: dict[str, object] | None = None) -> pa.Schema:
        """Arrow schema. Values of `metadata` are written as JSON with sorted keys, so that equal input gives identical
        files.

        metadata: Additional entries, such as `directions`, `hosts` and `flows`.
        Returns: The schema. The schema's metadata are `leowarp.table`, `leowarp.schema`, `doc` and the additional
            entries; each field has `unit` and `doc`.
        """
        entries: dict[bytes | str, bytes | str] = {
            "leowarp.table": self.name,
            "leowarp.schema": str(SCHEMA_VERSION),
            "doc": self.doc,
        }
        entries.update(encode_metadata(metadata or {}))
        return pa.schema(self._fields, metadata=entries)

    @cached_property
    def _fields(self) -> list[pa.Field]:
        return [column.field() for column in self.columns]


def key(name: str, kind: Kind, unit: str, doc: str, words: Mapping[int, str] | None = None) -> Column:
    """A column in which a value is never missing."""
    return Column(name, kind, unit, doc, nullable=False, words=words or {})


def host(name: str, doc: str) -> Column:
    """A column that contains host numbers."""
    return Column(name, U31, "", doc, nullable=False, names="hosts")


# Parquet files contain signed integers, because every program can compute with them. The guest's records have the
# unsigned types of the kernel.
I64, U64, U32 = Kind(pa.int64(), "i64"), Kind(pa.int64(), "u64"), Kind(pa.int64(), "u32")
I32, U16 = Kind(pa.int32(), "i32"), Kind(pa.int32(), "u16")
# U31 is for numbers of objects and sizes of a packet, which are far below 2^31. A value of 2^31 or more is rejected
# when a record is read.
U31 = Kind(pa.int32(), "u32")
U8, BOOL, F64 = Kind(pa.uint8(), "u8"), Kind(pa.bool_(), "u8"), Kind(pa.float64(), "f64")
# A record contains an index into `names`, a list in the file's header.
NAME = Kind(pa.dictionary(pa.int32(), pa.string()), "u32")
# Units.
NS, BYTES, PKTS = "ns", "bytes", "pkts"
# Columns that several tables have.
T_NS = key("t_ns", I64, NS, "time since the run's start")
FLOW = key("flow", U31, "", "number of the flow, as in the plan, from 0")
LINK_DIRECTION = key(
    "direction", U31, "", "2 * link + (0 for a>b, 1 for b>a); the table's metadata `directions` names both ends"
)
