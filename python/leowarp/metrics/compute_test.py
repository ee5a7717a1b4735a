# SPDX-License-Identifier: Apache-2.0
"""The metrics of the synthetic run, whose true values can be computed by hand (see `support/synthetic/run.py`)."""

import dataclasses
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from leowarp.base.errors import TraceError
from leowarp.metrics import (
    RecoveryRule,
    check_conservation,
    counter,
    dip,
    goodput,
    late_outside_changes,
    link_use,
    metrics,
    packet_rtt,
    path_delay,
    read_tables,
    satellite_use,
    tables_of,
)
from leowarp.metrics.per_flow.flows import host_scalars
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES
from leowarp.metrics.warnings import held_by_receiver, never_connected, nothing_arrived
from support.synthetic import run as syn

MS, S = syn.MS, syn.S


def test_scalars_of_the_run(result):
    run = result.summary
    assert run["route_changes"] == 2
    assert run["route_changes_shorter"] == 1
    assert run["route_changes_with_late_pkts"] == 1
    assert run["path_delay_min_ns"] == 30 * MS
    assert run["path_delay_max_ns"] == 45 * MS
    # The delay is 40 ms for 10 s, 41 ms for 10 s, 30 ms for 20 s and 45 ms for 20 s.
    assert run["path_delay_mean_ns"] == (10 * 40 + 10 * 41 + 20 * 30 + 20 * 45) * MS // 60
    assert run["drops_pkts"] == syn.DROPPED_PKTS
    assert run["drops_by_cause_pkts"] == {"queue": 3, "loss": 0, "link_down": 0, "no_route": 0, "unknown": 0}
    assert run["late_outside_changes_pkts"] == 0
    assert run["virtual_s"] == 60.0
    assert run["cpu_s"] is None


@pytest.mark.slow
def test_what_the_senders_host_counted_is_its_last_value(tables, plan):
    told = {"TCPSackRecovery": (0, 2, 5), "TCPRenoRecovery": (0, 1), "TCPDSACKUndo": (0, 3), "TCPFullUndo": (0, 1),
            "TCPPartialUndo": (0,), "TCPLossUndo": (0,), "TCPLossProbes": (0, 2)}  # fmt: skip
    rows = [
        {"t_ns": place * 1000, "host": 0, "counter": f"TcpExt.{name}", "value": value}
        for name, values in told.items()
        for place, value in enumerate(values)
    ]
    rows.append({"t_ns": 5000, "host": 1, "counter": "TcpExt.TCPSackRecovery", "value": 99})
    own = dataclasses.replace(tables, counters=pd.DataFrame(rows))
    assert host_scalars(own, "Madrid") == {"sender_recoveries": 6, "sender_undos": 4, "sender_tail_loss_probes": 2}
    # A counter that was not recorded must not become 0.
    assert set(host_scalars(own, "Tokyo").values()) == {None}
    two = dataclasses.replace(plan, flows=(*plan.flows, plan.flows[0]))
    shared = metrics(own, two).summary["flows"][0]
    assert shared["sender_recoveries"] is None
    (alone,) = metrics(own, plan).summary["flows"]
    assert alone["sender_recoveries"] == 6


def test_scalars_of_the_flow(result):
    (flow,) = result.summary["flows"]
    assert flow["sent_pkts"] == 60_000 + syn.SPURIOUS_PKTS + syn.DROPPED_PKTS
    assert flow["retransmissions_pkts"] == syn.SPURIOUS_PKTS + syn.DROPPED_PKTS
    assert flow["spurious_retransmissions_pkts"] == syn.SPURIOUS_PKTS
    assert flow["dsacks_pkts"] == syn.SPURIOUS_PKTS
    assert flow["data_drops_pkts"] == syn.DROPPED_PKTS
    assert flow["late_pkts"] == syn.LATE_PKTS
    assert flow["acks_late_pkts"] == syn.LATE_ACKS
    assert flow["reordering_extent_max_pkts"] == syn.EXTENT_MAX_PKTS
    # The first packet was sent at 0.5 ms. The last packet that arrives by 60 s was sent 45 ms before 60 s. In total,
    # 59955 packets arrive.
    assert flow["goodput_mean_bps"] == pytest.approx(59_955 * 1448 * 8 / 60)
    # The round trip is 80 ms for 10 s, 82 ms for 10 s, 60 ms for 20 s and 90 ms for 20 s.
    assert flow["srtt_p50_us"] == 80_000
    assert flow["srtt_p99_us"] == 90_000


