# SPDX-License-Identifier: Apache-2.0
"""Tests that receivers acknowledge as the plan says, and that packets have the sizes in the plan. The tests look at the
packets that the hosts send and receive. Further tests check that NewReno uses no SACK. They also check when NewReno
retransmits."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leowarp as lw
from leowarp import scenario
from leowarp.running import summaries
from leowarp.trace import pcap

pytestmark = pytest.mark.guest

ONE_WAY_NS = 20_000_000
AT_ONCE_NS = 2_000  # while a receiver reads, the guest's clock advances by a few steps of 256 ns (design/clock.md)
NS_PER_BYTE = 800  # 10 Mbit/s
CHAIN = """
name = "acks"
[run]
duration = "{duration}"
[chain]
hops = 1
delay = "20 ms"
rate = "10 Mbit/s"
queue = "{queue}"
[observe]
packets = "all"
[[flows]]
source = "A"
destination = "B"
congestion_control = "reno"
{flow}
"""
BULK = {"duration": "2 s", "flow": "", "queue": "5000 pkts"}  # a queue in which no packet is lost
STEADY = BULK | {"flow": 'rate = "4.6336 Mbit/s"'}  # four segments per 10 ms, so that the window stops growing
LONE = BULK | {"duration": "4 s", "flow": 'rate = "20 kbit/s"'}  # one segment is written every half second
LOSSY = BULK | {"duration": "15 s", "queue": "60 pkts"}
SMALL = {"network.mtu": "1115 B"}
CASES = {
    "off": (STEADY, {"tcp.delayed_ack": "off"}),
    "on": (STEADY, {"tcp.delayed_ack": "on"}),
    "on, greedy": (BULK, {"tcp.delayed_ack": "on"}),
    "adaptive": (STEADY, {}),
    "small": (STEADY | {"flow": 'rate = "3.4016 Mbit/s"'}, {"tcp.delayed_ack": "on", **SMALL}),
    "lone": (LONE, {"tcp.delayed_ack": "on", **SMALL}),
    "lone, 10 ms": (LONE, {"tcp.delayed_ack": "on", "tcp.delayed_ack_timer": "10 ms"}),
}


def plan_of(folder: Path, text: dict[str, str], settings: dict[str, str]):
    path = folder / "acks.toml"
    path.write_text(CHAIN.format(**text))
    return scenario.resolve(scenario.load(path, settings))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run for each case."""
    folder = tmp_path_factory.mktemp("acks")
    plans = [plan_of(folder, *case) for case in CASES.values()]
    out = [folder / str(number) for number in range(len(plans))]
    made = list(summaries.make(plans, folder / "scratch", out=out))
    assert [one.error for one in made] == [None] * len(plans)
    return dict(zip(CASES, (lw.open(path) for path in out), strict=True))


