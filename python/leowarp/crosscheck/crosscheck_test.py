# SPDX-License-Identifier: Apache-2.0
"""Compares the queues, waiting times and paths with calculations by hand."""

import numpy as np
import pandas as pd

from leowarp.crosscheck.network import instants
from leowarp.crosscheck.stations import queue_at
from leowarp.crosscheck.streams import waits_of

MBPS = 1_000_000


def sent(*packets):
    return pd.DataFrame(packets, columns=["sent_ns", "link_bytes"])


def test_of_three_packets_the_last_waits_at_the_link_that_is_abandoned():
    # 125 bytes take 1 us at 1 Gbit/s, so packets are sent at 0, 1000 and 2000 ns.
    found = queue_at(sent((0, 125), (0, 125), (100, 125)), 1500, 1000 * MBPS, 70, 50)
    assert (found.waiting_pkts, found.waiting_bytes) == (1, 125)
    # The second packet leaves the queue after the change of the delay, so the new delay applies to it.
    assert (found.begun_arrived_ns, found.all_arrived_ns) == (2000 + 70, 3000 + 70)


def test_a_delay_that_falls_lets_nothing_overtake():
    found = queue_at(sent((0, 125), (500, 125)), 1500, 1000 * MBPS, 50, 5000)
    assert (found.begun_arrived_ns, found.all_arrived_ns) == (6000, 6000)


def test_a_marker_is_behind_all_that_stay():
    found = queue_at(sent((0, 125), (0, 125)), 500, 1000 * MBPS, 70, 70, 250)
    assert (found.begun_arrived_ns, found.all_arrived_ns) == (3000 + 70, 4000 + 70)
    assert queue_at(sent((0, 125)), 9000, None, 70, 70, 250).all_arrived_ns == 9070


def test_who_arrives_together_and_who_never_does():
    nan = float("nan")
    # Packet 1 was lost, and packets 2 and 3 waited for it. Packet 5 overtook packet 4. Packet 6 may still be in flight.
    found = waits_of(np.array([10.0, nan, 30.0, 30.0, 50.0, 40.0, nan]))
    assert (found.late_pkts, found.lost_pkts) == (1, 1)
    assert [group.tolist() for group in found.together] == [[2, 3]]
    assert waits_of(np.array([nan, nan])).lost_pkts == 0


def test_the_way_before_leads_over_entries_that_went():
    columns = ["t_ns", "event", "a", "b", "node", "destination", "next_hop", "delay_ns", "rate_bps", "up", "on_down"]
    rows = [
        *({"t_ns": 0, "event": "delay", "a": a, "b": b, "delay_ns": 5} for a, b in ("AB", "BC", "AD", "DC")),
        *({"t_ns": 0, "event": "route", "node": node, "destination": "H", "next_hop": to}
          for node, to in ("AB", "BC", "CH")),
        {"t_ns": 9, "event": "delay", "a": "A", "b": "B", "delay_ns": 7},
        {"t_ns": 9, "event": "route", "node": "A", "destination": "H", "next_hop": "D"},
        {"t_ns": 9, "event": "route", "node": "D", "destination": "H", "next_hop": "C"},
        {"t_ns": 9, "event": "route", "node": "B", "destination": "H", "next_hop": None},
        {"t_ns": 9, "event": "link", "a": "A", "b": "B", "up": False, "on_down": "drop"},
    ]  # fmt: skip
    [_, change] = [
        (at.t_ns, at.switched, at.old_way("A", "H"), at.state.way("A", "H"), at.state.way("B", "H"), set(at.state.lost),
         at.old_delay_ns([("A", "B")]))
        for at in instants(pd.DataFrame(rows, columns=columns))
    ]  # fmt: skip
    new_way = [("A", "D"), ("D", "C")]
    assert change == (9, {("A", "H"): "B"}, [("A", "B"), ("B", "C")], new_way, None, {("A", "B"), ("B", "A")}, 5)