def test_the_change_that_overtakes(result):
    row = result.route_changes.iloc[0]
    assert row["t_ns"] == 20 * S
    assert row["path_before"] == " > ".join(syn.PATHS[0])
    assert row["path_after"] == " > ".join(syn.PATHS[1])
    # Just before the change, the delay of the old path is 1 ms more than at the previous route update.
    assert row["delay_before_ns"] == 41 * MS
    assert row["delay_after_ns"] == 30 * MS
    assert row["is_shorter"]
    assert not row["first_hop_changed"]
    assert row["middle_hops_changed"]
    assert not row["last_hop_changed"]
    assert row["shared_hops"] == 1
    assert row["queue_left_pkts"] == syn.QUEUE_PKTS
    assert row["queue_left_link"] == "s-00-00>s-01-00"
    # The rate is a whole number of bit/s, so the wait is exact to 1 ns.
    assert abs(row["queue_left_wait_ns"] - syn.QUEUE_WAIT_NS) <= 1
    assert row["late_pkts"] == row["overtaken_pkts"] == syn.LATE_PKTS
    assert row["retransmissions_pkts"] == row["spurious_retransmissions_pkts"] == syn.SPURIOUS_PKTS
    assert row["dsacks_pkts"] == syn.SPURIOUS_PKTS
    assert row["lost_pkts"] == 0


def test_the_change_to_a_longer_path(result):
    row = result.route_changes.iloc[1]
    assert row["delay_step_ns"] == 15 * MS
    assert row["first_hop_changed"]
    assert row["last_hop_changed"]
    assert row["late_pkts"] == 0
    assert row["queue_left_pkts"] == 0


def test_recovery_reads_window_and_retransmissions(result):
    row = result.recoveries.iloc[0]
    assert (row["cwnd_before_pkts"], row["cwnd_min_pkts"], row["cwnd_after_pkts"]) == (1000, 700, 1000)
    assert row["cwnd_fell_after_ns"] == 100 * MS
    assert row["recovery_state_ns"] == 200 * MS
    assert row["first_retransmission_after_ns"] == 80_250_000
    assert row["last_retransmission_after_ns"] == 89_250_000
    assert row["spurious_ratio"] == 1.0
    longer = result.recoveries.iloc[1]
    # The delay rises by 15 ms, so 15 fewer packets arrive in the first 50 ms. After the first 50 ms, packets arrive at
    # the old rate.
    assert longer["goodput_min_bps"] == pytest.approx(35 * 1448 * 8 / 0.05)
    assert longer["depth_ratio"] == pytest.approx(0.3)
    assert longer["duration_ns"] == 50 * MS
    assert longer["recovered"]
    assert pd.isna(longer["spurious_ratio"])


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ([10, 10, 10], (None, None)),
        ([10, 2, 9, 9, 9], (1, 2)),
        ([2, 9, 9, 2, 9, 9, 9], (0, 4)),
        ([2, 9, 9], (0, None)),
        ([8.999, 9, 9, 9], (0, 1)),
    ],
)
def test_a_dip_ends_when_three_bins_in_a_row_are_back(rate, expected):
    assert dip(np.array(rate, dtype=float), 10.0, 0.9, 3) == expected


def test_recovery_needs_a_full_second_before(tables, plan):
    early = metrics(tables, plan, rule=RecoveryRule(before_ns=30 * S)).recoveries
    assert early["goodput_before_bps"].isna().tolist() == [True, False]
    assert early["duration_ns"].isna().tolist() == [True, False]


def test_goodput_readings_add_up_to_their_counters(tables):
    for series in GOODPUT_SERIES:
        t_ns, delivered = counter(tables, 0, series)
        for bin_ns in (None, 50 * MS, 250 * MS, 70 * MS):
            frame = goodput(tables, 0, series, bin_ns)
            edges = np.append(frame["t_ns"], frame["t_ns"].iloc[-1] + (bin_ns or 50 * MS))
            got = (frame["goodput_bps"] * np.diff(edges) / 8e9).sum()
            expected = np.interp(edges[-1], t_ns, delivered) - np.interp(edges[0], t_ns, delivered)
            assert got == pytest.approx(expected)


