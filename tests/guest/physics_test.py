# SPDX-License-Identifier: Apache-2.0
"""Tests that physical quantities in the guest agree with their closed forms."""

import itertools
from pathlib import Path

import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"

# Length of the headers of an ICMP echo or UDP packet on a link: 8 bytes of ICMP or UDP, then IP, then Ethernet.
HEADERS_BYTES = 8 + 20 + 14
TCP_FRAME_BYTES = 1514


def chain(text: str, tmp_path, **tables: str):
    """Make a run of these flows over a chain of three links. Each link has 10 ms and 10 Mbit/s."""
    path = tmp_path / "chain.toml"
    link = {"hops": "3", "delay": '"10 ms"', "rate": '"10 Mbit/s"', "queue": '"100 pkts"'} | tables
    lines = ['name = "physics"', "[run]", 'duration = "10 s"', "[chain]", *(f"{k} = {v}" for k, v in link.items())]
    path.write_text("\n".join(lines) + "\n" + text)
    return lw.run(path, (), tmp_path / "run", report=False, progress=False)


PING = """
[[flows]]
kind = "ping"
source = "A"
destination = "B"
interval = "100 ms"
payload = "1000 B"
"""


@pytest.mark.parametrize("link_model", ["leolink", "netem"])
def test_a_probe_takes_propagation_plus_serialisation(tmp_path, link_model):
    run = chain(PING + f'[network]\nlink_model = "{link_model}"\n', tmp_path)
    echoes = run.echoes()
    owd_ns = (echoes["received_ns"] - echoes["sent_ns"]).to_numpy(float)
    expected_ns = 3 * (10_000_000 + (1000 + HEADERS_BYTES) * 8 * 100)
    assert len(owd_ns) >= 99
    assert (owd_ns == expected_ns).all()


def test_a_probe_over_the_constellation_takes_geometry_plus_serialisation(tmp_path):
    flow = {"kind": "ping", "source": "Madrid", "destination": "Tokyo", "interval": "500 ms"}
    changes = {"flows": [flow], "run.duration": "70 s", "observe.packets": "none"}
    run = lw.run(EXAMPLES / "madrid-tokyo.toml", changes, tmp_path / "run", report=False, progress=False)
    echoes, timeline = run.echoes(), run.timeline()
    delays = timeline[timeline.event == "delay"].set_index(["a", "b"]).sort_values("t_ns")
    paths = run.routes()
    paths = paths[(paths.source == "Madrid") & (paths.destination == "Tokyo")].sort_values("t_ns")
    checked = 0
    for sent_ns, received_ns in echoes[["sent_ns", "received_ns"]].to_numpy(float):
        # probes that are in flight at a change are covered by another test
        if received_ns // 15_000_000_000 != sent_ns // 15_000_000_000:
            continue
        path = list(paths[paths.t_ns <= sent_ns].path.iloc[-1])
        hops_ns = []
        for a, b in itertools.pairwise(path):
            known = delays.loc[[(a, b)]]
            hops_ns.append(known[known.t_ns <= sent_ns].delay_ns.iloc[-1] + (56 + HEADERS_BYTES) * 80)
        assert received_ns - sent_ns == sum(hops_ns)
        checked += 1
    assert checked > 100


def test_a_full_queue_holds_what_the_limit_says_and_drops_the_rest(tmp_path):
    flow = """
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "1000 B"
rate = "20 Mbit/s"
stop = "2 s"
"""
    run = chain(flow, tmp_path)
    totals = run.linktotals()
    first = totals[(totals["from"] == "r0") & (totals["to"] == "r1")].iloc[0]
    assert first.queue_max_pkts == 100
    frame_bytes = 1000 + HEADERS_BYTES
    assert first.offered_bytes == first.offered_pkts * frame_bytes
    # The link is never idle between the first and the last packet, so it delivers as many packets as fit into two
    # seconds. When the two seconds end, 100 packets wait and one is in transmission.
    expected_pkts = 2e9 / (frame_bytes * 8 * 100) + 101
    assert abs(first.delivered_pkts - expected_pkts) <= 2
    assert first.dropped_queue_pkts == first.offered_pkts - first.delivered_pkts
    # a probe behind a full queue waits for the 100 packets in the queue and at most one in transmission
    echoes = run.echoes()
    owd_ns = (echoes["received_ns"] - echoes["sent_ns"]).max()
    empty_ns = 3 * (10_000_000 + frame_bytes * 800)
    assert empty_ns + 100 * frame_bytes * 800 - 2000 <= owd_ns <= empty_ns + 101 * frame_bytes * 800 + 2000


def test_a_bulk_transfer_reaches_the_rate_and_the_rtt_that_the_links_allow(tmp_path):
    flow = """
[[flows]]
source = "A"
destination = "B"
"""
    run = chain(flow, tmp_path)
    steady = run.bins()
    steady = steady[(steady.direction == "data") & (steady.t_ns >= 5e9) & (steady.t_ns < 9e9)]
    goodput_bps = steady.delivered_bytes.sum() * 8 / 4
    assert goodput_bps == pytest.approx(1448 / TCP_FRAME_BYTES * 10e6, rel=0.01)
    sockets = run.sockets()
    # the smallest RTT is that of the handshake, whose SYN and SYN-ACK are frames of 74 bytes
    assert sockets.min_rtt_us.min() == pytest.approx((60_000_000 + 6 * 74 * 800) / 1000, abs=2)
    # on the link, a data packet has 1514 bytes, and an ACK has 66 bytes
    idle_us = (60_000_000 + 3 * (TCP_FRAME_BYTES + 66) * 800) / 1000
    assert sockets.srtt_us.max() > idle_us
    full_us = idle_us + 101 * TCP_FRAME_BYTES * 0.8
    assert sockets.srtt_us.max() <= full_us + 2500


