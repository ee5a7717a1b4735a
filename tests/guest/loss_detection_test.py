# SPDX-License-Identifier: Apache-2.0
"""Tests which methods of loss detection (tcp.loss_detection) retransmit late packets. Also tests when each method
retransmits lost packets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import leowarp as lw
from leowarp.scenario.network.hosts import LOSS_DETECTIONS
from support.route_changes import SKY

pytestmark = pytest.mark.guest

PYTHON = f"{Path(sys.executable).resolve()} -S"
EXAMPLES = Path(__file__).parents[2] / "examples"
MS, S = 1_000_000, 1_000_000_000
OURS = [each for each in LOSS_DETECTIONS if each != "kernel"]
AT_NS = 4 * S
"""The time at which Madrid switches to another satellite. The packets in the queue of Madrid's old link arrive late."""


def overtaken(folder: Path, detection: str, profile: str, control: str = "cubic", **more: Any) -> lw.Run:
    """Make a transfer over slow ground links. The links are so slow that about 60 packets wait at Madrid when Madrid's
    route changes."""
    keys: dict[str, Any] = {
        "run.duration": "6 s", "run.start": "43 s", "routing.interval": "4 s", "routing.link_interval": "4 s",
        "ground.rate": "10 Mbit/s", "ground.queue": "200 pkts", "observe.packets": "all", "observe.sockets": "10 ms",
        "flows.0.congestion_control": control, "tcp.profile": profile, "tcp.loss_detection": detection,
        "observe.truth": True, **SKY,
    }  # fmt: skip
    name = f"{detection}-{profile}-{control}"
    return lw.run(EXAMPLES / "madrid-tokyo.toml", keys | more, folder / name, report=False, progress=False)


# Interval at which a segment of 1448 bytes is sent
PACE_NS = 10 * MS
STEADY = 'rate = "1158400 bit/s"'
RTT_NS = 80 * MS


def one_lost(folder: Path, detection: str, notice: str = "", flow: str = STEADY, **more: Any) -> lw.Run:
    """Make a flow over a path with 40 ms in each direction. From 2 s on, the path loses all packets for 10 ms. In this
    time, a steady flow sends one packet."""
    folder.mkdir(exist_ok=True)
    table = folder / "path.csv"
    table.write_text("t_s,delay_ms,rate_mbps,loss_ratio,loss_up_ratio\n0,40,100,0,0\n2,40,100,1,0\n2.01,40,100,0,0\n")
    scenario = folder / f"{detection}.toml"
    scenario.write_text(
        f'name = "lossy"\n[run]\nduration = "4 s"\n[measured]\nfile = "{table}"\nqueue = "1000 pkts"\n'
        '[observe]\npackets = "all"\nsockets = "10 ms"\n'
        f'[[flows]]\nsource = "A"\ndestination = "B"\n{flow}\n{notice}'
    )
    keys = {"tcp.loss_detection": detection, **more}
    return lw.run(scenario, keys, folder / detection, report=False, progress=False, trust=True)


def flow(run: lw.Run) -> dict[str, Any]:
    return run.summary["flows"][0]


def segments(run: lw.Run, number: int = 0) -> pd.DataFrame:
    packets = run.packets(flow=number)
    return packets[packets.direction == "data"].sort_values("sent_ns", kind="stable")


def repair(run: lw.Run) -> tuple[pd.Series, pd.Series, pd.DataFrame]:
    """Return the lost packet, its retransmission, and the packets that were sent in between."""
    sent = segments(run)
    [lost] = [row for _, row in sent[sent.received_ns.isna()].iterrows()]
    [again] = [row for _, row in sent[sent.is_retransmission].iterrows()]
    assert again.seq == lost.seq
    return lost, again, sent[(sent.sent_ns > lost.sent_ns) & (sent.sent_ns < again.sent_ns)]


@pytest.mark.parametrize("profile", ["linux", "classic"])
def test_what_is_late_is_sent_again_or_not(tmp_path, profile):
    made = {each: flow(overtaken(tmp_path, each, profile)) for each in LOSS_DETECTIONS}
    spurious = {each: row["spurious_retransmissions_pkts"] for each, row in made.items()}
    assert {row["lost_pkts"] for row in made.values()} == {0}
    assert min(row["late_pkts"] for row in made.values()) >= 100
    assert spurious["kernel"] >= {"linux": 10, "classic": 100}[profile]
    assert spurious["ncr-careful"] == spurious["ncr-aggressive"] == spurious["pr"] == 0
    assert made["ncr-careful"]["sender_recoveries"] == made["pr"]["sender_recoveries"] == 0


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_door_keeps_the_window_that_the_kernel_reduces(tmp_path, control):
    least = {}
    for detection in ("kernel", "door"):
        # The kernel undoes the window reduction after DSACKs have reported all retransmissions.
        run = overtaken(tmp_path, detection, "classic", control, **{"tcp.dsack": True})
        cwnd_pkts = run.sockets().set_index("t_ns").cwnd_pkts
        before = cwnd_pkts[cwnd_pkts.index <= AT_NS].iloc[-1]
        least[detection] = cwnd_pkts[cwnd_pkts.index > AT_NS + 50 * MS].min() / before
    assert least["kernel"] < 0.75
    assert least["door"] >= 1