def test_a_hole_stops_in_order_goodput_and_not_the_sack_aware_one(tables):
    window = (20 * S + 100 * MS, 20 * S + 200 * MS)
    _, acked = counter(tables, 0, "acked")
    t_ns, sacked = counter(tables, 0, "sacked")
    inside = (t_ns >= window[0]) & (t_ns < window[1])
    assert (sacked - acked)[inside].tolist() == [syn.LATE_PKTS * 1448] * 2
    assert not (sacked - acked)[~inside].any()


def test_path_delay_follows_links_and_routes(tables):
    frame = path_delay(tables, syn.STATIONS, syn.END_NS)
    assert dict(zip(frame["t_ns"] // S, frame["delay_ns"] // MS, strict=True)) == {
        0: 40, 10: 41, 20: 30, 30: 30, 40: 45, 50: 45,
    }  # fmt: skip


def test_packet_rtt_is_the_way_there_and_back_and_the_wait_for_a_second_packet(tables):
    frame = packet_rtt(tables, 0)
    calm = frame[frame["sent_ns"].between(21 * S, 22 * S)]
    # An ACK answers every second packet, so one packet of each pair waits for 1 ms.
    assert set(calm["rtt_ns"] // MS) == {60, 61}
    assert len(calm) == 1000
    queued = frame[frame["sent_ns"].between(19 * S + 500 * MS, 19 * S + 900 * MS)]
    assert set(queued["rtt_ns"]) == {82 * MS + syn.QUEUE_WAIT_NS, 83 * MS + syn.QUEUE_WAIT_NS}
    # No RTT spans the gap between the two stored windows, and none belongs to retransmitted data.
    assert frame["rtt_ns"].max() < 150 * MS
    again = 19_974 * MS + MS // 2
    assert not frame["sent_ns"].isin([again]).any()


def test_link_use(result):
    row = result.links.set_index("direction").loc[2 * syn.LINKS.index(("s-00-00", "s-01-00"))]
    assert row["offered_pkts"] == 20_000
    assert row["utilisation_ratio"] == pytest.approx(20_000 * 1514 * 8 / (syn.RATE_BPS * 60))
    assert row["queue_max_pkts"] == syn.QUEUE_PKTS
    # 15 packets are sent during 0.55 s of the 60 s.
    assert row["queue_mean_pkts"] == pytest.approx(15 * 0.55 / 60)


def test_use_is_taken_over_the_time_on_a_path_too(result):
    rows = result.links.set_index("direction")
    row = rows.loc[2 * syn.LINKS.index(("s-00-00", "s-01-00"))]
    # The link stays up for all 60 s, but the path uses it only in the first 20 s.
    assert (row["up_ns"], row["on_path_ns"]) == (60 * S, 20 * S)
    assert row["use_on_path_ratio"] == pytest.approx(3 * row["utilisation_ratio"])
    assert rows.loc[2 * syn.LINKS.index(("Madrid", "s-00-00")), "on_path_ns"] == 40 * S


def test_longest_queues_have_bytes_and_instants(result):
    row = result.links.set_index("direction").loc[2 * syn.LINKS.index(("s-00-00", "s-01-00"))]
    assert (row["queue_max_bytes"], row["queue_max_bytes_at_ns"]) == (syn.QUEUE_PKTS * syn.FRAME_BYTES, 19 * S)
    assert row["queue_max_pkts_at_ns"] == 19 * S
    calm = result.links.set_index("direction").loc[2 * syn.LINKS.index(("Madrid", "s-00-00"))]
    assert calm["queue_max_bytes"] == 0
    assert pd.isna(calm["queue_max_bytes_at_ns"])


def test_an_older_run_has_its_longest_queues_in_packets_alone(tables):
    old = dataclasses.replace(tables, linktotals=tables.linktotals.filter(regex="^(?!run_)"))
    row = link_use(old, syn.END_NS).set_index("direction").loc[2 * syn.LINKS.index(("s-00-00", "s-01-00"))]
    assert row["queue_max_pkts"] == syn.QUEUE_PKTS
    assert pd.isna(row["queue_max_bytes"])


def test_a_satellite_is_its_links_that_send(result, tables):
    rows = satellite_use(tables, result.links, {"s-00-00", "s-01-00", "s-09-09"}, syn.END_NS).set_index("satellite")
    assert list(rows.index) == ["s-00-00", "s-01-00"]
    row = rows.loc["s-00-00"]
    # The three outgoing links of s-00-00 lead to two satellites and back to Madrid.
    assert (row["directions"], row["on_path_ns"]) == (3, 40 * S)
    assert (row["queue_max_bytes"], row["queue_max_bytes_to"]) == (syn.QUEUE_PKTS * syn.FRAME_BYTES, "s-01-00")
    assert rows.loc["s-01-00", "queue_max_bytes_to"] is None


def test_balances_of_all_links_and_flows(result):
    assert all(balance.adds_up for balance in result.balances)
    flow = next(balance for balance in result.balances if balance.what == "flow 0, data")
    assert (flow.sent, flow.dropped, flow.under_way) == (60_013, 3, 45)


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("linktotals", "delivered_pkts", "link Madrid>s-00-00: offered = delivered"),
        ("linktotals", "held_bytes", "link Madrid>s-00-00: offered = delivered"),
        ("linktotals", "dropped_queue_pkts", "drop table has 3"),
        ("bins", "lost_pkts", "the drop table names 3"),
        ("bins", "late_pkts", "late packets counted"),
        ("bins", "retrans_pkts", "14 retransmissions counted, 13 stored"),
        ("bins", "spurious_pkts", "11 spurious retransmissions counted, 10 stored"),
        ("bins", "delivered_pkts", "flow 0, data: sent = delivered"),
    ],
)
def test_a_run_that_does_not_add_up_fails(tables, plan, table, column, words):
    frame = getattr(tables, table).copy()
    frame.loc[frame.index[0], column] += 100_000 if column == "delivered_pkts" else 1
    with pytest.raises(TraceError, match=words):
        metrics(dataclasses.replace(tables, **{table: frame}), plan)


