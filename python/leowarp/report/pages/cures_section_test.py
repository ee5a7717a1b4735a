# SPDX-License-Identifier: Apache-2.0
"""Tests how a run's page shows the actions of `[cures]`."""

import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base import layout
from leowarp.base.tables.metadata import decode_metadata
from leowarp.report.pages.cures_section import cures_section
from leowarp.results.run import Run
from leowarp.trace import TABLES
from support.synthetic.run import PLAN_TOML, S, write_synthetic_run

SWITCH = {"t_ns": 20 * S, "from_direction": 2, "to_direction": 8, "host": 1, "moved_pkts": 15, "moved_bytes": 22_710,
          "hold_ns": 1_500_000, "held_back_pkts": 3, "held_back_bytes": 4542, "held_back_max_bytes": 3028,
          "held_back_longest_ns": None, "full_pkts": 4}  # fmt: skip
ORDER = {"source_host": 0, "destination_host": 1, "protocol": 6, "source_port": 10_000, "destination_port": 30_000,
         "numbered_pkts": 60_000, "waited_pkts": 26, "waiting_max_bytes": 39_364, "longest_ns": 2_000_000,
         "given_up_pkts": 5, "late_pkts": 1}  # fmt: skip
MERGE = {"t_ns": 20 * S, "from_direction": 2, "to_direction": 8, "host": 1, "marker": 1, "old_direction": 2,
         "new_direction": 8, "marker_ns": 21 * S, "ended_ns": 21 * S, "waited_pkts": 17, "waited_bytes": 25_738,
         "waiting_max_bytes": 24_224, "longest_ns": 7_250_000, "full_pkts": 0}  # fmt: skip
NOTICE = {"t_ns": 20 * S, "number": 1, "to_direction": 8, "told_host": 0, "destination_host": 1, "is_false": False,
          "is_lost": False, "sent_ns": 20 * S + 5_000_000, "old_delay_ns": 45_282_000, "new_delay_ns": 46_882_000,
          "wait_ns": 111_912_000}  # fmt: skip
NODE = {"node": 1, "held_pkts": 0, "held_bytes": 0, "held_max_bytes": 24_224, "held_max_at_ns": 20 * S,
        "signals_pkts": 3, "signals_bytes": 194}  # fmt: skip


@pytest.fixture
def cured(tmp_path):
    """A function that writes a run with the tables in its arguments, and returns the page's section."""

    def section(cures="", **tables):
        path = write_synthetic_run(tmp_path / "run", PLAN_TOML + cures)
        # Names of links and hosts are stored in the metadata of each table; the test copies them from one table.
        of_run = pq.read_schema(path / layout.TRACE / "links.parquet")
        metadata = {name: decode_metadata(of_run, name) for name in ("directions", "hosts")} | {"nodes": ["n-a", "n-b"]}
        for name, rows in tables.items():
            schema = TABLES[name].arrow(metadata)
            frame = pd.DataFrame(rows, columns=schema.names)
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            pq.write_table(table.replace_schema_metadata(schema.metadata), path / layout.TRACE / f"{name}.parquet")
        return cures_section(Run(path, complete=False))

    return section


def test_an_entry_names_its_links_and_what_became_of_the_packets(cured):
    found = cured(switches=[SWITCH])
    for cell in ("20", "s-00-00", "s-01-00", "s-01-01", "Tokyo", "15", "1.5", "3", "3.028", "4"):
        assert re.search(f">{re.escape(cell)}</t[dh]>", found), cell
    assert "<details" not in found


def test_why_not_all_was_moved_is_told_where_that_is_so(cured):
    assert "not all moved because" not in cured(switches=[SWITCH])
    # A reason for which there is no text is shown as its number.
    assert {"not all moved because", "9"} <= set(cells(cured(switches=[SWITCH | {"refused": 9}, SWITCH])))


def test_many_entries_are_folded_and_told_in_part(cured):
    assert "<summary>13 entries</summary>" in cured(switches=[SWITCH | {"t_ns": t} for t in range(13)])
    assert "<summary>300 of 301 entries</summary>" in cured(switches=[SWITCH | {"t_ns": t} for t in range(301)])


def test_a_stream_that_was_put_in_order_names_its_flow(cured):
    found = cured('\n[cures]\nresequence = "flow"\n', orders=[ORDER, ORDER | {"protocol": None, "source_port": None}])
    assert "TCP, port 10000 to 30000" in found
    assert "all packets" in found
    assert "39.364" in found


def cells(found):
    """Return the texts of the cells and headers of all tables, in order."""
    return re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", found)


def test_copies_and_why_there_are_none_are_told(cured):
    copied = SWITCH | {"copied_pkts": 16, "copied_bytes": 16_672}
    refused = SWITCH | {"copied_pkts": None, "copied_bytes": None, "refused": 2}
    order = ORDER | {"eliminated_pkts": 15}
    found = cells(cured('\n[cures]\nduplicate = "200 ms"\n', switches=[copied, refused], orders=[order]))
    assert {"copies, kB", "16", "16.67", "the previous link leads back to this node"} <= set(found)
    assert found.count("second copies discarded") == 1
    assert {"15", "60,000"} <= set(found)
    # In this run no packet was held, moved or resequenced.
    assert not {"held back", "moved", "given up"} & set(found)


def test_a_marker_names_the_node_where_it_was_waited_for_or_why_there_is_none(cured):
    found = cells(cured(merges=[MERGE, {name: MERGE.get(name) for name in list(MERGE)[:4]} | {"refused": 3}]))
    assert {"paths meet at", "21", "17", "24.22", "7.25"} <= set(found)
    assert "the paths meet behind a link without delay and rate" in found
    assert "No node changed" in cured(merges=[])


def test_a_notice_says_who_was_told_what_and_whether_it_was_true_and_sent(cured):
    untrue = NOTICE | {"is_false": True, "is_lost": True, "sent_ns": None}
    found = cells(cured(notices=[NOTICE, untrue]))
    assert {"Tokyo", "Madrid", "a change", "45.28", "46.88", "111.9", "a change that there is not, lost"} <= set(found)
    assert "No host received" in cured(notices=[])


def test_nodes_are_told_with_what_they_held_and_sent(cured):
    found = cells(cured(nodetotals=[NODE]))
    assert found[-6:] == ["n-b", "24.22", "20", "0", "3", "194"]


def test_a_run_without_cures_has_no_such_section(cured):
    assert cured() == ""


def test_cures_that_had_nothing_to_do_are_said_to_have_had_nothing(cured):
    assert "No node changed" in cured(switches=[])
