# SPDX-License-Identifier: Apache-2.0
"""Tests that the capacity, delay and loss of packets are exactly the values in a link's tables."""

import numpy as np
import pytest

from leowarp import guest, scenario, trace
from leowarp.base import layout
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.row_of_routers import row_events, row_routes

pytestmark = pytest.mark.guest

MS = 1_000_000
S = 1000 * MS
# Length of a packet's headers: 8 bytes of UDP or ICMP, then IP, then Ethernet
HEADERS_BYTES = 8 + 20 + 14

RUN = """
name = "channel"
[run]
duration = "10 s"
[chain]
hops = 1
rate = "unshaped"
[observe]
queues = "none"
counters = "none"
"""
STREAM = """
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "1000 B"
packet_rate = "1000 pkts/s"
"""


class Guest:
    """Makes runs with the two routers r0 and r1, and with the hosts A and B."""

    def __init__(self, tmp_path):
        self.tmp_path = tmp_path

    def __call__(self, text: str, fill=lambda events: None, **link):
        path = self.tmp_path / "scenario.toml"
        path.write_text(RUN + text)
        plan = scenario.resolve(scenario.load(path))
        common = {
            "kind": "gsl",
            "discipline": "leolink",
            "on_down": "drain",
            "overhead_bytes": 14,
            "limit_pkts": 65_536,
        }
        kind = LinkKind(**{**common, "has_own_rate": False, **link})
        events = row_events(plan, row_routes(1, None), kind)
        fill(events)
        self.done = guest.run(
            guest.guest_image("default"), plan, events.table(TimelineMetadata(warnings=[])), self.tmp_path
        )
        tables = trace.read_output(self.done.out_dir, self.tmp_path / layout.GUEST / "in" / "setup.json")
        return {name: table.to_pandas() for name, table in tables.items()}


@pytest.fixture
def run(tmp_path) -> Guest:
    return Guest(tmp_path)


def table_of(random: np.random.Generator, rows: int = 900) -> np.ndarray:
    """Return a table whose rows are about 11 ms apart. The first is at 0, and the others coincide with no other
    event."""
    return np.concatenate([[0], np.sort(random.choice(10 * S, rows - 1, replace=False))])


def of(values: np.ndarray, instants: np.ndarray, at_ns: np.ndarray) -> np.ndarray:
    """Return the value that is in force at each instant."""
    return values[np.searchsorted(instants, at_ns, side="right") - 1]


@pytest.mark.parametrize("probe_bytes", [0, 1000 + HEADERS_BYTES])
def test_a_stream_meets_the_delays_and_losses_of_the_table(run, probe_bytes):
    random = np.random.default_rng(1)
    instants = table_of(random)
    delay_ns = random.integers(20 * MS, 60 * MS, len(instants))
    loss_ratio = (random.random(len(instants)) < 0.1).astype(float)

    def fill(events: Events) -> None:
        events.channel(0, 1, instants, delay_ns, loss_ratio)
        events.capacity(0, 1, np.array([0]), np.array([100_000_000]))

    # One netlink message cannot carry all rows of this table
    echoes = run(STREAM, fill, probe_bytes=probe_bytes)["echoes"]
    sent_ns = echoes["sent_ns"].to_numpy("int64")
    transmission_ns = (1000 + HEADERS_BYTES) * 8 * 10
    own_ns = 0 if probe_bytes else transmission_ns
    allowed_ns = np.maximum.accumulate(sent_ns + own_ns + of(delay_ns, instants, sent_ns))
    is_lost = of(loss_ratio, instants, sent_ns) == 1
    # a packet that is in flight at the run's end has neither arrived nor been lost
    known = allowed_ns < 10 * S
    assert (echoes["received_ns"].isna() == is_lost)[known].all()
    arrived = echoes["received_ns"].notna() & known
    assert arrived.sum() > 8000
    assert abs(echoes["received_ns"][arrived] - allowed_ns[arrived]).max() <= 10_000


def test_a_table_longer_than_one_message_is_told_whole(run):
    instants = np.arange(5000) * (2 * MS)
    delay_ns = 20 * MS + np.arange(5000) * 1000
    echoes = run(STREAM, lambda events: events.channel(0, 1, instants, delay_ns, np.zeros(5000)))["echoes"]
    sent_ns = echoes["sent_ns"].to_numpy("int64")
    arrived = echoes["received_ns"].notna()
    assert arrived.sum() > 9900
    assert ((echoes["received_ns"] - sent_ns)[arrived] == of(delay_ns, instants, sent_ns)[arrived]).all()