def test_a_counter_that_goes_back_fails(tables):
    frame = tables.sockets.copy()
    frame.loc[frame.index[500], "bytes_received"] = 0
    with pytest.raises(TraceError, match="went back"):
        check_conservation(dataclasses.replace(tables, sockets=frame))


def on_one_path(tables):
    """A run in which the path never changes. The links have no rate limit. With the usual limit, one path could not
    carry the usual traffic."""
    timeline = tables.timeline[(tables.timeline["event"] != "rate").to_numpy()]
    return dataclasses.replace(tables, routes=tables.routes[tables.routes["t_ns"] == 0], timeline=timeline)


def test_late_packets_far_from_a_change_are_found(tables, plan):
    late = late_outside_changes(tables, np.array(syn.CHANGES_NS), 2 * S)
    assert len(late) == 0
    assert len(late_outside_changes(tables, np.array([40 * S]), 2 * S)) == syn.LATE_PKTS + syn.LATE_ACKS
    assert len(late_outside_changes(tables, np.array([]), 2 * S)) == syn.LATE_PKTS + syn.LATE_ACKS
    found = metrics(on_one_path(tables), plan)
    assert found.summary["late_outside_changes_pkts"] == syn.LATE_PKTS + syn.LATE_ACKS
    assert "late outside" in found.warnings[0]


def test_a_link_that_jitters_may_make_packets_late_at_any_time(tables, plan):
    still = on_one_path(tables)
    jitter = pd.DataFrame([{"t_ns": 0, "event": "jitter", "a": "s-00-00", "b": "s-01-00"}])
    found = metrics(dataclasses.replace(still, timeline=pd.concat([still.timeline, jitter])), plan)
    assert found.summary["late_outside_changes_pkts"] == syn.LATE_PKTS + syn.LATE_ACKS
    assert found.warnings == []


def test_a_discipline_that_tells_nothing_is_a_warning_where_packets_were_lost(tables, plan):
    silent = tables.linktotals.assign(offered_pkts=np.nan, offered_bytes=np.nan)
    nowhere = tables.drops.assign(direction=np.nan, cause=5)
    found = metrics(dataclasses.replace(tables, linktotals=silent, drops=nowhere), plan)
    assert "(netem) does not tell" in found.warnings[0]
    nothing = tables.bins.assign(lost_pkts=0)
    packets = tables.packets.assign(drop_cause=np.nan)
    drops = tables.drops.iloc[:0]
    found = metrics(dataclasses.replace(tables, linktotals=silent, drops=drops, bins=nothing, packets=packets), plan)
    assert found.warnings == []


