# SPDX-License-Identifier: Apache-2.0
"""Tests that the kernel's taps change no packet, and see the same packets and times as packet sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
LONG = {"run.duration": "20 s"}
CASES = {
    "starlink": LONG,
    "madrid-tokyo": LONG,
    "mobile": LONG,
    "jittered-transfer": {},
    "chain": {"flows.0.congestion_control": "bbr"},
    "one-change": {},
}
OF_TRUTH = {"packets", "bins", "delays", "echoes", "ackwaits", "reordering", "flows", "drops"}


def run_of(name: str, folder: Path, changes: dict[str, Any]) -> lw.Run:
    return lw.run(EXAMPLES / f"{name}.toml", CASES[name] | changes, folder, report=False, progress=False)


@pytest.mark.parametrize("name", CASES)
def test_a_run_with_truth_is_the_run_without(tmp_path, name):
    # in starlink.toml, packet sockets changed the acknowledgement number of one in 10,000 ACKs
    with_truth, without = (run_of(name, tmp_path / str(on), {"observe.truth": on}) for on in (True, False))
    compared = 0
    for file in sorted((without.path / "30-trace").glob("*.parquet")):
        if file.stem not in OF_TRUTH:
            assert file.read_bytes() == (with_truth.path / "30-trace" / file.name).read_bytes(), file.name
            compared += pq.read_metadata(file).num_rows > 0
    assert compared >= 2
    where = ["t_ns", "direction", "cause"]
    lost, also = (run.table("drops").select(where) for run in (with_truth, without))
    assert lost.equals(also)


def test_taps_see_what_packet_sockets_see(tmp_path):
    # the flow pings every 5 ms, so no result depends on when a program reads
    changes = {"run.duration": "20 s", "flows.0.flood": False, "flows.0.interval": "5 ms", "observe.packets": "all"}
    taps, sockets = (
        lw.run(EXAMPLES / "starlink-ping.toml", changes | {"observe.capture": by}, tmp_path / by, report=False,
               progress=False)
        for by in ("taps", "sockets")
    )  # fmt: skip
    columns = ["flow", "direction", "sent_ns", "received_ns", "seq", "len_bytes", "drop_cause"]
    order = [(column, "ascending") for column in columns[:3]]
    seen = taps.table("packets").select(columns).sort_by(order)
    assert seen.num_rows > 7000
    assert seen.equals(sockets.table("packets").select(columns).sort_by(order))