def test_door_reduces_for_what_is_lost(tmp_path):
    greedy = {"flow": 'congestion_control = "cubic"', "tcp.profile": "classic"}
    run = one_lost(tmp_path, "door", **greedy)
    kernel = one_lost(tmp_path, "kernel", **greedy)
    assert segments(run).is_retransmission.sum() > 10
    pd.testing.assert_frame_equal(segments(run), segments(kernel))


def jittered(folder: Path, detection: str) -> lw.Run:
    """Make a transfer over a path on which packets constantly overtake each other."""
    scenario = folder / f"{detection}.toml"
    scenario.write_text(
        'name = "jittered"\n[run]\nduration = "10 s"\n'
        '[jittered]\ndelay = "40 ms"\njitter = "1 ms"\nrate = "20 Mbit/s"\n[observe]\npackets = "all"\n'
        '[[flows]]\nsource = "A"\ndestination = "B"\ncongestion_control = "reno"\n'
    )
    keys = {"tcp.loss_detection": detection, "tcp.profile": "norack"}
    return lw.run(scenario, keys, folder / detection, report=False, progress=False)


def test_rr_learns_how_late_packets_are(tmp_path):
    spurious = {}
    for detection in ("kernel", "rr"):
        sent = segments(jittered(tmp_path, detection))
        spurious[detection] = (sent.is_spurious.fillna(False) & (sent.sent_ns > 5 * S)).sum()
    assert spurious["kernel"] >= 50
    assert spurious["rr"] <= 0.2 * spurious["kernel"]


@pytest.mark.parametrize(("detection", "share"), [("ncr-careful", 2 / 3), ("ncr-aggressive", 1 / 2)])
def test_ncr_sends_again_after_a_window_of_duplicate_acks(tmp_path, detection, share):
    lost, again, between = repair(one_lost(tmp_path, detection))
    for sacked, (_, packet) in enumerate(between.iterrows(), start=1):
        heard_ns = packet.received_ns + RTT_NS // 2
        flight_pkts = 1 + (between.sent_ns < heard_ns).sum()
        if sacked >= max(int(flight_pkts * share), 3):
            break
    assert sacked >= 6
    assert again.sent_ns == pytest.approx(heard_ns, abs=2 * MS)
    new_pkts = (between.sent_ns > lost.sent_ns + RTT_NS + PACE_NS).sum()
    # the sender sends a new packet for each SACKed packet if `share` is 1/2, and otherwise for every second SACKed
    # packet
    assert new_pkts == pytest.approx(sacked * (1 if share == 1 / 2 else 1 / 2), abs=2)


def test_without_history_rr_waits_for_three_duplicate_acks(tmp_path):
    _, again, between = repair(one_lost(tmp_path, "rr"))
    assert again.sent_ns == pytest.approx(between.sent_ns.iloc[2] + RTT_NS, abs=2 * MS)


def test_rack_of_the_drafts_sends_again_at_the_first_sack_of_what_left_a_millisecond_later(tmp_path):
    lost, again, _ = repair(one_lost(tmp_path, "rack-draft"))
    assert again.sent_ns == pytest.approx(lost.sent_ns + PACE_NS + RTT_NS, abs=MS)
    # the kernel's RACK (6.12) waits for a quarter of the minimum RTT
    _, later, _ = repair(one_lost(tmp_path, "kernel"))
    assert later.sent_ns >= again.sent_ns + RTT_NS // 4 - PACE_NS


# This program writes one segment per interval, regardless of acknowledgements.
WRITER = """
import socket, sys, time

to, payload, spacing_ns, segments = (sys.argv[1], int(sys.argv[2])), bytes(int(sys.argv[3])), *map(int, sys.argv[4:])
sender = socket.create_connection(to)
sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
start_ns = time.monotonic_ns()
for segment in range(segments):
    time.sleep(max(0, start_ns + segment * spacing_ns - time.monotonic_ns()) / 1e9)
    sender.sendall(payload)
sender.shutdown(socket.SHUT_WR)
sender.recv(1)
"""
READER = """
import socket, sys

receiver, _ = socket.create_server(("", int(sys.argv[1]))).accept()
while receiver.recv(1 << 16):
    pass
receiver.shutdown(socket.SHUT_WR)
"""


