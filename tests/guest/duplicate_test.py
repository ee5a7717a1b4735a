# SPDX-License-Identifier: Apache-2.0
"""Tests that packets are sent over both paths after a route change. Only the first copy may be delivered."""

import pytest

from support.route_changes import (
    AT_A_SATELLITE,
    AT_THE_STATION,
    HEADERS_BYTES,
    MS,
    PAYLOAD_BYTES,
    expected,
    made,
    received,
)

pytestmark = pytest.mark.guest

FRAME_BYTES = PAYLOAD_BYTES + HEADERS_BYTES


def switch_of(run):
    """Return the row of the table `switches` for packets to Tokyo."""
    switches = run.switches()
    [row] = switches[switches.host == "host:Tokyo"].itertuples(index=False)
    return row


@pytest.mark.parametrize("change", [AT_A_SATELLITE, AT_THE_STATION])
def test_the_first_of_two_copies_arrives_when_the_model_says(tmp_path, change):
    run = made(tmp_path, change, {"duplicate": "200 ms"})
    arrival_ns, _ = expected(run, change, moves=False, holds=False, copies=True)
    assert received(run) == arrival_ns
    row = switch_of(run)
    assert row.copied_pkts >= 3
    assert row.copied_bytes == row.copied_pkts * FRAME_BYTES
    [order] = run.orders().itertuples(index=False)
    assert (order.numbered_pkts, order.eliminated_pkts, order.waited_pkts) == (40, row.copied_pkts, 0)
    assert len(run.drops()) == 0


def test_copies_end_with_their_time(tmp_path):
    long, short = (made(tmp_path / name, AT_THE_STATION, {"duplicate": name}) for name in ("200 ms", "1 ms"))
    # in this run, the station forwards each packet at the time when the packet is sent
    row, sent_ns = switch_of(short), short.echoes().sent_ns
    assert row.copied_pkts == ((sent_ns >= row.t_ns) & (sent_ns < row.t_ns + MS)).sum() > 0
    assert row.copied_pkts < switch_of(long).copied_pkts == (long.echoes().sent_ns >= row.t_ns).sum()


def test_a_packet_is_lost_only_with_both_of_its_copies(tmp_path):
    lossy = {"isl.loss": "20 %", "run.seed": 3}
    run = made(tmp_path, AT_A_SATELLITE, {"duplicate": "200 ms"}, **lossy)
    drops = run.drops()
    lost = drops[drops.flow.notna()]
    spared = len(drops) - len(lost)
    assert spared >= 1
    assert len(received(run)) == 40 - len(lost)
    packets = run.packets()
    assert packets.received_ns.isna().sum() == len(lost)
    [order] = run.orders().itertuples(index=False)
    # a copy is not eliminated if it is the only one that arrived
    assert order.eliminated_pkts == switch_of(run).copied_pkts - spared


def test_with_ordering_packets_of_both_ways_leave_in_order(tmp_path):
    cures = {"duplicate": "200 ms", "resequence": "flow", "resequence_kind": "advanced"}
    run = made(tmp_path, AT_THE_STATION, cures)
    arrival_ns = received(run)
    assert sorted(arrival_ns) == list(range(40))
    assert [arrival_ns[n] for n in range(40)] == sorted(arrival_ns.values())
    [order] = run.orders().itertuples(index=False)
    assert order.eliminated_pkts == switch_of(run).copied_pkts > 0
