# SPDX-License-Identifier: Apache-2.0
"""Tests that delays that netem draws in the guest follow the requested distributions."""

import math

import numpy as np
import pyarrow as pa
import pytest

import leowarp as lw
from leowarp import ephemeris, guest, media, scenario, trace
from leowarp.base import layout

pytestmark = pytest.mark.guest

# A probe's times at its two ends are read from the guest's clock, which has steps of 256 ns; timers expire exactly.
TOLERANCE_NS = 1_000
PROBES = 20_000
SCENARIO = f"""
name = "jittered"
[run]
duration = "10 s"
ends = "flows"
linger = "200 ms"
[jittered]
rate = "unshaped"
delay = "20 ms"
jitter = "2 ms"
queue = "unlimited"
[[flows]]
kind = "udp"
source = "A"
destination = "B"
payload = "16 B"
packets = {PROBES}
packet_rate = "5000 pkts/s"
[observe]
reordering_window = "none"
"""


def delays_ns(tmp_path, *changes: str) -> np.ndarray:
    """Return the one-way delay of each probe in ns, in order of sending."""
    path = tmp_path / "jittered.toml"
    path.write_text(SCENARIO)
    run = lw.run(path, changes, tmp_path / "run", report=False, progress=False)
    echoes = run.echoes()
    assert len(echoes) == PROBES
    return (echoes["received_ns"] - echoes["sent_ns"]).to_numpy(float)


@pytest.mark.parametrize(
    ("distribution", "deviation", "least", "greatest"),
    [
        ("uniform", math.sqrt(3) / 2, -math.sqrt(3), math.sqrt(3)),
        ("normal", math.sqrt(2 / math.pi), -4.01, 4.01),
        ("exponential", 2 / math.e, -1.0, 9.4),
    ],
)
def test_delays_have_the_mean_the_deviation_and_the_shape_that_were_asked_for(
    tmp_path, distribution, deviation, least, greatest
):
    off = (delays_ns(tmp_path, f"jittered.distribution={distribution}") - 20e6) / 2e6
    # The tolerance is four standard errors. The standard error of the mean is 1 / sqrt(n). The standard error of the
    # deviation is sqrt(2 / n) at the kurtosis of the exponential distribution, which is 9.
    assert abs(off.mean()) < 4 / math.sqrt(PROBES)
    assert off.std() == pytest.approx(1, abs=4 * math.sqrt(2 / PROBES))
    assert np.abs(off).mean() == pytest.approx(deviation, abs=4 / math.sqrt(PROBES))
    assert off.min() > least - TOLERANCE_NS / 2e6
    assert off.max() < greatest + TOLERANCE_NS / 2e6
    # Each packet gets a random draw of its own.
    assert abs(np.corrcoef(off[:-1], off[1:])[0, 1]) < 4 / math.sqrt(PROBES)


def test_a_table_of_ones_own_is_drawn_sample_by_sample(tmp_path):
    (tmp_path / "three.txt").write_text("# of four samples two are alike\n1\n4\n1\n2\n")
    off_ns = delays_ns(tmp_path, "jittered.distribution=table", f"jittered.table={tmp_path / 'three.txt'}") - 20e6
    samples = np.array([1.0, 1.0, 2.0, 4.0])
    expected_ns = np.unique((samples - samples.mean()) / samples.std() * 2e6)
    nearest = np.abs(off_ns[:, None] - expected_ns).argmin(axis=1)
    # The table of quantiles has 16 bits, and one step of the table is 1/8192 of the deviation: 244 ns.
    assert np.abs(off_ns - expected_ns[nearest]).max() < TOLERANCE_NS + 244
    shares = np.bincount(nearest) / PROBES
    assert shares == pytest.approx([0.5, 0.25, 0.25], abs=4 * 0.5 / math.sqrt(PROBES))


def test_without_jitter_the_delay_is_the_delay(tmp_path):
    off_ns = delays_ns(tmp_path, "jittered.jitter=0 s") - 20e6
    assert np.abs(off_ns).max() <= TOLERANCE_NS