def data_and_acks(run) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the segments that arrive before the run's end, in order of arrival. Also return the receiver's packets
    after the handshake."""
    packets = run.packets(0)
    data = packets[(packets.direction == "data") & (packets.len_bytes > 0)]
    data = data[data["received_ns"] < run.summary["virtual_s"] * 1e9]
    acks = packets[(packets.direction == "back") & (packets.ack > 0)]
    acks = acks.sort_values("sent_ns")
    # no packet is lost, so an ACK that repeats the previous number is a window update
    updates = acks["ack"].astype(float).diff() == 0
    assert updates.sum() <= 3
    return data.sort_values("received_ns"), acks[~updates]


def segments_of_each_ack(run) -> list[int]:
    """For each ACK, return the number of segments that arrived after the previous ACK."""
    data, acks = data_and_acks(run)
    arrived = np.searchsorted(data["received_ns"].to_numpy(float), acks["sent_ns"].to_numpy(float), side="right")
    ends = (data["seq"] + data["len_bytes"]).to_numpy(float)
    assert (ends[arrived - 1] == acks["ack"].to_numpy(float)).all()
    return np.diff(arrived, prepend=0).tolist()


def test_off_acknowledges_each_segment_at_once(runs):
    assert set(segments_of_each_ack(runs["off"])) == {1}
    data, acks = data_and_acks(runs["off"])
    assert len(acks) == len(data) > 700
    wait_ns = acks["sent_ns"].to_numpy() - data["received_ns"].to_numpy()
    assert wait_ns.min() >= 0
    assert wait_ns.max() < AT_ONCE_NS
    flow = runs["off"].summary["flows"][0]
    assert 1 <= flow["acks_per_segment_ratio"] <= 1 + 3 / len(data)
    assert flow["ack_wait_max_ns"] == 0


@pytest.mark.parametrize("case", ["on", "small"])
def test_on_acknowledges_every_second_segment_from_the_first_on(runs, case):
    counted = segments_of_each_ack(runs[case])
    assert len(counted) > 300
    assert set(counted) == {2}
    assert set(segments_of_each_ack(runs["on, greedy"])[:20]) == {2}
    data, acks = data_and_acks(runs[case])
    second = data["received_ns"].to_numpy()[1::2][: len(acks)]
    assert (np.abs(acks["sent_ns"].to_numpy() - second) < AT_ONCE_NS).all()
    flow = runs[case].summary["flows"][0]
    assert 0.5 <= flow["acks_per_segment_ratio"] <= 0.5 + 3 / len(data)
    # the second segment arrives one transmission time after the first, except in the first pair of a flight
    frame_bytes = data["len_bytes"].max() + 52 + 14
    assert flow["ack_wait_p50_ns"] == frame_bytes * NS_PER_BYTE // 100_000 * 100_000


def test_adaptive_is_linux_as_it_comes(runs):
    counted = segments_of_each_ack(runs["adaptive"])
    assert counted[:16] == [1] * 16
    assert set(counted[-100:]) == {2}
    assert 0.5 < runs["adaptive"].summary["flows"][0]["acks_per_segment_ratio"] < 1


@pytest.mark.parametrize(("case", "timer_ns"), [("lone", 40_000_000), ("lone, 10 ms", 10_000_000)])
def test_a_lone_segment_is_acknowledged_after_the_timer(runs, case, timer_ns):
    data, acks = data_and_acks(runs[case])
    assert len(data) >= 6
    waits_ns = acks["sent_ns"].to_numpy()[: len(data)] - data["received_ns"].to_numpy()
    # a timer of the kernel can expire only at a tick. Ticks are 1 ms apart, so the timer expires late
    assert (waits_ns >= timer_ns).all()
    assert (waits_ns <= timer_ns + 1_000_000).all()
    flow = runs[case].summary["flows"][0]
    assert (flow["acks_per_segment_ratio"], flow["ack_waits_long_ratio"]) == (1.0, 1.0)
    assert timer_ns <= flow["ack_wait_p50_ns"] <= timer_ns + 1_000_000


def test_segments_and_delays_are_those_of_the_plan(runs):
    data, acks = data_and_acks(runs["lone"])
    data = data.iloc[1:]  # the first segment waits for the end of the handshake
    assert set(data["len_bytes"]) == {1115 - 52}
    assert runs["lone"].sockets()["snd_mss_bytes"].max() == 1115 - 52
    assert set(data["received_ns"] - data["sent_ns"]) == {ONE_WAY_NS + (1115 + 14) * NS_PER_BYTE}
    arrived = acks[acks["received_ns"].notna()]
    assert set(arrived["received_ns"] - arrived["sent_ns"]) == {ONE_WAY_NS + (52 + 14) * NS_PER_BYTE}
    # within a flight, each segment occupies the link for the transmission time of 1115 + 14 bytes
    arrived_ns = np.sort(data_and_acks(runs["small"])[0]["received_ns"].to_numpy(float))
    assert np.diff(arrived_ns).min() == (1115 + 14) * NS_PER_BYTE


def test_a_run_in_a_batch_acknowledges_as_it_does_alone(runs, tmp_path):
    alone = lw.run(plan_of(tmp_path, *CASES["lone, 10 ms"]), out=tmp_path / "run", report=False, progress=False)
    pd.testing.assert_frame_equal(alone.packets(0), runs["lone, 10 ms"].packets(0))
    assert alone.summary["flows"] == runs["lone, 10 ms"].summary["flows"]


def test_a_run_without_truth_does_not_know_its_acknowledgements(tmp_path):
    settings = {"observe.truth": False, "tcp.delayed_ack": "on", "run.duration": "1 s"}
    run = lw.run(plan_of(tmp_path, BULK, settings), out=tmp_path / "run", report=False, progress=False)
    flow = run.summary["flows"][0]
    assert flow["acks_per_segment_ratio"] is flow["duplicate_acks_pkts"] is flow["duplicate_acks_ratio"] is None
    assert (flow["timeouts"], flow["timeout_retransmissions_pkts"]) == (0, 0)


@pytest.fixture(scope="module")
def newreno(tmp_path_factory):
    folder = tmp_path_factory.mktemp("newreno")
    settings = {
        "tcp.profile": "newreno", "tcp.delayed_ack": "on", "chain.loss": "0.5 %", "observe.pcap": "both",
        **SMALL,
    }  # fmt: skip
    return lw.run(plan_of(folder, LOSSY, settings), out=folder / "run", report=False, progress=False)


def test_what_a_timeout_makes_the_sender_send_again_is_known(tmp_path):
    settings = {"tcp.profile": "newreno", "tcp.delayed_ack": "on", "chain.loss": "8 %"}
    run = lw.run(plan_of(tmp_path, LOSSY, settings), out=tmp_path / "run", report=False, progress=False)
    flow, counted = run.summary["flows"][0], _counters(run)["host:A"]
    assert flow["timeouts"] == flow["sender_timeouts"] > 5
    assert flow["timeout_retransmissions_pkts"] > flow["timeouts"]
    others_pkts = counted["TcpExt.TCPFastRetrans"]
    assert flow["retransmissions_pkts"] == flow["timeout_retransmissions_pkts"] + others_pkts
    assert "TcpExt.TCPSpuriousRTOs" not in counted[counted > 0], "F-RTO is off"


def _counters(run) -> pd.Series:
    """Return the value of each host's counters at the end of the run."""
    return run.counters().groupby(["host", "counter"], observed=True)["value"].last()


