# SPDX-License-Identifier: Apache-2.0
"""Tests notices of route changes: what they contain, when they arrive, and how lost notices are recorded."""

import itertools
import struct
from dataclasses import dataclass

import pytest

import leowarp as lw
from leowarp.crosscheck import crosscheck
from support.pcapng import frames
from support.route_changes import (
    AT_A_SATELLITE,
    AT_THE_STATION,
    EXAMPLES,
    MS,
    Link,
    S,
    Ways,
    carried,
    made,
)

pytestmark = pytest.mark.guest

# Length of a notice: the headers of Ethernet and IPv4, and 40 bytes of ICMP (design/cures.md, "Notice").
FRAME_BYTES = 60 + 14


@dataclass(frozen=True)
class Heard:
    """A notice in a host's capture."""

    at_ns: int
    number: int
    destination: bytes
    old_delay_ns: int
    new_delay_ns: int
    wait_ns: int


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def heard(run, end: str) -> list[Heard]:
    """Return all notices in the capture at one end, and check the fields that all notices share."""
    content = (run.path / "30-trace" / f"{end}.pcapng").read_bytes()
    out = []
    for at_ns, frame in frames(content):
        packet = frame[14:] if frame[12:14] == b"\x08\x00" else frame
        if packet[9] == 1 and packet[20] == 253:
            header, icmp = packet[:20], packet[20:]
            assert (header[0], len(packet), header[12:16]) == (0x45, 60, bytes([192, 0, 0, 8]))
            assert (checksum(header), checksum(icmp)) == (0, 0)
            assert (icmp[1], icmp[4:8]) == (0, b"leon")
            number, destination, *values = struct.unpack(">I4sqqQ", icmp[8:])
            out.append(Heard(at_ns, number, destination, *values))
    return out


def carried_ns(ways: Ways, path: list[str], sent_ns: int) -> int:
    """Return the arrival time of a notice that has to wait in no queue."""
    for a, b in itertools.pairwise(path):
        sent_ns += ways.serialise_ns(a, b, FRAME_BYTES)
        sent_ns += ways.delay_ns(a, b, sent_ns)
    return sent_ns


def overtaken_wait_ns(run, change, t_ns: int) -> int:
    """Return the wait that the notice to Madrid must state. The wait ends when the ACK of the last packet on the old
    path can have arrived."""
    ways = Ways.of(run, change)
    at = ways.before.index(change.node)
    echoes = run.echoes().sort_values("index")
    old = Link(ways, *ways.before[at : at + 2])
    for at_ns, _ in carried(ways, ways.before[: at + 1], zip(echoes.sent_ns, echoes["index"], strict=True)):
        if at_ns < t_ns:
            old.carry(at_ns)
    back = list(reversed(ways.after))
    answer_ns = ways.rest_ns(back, 0, longest=False) - ways.rest_ns(back, back.index(change.node), longest=False)
    arrived_ns = old.last_ns + ways.rest_ns(ways.before, at + 1, longest=True)
    assert arrived_ns > t_ns + ways.rest_ns(ways.after, at, longest=False)
    return int(arrived_ns + answer_ns - t_ns)


@pytest.mark.parametrize("change", [AT_THE_STATION, AT_A_SATELLITE])
@pytest.mark.parametrize("delay_ms", [0, 3])
def test_the_sender_hears_of_a_change_when_the_links_have_carried_the_notice(tmp_path, change, delay_ms):
    keys = {"notify": True, "notify_delay": f"{delay_ms} ms"}
    run = made(tmp_path, change, keys, **{"observe.pcap": "both"})
    ways = Ways.of(run, change)
    notices = run.notices()
    assert sorted(notices.told_host) == ["host:Madrid", "host:Tokyo"]
    assert not (notices.is_false | notices.is_lost).any()
    for end, host, forth in (("source", 0, ways.after), ("destination", 1, list(reversed(ways.after)))):
        [row] = notices[notices.told_host == run.tables.hosts[host]].itertuples(index=False)
        [notice] = heard(run, end)
        said = (notice.number, notice.old_delay_ns, notice.new_delay_ns, notice.wait_ns)
        assert said == (row.number, row.old_delay_ns, row.new_delay_ns, row.wait_ns)
        assert notice.destination == bytes([10, 1, 0, 2 - host])
        assert row.sent_ns == row.t_ns + delay_ms * MS
        old = ways.before if host == 0 else list(reversed(ways.before))
        assert row.old_delay_ns == sum(ways.delay_ns(a, b, 0) for a, b in itertools.pairwise(old))
        assert row.new_delay_ns == sum(ways.delay_ns(a, b, row.t_ns) for a, b in itertools.pairwise(forth))
        if host == 0:
            back = list(reversed(ways.after))
            assert notice.at_ns == carried_ns(ways, back[back.index(change.node) :], row.sent_ns)
            assert row.wait_ns == overtaken_wait_ns(run, change, row.t_ns)
        else:
            # Tokyo has not sent a packet, so none can be late
            assert row.wait_ns == 0
    totals = run.nodetotals()
    assert (totals.signals_pkts.sum(), totals.signals_bytes.sum()) == (2, 2 * FRAME_BYTES)


