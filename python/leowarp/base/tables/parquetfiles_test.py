# SPDX-License-Identifier: Apache-2.0
"""Tests the limits for reading tables. For example, leowarp refuses a small file whose decoded data would need all
memory. A valid table is read."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base.errors import HostError, TraceError
from leowarp.base.tables import parquetfiles
from support.parquet import repeat_row_groups

READ = """
import resource, sys
from pathlib import Path
import pyarrow.parquet
from leowarp.base.tables import parquetfiles
from leowarp.base.errors import TraceError
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    parquetfiles.read_table(Path(sys.argv[1]))
except TraceError as error:
    print(error.message)
"""


def texts(kind: str) -> pa.Array:
    """Return a column that contains the same text of 1 MB 100,000 times."""
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, "i4")), pa.array(["x" * 1_000_000]))
    if kind == "text":
        return repeated
    # each row is a list of ten texts
    return pa.ListArray.from_arrays(pa.array(range(0, 100_001, 10), pa.int32()), repeated)


@pytest.mark.parametrize("kind", ["text", "list of texts", "rows"])
def test_a_small_file_that_would_take_all_memory_is_refused_within_1_gib(tmp_path, kind):
    path = tmp_path / "bomb.parquet"
    if kind == "rows":
        pq.write_table(pa.table({name: np.zeros(1 << 20, "i8") for name in "abc"}), path, compression="zstd")
        repeat_row_groups(path, 300)
    else:
        pq.write_table(pa.table({"a": texts(kind)}), path, compression="zstd")
    # The limit is on addresses. Each further arena of malloc reserves 64 MiB of them, and the number of arenas depends
    # on how threads meet.
    said = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True,
        env=os.environ | {"MALLOC_ARENA_MAX": "2"},
    )  # fmt: skip
    assert "bytes would take more than" in said.stdout, said


def test_texts_that_repeat_are_counted_and_short_ones_are_read(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    table = pa.table({"a": pa.array(["abc", None, "de"] * 1000), "b": pa.array([["x", "yz"], [], None] * 1000)})
    pq.write_table(table, path)
    # In each group of 3 rows, one column has texts of 5 bytes, and the other column has texts of 3 bytes.
    assert parquetfiles._text_bytes(path, ["a", "b.list.element"], 8000) == 8000
    # Each text has an offset of 16 bytes, and each list takes 128 bytes.
    fixed_bytes = (3000 + 4000) * 16 + 3000 * 128
    assert limited(monkeypatch, fixed_bytes + 8000).read_table(path) == table
    with pytest.raises(TraceError, match="bytes would take more than"):
        limited(monkeypatch, fixed_bytes + 7999).read_table(path)


def limited(monkeypatch, most_bytes):
    """Return the module `parquetfiles` with a limit of `most_bytes`."""
    monkeypatch.setattr(parquetfiles, "MOST_TIMES_FILE", 0)
    monkeypatch.setattr(parquetfiles, "MOST_SMALL_BYTES", most_bytes)
    return parquetfiles


def test_the_environment_raises_the_limit_and_the_error_says_to_how_much(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": np.zeros(2000)}), path)
    with pytest.raises(TraceError) as raised:
        limited(monkeypatch, 7999).read_table(path)
    assert "LEOWARP_TABLE_BYTES=16000 " in raised.value.hint
    monkeypatch.setenv(parquetfiles.TABLE_BYTES, "16000")
    assert parquetfiles.read_table(path).num_rows == 2000
    monkeypatch.setenv(parquetfiles.TABLE_BYTES, "much")
    with pytest.raises(HostError, match="not a number of bytes"):
        parquetfiles.read_table(path)


def test_columns_that_are_not_read_count_nothing(tmp_path, monkeypatch):
    path: Path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": np.zeros(1000), "b": np.zeros(1000)}), path)
    assert limited(monkeypatch, 8000).read_table(path, columns=["a"]).num_columns == 1
    with pytest.raises(TraceError):
        parquetfiles.read_table(path)


def test_tables_that_are_read_together_are_bounded_together(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        pq.write_table(pa.table({"a": np.zeros(1000)}), path)
    limited(monkeypatch, 16000).refuse_large(paths)
    with pytest.raises(TraceError, match="with the other tables of"):
        limited(monkeypatch, 15999).refuse_large(paths)


def test_larger_tables_may_take_what_their_size_and_the_machine_allow(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": np.arange(100_000)}), path)
    limited(monkeypatch, 1000)
    monkeypatch.setattr(parquetfiles, "MOST_TIMES_FILE", 8)
    assert parquetfiles.read_table(path).num_rows == 100_000
    with monkeypatch.context() as patch:
        patch.setattr(parquetfiles, "usable_memory_bytes", lambda: 799_999)
        with pytest.raises(TraceError, match="would take more than 799,999 bytes"):
            parquetfiles.read_table(path)
    monkeypatch.setattr(parquetfiles, "MOST_BYTES", 799_998)
    with pytest.raises(TraceError, match="would take more than 799,998 bytes"):
        parquetfiles.read_table(path)