def test_a_sender_below_capacity_on_a_route_that_does_not_change_sees_no_reordering_and_no_retransmission(tmp_path):
    flow = """
[[flows]]
source = "A"
destination = "B"
rate = "5 Mbit/s"
"""
    run = chain(flow, tmp_path)
    flow = run.summary["flows"][0]
    assert flow["sent_pkts"] > 1000
    for name in ("late_pkts", "retransmissions_pkts", "spurious_retransmissions_pkts", "dsacks_pkts", "lost_pkts"):
        assert flow[name] == 0, name
    assert run.summary["drops_pkts"] == 0


def test_a_loss_ratio_is_what_the_link_loses(tmp_path):
    flow = """
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "100 B"
rate = "2 Mbit/s"
"""
    run = chain(flow, tmp_path, hops="1", loss='"5 %"')
    totals = run.linktotals()
    first = totals[(totals["from"] == "r0") & (totals["to"] == "r1")].iloc[0]
    share = first.dropped_loss_pkts / first.offered_pkts
    deviation = (0.05 * 0.95 / first.offered_pkts) ** 0.5
    assert abs(share - 0.05) < 4 * deviation
    assert (run.drops()["cause"] == "loss").sum() == first.dropped_loss_pkts


def test_a_gap_in_a_measured_path_loses_what_is_offered_and_keeps_what_is_on_its_way(tmp_path):
    (tmp_path / "path.csv").write_text("t_s,delay_ms,rate_mbps,loss_ratio\n0,20,10,0\n2,down,,\n3,30,10,0\n")
    (tmp_path / "gap.toml").write_text(
        'name = "gap"\n[run]\nduration = "5 s"\n[measured]\nfile = "path.csv"\n[[flows]]\nkind = "ping"\n'
        'source = "A"\ndestination = "B"\ninterval = "10 ms"\n'
    )
    run = lw.run(tmp_path / "gap.toml", (), tmp_path / "run", report=False, progress=False)
    echoes = run.echoes()
    lost = echoes[echoes["received_ns"].isna()]
    assert len(lost) == 100
    assert lost["sent_ns"].min() == 2_000_000_000
    assert lost["sent_ns"].max() == 2_990_000_000
    # the channel causes all losses; a link that is down causes none
    assert (run.drops()["cause"] == "loss").all()
    owd_ns = echoes["received_ns"] - echoes["sent_ns"]
    serialisation_ns = (56 + HEADERS_BYTES) * 800
    before, after = owd_ns[echoes["sent_ns"] < 2e9], owd_ns[echoes["sent_ns"] >= 3e9]
    assert (before == 20_000_000 + serialisation_ns).all()
    assert (after == 30_000_000 + serialisation_ns).all()


@pytest.mark.parametrize("delayed_ack", ["adaptive", "on", "off"])
def test_a_receiver_that_reads_what_arrives_never_holds_slow_start(tmp_path, delayed_ack):
    """Even with short packets, the receiver's window grows faster than the sender's window."""
    text = f"""
[network]
mtu = "800 B"
[tcp]
delayed_ack = "{delayed_ack}"
[[flows]]
source = "A"
destination = "B"
congestion_control = "reno"
"""
    run = chain(text, tmp_path, delay='"30 ms"', rate='"40 Mbit/s"', queue='"20000 pkts"')
    sockets = run.sockets(flow=0)
    full = sockets[sockets["cwnd_pkts"] >= 40e6 * 0.18 / 8 / 800]
    # A window of 10 packets fills the path after eight round trips of 180 ms and the handshake.
    assert full["t_ns"].iloc[0] < 1_800_000_000
    # With delayed ACKs, the reader may leave up to a quarter of the window unread.
    assert full["rwnd_limited_us"].iloc[0] <= (50_000 if delayed_ack == "on" else 0)


def test_what_is_on_its_way_when_a_run_ends_is_in_flight_and_not_lost(tmp_path):
    """At the last read of the capture, the links are empty, but the kernel has not yet delivered the capture's last
    block."""
    changes = {
        "run.duration": "30 s", "mobile.fading": False, "mobile.queue": "20000 pkts", "network.mtu": "1115 B",
        "tcp.profile": "newreno", "flows.0.congestion_control": "reno",
    }  # fmt: skip
    run = lw.run(EXAMPLES / "mobile.toml", changes, tmp_path / "run", report=False, progress=False)
    (flow,) = run.summary["flows"]
    assert flow["lost_pkts"] == 0


def test_background_traffic_takes_its_share_of_a_link(tmp_path):
    # background traffic takes 6 of 10 Mbit/s, so the transmission of a packet takes 2.5 times as long
    run = chain(PING, tmp_path, background='"6 Mbit/s"')
    sent_ns = (1000 + HEADERS_BYTES) * 8 * 1000 // 4
    echoes = run.echoes()
    assert len(echoes) >= 99
    assert set(echoes["received_ns"] - echoes["sent_ns"]) == {3 * (10_000_000 + sent_ns)}