def test_a_ratio_loses_that_share(run):
    def fill(events: Events) -> None:
        events.channel(0, 1, np.array([0, 5 * S]), np.array([MS, MS]), np.array([0.2, 0.0]))

    echoes = run(STREAM, fill)["echoes"]
    lost = echoes["received_ns"].isna() & (echoes["sent_ns"] < 9 * S)
    assert lost[echoes["sent_ns"] < 5 * S].sum() == pytest.approx(1000, abs=4 * np.sqrt(5000 * 0.2 * 0.8))
    assert not lost[echoes["sent_ns"] >= 5 * S].any()


def test_capacity_over_any_second_is_the_table_s_to_one_packet(run):
    random = np.random.default_rng(2)
    instants = table_of(random, 100)
    rate_bps = random.integers(1_000_000, 50_000_000, len(instants))
    rate_bps[random.random(len(instants)) < 0.1] = 0
    stream = """
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "1472 B"
rate = "60 Mbit/s"
"""
    echoes = run(stream, lambda events: events.capacity(0, 1, instants, rate_bps), limit_pkts=100)["echoes"]
    received_ns = np.sort(echoes["received_ns"].dropna().to_numpy("int64"))
    frame_bits = (1472 + HEADERS_BYTES) * 8
    carried = np.concatenate([[0.0], np.cumsum(rate_bps[:-1] * (np.diff(instants) / 1e9))])

    def capacity_bits(at_ns: np.ndarray) -> np.ndarray:
        row = np.searchsorted(instants, at_ns, side="right") - 1
        return carried[row] + rate_bps[row] * ((at_ns - instants[row]) / 1e9)

    for start_ns in range(0, 9 * S, 100 * MS):
        start_ns += 50 * MS
        bits = ((received_ns >= start_ns) & (received_ns < start_ns + S)).sum() * frame_bits
        assert abs(bits - (capacity_bits(start_ns + S) - capacity_bits(start_ns))) <= frame_bits
    assert echoes["received_ns"].isna().sum() > 1000


def test_a_capacity_of_nothing_holds_packets(run):
    def fill(events: Events) -> None:
        events.capacity(0, 1, np.array([0, 2 * S, 3 * S]), np.ma.masked_equal(np.array([-1, 0, -1]), -1))

    tables = run(STREAM, fill)
    echoes = tables["echoes"]
    held = (echoes["sent_ns"] >= 2 * S) & (echoes["sent_ns"] < 3 * S)
    assert held.sum() == 1000
    assert (echoes["received_ns"][held] == 3 * S).all()
    assert (echoes["received_ns"][~held] == echoes["sent_ns"][~held]).all()
    assert tables["drops"].empty


@pytest.mark.parametrize("in_order", [True, False])
def test_packets_overtake_if_they_may(run, in_order):
    def fill(events: Events) -> None:
        events.channel(0, 1, np.array([0, 5 * S]), np.array([100 * MS, 10 * MS]), np.zeros(2))

    tables = run(STREAM, fill, in_order=in_order)
    whole = tables["reordering"].query("scope == 0").iloc[0]
    # the packets that are sent at 4.91 s and at 5 s both arrive at 5.01 s. The 89 packets between them are therefore
    # late
    assert whole.reordered_pkts == (0 if in_order else 89)
    echoes = tables["echoes"]
    late = (echoes["sent_ns"] >= 5 * S) & (echoes["sent_ns"] < 5 * S + 80 * MS)
    took_ns = (echoes["received_ns"] - echoes["sent_ns"])[late]
    assert (took_ns > 18 * MS).all() if in_order else (took_ns == 10 * MS).all()


TRANSFER = """
[tcp]
ecn = "{ecn}"
[[flows]]
kind = "tcp"
source = "A"
destination = "B"
congestion_control = "cubic"
"""
QUEUES = {
    "codel": {},
    "fq_codel": {"flows": 64},
    "pie": {"target_ns": 15 * MS},
    "fq_pie": {},
    "cake": {"rtt_ns": 50 * MS},
    "red": {},
}


