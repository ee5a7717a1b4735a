# SPDX-License-Identifier: Apache-2.0
"""Tests which numbers of a summary the overview shows, and with which labels and units."""

import pytest

from leowarp.scalars.overview import compared, overview, total_goodput_bps

TCP = {
    "flow": 0, "kind": "tcp", "source": "A", "destination": "B", "congestion_control": "cubic",
    "goodput_mean_bps": 95_591_234.5, "rtt_p50_ns": 44_137_255, "rtt_p99_ns": 1_250_000_000, "srtt_p50_us": 42_630.0,
    "sent_pkts": 10_000, "retransmissions_pkts": 25, "sender_retransmissions_pkts": 25,
    "spurious_retransmissions_pkts": 0, "lost_queue_pkts": 20, "lost_loss_pkts": 5, "lost_near_changes_pkts": 4,
    "late_pkts": 0, "recovered_ratio": 0.75, "recovery_p50_ns": 300_000_000, "share_ratio": None,
}  # fmt: skip
PING = {
    "flow": 1, "kind": "ping", "source": "B", "destination": "A", "probes_pkts": 600, "probes_lost_pkts": 6,
    "replies_pkts": 593, "replies_lost_pkts": 7, "rtt_min_ns": 28_191_540, "rtt_step_mean_ns": 0,
}  # fmt: skip
SUMMARY = {
    "name": "one", "route_changes": 4, "route_changes_shorter": 1, "path_delay_min_ns": 45_000_000,
    "path_delay_max_ns": 45_000_000, "virtual_s": 60.0, "cpu_s": 1.2, "fairness": {"jain_index": None},
    "flows": [TCP, PING],
}  # fmt: skip


def tables(summary):
    return {section.title: dict(section.rows) for section in overview(summary)}


def test_flows_of_a_kind_share_a_table_and_the_run_is_the_last():
    assert list(tables(SUMMARY)) == ["TCP, A to B", "Pings, B to A", "Run"]
    assert [section.columns for section in overview(SUMMARY)] == [("cubic",), ("ping",), ("one",)]


def test_numbers_have_units_for_people():
    tcp, ping, run = tables(SUMMARY).values()
    assert tcp["goodput"] == ("95.59 Mbit/s",)
    assert (tcp["RTT, median"], tcp["RTT, 99th percentile"]) == (("44.14 ms",), ("1.250 s",))
    assert tcp["retransmissions"] == ("25 (0.25 %)",)
    assert tcp["data packets sent"] == ("10,000",)
    assert tcp["recovery from a change, median"] == ("300.0 ms",)
    assert ping["without a reply"] == ("7 (1.17 %)",)
    assert ping["RTT, mean step from reply to reply"] == ("0 s",)
    assert run["path changes (to a shorter)"] == ("4 (1)",)
    assert run["path delay, one way"] == ("45.00 ms",)
    assert run["virtual s per CPU s"] == ("50",)


@pytest.mark.parametrize(
    ("most_ns", "text"), [(46_588_000, "45.00 to 46.59 ms"), (1_200_000_000, "45.00 ms to 1.200 s"), (None, "45.00 ms")]
)
def test_a_range_names_its_unit_once(most_ns, text):
    assert tables(SUMMARY | {"path_delay_max_ns": most_ns})["Run"]["path delay, one way"] == (text,)


def test_what_no_flow_has_is_no_row():
    tcp = tables(SUMMARY)["TCP, A to B"]
    assert "late packets (overtaken)" not in tcp
    assert "share of the flows' goodput" not in tcp
    assert "  of the path's capacity" not in tcp
    assert "Jain's index" not in tables(SUMMARY)["Run"]
    late = SUMMARY | {"flows": [TCP | {"late_pkts": 3}]}
    assert tables(late)["TCP, A to B"]["late packets (overtaken)"] == ("3",)


def test_of_a_path_that_does_not_change_nothing_is_said_of_changes():
    still = SUMMARY | {"route_changes": 0}
    assert not [name for rows in tables(still).values() for name in rows if "change" in name]


def test_a_spike_that_too_few_pings_met_is_unknown_and_says_so():
    assert tables(SUMMARY)["Pings, B to A"]["spike at a change, median"] == ("too few pings to tell",)
    met = SUMMARY | {"flows": [PING | {"spike_p50_ns": 0}]}
    assert tables(met)["Pings, B to A"]["spike at a change, median"] == ("0 s",)


def test_a_flow_that_did_not_come_back_has_no_median():
    slow = SUMMARY | {"flows": [TCP | {"recovered_ratio": 0.25, "recovery_p50_ns": None}]}
    tcp = tables(slow)["TCP, A to B"]
    assert tcp["recovery from a change, median"] == ("> 5 s",)
    assert tcp["  recovered within 5 s"] == ("25 %",)


