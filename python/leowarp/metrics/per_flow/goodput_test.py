# SPDX-License-Identifier: Apache-2.0
"""Tests the goodput of synthetic runs against sums over the runs' packets."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.metrics import DATA, metrics
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, Life, arrived, life, payload_bytes
from support.synthetic.star import MS, PAYLOAD_BYTES, SAMPLE_NS, S, Transfer, in_order_bytes, star

RATES_BPS = (1_000_000, 5_000_000, 50_000_000)
END_NS = S


def transfers(stations=("A", "B", "C"), most=4, least=1):
    """Return a strategy for transfers between stations. Some transfers are too large to complete during the run, stop
    early, or lose packets."""
    ends = st.permutations(stations).map(lambda order: order[:2])
    size = st.one_of(st.none(), st.integers(1, 40 * PAYLOAD_BYTES), st.just(10_000_000))
    one = st.builds(
        lambda ends, start, gap, size, lasts, lost: Transfer(*ends, start, gap, size, start + lasts, lost),
        ends, st.integers(0, END_NS - 1), st.integers(2 * MS, 40 * MS), size, st.integers(1, 2 * END_NS),
        st.frozensets(st.integers(0, 40), max_size=3),
    )  # fmt: skip
    return st.lists(one, min_size=least, max_size=most)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(transfers(), transfers(("A", "B"), most=2, least=0), st.sampled_from(RATES_BPS))
def test_goodput_is_what_the_packets_brought_over_the_flow_s_life(planned, connections, rate_bps):
    run = star(planned, rate_bps, END_NS, connections=connections)
    plan = with_connections(run.plan, run.tables.connections)
    for number, flow in enumerate(plan.flows):
        if flow.kind != "tcp":
            continue
        lived = life(run.tables, number, flow, END_NS)
        carried = {name: payload_bytes(run.tables, number, lived, name) for name in GOODPUT_SERIES}
        packets = run.data[run.data["flow"] == number]
        in_order = int(in_order_bytes(packets, np.array([lived.stop_ns]))[0])
        if number < len(run.plan.flows):
            assert carried["in_order"] == in_order
        elif lived.stop_ns < END_NS:
            # The flow is a connection that ended before the end of the run, with or without a missing packet.
            assert (
                carried["in_order"]
                == packets[packets["received_ns"].notna()].drop_duplicates("number")["len_bytes"].sum()
            )
        assert carried["sacked"] == carried["acked"] <= carried["in_order"]
        if lived.payload_bytes is not None:
            assert carried["acked"] == carried["in_order"] == lived.payload_bytes
        rate = lived.rate_bps(carried["in_order"])
        if rate is None:
            # The run ended before the flow began, or the flow stopped at its start.
            assert lived.stop_ns == lived.start_ns
            continue
        assert rate * (lived.stop_ns - lived.start_ns) / 8e9 == pytest.approx(carried["in_order"])
        assert rate <= rate_bps


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(transfers(), st.sampled_from(RATES_BPS))
def test_a_flow_that_was_complete_needs_no_samples(planned, rate_bps):
    run = star(planned, rate_bps, END_NS)
    missing = run.tables.missing | {"sockets"}
    blind = dataclasses.replace(run.tables, sockets=run.tables.sockets[:0], missing=missing)
    for number, flow in enumerate(run.plan.flows):
        lived = life(run.tables, number, flow, END_NS)
        assert life(blind, number, flow, END_NS) == lived
        for series in GOODPUT_SERIES:
            known = payload_bytes(run.tables, number, lived, series) if lived.payload_bytes is not None else None
            assert payload_bytes(blind, number, lived, series) == known


def test_100_kB_in_190_ms_are_4_Mbit_per_second():
    run = star([Transfer("A", "B", 100 * MS, MS, size_bytes=100_000)], 10_000_000, END_NS)
    (flow,) = metrics(run.tables, run.plan).summary["flows"]
    assert flow["goodput_mean_bps"] == 100_000 * 8e9 / flow["completion_ns"]
    assert (flow["start_ns"], flow["stop_ns"]) == (100 * MS, 100 * MS + flow["completion_ns"])
    # If the rate were computed from the first sample on, the flow would seem twice as fast.
    assert 5e6 < flow["goodput_mean_bps"] < flow["path_capacity_mean_bps"]
    assert flow["capacity_used_ratio"] == flow["goodput_mean_bps"] / flow["path_capacity_mean_bps"]


def test_without_packet_truth_a_flow_is_complete_at_the_sample_that_sees_it_so():
    run = star(
        [Transfer("A", "B", 0, MS, size_bytes=100_000), Transfer("A", "B", 0, 50 * MS, 10_000_000)], 10**7, END_NS
    )
    names = ("packets", "bins", "drops", "echoes")
    blind = dataclasses.replace(
        run.tables, missing=run.tables.missing | {*names}, **{name: getattr(run.tables, name)[:0] for name in names},
        flows=run.tables.flows.assign(completion_ns=np.nan),
    )  # fmt: skip
    took_ns = float(run.tables.flows["completion_ns"].iloc[0])
    lived, unfinished = (life(blind, number, flow, END_NS) for number, flow in enumerate(run.plan.flows))
    assert lived == Life(0, int(-(-took_ns // SAMPLE_NS) * SAMPLE_NS), 100_000)
    assert unfinished == Life(0, END_NS)
    flows = metrics(blind, run.plan).summary["flows"]
    assert flows[0]["goodput_mean_bps"] == 100_000 * 8e9 / lived.stop_ns


def test_a_flow_that_had_not_begun_has_no_goodput():
    assert Life(5, 5).rate_bps(0.0) is None
    assert Life(0, S).rate_bps(None) is None
    run = star([Transfer("A", "B", 0, MS), Transfer("A", "B", 2 * END_NS, MS)], 10**7, END_NS)
    late = metrics(run.tables, run.plan).summary["flows"][1]
    assert (late["goodput_mean_bps"], late["capacity_used_ratio"]) == (None, None)
    assert late["start_ns"] == late["stop_ns"] == 2 * END_NS


def test_packets_that_arrive_after_the_end_are_none_of_a_flow_s_life():
    run = star([Transfer("A", "B", 0, 10 * MS)], 10**7, END_NS)
    lived = life(run.tables, 0, run.plan.flows[0], END_NS)
    in_time = int((run.data["received_ns"] <= END_NS).sum())
    found = arrived(run.tables, 0, DATA, lived)
    assert found is not None
    # Packets that were sent in the last 50 ms are left out, although some of them arrived in time.
    assert in_time - 5 <= found.pkts < in_time < len(run.data)
    assert found.payload_bytes == found.pkts * PAYLOAD_BYTES
    whole = arrived(run.tables, 0, DATA, Life(0, END_NS, 1))
    assert whole is not None
    assert whole.pkts == len(run.data)
    older = dataclasses.replace(run.tables, bins=run.tables.bins.drop(columns="delivered_bytes"))
    assert arrived(older, 0, DATA, lived) is None
