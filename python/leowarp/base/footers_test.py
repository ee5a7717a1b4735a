# SPDX-License-Identifier: Apache-2.0
"""The size of a table's footer is checked before Arrow decodes it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base import footers, parquetfiles
from leowarp.base.errors import TraceError


def test_footers_of_many_columns_are_not_decoded(tmp_path, monkeypatch):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"column-{number}": [0] for number in range(3000)}), path)
    assert footers.why_too_large(path) is None
    monkeypatch.setattr(footers, "MOST_VALUES", 50_000)
    assert "more than 50,000 values" in footers.why_too_large(path)
    with pytest.raises(TraceError, match="footer"):
        parquetfiles.read_table(path)
    monkeypatch.setattr(footers, "MOST_BYTES", 300_000)
    assert "bytes" in footers.why_too_large(path)


def test_values_of_a_footer_are_counted_to_its_end(tmp_path):
    """Arrow can decode these footers, and the count must be complete."""
    path = tmp_path / "a.parquet"
    for columns in (1, 20, 40):
        pq.write_table(pa.table({f"column-{number}": ["x"] for number in range(columns)}), path)
        content = path.read_bytes()
        length_bytes = int.from_bytes(content[-8:-4], "little")
        count = sum(1 for _ in footers._values(content[-8 - length_bytes : -8]))
        assert 30 * columns < count < 80 * columns + 40
