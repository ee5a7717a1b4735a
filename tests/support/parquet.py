# SPDX-License-Identifier: Apache-2.0
"""Parquet files with far more rows than bytes, as an attacker would make them."""

import io
from pathlib import Path

import pyarrow.parquet as pq

_TRAILER_BYTES = 8
"""The length of the footer (4 bytes) and the word PAR1."""


def repeat_row_groups(path: Path, times: int) -> None:
    """Change a file's footer so that it lists the file's row groups `times` times. The rows are stored only once.

    Example: a file of 1 MB can have 300 million rows, and it is made at once.
    """
    content = path.read_bytes()
    group, repeated = (pq.read_metadata(path) for _ in range(2))
    for _ in range(times - 1):
        repeated.append_row_groups(group)
    footer = io.BytesIO()
    repeated.write_metadata_file(footer)
    footer_bytes = int.from_bytes(content[-_TRAILER_BYTES:-4], "little")
    # `write_metadata_file` writes PAR1 before the footer, too.
    path.write_bytes(content[: -_TRAILER_BYTES - footer_bytes] + footer.getvalue()[4:])
