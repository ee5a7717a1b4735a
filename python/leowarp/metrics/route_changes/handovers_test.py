# SPDX-License-Identifier: Apache-2.0
"""Tests with the synthetic run over an access link. They check losses near changes, recovery, round trips, shares, and
capacity tables."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp import scenario
from leowarp.metrics import (
    ACK,
    DATA,
    Probes,
    RecoveryRule,
    jain_index,
    link_values,
    metrics,
    path_capacity,
    payload_ratio,
    read_tables,
    recoveries,
    round_trips,
    share_series,
)
from leowarp.metrics.per_flow.goodput import Life
from leowarp.metrics.route_changes.handovers import changes_with_loss, of_probes, probe_spikes, recovery_scalars
from leowarp.metrics.sharing.capacity import below_capacity_ratio, mean_path_capacity
from leowarp.metrics.sharing.shares import NO_RIVAL
from support.synthetic import access as syn

MS, S = syn.MS, syn.S
DOWN = ("server", "dish")


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    run_dir = syn.write_synthetic_access(tmp_path_factory.mktemp("access") / "run")
    plan = scenario.resolve(scenario.load(run_dir / "00-plan.toml"))
    return read_tables(run_dir), plan


@pytest.fixture(scope="module")
def result(access):
    return metrics(*access)


def test_a_path_through_a_satellite_that_is_no_node_leads_over_the_access_link(access):
    tables, _ = access
    assert tables.links_of(("server", "s-1", "dish")) == [("gateway", "terminal")]
    assert tables.links_of(("dish", "s-0", "server")) == [("terminal", "gateway")]
    assert tables.links_of(None) == []


def test_tables_are_not_events(access):
    tables, _ = access
    assert not tables.timeline["event"].isin(["capacity", "channel"]).any()
    t_ns, delay_ns = tables.channels.delay_ns["gateway", "terminal"]
    assert len(t_ns) == syn.END_NS // MS
    assert delay_ns[:3].tolist() == [15 * MS, 16 * MS, 15 * MS]
    assert tables.channels.loss_ratio["terminal", "gateway"][1].tolist() == [0.0]


def test_base_delays_of_slots_leave_the_spikes_out(result):
    changes = result.route_changes
    down = changes[changes["source"] == "server"]
    assert down["t_ns"].tolist() == list(syn.CHANGES_NS)
    assert down["delay_before_ns"].tolist() == list(syn.BASE_NS[:-1])
    assert down["delay_after_ns"].tolist() == list(syn.BASE_NS[1:])
    assert result.summary["route_changes"] == 4
    # The delay of the access link changes every millisecond. The time-weighted mean of the path's delay must equal the
    # mean of the delay table.
    frame = result.path_delay[DOWN]
    assert frame["delay_ns"].max() == syn.SPIKE_NS
    assert len(frame) == syn.END_NS // MS


def test_capacity_is_the_integral_of_its_table(access):
    tables, _ = access
    links = link_values(tables)
    edges = np.array([0, 26 * S, 28 * S, 60 * S])
    bits = links.capacity_bits("gateway", "terminal", edges)
    assert bits.tolist() == [26 * 40e6, 40e6 + 20e6, 32 * 20e6]
    assert np.isnan(links.capacity_bits("terminal", "gateway", edges)).all()
    assert path_capacity(tables, DOWN, edges).tolist() == [40e6, 30e6, 20e6]
    assert payload_ratio(tables, 1, 14) == 1448 / 1514


def test_a_flow_is_set_against_what_its_path_could_carry(result):
    flow = result.summary["flows"][1]
    carries = (27 * 40e6 + 33 * 20e6) / 60 * 1448 / 1514
    assert flow["path_capacity_mean_bps"] == pytest.approx(carries, rel=1e-12)
    assert flow["capacity_used_ratio"] == pytest.approx(flow["goodput_mean_bps"] / carries, rel=1e-12)
    assert "path_capacity_mean_bps" not in result.summary["flows"][0]


def test_a_second_is_below_capacity_by_the_path_that_it_had(access):
    tables, _ = access
    share = 1448 / 1514
    # The flow receives 19 Mbit/s of payload. The capacity is 40 Mbit/s until 27 s, and 20 Mbit/s from 27 s on. The
    # flow's 19 Mbit/s is below 90 % of the first value, and above 90 % of the second.
    t_ns = np.arange(0, 60 * S + 1, S // 20)
    received = np.round(t_ns / 1e9 * 19e6 * share / 8).astype("int64")
    sockets = pd.DataFrame(
        {"t_ns": t_ns, "flow": 1, "bytes_received": received.astype("float64"), "snd_mss_bytes": 1448.0}
    )
    steady = dataclasses.replace(tables, sockets=sockets)
    assert below_capacity_ratio(steady, 1, DOWN, Life(0, 60 * S), share) == pytest.approx(27 / 60, abs=1e-12)
    # The flow starts at 10.5 s, so the first complete second of its life begins at 11 s.
    assert below_capacity_ratio(steady, 1, DOWN, Life(10 * S + S // 2, 60 * S), share) == pytest.approx(
        16 / 49, abs=0.03
    )
    assert below_capacity_ratio(steady, 1, DOWN[::-1], Life(0, 60 * S), share) is None
    assert below_capacity_ratio(steady, 1, DOWN, Life(0, S // 2), share) is None


def test_no_path_carries_nothing_and_an_unshaped_one_has_no_capacity(access):
    tables, _ = access
    assert mean_path_capacity(tables, DOWN, 20 * S, 34 * S) == 30e6
    assert mean_path_capacity(tables, DOWN[::-1], 20 * S, 34 * S) is None
    assert mean_path_capacity(tables, DOWN, 20 * S, 20 * S) is None
    routes = tables.routes
    gone = routes[routes["source"] == DOWN[0]].head(1).assign(t_ns=10 * S, path=None)
    broken = dataclasses.replace(tables, routes=pd.concat([routes[routes["t_ns"] < 10 * S], gone], ignore_index=True))
    assert mean_path_capacity(broken, DOWN, 0, 20 * S) == 20e6


def test_use_of_a_link_whose_capacity_is_a_table(result):
    row = result.links.set_index("direction").loc[syn.DOWN]
    assert row["utilisation_ratio"] == row["delivered_bytes"] * 8 / (27 * 40e6 + 33 * 20e6)
    assert (row["queue"], row["ecn"]) == ("fq_codel", True)
    assert result.links.set_index("direction").loc[syn.UP, "queue"] == "fifo"


def test_probes_of_the_summary(result):
    ping = result.summary["flows"][0]
    assert (ping["replies_pkts"], ping["replies_lost_pkts"]) == (594, 6)
    # All lost replies are near a change, except the one at 35 s.
    assert ping["replies_lost_near_changes_pkts"] == 5
    assert (ping["loss_runs"], ping["loss_run_max_pkts"]) == (5, 2)
    assert (ping["changes_with_loss_ratio"], ping["changes_with_one_loss_ratio"]) == (1.0, 0.75)
    assert ping["rtt_min_ns"] == syn.UP_NS + syn.BASE_NS[0]
    # Each of the five delay levels has 25 replies, and thus 24 differences of 0. All other differences are between
    # levels.
    steps = [abs(b - a) for a, b in zip(syn.BASE_NS[:-1], syn.BASE_NS[1:], strict=True)]
    assert ping["rtt_step_mean_ns"] == round(sum(steps) / 593)


def test_spikes_of_probes():
    # The delay is 40 ms at first, then 90 ms for the probe in flight at the change (a spike), and then 50 ms. No probe
    # is near the second change.
    found = Probes(np.arange(0, 4 * S, 200 * MS), np.array([40] * 9 + [90] + [50] * 10) * 1e6)
    assert probe_spikes(found, np.array([2 * S, 9 * S])).tolist() == [50 * MS]
    lost = Probes(found.sent_ns, np.full(20, np.nan))
    assert of_probes(lost, np.array([2 * S]))["spike_p50_ns"] is None


@given(
    st.integers(1, 2_000).filter(lambda every_ms: not 200 < every_ms < 250),
    st.integers(0, 2_000),
    st.lists(st.floats(20, 90), min_size=1, max_size=50),
)
def test_the_spike_of_pings_too_far_apart_is_unknown_and_not_0(every_ms: int, first_ms: int, rtts_ms: list[float]):
    sent_ns = np.arange(first_ms, 60_000, every_ms) * MS
    found = Probes(sent_ns, np.resize(rtts_ms, len(sent_ns)) * 1e6)
    spikes = of_probes(found, np.array([15, 30, 45]) * S)
    assert (spikes["spike_p50_ns"] is None) == (spikes["spike_p90_ns"] is None) == (every_ms >= 250)


def test_losses_near_changes_and_elsewhere(result):
    flow = result.summary["flows"][1]
    assert (flow["lost_pkts"], flow["lost_near_changes_pkts"]) == (5, 3)
    assert (flow["lost_loss_near_changes_pkts"], flow["lost_queue_near_changes_pkts"]) == (3, 0)
    # One packet was lost at three of the four changes. Losses at the full queue are not counted for any change.
    assert flow["changes_with_loss_ratio"] == flow["changes_with_one_loss_ratio"] == 0.75
    # The second TCP flow experiences the first two changes, and loses no packet.
    assert result.summary["flows"][2]["changes_with_loss_ratio"] == 0.0


def test_what_is_lost_at_a_queue_is_no_changes_loss():
    assert changes_with_loss(np.array([9, 12, 30]) * S, np.array([10, 20, 29, 31]) * S) == {
        "changes_with_loss_ratio": 0.75,
        "changes_with_one_loss_ratio": 0.75,
    }
    assert changes_with_loss(np.array([9, 10]) * S, np.array([10]) * S)["changes_with_one_loss_ratio"] == 0.0
    assert changes_with_loss(np.array([9]), ())["changes_with_loss_ratio"] is None


def test_recovery_after_each_change(result):
    rows = result.recoveries[result.recoveries["flow"] == 1].reset_index(drop=True)
    assert rows["lost_pkts"].tolist() == rows["lost_near_pkts"].tolist() == [1, 1, 1, 0]
    # The jitter is only at odd milliseconds, and no packet before a change was sent at an odd millisecond. The packets
    # after the change have a delay of 60 ms.
    assert rows["delay_mean_before_ns"].tolist() == list(syn.BASE_NS[:-1])
    assert rows["spike_ns"].tolist() == [syn.SPIKE_NS - base for base in syn.BASE_NS[:-1]]
    # The packet is lost 100 ms after the change and retransmitted 200.5 ms later. The retransmission arrives in the bin
    # that begins at 300 ms, and goodput has recovered in this bin.
    assert rows["duration_ns"].tolist()[:3] == [300 * MS] * 3
    flow = result.summary["flows"][1]
    assert (flow["recovery_p50_ns"], flow["recovery_p90_ns"], flow["recovered_ratio"]) == (300 * MS, 300 * MS, 1.0)
    assert flow["spike_p50_ns"] == syn.SPIKE_NS - 20 * MS


def test_a_change_that_is_not_recovered_from_is_longer_than_any():
    names = ("flow", "recovered", "duration_ns", "depth_ratio", "spike_ns")
    rows = pd.DataFrame([(1, True, 100, 0.5, 7), (1, True, 0, 0.1, 8), (1, False, None, 1.0, 9)], columns=names)
    rows = rows.astype({"recovered": "boolean", "duration_ns": "Int64", "spike_ns": "Int64"})
    row = recovery_scalars(rows, 1)
    assert (row["recovery_p50_ns"], row["recovery_p90_ns"]) == (100, None)
    assert row["recovered_ratio"] == pytest.approx(2 / 3)
    assert (row["spike_p50_ns"], row["goodput_dip_p50_ratio"]) == (8, 0.5)
    assert set(recovery_scalars(rows, 2).values()) == {None}


@pytest.mark.slow
def test_recovery_of_a_hundred_changes_reads_no_table_a_change(access, result, monkeypatch):
    tables, _ = access
    one = result.route_changes.iloc[[1]]
    many = pd.concat([one.assign(t_ns=2 * S + k * 500 * MS) for k in range(110)], ignore_index=True)
    looked = []
    of_flow = type(tables).of_flow
    monkeypatch.setattr(type(tables), "of_flow", lambda self, *at: looked.append(at) or of_flow(self, *at))
    found = recoveries(tables, many, {DOWN: [1]}, RecoveryRule(), syn.END_NS)
    assert len(found) == 110
    assert len(looked) < 10


def test_round_trips_are_those_of_the_packets(result):
    flow = result.summary["flows"][1]
    assert (flow["rtt_min_ns"], flow["rtt_max_ns"]) == (syn.UP_NS + syn.BASE_NS[0], syn.UP_NS + syn.SPIKE_NS)
    # The delay has its spike during 100 ms of every 15 s, which is less than one percent and more than one per mille of
    # the time.
    assert flow["rtt_p99_ns"] == syn.UP_NS + max(syn.BASE_NS)
    assert flow["rtt_p999_ns"] == syn.UP_NS + syn.SPIKE_NS
    # In each of the first three slots that begin with a change, the run stores the packets of 4 s. It also stores the
    # packets of its last 4 s. For all other packets only means of bins are known, and the error of means is unknown.
    assert flow["rtt_error_ns"] is None


def test_round_trips_with_every_packet_stored_are_exact_and_else_means_of_bins(access):
    tables, _ = access
    data = syn.data_packets(2)
    ways = ((DATA, data), (ACK, syn.ack_packets(data)))
    every = [frame.assign(flow=2, direction=direction, seq=0, len_bytes=0) for direction, frame in ways]
    rtt_ns, weight, exact = round_trips(dataclasses.replace(tables, packets=pd.concat(every)), 2)
    assert exact.all()
    assert weight.sum() == len(data)
    expected = (data["received_ns"] - data["sent_ns"]).to_numpy(dtype="int64") + syn.UP_NS
    assert np.sort(rtt_ns).tolist() == np.sort(expected).tolist()
    none = dataclasses.replace(tables, packets=tables.packets[:0])
    rtt_ns, weight, exact = round_trips(none, 2)
    assert not exact.any()
    assert weight.sum() == len(data)
    assert np.average(rtt_ns, weights=weight) == pytest.approx(expected.mean(), rel=1e-9)


def test_a_link_that_keeps_no_order_reorders_by_itself(access):
    tables, _ = access
    assert not tables.reorders
    loose = tables.timeline.assign(in_order=pd.array([False] + [None] * (len(tables.timeline) - 1), dtype="boolean"))
    assert dataclasses.replace(tables, timeline=loose).reorders
    kept = loose.assign(in_order=pd.array([True] + [None] * (len(loose) - 1), dtype="boolean"))
    assert not dataclasses.replace(tables, timeline=kept).reorders


def test_shares_while_all_flows_run(result):
    flows = result.summary["flows"]
    # From 10 to 40 s the two flows send 500 and 166.7 packets per second.
    assert flows[1]["share_ratio"] == pytest.approx(0.75, abs=2e-3)
    assert flows[1]["share_ratio"] + flows[2]["share_ratio"] == 1.0
    assert "share_ratio" not in flows[0]
    fairness = result.summary["fairness"]
    assert (fairness["from_s"], fairness["until_s"]) == (10.0, 40.0)
    assert fairness["jain_index"] == pytest.approx(16 / 20, abs=2e-3)


def test_shares_by_the_second(access):
    tables, plan = access
    frame = share_series(tables, plan.flows, syn.END_NS)
    assert frame[frame["flow"] == 2]["t_ns"].tolist() == [k * S for k in range(10, 40)]
    both = frame[(frame["t_ns"] == 30 * S).to_numpy()].set_index("flow")
    assert both.loc[1, "goodput_bps"] == 500 * 1448 * 8
    assert both.loc[1, "jain_index"] == pytest.approx(0.8, abs=5e-3)
    alone = frame[(frame["t_ns"] == 50 * S).to_numpy()]
    assert alone["share_ratio"].isna().all()
    assert alone["jain_index"].isna().all()


@pytest.mark.parametrize(
    ("rates", "index"), [([5, 5, 5, 5], 1.0), ([1, 0], 0.5), ([3, 1], 0.8), ([0, 0], None), ([], None)]
)
def test_jains_index(rates, index):
    assert jain_index(rates) == index


def test_flows_that_never_run_together_have_no_shares(access):
    tables, plan = access
    late = dataclasses.replace(plan.flows[2], start_ns=45 * S, stop_ns=50 * S)
    early = dataclasses.replace(plan.flows[1], stop_ns=40 * S)
    apart = dataclasses.replace(plan, flows=(plan.flows[0], early, late))
    summary = metrics(tables, apart).summary
    assert summary["fairness"] == {"jain_index": None, "from_s": None, "until_s": None, "reason": NO_RIVAL}
    assert (summary["flows"][1]["share_ratio"], summary["flows"][1]["share_reason"]) == (None, NO_RIVAL)


def test_one_look_at_the_sockets_tells_of_whole_lives_alone(access):
    tables, plan = access
    last = tables.sockets.groupby("flow").tail(1).assign(t_ns=syn.END_NS)
    once = dataclasses.replace(tables, sockets=last)
    # The second flow lives for half of the run, and it is unknown how many bytes the first flow received during this
    # half.
    assert metrics(once, plan).summary["fairness"]["jain_index"] is None
    together = dataclasses.replace(plan.flows[2], start_ns=0, stop_ns=syn.END_NS)
    summary = metrics(once, dataclasses.replace(plan, flows=(*plan.flows[:2], together))).summary
    first, second = (float(value) for value in last.sort_values("flow")["bytes_received"])
    assert summary["fairness"]["jain_index"] == pytest.approx(jain_index([first, second]))
    assert summary["flows"][2]["share_ratio"] == pytest.approx(second / (first + second))


def test_without_packet_truth_nothing_of_packets_is_a_number(access):
    tables, plan = access
    names = ("packets", "bins", "echoes", "reordering", "densities")
    blind = dataclasses.replace(tables, missing=frozenset(names), **{name: getattr(tables, name)[:0] for name in names})
    flow = metrics(blind, plan).summary["flows"][1]
    unknown = [name for name in flow if name.startswith(("rtt_", "lost_", "changes_with_", "spike_"))]
    assert len(unknown) > 15
    assert [flow[name] for name in unknown] == [None] * len(unknown)
    # Goodput is known even without packet truth, because it comes from socket samples.
    assert flow["recovery_p50_ns"] == 300 * MS


def test_marks_of_congestion_are_counted(result):
    assert result.summary["flows"][1]["delivered_ce_pkts"] == 7
    assert result.summary["received_ce_pkts"] == 3
    # Two TCP flows end at the dish. The counter of the dish's host cannot be attributed to one of these flows.
    assert result.summary["flows"][1]["received_ce_pkts"] is None


@pytest.mark.slow
def test_a_path_delay_of_many_steps_is_written_by_the_second(result, monkeypatch):
    from leowarp.metrics import long_form

    monkeypatch.setattr(long_form, "MOST_STEPS", 1000)
    frame = result.long_form()
    down = frame[
        (frame["metric"] == "path_delay_ns") & frame["definition"].str.contains("server to dish in the second")
    ]
    assert down["t_ns"].tolist() == [k * S for k in range(60)]
    expected = [syn.BASE_NS[syn.slot(k * S)] for k in range(60)]
    assert down["value"].tolist() == expected
    index = frame[frame["metric"] == "jain_index"]
    assert index["t_ns"].is_unique
    assert frame.loc[frame["metric"] == "run.fairness_jain_index", "value"].notna().all()