@pytest.mark.parametrize("change", [AT_THE_STATION, AT_A_SATELLITE])
def test_a_notice_ahead_leaves_before_the_change_by_the_old_path_and_waits_until_behind_it(tmp_path, change):
    lead_ns = 200 * MS
    # the flow starts at 1 s, so that a queue exists when the notice leaves
    flow = {"kind": "udp", "source": "Madrid", "destination": "Tokyo", "packet_rate": "1500 pkts/s", "start": "1 s"}
    flow |= {"payload": "1000 B", "stop": "2.5 s"}
    run = made(
        tmp_path, change, {"notify": True, "notify_delay": "-200 ms"}, **{"observe.pcap": "both", "flows": [flow]}
    )
    ways = Ways.of(run, change)
    notices = run.notices()
    assert sorted(notices.told_host) == ["host:Madrid", "host:Tokyo"]
    assert (notices.sent_ns == notices.t_ns - lead_ns).all()
    assert ((notices.t_ns >= 2 * S) & (notices.t_ns < 2 * S + MS)).all()
    [row] = notices[notices.told_host == "host:Madrid"].itertuples(index=False)
    [notice] = heard(run, "source")
    assert (notice.number, notice.wait_ns) == (row.number, row.wait_ns)
    back = list(reversed(ways.before))
    assert notice.at_ns == carried_ns(ways, back[back.index(change.node) :], row.sent_ns)
    in_time = made(tmp_path / "in-time", change, {"notify": True}, **{"flows": [flow]}).notices()
    [same] = in_time[in_time.told_host == "host:Madrid"].itertuples(index=False)
    assert (row.old_delay_ns, row.new_delay_ns) == (same.old_delay_ns, same.new_delay_ns)
    if change is AT_THE_STATION:
        # The link of 10 Mbit/s is offered 12.5 Mbit/s. During the lead time, the wait in its queue therefore grows by
        # 50 ms
        assert row.wait_ns > lead_ns
        assert 40 * MS <= same.wait_ns + lead_ns - row.wait_ns <= 60 * MS
    assert crosscheck(run)["notices"].wrong == []


def test_a_change_nearer_to_the_start_than_the_lead_is_not_announced(tmp_path):
    run = made(tmp_path, AT_THE_STATION, {"notify": True, "notify_delay": "-1999 ms"}, **{"routing.interval": "2 s"})
    assert len(run.notices()) == 2
    near = {"notify": True, "notify_delay": "-3 s"}
    run = made(tmp_path / "near", AT_THE_STATION, near, **{"routing.interval": "4 s", "run.start": "43 s"})
    assert len(run.notices()) == 0


def test_hosts_are_told_of_a_change_at_which_the_old_way_is_lost_too_and_that_nothing_is_late(tmp_path):
    run = made(tmp_path, AT_THE_STATION, {"notify": True}, **{"routing.in_flight": "drop"})
    notices = run.notices()
    assert sorted(notices.told_host) == ["host:Madrid", "host:Tokyo"]
    assert (notices.wait_ns == 0).all()
    assert (notices.old_delay_ns != notices.new_delay_ns).all()


def test_lost_notices_are_recorded_and_never_arrive(tmp_path):
    keys = {"notify": True, "notify_loss": "100 %"}
    run = made(tmp_path, AT_THE_STATION, keys, **{"observe.pcap": "both"})
    notices = run.notices()
    assert len(notices) == 2
    assert notices.is_lost.all()
    assert notices.sent_ns.isna().all()
    assert heard(run, "source") == heard(run, "destination") == []
    assert len(run.nodetotals()) == 0


def test_false_notices_say_that_the_way_in_force_changes_to_itself(tmp_path):
    keys = {"run.duration": "3 s", "cures.notify": True, "cures.notify_false_interval": "200 ms"}
    keys |= {"observe.pcap": "both"}
    run = lw.run(EXAMPLES / "madrid-tokyo.toml", keys, tmp_path / "run", report=False, progress=False)
    notices = run.notices()
    assert len(notices) >= 10
    assert notices.is_false.all()
    assert (notices.t_ns == notices.sent_ns).all()
    assert (notices.old_delay_ns == notices.new_delay_ns).all()
    # the path back consists of the same links as the path forward
    assert (notices.wait_ns == 2 * notices.new_delay_ns).all()
    assert set(notices.number) == {notice.number for end in ("source", "destination") for notice in heard(run, end)}