@pytest.mark.parametrize("kind", QUEUES)
@pytest.mark.parametrize("ecn", ["on", "off"])
def test_a_queue_discipline_marks_or_drops_and_every_packet_is_accounted_for(run, kind, ecn):
    def fill(events: Events) -> None:
        events.capacity(0, 1, np.array([0]), np.array([10_000_000]))
        for direction in ((0, 1), (1, 0)):
            events.channel(*direction, np.array([0]), np.array([20 * MS]), np.zeros(1))
        events.queue(0, 1, kind, ecn=True, parameters=QUEUES[kind], limit_pkts=400)

    tables = run(TRANSFER.format(ecn=ecn), fill)
    assert run.done.end["ok"]
    drops, last = tables["drops"], tables["sockets"].iloc[-1]
    assert set(drops["cause"]) <= {1}
    if ecn == "on":
        assert last.delivered_ce_pkts > 0
        assert len(drops) == 0 or kind in ("pie", "fq_pie")  # above 10 %, pie and fq_pie drop instead of marking
    else:
        assert last.delivered_ce_pkts == 0
        assert len(drops) > 0
        assert (drops["flow"] == 0).all()
    # the goodput is below 10 Mbit/s because of the headers, the sawtooth and the start
    assert last.bytes_acked * 8 > 0.7 * 10e6 * 10


# Settings with which each discipline drops packets only at its limit.
NEVER = {
    "codel": {"target_ns": 100 * S},
    "fq_codel": {"target_ns": 100 * S},
    "pie": {"target_ns": 100 * S},
    "fq_pie": {"target_ns": 100 * S},
    "cake": {"rtt_ns": 2000 * S},
    "red": {"min_bytes": 75_000, "max_bytes": 75_600},
}


@pytest.mark.parametrize("kind", ["fifo", *NEVER])
def test_the_limit_of_a_queue_holds(run, kind):
    stream = """
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "1472 B"
rate = "11 Mbit/s"
"""

    def fill(events: Events) -> None:
        events.capacity(0, 1, np.array([0]), np.array([1_000_000]))
        events.queue(0, 1, kind, parameters=NEVER.get(kind, {}), limit_pkts=50)

    links = run(stream, fill)["linktotals"]
    assert links["queue_max_pkts"].max() == 50


def test_fq_spaces_the_packets_of_every_congestion_control(run):
    def fill(events: Events) -> None:
        events.capacity(0, 1, np.array([0]), np.array([100_000_000]))
        for direction in ((0, 1), (1, 0)):
            events.channel(*direction, np.array([0]), np.array([30 * MS]), np.zeros(1))

    took_ns = {}
    for pacing in ("internal", "fq"):
        text = TRANSFER.format(ecn="off").replace("[tcp]", f'[tcp]\npacing = "{pacing}"') + 'stop = "3 s"\n'
        packets = run('packets = "all"\n' + text, fill)["packets"]
        assert run.done.end["ok"]
        sent_ns = packets[(packets.direction == 0) & (packets.len_bytes > 0)]["sent_ns"]
        # the connection is established after 60 ms. The ACKs of the first window let the sender send the second window
        second = sent_ns[sent_ns.between(119 * MS, 178 * MS)]
        assert len(second) >= 15
        took_ns[pacing] = second.max() - second.min()
    # the ACKs of the first window arrive within the time that the link needs for ten packets. In slow start, fq spreads
    # a window over half a round trip
    assert took_ns["internal"] < 3 * MS
    assert 15 * MS < took_ns["fq"] < 45 * MS


FLOOD = """
[[flows]]
kind = "ping"
source = "A"
destination = "B"
flood = true
payload = "56 B"
interval = "{interval}"
"""


def flooded(events: Events, delay_ns: int) -> None:
    for direction in ((0, 1), (1, 0)):
        events.channel(*direction, np.array([0, 4 * S, 6 * S]), np.full(3, delay_ns), np.array([0.0, 1.0, 0.0]))


def test_a_flood_s_next_request_leaves_when_the_one_before_is_answered(run):
    echoes = run(FLOOD.format(interval="none"), lambda events: flooded(events, 20 * MS))["echoes"]
    answered = echoes["reply_ns"].notna()
    after_ns = echoes["sent_ns"].diff().shift(-1)
    # the packet leaves when the ACK arrives, or within the microsecond in which the sender wakes and reads the clock
    assert (after_ns[answered].dropna().between(40 * MS, 40 * MS + 2000)).all()
    assert (after_ns[~answered].dropna() == S).all()
    assert (~answered).sum() in (2, 3)
    assert answered.sum() > 150


def test_a_flood_waits_no_longer_than_its_interval(run):
    echoes = run(FLOOD.format(interval="10 ms"), lambda events: flooded(events, 12 * MS))["echoes"]
    assert (echoes["sent_ns"] == np.arange(1000) * 10 * MS).all()
    assert echoes["reply_ns"].isna().sum() == pytest.approx(200, abs=6)
