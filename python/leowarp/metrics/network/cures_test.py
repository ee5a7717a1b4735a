# SPDX-License-Identifier: Apache-2.0
"""Tests the scalars about the actions of cures."""

import pyarrow as pa
import pytest

from leowarp.metrics.inputs.stored import tables_of
from leowarp.metrics.network.cures import cure_scalars
from leowarp.trace import TABLES

ROW = {"t_ns": 5, "from_direction": 0, "to_direction": 2, "host": 1, "moved_pkts": 3, "moved_bytes": 4542}
NONE_HELD = {"held_back_pkts": 0, "held_back_bytes": 0, "held_back_max_bytes": 0, "full_pkts": 0}
HELD = {"hold_ns": 9, "held_back_pkts": 2, "held_back_bytes": 132, "held_back_max_bytes": 66, "full_pkts": 1}


def scalars_of(*rows: dict) -> dict:
    table = pa.Table.from_pylist(list(rows), schema=TABLES["switches"].arrow({}))
    return cure_scalars(tables_of({"switches": table}))


def test_without_cures_nothing_is_known():
    assert set(cure_scalars(tables_of({})).values()) == {None}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], (0, 0, 0, None, 0)),
        ([ROW | NONE_HELD], (3, 0, 0, None, 0)),
        ([ROW | NONE_HELD, ROW | HELD | {"held_back_longest_ns": 7}, ROW | HELD | {"held_back_longest_ns": 4}],
         (9, 4, 66, 7, 2)),
    ],
)  # fmt: skip
def test_sums_and_maxima_over_all_switches(rows, expected):
    got = scalars_of(*rows)
    assert tuple(got.values())[: len(expected)] == expected
    assert (got["copied_bytes"], got["signals_bytes"]) == (None, None)


def test_copies_are_summed_where_there_were_any():
    rows = [ROW | NONE_HELD | {"copied_pkts": 2, "copied_bytes": 3028}, ROW | NONE_HELD | {"refused": 1}]
    assert scalars_of(*rows)["copied_bytes"] == 3028


def test_the_node_that_held_most_and_what_all_of_them_sent():
    base = {"held_pkts": 0, "held_bytes": 0}
    rows = [
        base | {"node": 3, "held_max_bytes": 900, "signals_pkts": 1, "signals_bytes": 46},
        base | {"node": 5, "held_max_bytes": 200, "signals_pkts": 2, "signals_bytes": 148},
    ]
    nodes = pa.Table.from_pylist(rows, schema=TABLES["nodetotals"].arrow({}))
    got = cure_scalars(tables_of({"nodetotals": nodes}))
    assert (got["node_held_max_bytes"], got["signals_pkts"], got["signals_bytes"]) == (900, 3, 194)
    assert got["moved_pkts"] is None


def test_the_longest_wait_for_a_marker_and_for_a_turn():
    merge = {"t_ns": 5, "from_direction": 0, "to_direction": 2, "host": 1}
    stream = {"source_host": 0, "destination_host": 1}
    tables = {
        "merges": [merge | {"refused": 1}, merge | {"marker": 1, "longest_ns": 8}, merge | {"longest_ns": 3}],
        "orders": [stream | {"waiting_max_bytes": 70, "longest_ns": 9}, stream | {"waiting_max_bytes": 90}],
    }
    got = cure_scalars(
        tables_of({name: pa.Table.from_pylist(rows, schema=TABLES[name].arrow({})) for name, rows in tables.items()})
    )
    assert (got["merge_longest_ns"], got["order_longest_ns"], got["order_waiting_max_bytes"]) == (8, 9, 90)
