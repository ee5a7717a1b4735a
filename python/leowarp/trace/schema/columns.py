# SPDX-License-Identifier: Apache-2.0
"""Definitions of a table and a column of the trace, and elements that several tables share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from leowarp.base.metadata import encode_metadata

SCHEMA_VERSION = 1
"""Version in each file's metadata, for all tables of the trace together."""


@dataclass(frozen=True)
class Kind:
    """Type of a value, in Parquet and in the guest's records.

    type: In Parquet.
    wire: Type in the records, little endian: one of `i64 u64 i32 u32 u16 u8 f64` (design/interfaces.md, section 5);
        empty if no record has it.
    """

    type: pa.DataType
    wire: str


@dataclass(frozen=True)
class Column:
    """One column.

    name: It ends in the unit.
    unit: "" for a column without one.
    doc: Its meaning, in the file and in the reference.
    nullable: False if a value is never missing; a record without it is an error.
    words: For an enumeration: the word for each number, as in the tables of a `Run`; otherwise empty.
    names: For a number of a host or node: the metadata entry that has the names, as in the tables of a `Run`; otherwise
        empty.
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
    """One table of `30-trace/`.

    This one object defines how a table is read, written, documented and made in Rust:

    name: Also the name of its files: `NAME.rec` of the guest, `NAME.parquet` of the run.
    record: Name of one row in Rust; empty if the agent does not write the table.
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
        """The names of its columns, in order."""
        return [column.name for column in self.columns]

    def arrow(self, metadata: dict[str, object] | None = None) -> pa.Schema:
        """Arrow schema; `metadata` values are written as JSON with sorted keys, so that equal input gives equal bytes.

        metadata: Further entries, such as `directions`, `hosts` and `flows`.
        Returns: Metadata `leowarp.table`, `leowarp.schema`, `doc` and those entries; each field has `unit` and `doc`.
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
    """A column of hosts by number."""
    return Column(name, U31, "", doc, nullable=False, names="hosts")


# Parquet gets signed integers, with which every reader can compute; the records have the kernel's types.
I64, U64, U32 = Kind(pa.int64(), "i64"), Kind(pa.int64(), "u64"), Kind(pa.int64(), "u32")
I32, U16 = Kind(pa.int32(), "i32"), Kind(pa.int32(), "u16")
# The number of an object, or the size of one packet: far below 2^31. The reader refuses larger values.
U31 = Kind(pa.int32(), "u32")
U8, BOOL, F64 = Kind(pa.uint8(), "u8"), Kind(pa.bool_(), "u8"), Kind(pa.float64(), "f64")
# The record holds an index into the header's `names`.
NAME = Kind(pa.dictionary(pa.int32(), pa.string()), "u32")
# Units
NS, BYTES, PKTS = "ns", "bytes", "pkts"
# Columns of several tables
T_NS = key("t_ns", I64, NS, "time since the run's start")
FLOW = key("flow", U31, "", "number of the flow, as in the plan, from 0")
LINK_DIRECTION = key(
    "direction", U31, "", "2 * link + (0 for a>b, 1 for b>a); the table's metadata `directions` names both ends"
)
