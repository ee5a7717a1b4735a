# SPDX-License-Identifier: Apache-2.0
"""Writes tables to disk. Tables with equal content give files with equal bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from leowarp.base import plainfiles


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as Parquet (version 2.6, zstd). The bytes depend only on the table and on pyarrow's version.

    Raises ScenarioError if the path exists and is not a plain file.
    """
    plainfiles.refuse_link(path)
    # The table is written as one chunk with row groups of a fixed length, so that the bytes do not depend on how the
    # table was built.
    pq.write_table(
        table.combine_chunks(), path, version="2.6", compression="zstd", row_group_size=1 << 20, use_dictionary=True
    )
