# SPDX-License-Identifier: Apache-2.0
"""Tests the reordering of the synthetic run against values computed by hand. Also tests the worked examples of the
RFCs."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from leowarp.base.errors import ScenarioError
from leowarp.metrics import histogram, metrics, tables_of
from leowarp.metrics.per_flow.reordering import SCALARS
from leowarp.reordering import measure, measure_file
from support.synthetic import run as syn
from support.synthetic import transfer
from support.synthetic.reordering import measured, run_scalars

S = syn.S


def example(*arrivals):
    """Return the results of the reference implementation for packets numbered from 1. The n-th arrival is at n ns."""
    received = np.full(max(arrivals), np.nan)
    for when, number in enumerate(arrivals):
        received[number - 1] = when
    return measured(np.arange(len(received)), received, 100)


# Tests RFC 4737, 7.3 (table 3).
# Tests RFC 4737, 7.4 (table 4).
# Tests RFC 5236, 8 (example a).
def test_the_obvious_implementation_knows_the_worked_examples():
    # The sequence is an example of Torres and others, tables 1 and 2.
    row, histograms = example(1, 6, 7, 2, 3, 4, 5, 8)
    assert histograms[0] == {-4: 2, 0: 2, 2: 4}
    assert row["mean_displacement_pkts"] == 2
    assert row["entropy_nats"] == pytest.approx(1.03972, abs=1e-5)
    # This is the example of RFC 5236, 8a, with the RD and RBD that the RFC gives.
    row, histograms = example(1, 4, 2, 5, 3, 6, 7, 8)
    assert histograms[0] == {-2: 1, -1: 1, 0: 4, 1: 1, 2: 1}
    assert histograms[1] == {0: 5, 1: 2, 2: 1}
    # In RFC 4737, table 3, the extents are 4, 5 and 6. Only packet 4 is n-reordered, with n = 4. All three reordered
    # packets of the table are 400 bytes late.
    row, histograms = example(1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11)
    assert histograms[3] == {4: 1, 5: 1, 6: 1}
    assert histograms[2] == {1: 1, 2: 1, 3: 1, 4: 1}
    assert (row["reordered_pkts"], row["byte_offset_mean_bytes"], row["reordered3_pkts"]) == (3, 400, 1)
    # In RFC 4737, table 4, the discontinuities are 7 packets apart, and the runs have 5, 0 and 5 packets.
    row, _ = example(1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 12, 13, 11, 14, 15, 16)
    assert (row["discontinuities"], row["gap_mean_pkts"], row["runs"]) == (2, 7, 3)
    # 13 packets are in order, including those of the last run.
    assert row["run_mean_pkts"] == pytest.approx(13 / 3)


def of_run(packets, plan):
    """Make a run with these packets. Return the summary of its flow, and the number of first transmissions."""
    (flow,) = metrics(tables_of(transfer.tables_of_run(packets)), plan).summary["flows"]
    return flow, int((~packets["is_retransmission"]).sum())


def agree(flow, answer):
    """Check that the scalars of a flow equal the results of `leowarp reorder`."""
    said = run_scalars(answer)
    assert said.keys() == SCALARS.keys()
    for name, value in said.items():
        assert flow[name] == (None if value is None else pytest.approx(value, rel=1e-12)), name


# Tests RFC 4737, 4.2.3 (extent).
# Tests RFC 4737, 6.1 (retransmissions).
@pytest.mark.slow
@settings(max_examples=60)
@given(packets=transfer.transfers(is_told=False))
def test_scalars_of_a_run_are_those_of_its_first_transmissions_whatever_was_repeated(packets, plan):
    flow, sent_pkts = of_run(packets, plan)
    came = transfer.arrivals(packets)
    first = came[~came["is_retransmission"]]
    extents = transfer.by_definition(first["number"].to_numpy())
    assert flow["reordering_extent_max_pkts"] == max(extents.values(), default=None)
    assert flow["reordered_ratio"] == len(extents) / len(first)
    lengths = [syn.PAYLOAD_BYTES] * len(first)
    again = measure(first["number"], t_ns=first["received_ns"], len_bytes=lengths, sent_pkts=sent_pkts, first_seq=0)
    agree(flow, again.to_dict())
    # A packet is late if a packet that was sent later overtook it. Retransmissions can overtake too, so the comparison
    # includes all packets.
    order = came["sent_ns"].to_numpy()
    late = [order[place] < order[:place].max(initial=-1) for place in range(len(came))]
    assert flow["late_pkts"] == int((late & ~came["is_retransmission"].to_numpy(dtype=bool)).sum()) >= len(extents)


# Tests RFC 4737, 6.1 (passive measurement).
@pytest.mark.slow
@settings(max_examples=60)
@given(packets=transfer.transfers(is_told=True))
def test_scalars_of_a_run_are_those_of_its_receivers_capture(packets, plan, tmp_path_factory):
    flow, sent_pkts = of_run(packets, plan)
    file = transfer.capture(tmp_path_factory.mktemp("captures") / "receiver.pcap", packets)
    found = measure_file(file, sent_pkts=sent_pkts, first_seq=0)
    agree(flow, found.reordering.to_dict())
    assert found.counts["undecided_pkts"] == 0


def test_a_retransmission_that_arrives_in_between_lengthens_no_extent(plan):
    # Packet 1 is 30 ms late, and packet 0 is retransmitted while 1 is in flight. Packets 2 to 9 arrive before packet 1,
    # so its extent is eight packets; the retransmission does not count.
    packets = transfer.packets_of([(2, 5), (30, None), *[(2, None)] * 8])
    flow, _ = of_run(packets, plan)
    assert flow["reordering_extent_max_pkts"] == 8
    assert packets["extent_pkts"].max() == 9


def test_each_scope_of_the_synthetic_run(result):
    frame = result.reordering.set_index(["scope", "number"])
    assert frame.groupby("scope").size().to_dict() == {"run": 1, "window": 7, "change": 2}
    run = frame.loc["run", 0]
    assert run["sent_pkts"] == 60_000
    # Three packets were dropped, and 45 were in flight at the end of the run.
    assert run["lost_pkts"] == 48
    assert run["reordered_pkts"] == syn.LATE_PKTS
    assert run["reordered_ratio"] == syn.LATE_PKTS / (60_000 - 48)
    assert run["extent_max_pkts"] == syn.EXTENT_MAX_PKTS
    assert pd.isna(run["change_ns"])
    # The change at 20 s is in the window that begins at 15 s.
    assert frame.loc["window", "reordered_pkts"].tolist() == [0, 0, syn.LATE_PKTS, 0, 0, 0, 0]
    assert frame.loc["change", "reordered_pkts"].tolist() == [syn.LATE_PKTS, 0]
    assert frame.loc["change", "change_ns"].tolist() == list(syn.CHANGES_NS)
    assert frame.loc["change", "t_ns"].tolist() == [19 * S, 39 * S]
    # Without reordering, the mean extent is null. A 0 would look like a measured extent.
    assert pd.isna(frame.loc["change", 1]["extent_mean_pkts"])


def test_scalars_of_the_summary_are_those_of_the_whole_run(result):
    (flow,) = result.summary["flows"]
    run = result.reordering.iloc[0]
    for name, column in SCALARS.items():
        expected = None if pd.isna(run[column]) else run[column]
        assert flow[name] == expected, name
    # 26 packets are late by up to 26 positions, and 51 packets are early by up to 26 positions. No packet has any other
    # displacement.
    density = histogram(result.densities, 0, "density")
    shares = density["share_ratio"].to_numpy(dtype="float64")
    assert flow["mean_displacement_pkts"] == pytest.approx((np.abs(density["index"]) * shares).sum())
    assert flow["entropy_nats"] == pytest.approx(-(shares * np.log(shares)).sum())
    assert isinstance(flow["late_time_max_ns"], int)
    assert flow["density_beyond_pkts"] == 0


def test_shares_of_a_histogram(result):
    received = int(result.reordering.iloc[0]["received_pkts"])
    for kind in ("density", "buffer_density", "extent"):
        assert histogram(result.densities, 0, kind)["share_ratio"].sum() == pytest.approx(1.0)
    n_reordering = histogram(result.densities, 0, "n_reordering")
    assert n_reordering["share_ratio"].iloc[0] == n_reordering["pkts"].iloc[0] / received
    extents = histogram(result.densities, 0, "extent", "change", 0)
    # Overtaken packets arrive alternately with newer packets, so the extents are 1, 3, 5 and so on.
    assert extents["index"].tolist() == list(range(1, syn.EXTENT_MAX_PKTS + 1, 2))
    assert set(extents["pkts"]) == {1}
    assert len(histogram(result.densities, 0, "extent", "change", 1)) == 0
    assert len(histogram(result.densities, 1, "density")) == 0
    with pytest.raises(ScenarioError, match="no density 'rd'"):
        histogram(result.densities, 0, "rd")
    with pytest.raises(ScenarioError, match="no scope of reordering 'all'"):
        histogram(result.densities, 0, "density", "all")


@pytest.mark.slow
def test_densities_stand_in_the_long_form_with_their_index(result):
    frame = result.long_form()
    shares = frame[frame["metric"] == "reordering.density"]
    assert shares["value"].sum() == pytest.approx(1.0)
    assert shares["t_ns"].isna().all()
    assert set(frame.loc[frame["metric"] == "reordering_window.density", "t_ns"]) == {0, *range(5 * S, 60 * S, 10 * S)}
    late = frame[frame["metric"] == "reordering_change.reordered_pkts"]
    assert dict(zip(late["t_ns"], late["value"], strict=True)) == {20 * S: syn.LATE_PKTS, 40 * S: 0}
    assert frame.loc[~frame["metric"].str.endswith(("density", "n_reordering", "extent")), "index"].isna().all()


@pytest.mark.slow
def test_a_run_without_these_tables_has_null_scalars(tables, plan):
    empty = {name: getattr(tables, name).iloc[:0] for name in ("reordering", "densities")}
    found = metrics(dataclasses.replace(tables, **empty, missing=frozenset(empty)), plan)
    assert all(found.summary["flows"][0][name] is None for name in SCALARS)
    assert len(found.reordering) == len(found.densities) == 0
    assert math.isnan(found.long_form().set_index("metric").loc["flow.entropy_nats", "value"])
