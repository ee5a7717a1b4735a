# SPDX-License-Identifier: Apache-2.0
"""Tests DCTCP over a queue with a step threshold against closed forms of Alizadeh et al., "Data center TCP" (2010), and
of RFC 8257. Further tests check the settings of HyStart. These settings decide when slow start ends."""

from pathlib import Path

import numpy as np
import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

CHAIN = Path(__file__).parents[2] / "examples" / "chain.toml"
PACKET_NS = 1514 * 8 * 100  # transmission time at 10 Mbit/s
PAYLOAD_BPS = 10_000_000 * 1448 / 1514
RTT_PKTS = 2 * 3 * 10_000_000 / PACKET_NS
SETTLED_NS = 6_000_000_000


def step_marked(tmp_path, control, threshold):
    """Return the scalars of the flow. Also return two series of samples after the start: the queue's length, and the
    flow's socket. The queue marks the packets that have waited longer than `threshold`."""
    flows = [{"source": "A", "destination": "B", "congestion_control": control}]
    changes = {
        "flows": flows, "run.duration": "20 s", "tcp.ecn": "on", "chain.queue": "200 pkts", "chain.ecn": True,
        "chain.queue_discipline": "codel", "observe.queues": "1 ms", "observe.sockets": "10 ms",
        # codel's own rule begins to mark after packets have waited longer than the target of 10 s
        "chain.queue_parameters": {"ce_threshold": threshold, "target": "10 s", "interval": "100 s"},
    }  # fmt: skip
    run = lw.run(CHAIN, changes, tmp_path / control, report=False, progress=False)
    links, sockets = run.table("links").to_pandas(), run.sockets()
    bottleneck = links.groupby("direction").queue_max_pkts.max().idxmax()
    waiting = links[(links.direction == bottleneck) & (links.t_ns > SETTLED_NS)].queue_pkts.to_numpy()
    return run.summary["flows"][0], waiting, sockets[sockets.t_ns > SETTLED_NS]


def rate_bps(sockets):
    first, last = sockets.iloc[0], sockets.iloc[-1]
    return (last.bytes_received - first.bytes_received) * 8e9 / (last.t_ns - first.t_ns)


def test_dctcp_fills_the_link_above_a_threshold_of_a_seventh_of_the_path(tmp_path):
    threshold_pkts = 12_000_000 / PACKET_NS
    assert threshold_pkts > RTT_PKTS / 7
    flow, waiting, sockets = step_marked(tmp_path, "dctcp", "12 ms")
    # The queue is never empty (section 3.4). Its maximum is the threshold plus the growth in one round trip, which is
    # one packet
    assert 0 < waiting.min() < waiting.max() <= threshold_pkts + 3
    assert rate_bps(sockets) == pytest.approx(PAYLOAD_BPS, rel=2e-4)
    # The window W grows by one packet per RTT. It falls by a share of at most alpha / 2, with alpha = sqrt(2 / W)
    # (section 3.3)
    window = RTT_PKTS + threshold_pkts
    assert sockets.cwnd_pkts.max() - sockets.cwnd_pkts.min() <= np.sqrt(window / 2) + 2
    assert flow["lost_pkts"] == flow["sender_retransmissions_pkts"] == 0
    # The receiver reports for each packet whether it was marked (RFC 8257, 3.2), so the sender's count of marks equals
    # the receiver's
    assert flow["delivered_ce_pkts"] == flow["received_ce_pkts"] > 1000


def test_below_that_threshold_the_queue_runs_empty(tmp_path):
    _, waiting, sockets = step_marked(tmp_path, "dctcp", "2 ms")
    assert (waiting == 0).mean() > 0.05
    assert rate_bps(sockets) < 0.99 * PAYLOAD_BPS


def test_cubic_answers_a_mark_as_a_loss_and_repeats_it_until_the_sender_says_so(tmp_path):
    flow, waiting, sockets = step_marked(tmp_path, "cubic", "12 ms")
    assert (waiting == 0).mean() > 0.2
    assert rate_bps(sockets) < 0.9 * PAYLOAD_BPS
    assert flow["delivered_ce_pkts"] > 2 * flow["received_ce_pkts"] > 0


def test_hystart_ends_slow_start_no_sooner_than_its_least_window(tmp_path):
    ends_pkts = []
    for least in (16, 128):
        changes = {"modules.tcp_cubic.hystart_low_window": str(least), "run.duration": "2 s", "observe.sockets": "1 ms"}
        run = lw.run(CHAIN, changes | {"flows.0.congestion_control": "cubic"}, tmp_path / str(least), report=False)
        sockets = run.sockets()
        ends_pkts.append(int(sockets[(sockets.flow == 0) & sockets.ssthresh_pkts.notna()].cwnd_pkts.iloc[0]))
    assert 16 <= ends_pkts[0] < 128 <= ends_pkts[1]