def test_time_without_a_path_is_counted_and_warned_of(tables, plan):
    routes = tables.routes.copy()
    for index in routes.index[(routes["t_ns"] >= 40 * S) & (routes["t_ns"] < 50 * S)]:
        routes.at[index, "path"] = None
    routes.loc[routes["t_ns"] == 50 * S, "change_id"] = 2
    found = metrics(dataclasses.replace(tables, routes=routes), plan)
    assert found.summary["no_path_s"] == 10.0
    assert found.summary["route_changes"] == 3
    gone, back = found.route_changes.iloc[1], found.route_changes.iloc[2]
    assert gone["path_after"] is None
    assert pd.isna(gone["delay_after_ns"])
    assert pd.isna(gone["is_shorter"])
    assert back["path_before"] is None
    assert any("no path for 10 s" in warning for warning in found.warnings)


def test_a_flow_that_its_receivers_window_held_most_of_the_time_is_said_so(tables):
    def told(ratio, ca_state=0, used_ratio=0.2):
        samples = tables.of_flow("sockets", 0)
        held = samples.assign(rwnd_limited_us=ratio * samples["t_ns"] / 1e3, ca_state=ca_state)
        flow = {"flow": 0, "source": "Madrid", "destination": "Tokyo", "capacity_used_ratio": used_ratio}
        return held_by_receiver(flow, held)

    assert told(0.75).startswith("the receiver's window held Madrid to Tokyo (flow 0) for 4")
    assert told(0.75, used_ratio=None) == told(0.75)
    assert told(0.4) is told(np.nan) is None
    # If a packet is missing, the receiver buffers all later packets, so the receive window is full. The receiving
    # program is not the cause of the full window.
    assert told(0.75, ca_state=3) is None
    # The path carries as much as it can, so the receive window is not the limit.
    assert told(0.75, used_ratio=0.95) is None


def test_a_flow_that_never_connected_is_said_so():
    flow = {"flow": 0, "kind": "tcp", "source": "A", "destination": "B", "connect_ns": None, "bytes": 0, "sent_pkts": 7}
    assert (
        never_connected(flow) == "A to B, tcp (flow 0) never connected: it sent 7 packets, and no answer to any arrived"
    )
    others: list[dict[str, object]] = [
        {"connect_ns": 40}, {"kind": "ping"}, {"sent_pkts": 1}, {"sent_pkts": None}, {"bytes": 100}
    ]  # fmt: skip
    for other in others:
        assert never_connected(flow | other) is None


def test_a_flow_of_which_nothing_arrived_is_said_so():
    flow = {"flow": 3, "source": "A", "destination": "B", "sent_pkts": 10, "delivered_pkts": 0, "lost_pkts": 9}
    assert nothing_arrived(flow) == "nothing arrived of A to B (flow 3): 9 of its 10 packets were lost"
    for other in ({"delivered_pkts": 1}, {"lost_pkts": 0}, {"delivered_pkts": None, "lost_pkts": None}):
        assert nothing_arrived(flow | other) is None


