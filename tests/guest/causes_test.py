# SPDX-License-Identifier: Apache-2.0
"""Tests late packets, losses and retransmissions at a route change in the guest, for each in-flight rule."""

from pathlib import Path

import pandas as pd
import pytest

import leowarp as lw
from support.synthetic.reordering import measured

pytestmark = pytest.mark.guest

SCENARIO = Path(__file__).parents[2] / "examples" / "madrid-tokyo.toml"
SETTINGS = {"run.start": "105 s", "run.duration": "63 s",
            "observe.reordering_threshold": "1000 pkts", "observe.sockets": "none",
            "observe.queues": "none", "observe.counters": "none"}  # fmt: skip


@pytest.fixture(scope="module", params=["drain", "source", "drop"])
def run(request, tmp_path_factory):
    """A run per in-flight rule. Routes change at 30 s and at 60 s, while packets wait in a queue on the old path."""
    settings = SETTINGS | {"routing.in_flight": request.param}
    return lw.run(SCENARIO, settings, tmp_path_factory.mktemp(request.param) / "run", report=False, progress=False)


def test_causes_add_up_to_the_totals_of_the_flow(run):
    causes, (flow,) = run.causes(), run.summary["flows"]
    assert causes["t_ns"].dropna().tolist() == [30e9, 60e9]
    for name in ("late_pkts", "lost_pkts", "lost_queue_pkts", "lost_link_down_pkts", "needed_retransmissions_pkts",
                 "spurious_retransmissions_pkts"):  # fmt: skip
        assert causes[name].sum() == flow[name], name
    assert flow["retransmissions_pkts"] == flow["needed_retransmissions_pkts"] + flow["spurious_retransmissions_pkts"]


def test_each_rule_has_its_own_harm(run):
    (flow,) = run.summary["flows"]
    # Packets are overtaken only at route changes, and each spurious retransmission repeats a late packet.
    assert flow["late_by_changes_pkts"] == flow["late_pkts"]
    assert flow["spurious_by_changes_pkts"] == flow["spurious_retransmissions_pkts"]
    if run.plan.routing.in_flight == "drop":
        assert flow["late_pkts"] == 0
        assert flow["lost_by_changes_pkts"] == flow["lost_link_down_pkts"] > 100
        assert flow["needed_by_changes_pkts"] > 100
    else:
        assert flow["late_pkts"] > 100
        assert flow["spurious_retransmissions_pkts"] > 0
        assert flow["lost_by_changes_pkts"] == flow["lost_link_down_pkts"] == 0


def test_reordering_around_a_change_is_that_of_its_packets(run):
    packets = run.packets(flow=0)
    first = packets[(packets["direction"] == "data") & (packets["len_bytes"] > 0) & ~packets["is_retransmission"]]
    first = first.sort_values("sent_ns", kind="stable")
    rows = run.reordering(flow=0, scope="change")
    assert rows["change_ns"].tolist() == [30e9, 60e9]
    for row in rows.itertuples(index=False):
        assert row.density_beyond_pkts == 0
        mine = first[first["sent_ns"].between(row.t_ns, row.end_ns, inclusive="left")]
        payload_bytes = int(mine["len_bytes"].max())
        obvious, histograms = measured(
            mine["sent_ns"].to_numpy(), mine["received_ns"].to_numpy("float64"), payload_bytes, threshold_pkts=1000
        )
        for name, expected in obvious.items():
            value = getattr(row, name)
            assert pd.isna(value) if expected is None else value == pytest.approx(expected), name
        for kind, name in enumerate(("density", "buffer_density", "n_reordering", "extent")):
            bars = run.densities(flow=0, scope="change", kind=name)
            bars = bars[bars["number"] == row.number]
            given = dict(zip(bars["index"], bars["pkts"], strict=True))
            assert given == {index: pkts for index, pkts in histograms[kind].items() if pkts}
