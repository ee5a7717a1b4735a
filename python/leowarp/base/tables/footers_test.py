# SPDX-License-Identifier: Apache-2.0
"""The footer of a table is decoded before Arrow decodes it."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.errors import TraceError
from leowarp.base.tables import footers, parquetfiles


def write(path, columns=3, rows=7, **options):
    table = {f"number-{each}": list(range(rows)) for each in range(columns)}
    texts = {"text": ["a", "b"] * (rows // 2) + ["a"], "list": [["x"] * (each % 3) for each in range(rows)]}
    pq.write_table(pa.table(table | texts), path, **options)
    return path


def arrows_own(path):
    footer = pq.read_metadata(path)
    groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
    return [
        (column.path_in_schema, column.physical_type, group.num_rows, column.num_values,
         column.total_uncompressed_size, any("DICTIONARY" in encoding for encoding in column.encodings))
        for group in groups for column in map(group.column, range(group.num_columns))
    ]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"row_group_size": 2}, {"use_dictionary": False}, {"version": "1.0"}])
def test_columns_are_those_that_arrow_reads(tmp_path, options):
    path = write(tmp_path / "a.parquet", columns=20, **options)
    found = [
        (".".join(one.path), one.physical_type, one.rows, one.values, one.size_bytes, one.has_dictionary)
        for one in footers.chunks(footers.footer_of(path))
    ]
    assert found == arrows_own(path)


def test_footers_of_many_columns_are_not_decoded(tmp_path, monkeypatch):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"column-{number}": [0] for number in range(3000)}), path)
    assert len(list(footers.chunks(footers.footer_of(path)))) == 3000
    monkeypatch.setattr(footers, "MOST_VALUES", 50_000)
    with pytest.raises(TraceError, match="its footer has more than 50,000 values"):
        parquetfiles.read_table(path)
    monkeypatch.setattr(footers, "MOST_BYTES", 300_000)
    with pytest.raises(TraceError, match=r"its footer has .* bytes, and the largest that is read 300,000"):
        parquetfiles.read_table(path)


FORGED = """
import sys
from pathlib import Path
from leowarp.base.tables import parquetfiles
from leowarp.base.errors import TraceError
whole, path = Path(sys.argv[1]), Path(sys.argv[2])
content = bytearray(whole.read_bytes())
footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
read = refused = 0
for place in range(footer, len(content) - 8):
    for by in (1, 76, 255):
        forged = content.copy()
        forged[place] = (forged[place] + by) % 256
        path.write_bytes(forged)
        for filters in (None, [("number-0", ">", 2)]):
            try:
                parquetfiles.read_table(path, filters=filters)
                read += 1
            except TraceError:
                refused += 1
print(read, refused)
"""


@pytest.mark.slow
def test_no_byte_of_a_footer_ends_the_process_or_keeps_it(tmp_path):
    """`RowGroupMetaData.column` of pyarrow ended the process of `leowarp verify` for a forged list of a column's size
    statistics. With filters, `pyarrow.parquet.read_table` waited without end for another forged byte."""
    whole = write(tmp_path / "whole.parquet", columns=1)
    command = [sys.executable, "-c", FORGED, whole, tmp_path / "forged.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read, refused = map(int, done.stdout.split())
    assert read > 0
    assert refused > 0


@given(content=st.binary(max_size=200))
def test_other_bytes_are_an_error(content):
    try:
        assert list(footers.chunks(content)) == []
    except footers.FooterError:
        return


def test_a_list_of_another_type_is_an_error():
    # Field 4 (row groups) as a list of one integer: Arrow would read a structure.
    with pytest.raises(footers.FooterError, match="not one of Parquet"):
        list(footers.chunks(bytes([0x49, 0x15, 0x02, 0x00])))