def test_newreno_sends_no_selective_acknowledgement(newreno):
    lengths = set()
    for end in ("source", "destination"):
        content = (newreno.path / "30-trace" / f"{end}.pcapng").read_bytes()
        for _, _, frame in pcap._frames(content):
            head, is_syn = frame[14 + 20 :], frame[14 + 20 + 13] & 2
            lengths.add((bool(is_syn), (head[12] >> 4) * 4))
            # the option kinds 4 and 5 belong to SACK (RFC 2018), and kind 8 is the timestamp
            assert not is_syn or not {4, 8} & _options(head[20 : (head[12] >> 4) * 4])
    assert {length for is_syn, length in lengths if not is_syn} == {20}, "no options, so no SACK block either"
    last = _counters(newreno)
    assert not [name for _, name in last[last > 0].index if "sack" in name.lower() or "rack" in name.lower()]
    assert last["host:A", "TcpExt.TCPRenoRecovery"] > 10
    assert set(newreno.packets(0)["len_bytes"]) == {0, 1115 - 40}


def _options(options: bytes) -> set[int]:
    """Return the kinds of TCP options."""
    kinds, at = set(), 0
    while at < len(options) and options[at] != 0:
        kinds.add(options[at])
        at += 1 if options[at] == 1 else options[at + 1]
    return kinds


def test_three_duplicates_make_newreno_send_again(newreno):
    packets = newreno.packets(0)
    data = packets[(packets.direction == "data") & (packets.len_bytes > 0)].sort_values("sent_ns")
    acks = packets[(packets.direction == "back") & packets.received_ns.notna() & (packets.ack > 0)]
    acks = acks[acks["received_ns"] < newreno.summary["virtual_s"] * 1e9].sort_values("received_ns")
    arrived_ns, number = acks["received_ns"].to_numpy(float), acks["ack"].to_numpy(float)
    assert newreno.summary["flows"][0]["timeouts"] == 0
    entered, until = 0, 0.0
    for again in data[data["is_retransmission"]].itertuples():
        if again.seq <= until:
            continue  # the packet belongs to the present recovery, in which each partial ACK causes one retransmission
        until = data.loc[data["sent_ns"] < again.sent_ns, "seq"].max()
        before = number[arrived_ns <= again.sent_ns]
        assert (before == again.seq).sum() == 1 + 3
        assert arrived_ns[arrived_ns <= again.sent_ns].max() == again.sent_ns
        entered += 1
    assert entered > 10
    flow = newreno.summary["flows"][0]
    repeated = int((number[1:] == number[:-1]).sum())
    # all ACKs with a repeated number, except window updates
    assert repeated - 5 < flow["duplicate_acks_pkts"] <= repeated
    assert flow["duplicate_acks_ratio"] == pytest.approx(flow["duplicate_acks_pkts"] / len(data))
    assert flow["timeout_retransmissions_pkts"] == 0 == flow["spurious_retransmissions_pkts"]
