# SPDX-License-Identifier: Apache-2.0
"""Metadata of Arrow tables: values as JSON, written and read in this one place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def encode_metadata(values: Mapping[str, object]) -> dict[str, str]:
    """Entries of a schema's metadata: each value as JSON, keys sorted, so that equal values give equal bytes."""
    return {key: json.dumps(values[key], sort_keys=True, ensure_ascii=False) for key in sorted(values)}


def decode_metadata(schema: pa.Schema, key: str) -> Any:
    """A value that `encode_metadata` wrote; None if the table has no such entry."""
    text = (schema.metadata or {}).get(key.encode())
    return None if text is None else json.loads(text)
