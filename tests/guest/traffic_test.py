# SPDX-License-Identifier: Apache-2.0
"""Tests short flows between cities. Goodput, completion times and the values of pairs must equal sums over packets."""

from pathlib import Path

import numpy as np
import pytest

import leowarp as lw
from leowarp.report import figure

EXAMPLE = Path(__file__).parents[2] / "examples" / "city-traffic.toml"
LEAST_HEADERS_BYTES = 14 + 20 + 20


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("traffic") / "run"
    return lw.run(EXAMPLE, {"observe.packets": "all"}, path, report=False, progress=False)


@pytest.fixture(scope="module")
def data(run):
    packets = run.packets()
    return packets[(packets["direction"] == "data") & (packets["len_bytes"] > 0)]


def first_arrivals(packets):
    """Return the first arrival of each packet of a flow. Rows with the same `seq` are the same packet."""
    came = packets[packets["received_ns"].notna()].sort_values("received_ns", kind="stable")
    return came.drop_duplicates("seq")


@pytest.mark.guest
def test_each_complete_flow_has_the_goodput_of_its_packets(run, data):
    flows, planned = run.summary["flows"], run.plan.flows
    complete = [flow for flow in flows if flow["completion_ns"] is not None]
    assert len(flows) > 200
    assert len(complete) > 0.95 * len(flows)
    by_flow = dict(list(data.groupby("flow")))
    rate_bps = run.plan.ground.rate_bps
    for flow in complete:
        plan = planned[flow["flow"]]
        came = first_arrivals(by_flow[flow["flow"]])
        assert came["len_bytes"].sum() == plan.size_bytes
        last_ns = int(came["received_ns"].max())
        assert (flow["start_ns"], flow["stop_ns"]) == (plan.start_ns, last_ns)
        assert flow["completion_ns"] == last_ns - plan.start_ns
        for name in ("goodput_mean_bps", "goodput_acked_mean_bps", "goodput_sacked_mean_bps"):
            assert flow[name] == plan.size_bytes * 8e9 / (last_ns - plan.start_ns)
        assert flow["goodput_mean_bps"] < rate_bps
        assert 0 < flow["capacity_used_ratio"] < 1


@pytest.mark.guest
def test_pairs_and_the_matrix_are_sums_over_packets(run, data):
    pairs = run.pairs()
    flows = run.summary["flows"]
    arrived = {number: first_arrivals(mine) for number, mine in data.groupby("flow")}
    drawn = figure(run.path, "matrix").axes[0].images[0].get_array()
    shown = sorted(float(value) for value in np.asarray(drawn).ravel() if np.isfinite(value))
    assert shown == pytest.approx(sorted(pairs["goodput_mean_bps"].to_numpy(dtype="float64") / 1e6))
    for row in pairs.itertuples():
        mine = [flow for flow in flows if (flow["source"], flow["destination"]) == (row.source, row.destination)]
        assert row.flows == len(mine)
        # Only packets that arrive in the flow's lifetime count, and not those that arrive after the flow was cut off.
        carried = sum(
            int(came.loc[came["received_ns"] <= flow["stop_ns"], "len_bytes"].sum())
            for flow in mine
            for came in [arrived.get(flow["flow"], data[:0])]
        )
        edges = np.unique([flow[name] for flow in mine for name in ("start_ns", "stop_ns")])
        middles = (edges[1:] + edges[:-1]) / 2
        alive = np.array([any(flow["start_ns"] < t < flow["stop_ns"] for flow in mine) for t in middles], dtype=bool)
        assert row.goodput_mean_bps == pytest.approx(carried * 8e9 / np.diff(edges)[alive].sum(), rel=1e-6)
        sent = data[data["flow"].isin([flow["flow"] for flow in mine])]
        assert row.retransmissions_pkts == sent["is_retransmission"].sum()
        assert row.lost_pkts >= sent["drop_cause"].notna().sum()
        # Over the lifetime of a pair, its goodput does not exceed the rate of a single link.
        assert row.goodput_mean_bps * (1448 + LEAST_HEADERS_BYTES) / 1448 < run.plan.ground.rate_bps