def test_another_seed_draws_other_delays_with_the_same_shape(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = delays_ns(tmp_path / "one"), delays_ns(tmp_path / "two", "run.seed=2")
    assert (one != two).mean() > 0.99
    assert np.sort(one) == pytest.approx(np.sort(two), abs=2e6)


ECHOES = """
name = "echoes"
[run]
duration = "30 s"
ends = "flows"
linger = "500 ms"
[jittered]
rate = "100 Mbit/s"
delay = "20 ms"
jitter = "2 ms"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
payload = "1472 B"
packets = 4000
packet_rate = "8235 pkts/s"
replies = false
"""


def run_of(tmp_path, text: str, name: str, *changes: str) -> lw.Run:
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    return lw.run(path, changes, tmp_path / name, report=False, progress=False)


@pytest.mark.parametrize("overhead_bytes", [0, 14, 38])
def test_behind_the_jitter_the_rate_is_kept(tmp_path, overhead_bytes):
    run = run_of(tmp_path, ECHOES, "run", f"jittered.overhead={overhead_bytes} B", "jittered.rate=95 Mbit/s")
    echoes = run.echoes()
    assert len(echoes) == 4000
    arrivals_ns = np.sort(echoes["received_ns"].to_numpy("int64"))
    frame_ns = (1500 + overhead_bytes) * 8 / 95e6 * 1e9
    gaps_ns = np.diff(arrivals_ns)
    assert gaps_ns.min() >= frame_ns - 2
    # more packets are offered than the link can carry. The link is therefore never idle in the middle of the run
    assert np.median(gaps_ns) == pytest.approx(frame_ns, abs=2)
    totals = run.linktotals()
    link = totals[totals["to"] == "host:B"].iloc[0]
    assert (link.delivered_pkts, link.held_pkts, link.dropped_queue_pkts) == (4000, 0, 0)
    assert link.delivered_bytes == 4000 * (1500 + overhead_bytes)


def test_without_jitter_a_link_with_a_rate_keeps_the_order(tmp_path):
    run = run_of(tmp_path, ECHOES, "run", "jittered.jitter=0 s", "jittered.rate=95 Mbit/s")
    assert run.echoes()["received_ns"].is_monotonic_increasing
    assert trace.read(run.path / "30-trace", "reordering")["reordered_pkts"].to_pylist() == [0, 0]


def test_what_waits_behind_the_jitter_and_what_is_dropped_is_counted_once(tmp_path):
    run = run_of(tmp_path, ECHOES, "run", "jittered.queue=100 pkts", "jittered.rate=50 Mbit/s")
    totals = run.linktotals()
    link = totals[totals["to"] == "host:B"].iloc[0]
    # with an empty queue, 165 packets are in flight at once
    assert link.dropped_queue_pkts > 0
    assert link.delivered_pkts + link.dropped_queue_pkts == 4000
    assert run.echoes()["received_ns"].isna().sum() == link.dropped_queue_pkts
    assert run.queues()["queue_pkts"].max() == 100


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    one, two = (run_of(tmp_path, ECHOES, name) for name in ("one", "two"))

    def files(run):
        return {path.name: path.read_bytes() for path in (run.path / "30-trace").iterdir()}

    assert files(one) == files(two)


def test_a_change_takes_the_draws_as_they_come(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(ECHOES)
    changes = {"jittered.rate": "unshaped", "flows.0.packets": 20_000, "flows.0.packet_rate": "5000 pkts/s"}
    plan = scenario.resolve(scenario.load(path, changes))
    sky = ephemeris.ephemeris_of(plan)
    usual = media.timeline_of(plan, sky)
    ends = {"a": "s1", "b": "host:B"}
    later = [
        {"t_ns": 1_000_000_000, "event": "delay", **ends, "delay_ns": 30_000_000},
        {"t_ns": 2_000_000_000, "event": "jitter", **ends, "sigma_ns": 4_000_000, "distribution": "normal"},
        {"t_ns": 3_000_000_000, "event": "jitter", **ends, "sigma_ns": 1_000_000, "distribution": "exponential"},
    ]
    changed = pa.concat_tables([usual, pa.Table.from_pylist(later, schema=usual.schema)])
    image = guest.guest_image(plan.guest.kernel)
    sent_ns, delays = [], []
    for name, events in (("usual", usual), ("changed", changed)):
        done = guest.run(image, plan, events, tmp_path / name)
        setup = tmp_path / name / layout.GUEST / "in" / "setup.json"
        echoes = trace.read_output(done.out_dir, setup)["echoes"].to_pandas()
        sent_ns.append(echoes["sent_ns"].to_numpy("int64"))
        delays.append((echoes["received_ns"] - echoes["sent_ns"]).to_numpy(float))
    before, after = delays
    assert (sent_ns[0] == sent_ns[1]).all()
    second = sent_ns[0] // 1_000_000_000
    assert (after[second == 0] == before[second == 0]).all()
    # The change sets no seed and no table. netem's random stream therefore continues, with one draw per packet. For
    # each probe, a process reads the clock four times. A packet that becomes due while a process reads the clock waits
    # for up to a microsecond.
    assert np.abs(after - before - 10e6)[second == 1].max() <= TOLERANCE_NS
    doubled_ns = np.abs(after - 30e6 - 2 * (before - 20e6))[second == 2]
    assert doubled_ns.max() <= 3 * TOLERANCE_NS
    assert np.median(doubled_ns) <= 1
    exponential = after[second == 3]
    assert exponential.min() == pytest.approx(29e6, abs=1e4)
    assert (exponential - 29e6).std() == pytest.approx(1e6, rel=4 * math.sqrt(2 / 5000))
    # The values of both tables are in ascending order. With equal random bits, a packet therefore has the same rank in
    # both draws. Ranks differ only by the steps of the tables and of the clock.
    ranks = [np.argsort(np.argsort(draws)) for draws in (exponential, before[second == 3])]
    assert np.corrcoef(*ranks)[0, 1] > 0.9999