def test_without_packet_truth_the_socket_tells():
    unknown = ("rtt_p50_ns", "rtt_p99_ns", "sent_pkts", "retransmissions_pkts", "lost_queue_pkts")
    tcp = tables(SUMMARY | {"flows": [TCP | dict.fromkeys(unknown)]})["TCP, A to B"]
    assert tcp["smoothed RTT, median"] == ("42.63 ms",)
    assert tcp["retransmissions"] == ("25",)
    assert "data packets sent" not in tcp
    assert "RTT, median" not in tcp


def test_the_share_of_the_capacity_is_a_row_where_it_is_known():
    rows = tables(SUMMARY | {"flows": [TCP | {"capacity_used_ratio": 0.75}]})["TCP, A to B"]
    assert rows["  of the path's capacity"] == ("75 %",)


def test_a_goodput_that_is_not_known_stays_a_row():
    assert tables(SUMMARY | {"flows": [TCP | {"goodput_mean_bps": None}]})["TCP, A to B"]["goodput"] == (None,)


def test_flows_between_other_ends_say_which():
    other = TCP | {"flow": 2, "destination": "C", "share_ratio": 0.5}
    summary = SUMMARY | {"flows": [TCP | {"share_ratio": 0.5}, other]}
    rows = tables(summary)["TCP"]
    assert overview(summary)[0].columns == ("A to B, cubic", "A to C, cubic")
    assert rows["flow"] == ("0", "2")
    assert rows["share of the flows' goodput"] == ("50 %", "50 %")


@pytest.mark.parametrize("probe", [{"kind": "udp"}, {"kind": "ping"}])
def test_probes_without_replies_have_one_way_delays(probe):
    flow = {"flow": 0, "source": "A", "destination": "B", "probes_pkts": 10, "probes_lost_pkts": 0,
            "owd_p50_ns": 30_235_200, "entropy_nats": 0.5} | probe  # fmt: skip
    rows = tables(SUMMARY | {"flows": [flow]})["Probes one way, A to B"]
    assert rows["one-way delay, median"] == ("30.24 ms",)
    assert rows["lost"] == ("0",)
    assert rows["reordering entropy"] == ("0.5",)


@pytest.mark.parametrize(
    ("lives_s", "total"),
    [(((0, 60), (0, 60)), "20.00 Mbit/s"), (((0, 3), (57, 60)), "10.00 Mbit/s"), (((0, 40), (20, 60)), "13.33 Mbit/s"),
     (((0, 60), (60, 60)), "10.00 Mbit/s")],
)  # fmt: skip
def test_flows_together_have_their_payload_over_the_time_in_which_one_lived(lives_s, total):
    flows = [
        TCP | {"flow": place, "goodput_mean_bps": 10e6, "start_ns": start_s * 10**9, "stop_ns": stop_s * 10**9}
        for place, (start_s, stop_s) in enumerate(lives_s)
    ]
    assert dict(overview(SUMMARY | {"flows": flows})[0].spread.rows)["goodput"][0] == total
    unknown = [flows[0], flows[1] | {"goodput_mean_bps": None, "stop_ns": 61 * 10**9}]
    assert total_goodput_bps(unknown) is None
    assert total_goodput_bps([]) is None


def test_of_older_summaries_the_means_are_added_up():
    flows = [TCP | {"flow": place, "goodput_mean_bps": 10e6} for place in range(2)]
    assert total_goodput_bps(flows) == 20e6
    assert total_goodput_bps([*flows, TCP | {"goodput_mean_bps": None}]) is None


def test_the_datagrams_of_a_program_have_a_goodput_and_are_no_probes():
    flow = {"flow": 3, "kind": "udp", "source": "A", "destination": "B", "probes_pkts": 10, "probes_lost_pkts": 1,
            "program": 0, "payload_mean_bps": 19.04e6, "payload_back_mean_bps": 0.0}  # fmt: skip
    found = tables(SUMMARY | {"flows": [flow]})
    assert "Probes one way, A to B" not in found
    assert found["UDP of programs, A to B"]["goodput"] == ("19.04 Mbit/s",)
    assert "goodput, back" not in found["UDP of programs, A to B"]


