# SPDX-License-Identifier: Apache-2.0
"""Tests that tables are read within limits: small files that would take all memory are refused, and valid ones are
read."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base import parquetfiles
from leowarp.base.errors import HostError, TraceError

READ = """
import resource, sys
from pathlib import Path
import pyarrow.parquet
from leowarp.base import parquetfiles
from leowarp.base.errors import TraceError
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    parquetfiles.read_table(Path(sys.argv[1]))
except TraceError as error:
    print(error.message)
"""


def texts(kind: str) -> pa.Array:
    """One text of 1 MB, 100,000 times."""
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, "i4")), pa.array(["x" * 1_000_000]))
    if kind == "text":
        return repeated
    # Ten in each row.
    return pa.ListArray.from_arrays(pa.array(range(0, 100_001, 10), pa.int32()), repeated)


@pytest.mark.parametrize("kind", ["text", "list of texts", "rows"])
def test_a_small_file_that_would_take_all_memory_is_refused_within_1_gib(tmp_path, kind):
    path = tmp_path / "bomb.parquet"
    if kind == "rows":
        group = pa.table({name: np.zeros(1 << 20, "i8") for name in "abc"})
        with pq.ParquetWriter(path, group.schema, compression="zstd") as writer:
            for _ in range(300):
                writer.write_table(group)
    else:
        pq.write_table(pa.table({"a": texts(kind)}), path, compression="zstd")
    said = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    assert "bytes would take more than" in said.stdout, said


def test_texts_that_repeat_are_counted_and_short_ones_are_read(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    table = pa.table({"a": pa.array(["abc", None, "de"] * 1000), "b": pa.array([["x", "yz"], [], None] * 1000)})
    pq.write_table(table, path)
    # 5 bytes per 3 rows in one column, 3 in the other
    assert list(parquetfiles._text_bytes(path, ["a", "b.list.element"])) == [8000]
    monkeypatch.setattr(parquetfiles, "MOST_TIMES_FILE", 0)
    fixed_bytes = (3000 + 4000) * 4
    for most, is_read in ((fixed_bytes + 8000, True), (fixed_bytes + 7999, False)):
        monkeypatch.setattr(parquetfiles, "MOST_SMALL_BYTES", most)
        if is_read:
            assert parquetfiles.read_table(path) == table
        else:
            with pytest.raises(TraceError, match="bytes would take more than"):
                parquetfiles.read_table(path)


def test_the_environment_raises_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": np.zeros(1000)}), path)
    monkeypatch.setattr(parquetfiles, "MOST_TIMES_FILE", 0)
    monkeypatch.setattr(parquetfiles, "MOST_SMALL_BYTES", 7999)
    with pytest.raises(TraceError, match=r"LEOWARP_TABLE_BYTES") as raised:
        parquetfiles.read_table(path)
    assert raised.value.hint is not None
    monkeypatch.setenv(parquetfiles.TABLE_BYTES, "8000")
    assert parquetfiles.read_table(path).num_rows == 1000
    monkeypatch.setenv(parquetfiles.TABLE_BYTES, "much")
    with pytest.raises(HostError, match="not a number of bytes"):
        parquetfiles.read_table(path)


def test_columns_that_are_not_read_count_nothing(tmp_path, monkeypatch):
    path: Path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": np.zeros(1000), "b": np.zeros(1000)}), path)
    monkeypatch.setattr(parquetfiles, "MOST_TIMES_FILE", 0)
    monkeypatch.setattr(parquetfiles, "MOST_SMALL_BYTES", 8000)
    assert parquetfiles.read_table(path, columns=["a"]).num_columns == 1
    with pytest.raises(TraceError):
        parquetfiles.read_table(path)
