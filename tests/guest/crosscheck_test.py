# SPDX-License-Identifier: Apache-2.0
"""Tests the check that the tables of cures agree with the plan, the timeline and the packets. Real runs must pass, and
runs with forged tables must not."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leowarp as lw
from leowarp.base.checksums import manifest_text, sha256_of_file
from leowarp.crosscheck import crosscheck
from support.route_changes import AT_A_SATELLITE, AT_THE_STATION, made

pytestmark = pytest.mark.guest

CURES = {
    "copies": {"duplicate": "200 ms", "resequence": "flow", "resequence_kind": "advanced", "notify": True},
    "both": {"move_queue": "kept", "hold": True, "notify": True, "notify_delay": "3 ms"},
    "marker": {"end_marker": True, "notify": True},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One run for each entry of `CURES`. All tests use the same runs."""
    folder = tmp_path_factory.mktemp("runs")
    return {name: made(folder / name, AT_THE_STATION, cures).path for name, cures in CURES.items()}


@pytest.mark.parametrize("name", CURES)
def test_what_the_guest_says_is_what_plan_timeline_and_packets_imply(runs, name):
    found = crosscheck(lw.open(runs[name]))
    assert [each.wrong for each in found.values() if each.wrong] == []
    assert all(each.checked >= 5 for each in found.values())


@pytest.mark.parametrize(
    ("cures", "more"),
    [
        ({"duplicate": "200 ms", "notify": True, "notify_loss": "50 %"}, {"isl.loss": "20 %", "run.seed": 3}),
        ({"resequence": "flow", "resequence_kind": "advanced"}, {"isl.loss": "3 %", "run.seed": 4}),
        ({"resequence": "aggregate", "notify": True, "notify_false_interval": "200 ms"}, {}),
        ({"move_queue": "kept", "notify": True}, {"routing.in_flight": "drop"}),
    ],
)
def test_it_holds_with_losses_false_notices_and_ways_that_are_lost(tmp_path, cures, more):
    found = crosscheck(made(tmp_path, AT_A_SATELLITE, cures, **more))
    assert [each.wrong for each in found.values() if each.wrong] == []


def replaced(run, file, table):
    """Replace a table, and its sha256 in the manifest, as a forger would."""
    pq.write_table(table, file)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"][str(file.relative_to(run))] = sha256_of_file(file)
    (run / "manifest.json").write_text(manifest_text(manifest))


@pytest.mark.parametrize(
    ("name", "table", "column", "by"),
    [
        ("copies", "switches", "copied_pkts", 1),
        ("copies", "switches", "copied_bytes", 1),
        ("copies", "switches", "t_ns", 1_000_000_000),
        ("copies", "switches", "to_direction", -12),
        ("copies", "switches", "refused", 1),
        ("copies", "orders", "numbered_pkts", -1),
        ("copies", "orders", "waited_pkts", 1),
        ("copies", "orders", "given_up_pkts", 1),
        ("copies", "orders", "late_pkts", 1),
        ("copies", "orders", "eliminated_pkts", -1),
        ("copies", "orders", "longest_ns", 50_000_000),
        ("copies", "orders", "waiting_max_bytes", -1043),
        ("copies", "notices", "old_delay_ns", 1),
        ("copies", "notices", "new_delay_ns", 1),
        ("copies", "notices", "wait_ns", 1),
        ("copies", "notices", "number", 1),
        ("copies", "nodetotals", "signals_pkts", 1),
        ("copies", "nodetotals", "signals_bytes", 1),
        ("both", "switches", "moved_pkts", 1),
        ("both", "switches", "moved_bytes", -1),
        ("both", "switches", "hold_ns", 1),
        ("both", "notices", "sent_ns", 1),
        ("marker", "merges", "old_direction", 1),
        ("marker", "merges", "new_direction", 1),
        ("marker", "merges", "longest_ns", 100_000_000),
        ("marker", "merges", "refused", 1),
    ],
)
def test_a_record_that_was_changed_by_hand_is_found(runs, tmp_path, name, table, column, by):
    path = tmp_path / "run"
    shutil.copytree(runs[name], path)
    file = path / "30-trace" / f"{table}.parquet"
    old = pq.read_table(file)
    rows = old.to_pylist()
    # the first row about packets to Tokyo (host 1), by the column `host` or else `destination_host`; if the table has
    # neither column, its first row
    row = next(row for row in rows if row.get("host", row.get("destination_host", 1)) == 1)
    row[column] = (row[column] or 0) + by
    replaced(path, file, pa.Table.from_pylist(rows, schema=old.schema))
    found = crosscheck(lw.open(path))
    assert any(each.wrong for each in found.values())


@pytest.mark.parametrize("table", ["switches", "notices"])
def test_a_row_that_was_taken_out_is_missed(runs, tmp_path, table):
    path = tmp_path / "run"
    shutil.copytree(runs["copies"], path)
    file = path / "30-trace" / f"{table}.parquet"
    replaced(path, file, pq.read_table(file).slice(1))
    assert any("the timeline has it" in sentence for sentence in crosscheck(lw.open(path))[table].wrong)
