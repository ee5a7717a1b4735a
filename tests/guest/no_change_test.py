# SPDX-License-Identifier: Apache-2.0
"""Tests that no cure acts without a route change. The trace must equal the trace with `drain`, and the cure's own
tables must be empty."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import leowarp as lw
from leowarp.scenario.schema import Cures
from support.route_changes import EXAMPLES

pytestmark = pytest.mark.guest

CURES: dict[str, dict[str, Any]] = {
    "move": {"move_queue": "kept"},
    "move lost": {"move_queue": "lost"},
    "hold": {"hold": True, "hold_full": "send"},
    "end marker": {"end_marker": True},
    "move, hold, end marker": {"move_queue": "kept", "hold": True, "end_marker": True, "notify": True},
    "duplicate": {"duplicate": "200 ms"},
    "basic by flow": {"resequence": "flow"},
    "basic by aggregate": {"resequence": "aggregate"},
    "advanced by flow": {"resequence": "flow", "resequence_kind": "advanced"},
    "advanced by aggregate": {"resequence": "aggregate", "resequence_kind": "advanced"},
    "duplicate, advanced": {"duplicate": "200 ms", "resequence": "flow", "resequence_kind": "advanced"},
    "notify": {"notify": True, "notify_delay": "1 ms"},
}
OWN = {"switches", "merges", "notices", "orders", "nodetotals"}
IDLE = ("waited_pkts", "given_up_pkts", "late_pkts", "eliminated_pkts")


def tables(folder: Path, keys: dict[str, Any]) -> dict[str, bytes]:
    """Make a run of 3 s without a route change, and return a dict from trace table name to file content. No packet is
    lost, so no packet waits for a missing one."""
    roomy = {"run.duration": "3 s", "ground.queue": "5000 pkts", "isl.queue": "5000 pkts"}
    lw.run(EXAMPLES / "madrid-tokyo.toml", roomy | keys, folder, report=False, progress=False)
    return {file.stem: file.read_bytes() for file in (folder / "30-trace").glob("*.parquet")}


@pytest.fixture(scope="module")
def drain(tmp_path_factory):
    """The trace of a run without cures, as a dict from table name to file content."""
    return tables(tmp_path_factory.mktemp("drain") / "run", {})


def test_every_cure_is_among_them():
    switches = {"move_queue", "hold", "end_marker", "duplicate", "resequence", "notify"}
    given = {key for cures in CURES.values() for key in cures}
    assert switches <= given
    # every other field of `Cures` is a setting of one of the cures in `CURES`
    names = {field.name for field in dataclasses.fields(Cures)}
    assert {name for name in names if not any(name.startswith(switch) for switch in switches)} == set()


@pytest.mark.parametrize("name", CURES)
def test_without_a_change_a_cure_leaves_the_bytes_of_drain(drain, tmp_path, name):
    keys = {f"cures.{key}": value for key, value in CURES[name].items()}
    made = tables(tmp_path / "run", keys)
    assert made.keys() - drain.keys() <= OWN
    assert {table: made[table] for table in drain} == drain
    run = lw.open(tmp_path / "run")
    for table in (made.keys() & OWN) - {"orders"}:
        assert run.table(table).num_rows == 0, table
    if "orders" in made:
        orders = run.orders()
        assert len(orders) == 2
        assert (orders.numbered_pkts > 1000).all()
        assert orders[list(IDLE)].fillna(0).to_numpy().sum() == 0


# loss_detection_test.py shows that methods of loss detection change packets only if a packet is lost or late.
@pytest.mark.parametrize("detection", ["door", "notified"])
def test_without_a_change_nor_a_loss_a_way_to_find_losses_leaves_the_bytes_of_drain(drain, tmp_path, detection):
    assert tables(tmp_path / "run", {"tcp.loss_detection": detection}) == drain
