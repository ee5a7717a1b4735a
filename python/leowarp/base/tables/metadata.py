# SPDX-License-Identifier: Apache-2.0
"""The schemas of Arrow tables, and their metadata. Only this module encodes the values as JSON and decodes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any

from leowarp.base import plainfiles
from leowarp.base.errors import TraceError

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
"""The version in the metadata of each table of a run. All tables have the same version."""

DAMAGED = "the file is damaged, or no leowarp wrote it; make the run again"


def encode_metadata(values: Mapping[str, object]) -> dict[str, str]:
    """Return the entries of a schema's metadata, each value as JSON.

    Arrow stores metadata as bytes, in the order in which the entries are passed. Keys are sorted, because equal values
    must give equal bytes for the sha256 of files.

    >>> encode_metadata({"warnings": [], "hosts": ["A"]})
    {'hosts': '["A"]', 'warnings': '[]'}
    """
    return {key: json.dumps(values[key], sort_keys=True, ensure_ascii=False) for key in sorted(values)}


def column(name: str, type_: pa.DataType, unit: str, doc: str, *, nullable: bool = True) -> pa.Field:
    """Return an Arrow field with the unit and meaning of its column.

    name: The name of the column, which ends in the unit.
    doc: The meaning of the column. docs/reference/tables.md is made from these texts.
    """
    import pyarrow as pa

    return pa.field(name, type_, nullable, metadata={"unit": unit, "doc": doc})


def table_schema(
    name: str, doc: str, columns: Iterable[pa.Field], metadata: Mapping[str, object] | None = None
) -> pa.Schema:
    """Return the Arrow schema of a table.

    metadata: The further entries, such as `directions`, `hosts` and `flows` (see `encode_metadata`).
    """
    import pyarrow as pa

    entries: dict[str, str] = {"leowarp.table": name, "leowarp.schema": str(SCHEMA_VERSION), "doc": doc}
    return pa.schema(columns, metadata=entries | encode_metadata(metadata or {}))


def decode_metadata(schema: pa.Schema, key: str) -> Any:
    """Return the value that `encode_metadata` wrote, or None if the table has no entry for the key.

    Raises TraceError if the value is not JSON, or does not have the form that leowarp writes under that key.
    key: The name of the entry. If the key is in `_SHAPES`, the form of the value is checked. Other values are returned
        without a check.
    """
    text = (schema.metadata or {}).get(key.encode())
    if text is None:
        return None
    try:
        decoded = text.decode()
        plainfiles.refuse_many_values(decoded)
        value = json.loads(decoded)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"cannot read a table: its metadata {key!r} is no JSON ({error})", hint=DAMAGED) from error
    if value is not None and key in _SHAPES and not _SHAPES[key](value):
        raise TraceError(f"cannot read a table: its metadata {key!r} is not as leowarp writes it", hint=DAMAGED)
    return value


def _is_list_of(value: Any, kind: type | UnionType, length: int | None = None) -> bool:
    return isinstance(value, list) and length in (None, len(value)) and all(isinstance(one, kind) for one in value)


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "directions": lambda value: isinstance(value, list) and all(_is_list_of(ends, str, 3) for ends in value),
    "hosts": lambda value: _is_list_of(value, str),
    "virtual_ns": lambda value: isinstance(value, int) and 0 <= value < 2**63,
    "warnings": lambda value: _is_list_of(value, str),
    "slots": lambda value: _is_list_of(value, dict),
    "outages": lambda value: _is_list_of(value, dict),
    "jitter_table": lambda value: _is_list_of(value, int | float),
    "harq": lambda value: isinstance(value, dict),
}
"""A dict of key -> function that checks the form of the value. Code that uses the value need not check it."""