def some_late(
    folder: Path, detection: str, late_ns: int, spacing_ns: int, profile: str, loss: str = "0 %"
) -> pd.DataFrame:
    """Make a flow whose segments are sent one by one. Each segment is delayed with a probability of 1/20."""
    folder.mkdir(exist_ok=True)
    for name, text in (("delays.txt", "0\n" * 19 + "1\n"), ("writer.py", WRITER), ("reader.py", READER)):
        (folder / name).write_text(text)
    # A quarter of the RTT of 4.5 ms is longer than the delay of a late packet. The first window is as long as the
    # flight, so that it contains all packets in flight.
    share, one_way_ns = 1 / 20, 2_250_000
    # mean and standard deviation of a value that is `late_ns` with probability `share`, and otherwise 0
    delay_ns, jitter_ns = one_way_ns + round(late_ns * share), round(late_ns * (share * (1 - share)) ** 0.5)
    # without timestamps, the payload of a segment is 12 bytes longer
    payload_bytes = 1448 if profile == "linux" else 1460
    client = f"{PYTHON} {folder}/writer.py {{server}} {{port}} {payload_bytes} {spacing_ns} {2 * S // spacing_ns}"
    scenario = folder / f"{detection}-{profile}.toml"
    scenario.write_text(
        'name = "late"\n[run]\nduration = "60 s"\nends = "flows"\n'
        f'[jittered]\ndelay = "{delay_ns} ns"\njitter = "{jitter_ns} ns"\ndistribution = "table"\n'
        f'table = "delays.txt"\nrate = "unshaped"\ndelay_up = "{one_way_ns} ns"\nloss = "{loss}"\n'
        '[observe]\npackets = "all"\n[[flows]]\nkind = "program"\nsource = "A"\ndestination = "B"\n'
        f'client = "{client}"\nserver = "{PYTHON} {folder}/reader.py {{port}}"\n'
    )
    keys = {"tcp.loss_detection": detection, "tcp.profile": profile}
    run = lw.run(scenario, keys, folder / f"{detection}-{profile}", report=False, progress=False, trust=True)
    # packets of the program's connection
    sent = segments(run, 1)
    assert sent.received_ns.isna().any() == (loss != "0 %")
    assert sent.is_late.sum() >= 20
    return sent


def spurious(sent: pd.DataFrame) -> int:
    return int(sent.is_spurious.fillna(False).sum())


# A packet with this extra delay is overtaken by two packets. The second overtaking packet is sent two intervals after
# the late packet.
LATE_NS = 1400_000
SHORT_NS, LONG_NS = 490_000, 510_000


@pytest.mark.parametrize(("late_ns", "spacing_ns", "found"), [
    (900_000, LONG_NS, False), (LATE_NS, SHORT_NS, False), (LATE_NS, LONG_NS, True),
])  # fmt: skip
def test_rack_of_the_drafts_takes_for_lost_what_is_overtaken_by_more_than_a_millisecond(
    tmp_path, late_ns, spacing_ns, found
):
    made = {each: some_late(tmp_path, each, late_ns, spacing_ns, "classic") for each in ("rack-draft", "rack-4.14")}
    # Neither timestamps nor DSACKs reveal that the retransmitted packet was only late.
    assert (spurious(made["rack-draft"]) >= 20) == found
    # valid as long as no packet is lost
    assert spurious(made["rack-4.14"]) == 0
    assert spurious(some_late(tmp_path, "kernel", late_ns, spacing_ns, "linux")) == 0


def test_once_reordering_was_seen_rack_of_the_drafts_waits_for_a_quarter_of_the_rtt(tmp_path):
    # Timestamps reveal that the retransmitted packet was only late.
    sent = some_late(tmp_path, "rack-draft", LATE_NS, LONG_NS, "linux")
    assert spurious(sent[sent.sent_ns > 2 * S]) == 0


@pytest.mark.parametrize("detection", ["rack-draft", "rack-4.14"])
def test_the_first_rack_counts_duplicate_acks_beside(tmp_path, detection):
    # Eight later packets, which are all sent within a millisecond, arrive before the late packet
    assert spurious(some_late(tmp_path, detection, 900_000, 100_000, "classic")) >= 20


