# SPDX-License-Identifier: Apache-2.0
"""Tests distributions of delays that are computed from bins. They must agree with the delays of the single packets."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import TraceError
from leowarp.metrics import ACK, DATA, ROUND_TRIP, check_conservation, delays, metrics, quantile, read_tables
from leowarp.metrics.per_flow.delays import DELAY_SCALARS, QUANTILES
from leowarp.scenario import load, resolve
from support.synthetic import access as syn
from support.synthetic.delays import delay_bins, delay_rows, exact_round_trips, one_way_ns, round_trip_ends

MS = 1_000_000


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    """A run with the table `delays`. The run does not store all packets."""
    path = syn.write_synthetic_access(tmp_path_factory.mktemp("access") / "run")
    packets = {flow: syn.data_packets(flow) for flow in syn.INTERVALS_NS}
    return with_delays(read_tables(path), packets), resolve(load(path / "00-plan.toml")), packets


def with_delays(tables, packets):
    rows = [delay_rows(flow, data, syn.ack_packets(data)) for flow, data in packets.items()]
    frame = pd.concat(rows, ignore_index=True)
    ends = {flow: round_trip_ends(data, syn.ack_packets(data)) for flow, data in packets.items()}
    flows = tables.flows.assign(**{name: [ends[flow][name] for flow in tables.flows["flow"]] for name in ends[1]})
    return dataclasses.replace(tables, delays=frame, flows=flows, missing=tables.missing - {"delays"})


def of(tables, delay_ns):
    """Return the distribution of a flow's round trips. The flow's packets have the delays `delay_ns`."""
    flow, nothing = 1, pd.Series([None], dtype="Int64")
    ends = {"rtt_min_ns": min, "rtt_max_ns": max, "rtt_sum_ns": sum}
    known = {name: [of(delay_ns)] if delay_ns else nothing for name, of in ends.items()}
    changed = {"delays": delay_bins(flow, ROUND_TRIP, delay_ns), "flows": pd.DataFrame({"flow": [flow], **known})}
    return delays(dataclasses.replace(tables, **changed, missing=frozenset()), flow, ROUND_TRIP)


@pytest.mark.slow
def test_all_round_trips_are_counted_though_few_packets_are_stored(access):
    tables, plan, packets = access
    rtt_ns, unanswered = exact_round_trips(packets[1], syn.ack_packets(packets[1]))
    found = delays(tables, 1, ROUND_TRIP)
    assert (found.total_pkts, found.unanswered_pkts) == (len(rtt_ns), unanswered)
    assert unanswered > 0
    row = metrics(tables, plan).summary["flows"][1]
    assert (row["rtt_min_ns"], row["rtt_max_ns"]) == (rtt_ns.min(), rtt_ns.max())
    assert row["rtt_mean_ns"] == round(rtt_ns.mean())
    assert 0 < row["rtt_error_ns"] < 8192
    for name, q in QUANTILES.items():
        assert abs(row[f"rtt_{name}_ns"] - quantile(rtt_ns, q)) <= row["rtt_error_ns"]
    owd_ns = one_way_ns(packets[1])
    assert abs(row["owd_p90_ns"] - quantile(owd_ns, 0.9)) <= row["owd_error_ns"] < 8192
    assert (row["owd_min_ns"], row["owd_max_ns"]) == (owd_ns.min(), owd_ns.max())
    assert row["owd_mean_ns"] == round(owd_ns.mean())


def test_a_run_without_the_table_is_read_as_before(access):
    tables, plan, _ = access
    row = metrics(dataclasses.replace(tables, missing=tables.missing | {"delays"}), plan).summary["flows"][1]
    assert row["rtt_p99_ns"] == syn.UP_NS + max(syn.BASE_NS)
    assert (row["rtt_error_ns"], row["owd_p50_ns"]) == (None, None)
    assert delays(dataclasses.replace(tables, missing=frozenset({"delays"})), 1, DATA) is None


def test_what_arrived_and_was_not_counted_is_a_contradiction(access):
    tables, _, _ = access
    check_conservation(tables)
    for quantity, words in (
        (DATA, "data: .* one-way delays"),
        (ACK, "back: .* one-way"),
        (ROUND_TRIP, "data: .* trips"),
    ):
        frame = tables.delays.copy()
        place = frame.index[(frame["flow"] == 2) & (frame["quantity"] == quantity)][-1]
        frame.loc[place, "pkts"] += 1
        with pytest.raises(TraceError, match=f"flow 2, {words}"):
            check_conservation(dataclasses.replace(tables, delays=frame))


def test_of_no_packets_there_is_no_number(access):
    tables, _, _ = access
    found = of(tables, [])
    assert (found.quantile_ns(0.5), found.error_ns(0.5), found.total_pkts) == (None, None, 0)
    assert set(found.scalars("rtt").values()) == {None}
    assert len(found.scalars("rtt")) == 8


def test_within_a_bin_ranks_are_spread_between_the_smallest_and_the_largest(access):
    tables, _, _ = access
    # The first bin contains the minimum, and the last one the maximum. Between the first and the last bin is one bin
    # that is not cut.
    edges = (40 * MS // 8192 * 8192 + np.arange(4) * 8192).tolist()
    found = of(tables, [edges[0] + 4192, edges[0] + 5000, *[edges[1] + 7] * 4, edges[2] + 10])
    assert [found.quantile_ns(k / 7) for k in range(1, 8)] == [
        edges[0] + 4192, edges[0] + 4192 + 3999 * 3 // 4, *(edges[1] + 8191 * k // 8 for k in (1, 3, 5, 7)),
        edges[2] + 10,
    ]  # fmt: skip
    assert [found.error_ns(k / 7) for k in (0, 1, 2, 3, 4, 7)] == [0, 0, 2999, 8191 - 1023, 8191 - 3071, 0]


def test_delays_that_are_all_the_same_are_exact(access):
    found = of(access[0], [40 * MS] * 3)
    assert found.scalars("x") == {f"x_{name}": 0 if name == "error_ns" else 40 * MS for name in DELAY_SCALARS}


@settings(max_examples=60)
@given(
    st.lists(st.one_of(st.integers(0, 3000), st.integers(0, 120_000_000_000), st.integers(50 * MS, 50 * MS + 30_000)),
             min_size=1, max_size=200),
    st.one_of(st.floats(0, 1), st.sampled_from(sorted(QUANTILES.values()))),
)  # fmt: skip
@example([0, 1 << 20, (1 << 20) - 1], 1.0)
def test_a_quantile_is_within_its_bound_and_the_bin_of_the_exact_one(access, delay_ns, q):
    found, frame = of(access[0], delay_ns), delay_bins(1, ROUND_TRIP, delay_ns)
    exact = quantile(np.array(delay_ns, dtype="float64"), q)
    (row,) = frame[(frame["lower_ns"] <= exact) & (exact < frame["upper_ns"])].itertuples()
    width_ns = row.upper_ns - row.lower_ns
    assert width_ns == 1 or (width_ns * 128 <= row.lower_ns and width_ns <= 10_000)
    assert row.lower_ns <= found.quantile_ns(q) < row.upper_ns
    assert abs(found.quantile_ns(q) - exact) <= found.error_ns(q) < width_ns
    scalars = found.scalars("x")
    assert (scalars["x_min_ns"], scalars["x_max_ns"]) == (min(delay_ns), max(delay_ns))
    assert scalars["x_mean_ns"] == round(sum(delay_ns) / len(delay_ns))
    for name, at in QUANTILES.items():
        assert abs(scalars[f"x_{name}_ns"] - quantile(np.array(delay_ns, dtype="float64"), at)) <= scalars["x_error_ns"]
