# SPDX-License-Identifier: Apache-2.0
"""Tests that a trace is replayed exactly. The delays of probes must be those of the trace. The capacity for packets
must be that of the trace."""

from pathlib import Path

import numpy as np
import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

MS, S = 1_000_000, 1_000_000_000
WITHIN_NS = 10_000

PING = """
[[flows]]
kind = "ping"
source = "A"
destination = "B"
interval = "3.7 ms"
replies = false
"""


def replayed(folder: Path, measured: str, flows: str, duration: str):
    text = (
        f'name = "replay"\n[run]\nduration = "{duration}"\n[measured]\n{measured}{flows}[observe]\npackets = "none"\n'
    )
    (folder / "replay.toml").write_text(text)
    return lw.run(folder / "replay.toml", (), folder / "run", report=False, progress=False)


def delays_as_met(run, flow: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the sending times and arrival times of the probes of a flow, with nan for a lost probe."""
    echoes = run.echoes(flow).sort_values("sent_ns")
    return echoes["sent_ns"].to_numpy(np.int64), echoes["received_ns"].to_numpy(float)


def check_fifo(sent_ns: np.ndarray, received_ns: np.ndarray, delay_ns: np.ndarray) -> None:
    """Check that each probe arrives after its own delay. If an earlier probe arrives later than that, the two arrive
    together."""
    earliest_ns = np.maximum.accumulate(sent_ns + delay_ns)
    late_ns = (received_ns - earliest_ns)[~np.isnan(received_ns)]
    assert (late_ns >= 0).all()
    assert late_ns.max() <= WITHIN_NS


def test_probes_meet_the_delays_and_losses_of_a_table(tmp_path):
    dice = np.random.default_rng(4)
    t_ms = np.cumsum([0, *dice.integers(2, 60, 200)])
    delay_us = dice.integers(5_000, 60_000, len(t_ms))
    lossy = dice.random(len(t_ms)) < 0.1
    lossy[0] = False
    rows = [f"{t / 1e3},{d / 1e3},50,{int(bad)}" for t, d, bad in zip(t_ms, delay_us, lossy, strict=True)]
    (tmp_path / "path.csv").write_text("t_s,delay_ms,rate_mbps,loss_ratio\n" + "\n".join(rows) + "\n")
    run = replayed(tmp_path, 'file = "path.csv"\nprobe_size = "84 B"\n', PING, "5 s")
    sent_ns, received_ns = delays_as_met(run)
    row = np.searchsorted(t_ms * MS, sent_ns, side="right") - 1
    assert len(sent_ns) > 1300
    settled = sent_ns < 4_900 * MS  # later packets may be in flight at the run's end
    assert np.array_equal(np.isnan(received_ns)[settled], lossy[row][settled])
    check_fifo(sent_ns[settled], received_ns[settled], delay_us[row][settled] * 1_000)


def test_probes_meet_the_delays_of_leoreplayer_and_packets_the_capacity_of_mahimahi(tmp_path):
    """Both files are shorter than the run, so each file is repeated when it ends."""
    dice = np.random.default_rng(5)
    delay_ms = dice.integers(8, 40, 230)
    # In most milliseconds, one to six packets can be sent. From each of five random times on, no packet can be sent for
    # 30 ms.
    per_ms = dice.integers(1, 7, 1_900)
    for begin in dice.integers(100, 1_800, 5):
        per_ms[begin : begin + 30] = 0
    per_ms[-1] = 3
    times_ms = np.repeat(np.arange(1, len(per_ms) + 1), per_ms)
    (tmp_path / "down.txt").write_text("\n".join(map(str, delay_ms)) + "\n")
    (tmp_path / "up.txt").write_text("5\n" * len(delay_ms))
    (tmp_path / "up.trace").write_text("\n".join(map(str, times_ms)) + "\n")
    udp = '[[flows]]\nkind = "udp"\nsource = "B"\ndestination = "A"\nrate = "120 Mbit/s"\npayload = "1472 B"\n'
    files = 'file = "down.txt"\nfile_up = "up.txt"\ncapacity_up = "up.trace"\nrate = "20 Mbit/s"\nrepeat = true\n'
    run = replayed(tmp_path, files, PING + udp, "6 s")

    sent_ns, received_ns = delays_as_met(run)
    settled = sent_ns < 5_900 * MS
    check_fifo(sent_ns[settled], received_ns[settled], delay_ms[sent_ns[settled] // (10 * MS) % len(delay_ms)] * MS)

    arrived_ns = np.sort(run.echoes(1)["received_ns"].dropna().to_numpy())
    opportunities_ns = np.add.outer(np.arange(4) * len(per_ms), times_ms).ravel() * MS
    # If the link has sent all 1500 bytes of a packet by millisecond k, the packet arrives 5 ms later. From `begun` on,
    # the queue is never empty.
    for begin_ms in range(600, 4_900, 37):
        window_ns = np.array([begin_ms, begin_ms + 1_000]) * MS
        delivered = np.diff(np.searchsorted(arrived_ns, window_ns + 5 * MS, side="right"))
        allowed = np.diff(np.searchsorted(opportunities_ns, window_ns, side="right"))
        assert allowed[0] > 2_000
        assert abs(int(delivered[0]) - int(allowed[0])) <= 1


def round_trips(run) -> tuple[np.ndarray, np.ndarray]:
    """Return the sending times and round trips of the first flow, with nan for a lost probe."""
    echoes = run.echoes(0).sort_values("sent_ns")
    sent_ns = echoes["sent_ns"].to_numpy(np.int64)
    return sent_ns, echoes["reply_ns"].to_numpy(float, na_value=np.nan) - sent_ns


@pytest.fixture(scope="module")
def dish(tmp_path_factory) -> tuple[np.ndarray, np.ndarray]:
    """A flood ping over an invented dish, with two reconfigurations."""
    out = tmp_path_factory.mktemp("dish") / "run"
    return round_trips(lw.run("starlink-ping", {"run.duration": "31 s"}, out, report=False, progress=False))


@pytest.mark.parametrize("source", ["A", "B"])
def test_a_ping_over_its_own_recording_meets_the_recorded_round_trips(tmp_path, dish, source):
    sent_ns, rtt_ns = dish
    # `ping -D` prints microseconds, so each of the two times of a reply is off by up to half a microsecond.
    lines = [
        f"[{1_715_947_200 + (at + rtt) / 1e9:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number} time={rtt / 1e6:.3f} ms"
        for number, (at, rtt) in enumerate(zip(sent_ns, rtt_ns, strict=True), 1)
        if rtt == rtt
    ]
    (tmp_path / "pings.txt").write_text("\n".join(lines) + "\n")
    ping = f'[[flows]]\nkind = "ping"\nsource = "{source}"\ndestination = "{"AB".replace(source, "")}"\n'
    run = replayed(tmp_path, 'file = "pings.txt"\n', ping + 'interval = "10 ms"\n', "30.8 s")
    again_ns, settled = round_trips(run)[1], slice(0, 3_000)
    # In the replay, each recorded probe occurs exactly once, because the recorded ping sent a probe every 10 ms as
    # well.
    assert np.array_equal(np.isnan(again_ns)[settled], np.isnan(rtt_ns)[settled])
    assert 0 < np.isnan(rtt_ns)[settled].sum() < 300
    assert np.nanmax(np.abs(again_ns - rtt_ns[: len(again_ns)])[settled]) <= WITHIN_NS
    steps_ns = [np.nanmean(np.abs(np.diff(of_ns[settled]))) for of_ns in (again_ns, rtt_ns)]
    assert steps_ns[0] == pytest.approx(steps_ns[1], abs=WITHIN_NS)
    assert steps_ns[1] > 1 * MS


def test_losses_that_bunch_are_counted_as_the_links_and_hurt_cubic_more_than_bbr(tmp_path):
    # Losses on a geostationary path, by the model of Gilbert and Elliott. All packets are lost for 16.7 ms at a time,
    # in 2.56 % of the whole time.
    dice = np.random.default_rng(5)
    rows, t_s, gone_s = [], 0.0, 0.0
    while t_s < 60:
        rows.append(f"{t_s:.6f},250,12,0")
        t_s += dice.exponential(0.0167 * (1 - 0.0256) / 0.0256)
        rows.append(f"{t_s:.6f},250,12,1")
        t_s, gone_s = t_s + 0.0167, gone_s + 0.0167
    (tmp_path / "path.csv").write_text("t_s,delay_ms,rate_mbps,loss_ratio\n" + "\n".join(rows) + "\n")
    assert gone_s / t_s == pytest.approx(0.0256, rel=0.2)
    done_s = {}
    for congestion_control in ("cubic", "bbr"):
        (tmp_path / congestion_control).mkdir()
        flow = (
            f'[[flows]]\nsource = "A"\ndestination = "B"\nsize = "2 MB"\ncongestion_control = "{congestion_control}"\n'
        )
        measured = f'file = "{tmp_path}/path.csv"\nqueue = "750 kB"\n'
        run = replayed(tmp_path / congestion_control, measured, flow, "60 s")
        flow_of = run.summary["flows"][0]
        assert flow_of["lost_loss_pkts"] > 0
        assert flow_of["retransmissions_pkts"] >= flow_of["lost_loss_pkts"] + flow_of["lost_queue_pkts"]
        done_s[congestion_control] = (flow_of["completion_ns"] or 60e9) / 1e9
    assert done_s["bbr"] < done_s["cubic"]
