# SPDX-License-Identifier: Apache-2.0
"""Tests how paths and path changes are numbered."""

import pyarrow as pa

from leowarp.routes.path_numbers import PathNumbers, with_change_ids

# Nodes 0 to 3 are satellites, 4 and 5 stations.
VIA_0, VIA_1, VIA_2 = (4, 0, 5), (4, 1, 5), (4, 2, 5)


def test_paths_are_numbered_in_order_of_first_use_for_each_destination():
    paths = [[VIA_1, VIA_1[::-1]], [VIA_0, VIA_2[::-1]], [VIA_1, VIA_2[::-1]], [None, VIA_1[::-1]]]
    assert PathNumbers.of_paths(paths).path_ids == [[0, 0], [1, 1], [0, 1], [None, 0]]


def test_a_change_is_another_path_or_none_after_the_first_update():
    path_ids = [[3], [3], [4], [None], [None], [4], [4], [3]]
    assert PathNumbers.of_path_ids(path_ids).change_ids == [[None], [None], [0], [1], [None], [2], [None], [3]]
    assert PathNumbers.of_path_ids([[None], [0]]).change_ids == [[None], [0]]
    assert PathNumbers.of_path_ids([]).change_ids == []


def test_each_pair_counts_its_own_changes():
    numbers = PathNumbers.of_paths([[VIA_0, VIA_0[::-1]], [VIA_1, VIA_0[::-1]], [VIA_2, VIA_2[::-1]]])
    assert numbers.change_ids == [[None, None], [0, None], [1, 0]]


def test_a_table_from_before_the_column_gets_it():
    rows = [
        {"t_ns": t_ns, "source": source, "destination": destination, "path_id": path_id}
        for t_ns, ids in ((0, (0, 0)), (10, (1, 0)), (20, (1, None)), (30, (0, 0)))
        for source, destination, path_id in (("A", "B", ids[0]), ("B", "A", ids[1]))
    ]
    table = with_change_ids(pa.Table.from_pylist(rows))
    assert table["change_id"].to_pylist() == [None, None, 0, None, None, 0, 1, 1]
    assert with_change_ids(table) is table
    damaged = table.drop_columns(["change_id", "path_id"])
    assert with_change_ids(damaged) is damaged