def test_what_cures_did_is_said_of_the_run():
    did = {"moved_pkts": 0, "held_back_pkts": 10, "held_back_max_bytes": 12112, "held_back_longest_ns": 951_322,
           "hold_full_pkts": 0}  # fmt: skip
    rows = tables(SUMMARY | did)["Run"]
    assert rows["packets moved to the new link"] == ("0",)
    assert rows["packets held back"] == ("10",)
    assert rows["  longest time"] == ("951.3 us",)
    assert "  came to a full buffer" not in rows
    assert "packets held back" not in tables(SUMMARY)["Run"]


def test_runs_stand_side_by_side_flow_by_flow():
    reno = SUMMARY | {"name": "two", "flows": [TCP | {"congestion_control": "reno", "late_pkts": 9}]}
    sections = {section.title: section for section in compared(["cubic", "reno"], [SUMMARY, reno])}
    assert list(sections) == ["TCP, A to B", "Pings, B to A", "Runs"]
    assert {section.columns for section in sections.values()} == {("cubic", "reno")}
    rows = dict(sections["TCP, A to B"].rows)
    assert rows["congestion control"] == ("cubic", "reno")
    assert rows["late packets (overtaken)"] == ("0", "9")
    assert dict(sections["Pings, B to A"].rows)["sent"] == ("600", None)


def test_over_many_flows_there_are_sums_and_quantiles_and_a_ranking():
    flows = [TCP | {"flow": place, "goodput_mean_bps": 1e6 * (10 - place)} for place in range(10)]
    tcp = overview(SUMMARY | {"flows": flows})[0]
    assert tcp.spread is not None
    spread = dict(tcp.spread.rows)
    assert tcp.spread.columns == ("all", "smallest", "10 %", "median", "90 %", "largest")
    assert spread["goodput"] == (
        "55.00 Mbit/s", "1.000 Mbit/s", "1.000 Mbit/s", "5.000 Mbit/s", "9.000 Mbit/s", "10.00 Mbit/s",
    )  # fmt: skip
    assert spread["RTT, median"][0] is None
    assert spread["data packets sent"][0] == "100,000"
    assert spread["retransmissions"][0] == "250 (0.25 %)"
    assert tcp.ranked[0] == 9
    assert tcp.ranked[-1] == 0
    assert tcp.columns[3] == "cubic (flow 3)"


def test_of_many_flows_of_compared_runs_there_is_one_table_and_not_one_a_flow():
    flows = [TCP | {"flow": place, "goodput_mean_bps": 1e6 * (10 - place)} for place in range(10)]
    sections = compared(["many", "one"], [SUMMARY | {"flows": flows}, SUMMARY])
    assert [section.title for section in sections] == [
        "TCP, the sum over the flows, then the median flow of each quantity", "Pings, B to A", "Runs",
    ]  # fmt: skip
    rows = list(sections[0].rows)
    assert rows[0] == ("flows", ("10", "1"))
    place = [name for name, _ in rows].index("goodput")
    assert [(name.strip(), texts[0]) for name, texts in rows[place : place + 3]] == [
        ("goodput", "55.00 Mbit/s"),
        ("median flow", "5.000 Mbit/s"),
        ("10 % to 90 % of the flows", "1.000 to 9.000 Mbit/s"),
    ]


def test_flows_of_compared_runs_are_called_by_what_they_are():
    flows = [TCP | {"flow": 0}, TCP | {"flow": 1, "congestion_control": "bbr"}]
    both = SUMMARY | {"flows": flows}
    assert [section.title for section in compared(["a", "b"], [both, both])] == [
        "TCP, A to B, cubic (flow 0)", "TCP, A to B, bbr (flow 1)", "Runs",
    ]  # fmt: skip


def test_a_named_flow_has_its_name_above_its_column():
    named = SUMMARY | {"flows": [TCP | {"name": "upload"}, TCP | {"flow": 1, "name": None}, PING | {"flow": 2}]}
    assert [section.columns for section in overview(named)] == [("upload", "cubic"), ("ping",), ("one",)]


def test_compared_flows_of_one_name_share_a_table_whatever_their_numbers():
    up, down = TCP | {"name": "up"}, TCP | {"flow": 1, "name": "down", "source": "B", "destination": "A"}
    other = SUMMARY | {"flows": [down | {"flow": 0, "late_pkts": 7}, up | {"flow": 1, "late_pkts": 9}]}
    sections = {each.title: dict(each.rows) for each in compared(["a", "b"], [SUMMARY | {"flows": [up, down]}, other])}
    assert list(sections) == ["TCP, up, A to B, cubic", "TCP, down, B to A, cubic", "Runs"]
    assert sections["TCP, up, A to B, cubic"]["late packets (overtaken)"] == ("0", "9")
    assert sections["TCP, down, B to A, cubic"]["late packets (overtaken)"] == ("0", "7")
