# SPDX-License-Identifier: Apache-2.0
"""What a table and a column of the trace are, and what columns of several tables have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from leowarp.base.metadata import encode_metadata

SCHEMA_VERSION = 1
"""In each file's metadata; of the trace's tables as a whole."""


@dataclass(frozen=True)
class Kind:
    """How a value is stored, in Parquet and in the guest's records.

    type: In Parquet.
    wire: In the records, little endian: one of `i64 u64 i32 u32 u16 u8 f64` (design/interfaces.md, section 5); empty of
        what no record has.
    """

    type: pa.DataType
    wire: str


@dataclass(frozen=True)
class Column:
    """One column.

    name: Ends in the unit.
    unit: "" for what has none.
    doc: Its meaning, in the file and in the reference.
    nullable: False: it never misses a value, and a record that does is an error.
    words: Of an enumeration: what each number stands for, as tables of a `Run` have it; else empty.
    names: Of a number of a host or node: the entry of the table's metadata that names it, as tables of a `Run` have it;
        else empty.
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

    A table is read, written, documented and made in Rust from this one object:

    name: Also of its files: `NAME.rec` of the guest, `NAME.parquet` of the run.
    record: What one row of it is called in Rust; empty if the agent does not write it.
    columns: In the order of the records.

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
        """Arrow schema; `metadata` values are written as JSON, keys sorted, so that equal input gives equal bytes.

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
    """A column that never misses a value."""
    return Column(name, kind, unit, doc, nullable=False, words=words or {})


def host(name: str, doc: str) -> Column:
    """A column of hosts by their number."""
    return Column(name, U31, "", doc, nullable=False, names="hosts")


# Parquet gets signed integers, which every reader of it can compute with; the records what the kernel counts in.
I64, U64, U32 = Kind(pa.int64(), "i64"), Kind(pa.int64(), "u64"), Kind(pa.int64(), "u32")
I32, U16 = Kind(pa.int32(), "i32"), Kind(pa.int32(), "u16")
# A number of something, or a size of one packet: far from 2^31. The reader refuses what is not.
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