def test_missing_tables_give_null_and_not_zero(run_dir, plan, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    for name in ("packets", "drops", "links"):
        (copy / "30-trace" / f"{name}.parquet").unlink()
    found = metrics(read_tables(copy), plan)
    assert found.summary["drops_pkts"] is None
    assert found.route_changes["late_pkts"].isna().all()
    assert found.route_changes["lost_pkts"].isna().all()
    assert found.route_changes["queue_left_pkts"].isna().all()
    assert found.recoveries["retransmissions_pkts"].isna().all()


def test_without_packet_truth_nothing_of_packets_is_a_number(run_dir, plan, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    for name in ("packets", "bins", "echoes", "reordering", "densities"):
        (copy / "30-trace" / f"{name}.parquet").unlink()
    found = metrics(read_tables(copy), plan)
    assert found.summary["drops_pkts"] is None
    assert found.summary["late_outside_changes_pkts"] is None
    assert found.summary["route_changes_with_late_pkts"] is None
    flow = found.summary["flows"][0]
    for name in ("sent_pkts", "lost_pkts", "late_pkts", "data_drops_pkts", "acks_lost_pkts",
                 "reordering_extent_max_pkts"):  # fmt: skip
        assert flow[name] is None, name
    assert flow["goodput_mean_bps"] == pytest.approx(59_955 * 1448 * 8 / 60)
    probes = dataclasses.replace(plan, flows=(dataclasses.replace(plan.flows[0], kind="ping"),))
    assert metrics(read_tables(copy), probes).summary["flows"][0]["probes_lost_pkts"] is None
    assert found.long_form()["metric"].str.startswith("goodput").any()


def test_tables_in_memory_give_what_tables_on_disk_give(run_dir, plan, result):
    names = [path.stem for path in (run_dir / "30-trace").iterdir()]
    trace = {name: pq.read_table(run_dir / "30-trace" / f"{name}.parquet") for name in names}
    found = metrics(tables_of(trace, routes=syn.routes(), timeline=syn.timeline()), plan)
    assert found.summary == result.summary
    del trace["sockets"]
    assert metrics(tables_of(trace), plan).summary["flows"][0]["goodput_mean_bps"] is None


def test_a_run_that_ended_early_is_as_long_as_the_guest_says(run_dir, plan):
    flows = pq.read_table(run_dir / "30-trace" / "flows.parquet")
    flows = flows.replace_schema_metadata({**flows.schema.metadata, b"virtual_ns": str(35 * S).encode()})
    found = metrics(tables_of({"flows": flows}, routes=syn.routes(), timeline=syn.timeline()), plan)
    assert found.end_ns == 35 * S
    assert found.summary["virtual_s"] == 35.0
    assert found.summary["path_delay_mean_ns"] == (10 * 40 + 10 * 41 + 15 * 30) * MS // 35
    # The change at 40 s was planned but did not happen.
    assert found.summary["route_changes"] == 1


def test_goodput_of_a_flow_with_an_end_is_over_its_own_time(tables, plan):
    flows = tables.flows.assign(completion_ns=40.0 * S, bytes=40_000 * 1448)
    sockets = tables.sockets.copy()
    sockets["bytes_received"] = sockets["bytes_received"].clip(upper=39_955 * 1448)
    sockets["bytes_acked"] = sockets["bytes_acked"].clip(upper=39_955 * 1448)
    (flow,) = metrics(dataclasses.replace(tables, flows=flows, sockets=sockets), plan).summary["flows"]
    # The socket stays open to 60 s. The flow ended after 40 s. The flow's last bytes arrived between two samples.
    assert flow["goodput_mean_bps"] == flow["goodput_acked_mean_bps"] == 8000 * 1448


def test_what_is_written_can_be_read(result, tmp_path):
    result.with_cost(cpu_s=1.5, wall_s=None).write(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["cpu_s"] == 1.5
    assert summary["wall_s"] is None
    assert summary["flows"][0]["late_pkts"] == syn.LATE_PKTS
    table = pq.read_table(tmp_path / "40-metrics.parquet")
    assert table.schema.field("t_ns").metadata[b"unit"] == b"ns"
    frame = table.to_pandas()
    assert not frame["definition"].isna().any()
    late = frame[frame["metric"] == "route_change.late_pkts"]
    assert dict(zip(late["t_ns"], late["value"], strict=True)) == {20 * S: 26.0, 40 * S: 0.0}
    assert frame.loc[frame["metric"] == "run.route_changes", "value"].tolist() == [2.0]
    first = (tmp_path / "40-metrics.parquet").read_bytes()
    result.write(tmp_path)
    assert (tmp_path / "40-metrics.parquet").read_bytes() == first


def test_a_directory_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(TraceError, match="no 30-trace folder") as caught:
        read_tables(tmp_path)
    assert "leowarp run" in str(caught.value)


def test_a_damaged_table_is_named(run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    path = copy / "30-trace" / "bins.parquet"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(TraceError, match=r"bins\.parquet"):
        read_tables(copy)


def test_a_table_without_a_needed_column_is_named(run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    path = copy / "30-trace" / "sockets.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["cwnd_pkts"]), path)
    with pytest.raises(TraceError, match="no column cwnd_pkts"):
        read_tables(copy)
