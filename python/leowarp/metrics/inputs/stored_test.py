# SPDX-License-Identifier: Apache-2.0
"""Large tables: read column by column, one flow at a time, released for those of another run; numbers stay the same."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.metrics import metrics, read_tables
from leowarp.metrics.inputs import held, stored
from leowarp.metrics.inputs import tables as kept
from leowarp.metrics.inputs.tables import ON_REQUEST, rows_by
from leowarp.trace import TABLES


@pytest.fixture
def all_are_large(monkeypatch):
    for room in (stored, kept):
        monkeypatch.setattr(room, "MANY_ROWS", 0)


def test_large_tables_give_the_same_numbers(run_dir, plan, result, all_are_large):
    again = metrics(read_tables(run_dir), plan)
    assert again.summary == result.summary
    pd.testing.assert_frame_equal(again.long_form(), result.long_form())


def test_a_large_table_equals_a_small_one_and_has_no_second_copy_by_flow(run_dir, tables, all_are_large):
    large = read_tables(run_dir)
    for name in ("packets", "sockets", "timeline"):
        pd.testing.assert_frame_equal(getattr(large, name), getattr(tables, name))
    for flow in (0, 1):
        large.of_flow("bins", flow)
    assert [key for key in large._selected if key[0] == "bins"] == [("bins", 1)]


def test_columns_of_pages_are_read_when_they_are_asked_for(tables):
    names = ON_REQUEST["packets"]
    assert set(tables.packets.columns) == {*TABLES["packets"].names} - {*names}
    assert list(tables.on_request("packets", *names).columns) == list(names)
    assert len(tables.on_request("packets", "path_id")) == len(tables.packets)


def test_a_run_beside_another_gives_up_its_large_tables_and_reads_them_again(run_dir, monkeypatch):
    monkeypatch.setattr(held, "FEW_ROWS", 1000)
    first, second = read_tables(run_dir), read_tables(run_dir)
    rows = len(first.packets)
    first.of_flow("packets", 0)
    monkeypatch.setattr(held, "MOST_ROWS", rows)
    before = first.packets.copy()
    assert len(first.flows) == 1
    assert len(second.packets) == rows
    assert "packets" not in vars(first)
    assert "flows" in vars(first)
    assert not any(name == "packets" for name, _ in first._selected)
    pd.testing.assert_frame_equal(first.packets, before)
    assert "packets" not in vars(second)
    # The tables of one run are never taken from it.
    assert len(first.bins) > held.FEW_ROWS
    assert "packets" in vars(first)


@given(st.lists(st.one_of(st.integers(0, 4).map(float), st.just(np.nan))))
def test_rows_are_those_that_have_the_key(keys):
    keys = np.array(keys, dtype="float64")
    found = rows_by(keys)
    assert {key: at.tolist() for key, at in found.items()} == {
        key: np.flatnonzero(keys == key).tolist() for key in sorted({*keys[~np.isnan(keys)].tolist()})
    }
