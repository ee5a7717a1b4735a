# SPDX-License-Identifier: Apache-2.0
"""What `[cures]` did, on the page of a run."""

import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp import layout
from leowarp.report.cures_section import cures_section
from leowarp.report.view import RunView
from leowarp.trace import TABLES
from support.synthetic.run import LINKS, PLAN_TOML, STATIONS, S, write_synthetic_run

SWITCH = {"t_ns": 20 * S, "from_direction": 2, "to_direction": 8, "host": 1, "moved_pkts": 15, "moved_bytes": 22_710,
          "hold_ns": 1_500_000, "held_back_pkts": 3, "held_back_bytes": 4542, "held_back_max_bytes": 3028,
          "held_back_longest_ns": None, "full_pkts": 4}  # fmt: skip
ORDER = {"source_host": 0, "destination_host": 1, "protocol": 6, "source_port": 10_000, "destination_port": 30_000,
         "numbered_pkts": 60_000, "waited_pkts": 26, "waiting_max_bytes": 39_364, "longest_ns": 2_000_000,
         "given_up_pkts": 5, "late_pkts": 1}  # fmt: skip


@pytest.fixture
def cured(tmp_path):
    """Writes the run with these tables and gives the section."""

    def section(cures="", **tables):
        path = write_synthetic_run(tmp_path / "run", PLAN_TOML + cures)
        directions = [end for a, b in LINKS for end in ([a, b, "isl"], [b, a, "isl"])]
        metadata = {"directions": directions, "hosts": [f"host:{name}" for name in STATIONS]}
        for name, rows in tables.items():
            schema = TABLES[name].arrow(metadata)
            frame = pd.DataFrame(rows, columns=schema.names)
            table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
            pq.write_table(table.replace_schema_metadata(schema.metadata), path / layout.TRACE / f"{name}.parquet")
        return cures_section(RunView(path))

    return section


def test_an_entry_names_its_links_and_what_became_of_the_packets(cured):
    found = cured(switches=[SWITCH])
    for cell in ("20", "s-00-00", "s-01-00", "s-01-01", "Tokyo", "15", "1.5", "3", "3.028", "4"):
        assert re.search(f">{re.escape(cell)}</t[dh]>", found), cell
    assert "<details" not in found


def test_many_entries_are_folded_and_told_in_part(cured):
    assert "<summary>13 entries</summary>" in cured(switches=[SWITCH | {"t_ns": t} for t in range(13)])
    assert "<summary>300 of 301 entries</summary>" in cured(switches=[SWITCH | {"t_ns": t} for t in range(301)])


def test_a_stream_that_was_put_in_order_names_its_flow(cured):
    found = cured('\n[cures]\nresequence = "flow"\n', orders=[ORDER, ORDER | {"protocol": None, "source_port": None}])
    assert "TCP, port 10000 to 30000" in found
    assert "all packets" in found
    assert "39.364" in found


def test_a_run_without_cures_has_no_such_section(cured):
    assert cured() == ""


def test_cures_that_had_nothing_to_do_are_said_to_have_had_nothing(cured):
    assert "No entry of a node" in cured(switches=[])