@pytest.mark.parametrize(("detection", "found"), [("rack-4.14", True), ("kernel", False)])
def test_rack_of_linux_4_14_waits_for_a_millisecond_only_while_something_is_lost(tmp_path, detection, found):
    sent = some_late(tmp_path, detection, LATE_NS, LONG_NS, "classic", loss="1 %")
    again = sent[sent.is_spurious.fillna(False)].seq
    # If fewer than three later packets arrive before a late packet, the late packet is not declared lost by count
    by_time = sent.is_late & (sent.extent_pkts < 3) & sent.seq.isin(again)
    assert (by_time.sum() >= 5) == found
    assert by_time.any() == found


def test_pr_sends_again_beta_times_the_longest_rtt_after_it_was_sent(tmp_path):
    # With `pr_alpha` at 1 %, the maximum of the RTTs decays so quickly that it is always the last RTT.
    short = {"tcp.pr_alpha": "1 %"}
    waits_ns = {}
    for beta in (2, 3, 4):
        lost, again, _ = repair(one_lost(tmp_path / str(beta), "pr", **short, **{"tcp.pr_beta": f"{100 * beta} %"}))
        waits_ns[beta] = again.sent_ns - lost.sent_ns
    for beta, wait_ns in waits_ns.items():
        # A timer of 64 to 511 ms expires up to 8 ms late (kernel/time/timer.c), plus one tick.
        assert RTT_NS * beta <= wait_ns <= 1.01 * RTT_NS * beta + 9 * MS
    assert waits_ns[4] - waits_ns[2] == pytest.approx(2 * RTT_NS, abs=9 * MS)


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_where_nothing_is_lost_or_late_they_change_nothing(tmp_path, control):
    keys = {"run.duration": "3 s", "routing.interval": "3 s", "ground.queue": "2000 pkts"}
    usual, *others = (segments(overtaken(tmp_path, each, "linux", control, **keys)) for each in ("kernel", *OURS))
    for detection, other in zip(OURS, others, strict=True):
        pd.testing.assert_frame_equal(other, usual, obj=detection)


@pytest.mark.parametrize("detection", OURS)
@pytest.mark.parametrize("control", ["reno", "cubic", "bbr"])
def test_a_burst_of_losses_is_repaired_under_each_congestion_control(tmp_path, detection, control):
    greedy = f'congestion_control = "{control}"\nsize = "30 MB"'
    run = one_lost(tmp_path, detection, flow=greedy)
    row = flow(run)
    assert row["lost_pkts"] >= 10
    assert row["spurious_retransmissions_pkts"] <= 2
    assert row["completion_ns"] is not None


# The program on B sends a notice (design/cures.md) to A. The notice says that packets to B may arrive out of order for
# 300 ms.
NOTICE = """
import socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    probe.connect((sys.argv[1], 9))
    own = probe.getsockname()[0]
body = struct.pack("!BBHII4sqqQ", 253, 0, 0, 0x6c656f6e, 1, socket.inet_aton(own), 0, 0, int(sys.argv[2]))
total = sum(struct.unpack(f"!{len(body) // 2}H", body))
total = (total & 0xffff) + (total >> 16)
total = ~((total & 0xffff) + (total >> 16)) & 0xffff
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
    raw.sendto(body[:2] + struct.pack("!H", total) + body[4:], (sys.argv[1], 0))
"""


@pytest.mark.parametrize(("profile", "held"), [("linux", True), ("classic", True), ("linux", False)])
def test_a_notice_holds_the_detection_of_losses_for_as_long_as_it_says(tmp_path, profile, held):
    script = tmp_path / "notice.py"
    script.write_text(NOTICE)
    client = f"{PYTHON} {script} {{server}} 300000000"
    program = (
        '[[flows]]\nkind = "program"\nsource = "B"\ndestination = "A"\nstart = "1.9 s"\n'
        f"client = {json.dumps(client)}\n"
    )
    # without timestamps, the payload of a segment is 12 bytes longer
    flow = STEADY if profile == "linux" else 'rate = "1168000 bit/s"'
    run = one_lost(tmp_path, "notified" if held else "kernel", program, flow, **{"tcp.profile": profile})
    _, again, _ = repair(run)
    # The notice needs 40 ms to reach A.
    until_ns = 1900 * MS + 40 * MS + 300 * MS
    if not held:
        # with RACK, the packet is retransmitted after 1.25 round trips
        assert again.sent_ns <= 2000 * MS + 1.25 * RTT_NS + PACE_NS
    elif profile == "linux":
        assert until_ns <= again.sent_ns <= until_ns + 3 * MS
    else:
        # without RACK, the packet is retransmitted at the first ACK after the wait
        assert until_ns <= again.sent_ns <= until_ns + PACE_NS + 3 * MS
