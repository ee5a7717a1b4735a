# SPDX-License-Identifier: Apache-2.0
"""Tests that large tables are read by column and by flow, and are released for another run. The tests check that the
numbers stay the same."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.metrics import metrics, read_tables
from leowarp.metrics.inputs import stored
from leowarp.metrics.inputs import tables as kept
from leowarp.metrics.inputs.tables import FLOW_BY_FLOW, rows_by
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
    pd.testing.assert_frame_equal(large.packets.frame(), tables.packets)
    for name in FLOW_BY_FLOW:
        by_flow = getattr(tables, name).sort_values("flow", kind="stable", ignore_index=True)
        pd.testing.assert_frame_equal(getattr(large, name).frame(), by_flow)
    for flow in (1, 0):
        mine = large.of_flow("bins", flow)
    assert list(large._selected["bins"]) == [0]
    assert len(mine)
    assert isinstance(mine._place, slice)
    assert mine._columns is large.bins._columns


@pytest.mark.parametrize("name", ["sockets", "bins", "packets", "drops"])
def test_rows_of_a_flow_are_its_rows_in_their_order(run_dir, tables, all_are_large, name):
    whole = getattr(tables, name)
    for each in (tables, read_tables(run_dir)):
        for flow in (0, 1, 99):
            mine = whole[(whole["flow"] == flow).to_numpy(dtype=bool, na_value=False)]
            pd.testing.assert_frame_equal(each.of_flow(name, flow).reset_index(drop=True), mine.reset_index(drop=True))


def test_columns_of_a_large_table_are_read_when_they_are_asked_for(run_dir, all_are_large, monkeypatch):
    large, asked = read_tables(run_dir), []
    read = large._read

    def asked_read(name, columns):
        asked.append((name, columns))
        return read(name, columns)

    monkeypatch.setitem(vars(large), "_read", asked_read)
    assert len(large.packets["path_id"]) == len(large.packets)
    assert len(large.packets["path_id"])
    assert asked == [("packets", ["path_id"])]


def test_a_run_beside_another_gives_up_its_large_tables_and_reads_them_again(run_dir, monkeypatch):
    monkeypatch.setattr(stored, "FEW_ROWS", 1000)
    first, second = read_tables(run_dir), read_tables(run_dir)
    rows = len(first.packets)
    first.of_flow("packets", 0)
    monkeypatch.setattr(stored, "MOST_ROWS", rows)
    before = first.packets.copy()
    assert len(first.flows) == 1
    assert len(second.packets) == rows
    assert "packets" not in vars(first)
    assert "flows" in vars(first)
    assert "packets" not in first._selected
    pd.testing.assert_frame_equal(first.packets, before)
    assert "packets" not in vars(second)
    # Reading a table of a run never releases tables of the same run.
    assert len(first.bins) > stored.FEW_ROWS
    assert "packets" in vars(first)


def test_a_run_that_is_released_is_not_compared_with_others(run_dir, monkeypatch):
    monkeypatch.setattr(stored, "FEW_ROWS", 0)
    monkeypatch.setattr(stored, "_held", [])
    first, second = read_tables(run_dir), read_tables(run_dir)
    assert len(first.bins) == len(second.bins)
    monkeypatch.setattr(stored, "MOST_ROWS", 0)
    # The first entry of the list of large tables is `bins` of `first`. When an entry of `second` is removed, the two
    # runs must not be compared.
    assert len(first.links)
    assert set(vars(first)) & set(TABLES) == {"bins", "links"}
    assert not set(vars(second)) & set(TABLES)


@given(st.lists(st.one_of(st.integers(0, 4).map(float), st.just(np.nan))))
def test_rows_are_those_that_have_the_key(keys):
    keys = np.array(keys, dtype="float64")
    found = rows_by(keys)
    assert {key: at.tolist() for key, at in found.items()} == {
        key: np.flatnonzero(keys == key).tolist() for key in sorted({*keys[~np.isnan(keys)].tolist()})
    }
