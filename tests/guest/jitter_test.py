# SPDX-License-Identifier: Apache-2.0
"""Delays that netem draws inside the guest, against the distributions that were asked for."""

import math

import numpy as np
import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

# A probe's times are read from the guest's clock, which ticks in 256 ns, at each end; timers fire on time to the ns.
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
    """One-way delay of each probe, in order of sending."""
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
    # Four standard errors: of the mean 1 / sqrt(n); of the deviations, at kurtosis 9 (exponential), sqrt(2 / n).
    assert abs(off.mean()) < 4 / math.sqrt(PROBES)
    assert off.std() == pytest.approx(1, abs=4 * math.sqrt(2 / PROBES))
    assert np.abs(off).mean() == pytest.approx(deviation, abs=4 / math.sqrt(PROBES))
    assert off.min() > least - TOLERANCE_NS / 2e6
    assert off.max() < greatest + TOLERANCE_NS / 2e6
    # Each packet draws by itself.
    assert abs(np.corrcoef(off[:-1], off[1:])[0, 1]) < 4 / math.sqrt(PROBES)


def test_a_table_of_ones_own_is_drawn_sample_by_sample(tmp_path):
    (tmp_path / "three.txt").write_text("# of four samples two are alike\n1\n4\n1\n2\n")
    off_ns = delays_ns(
        tmp_path, "jittered.distribution=table", f"jittered.table={tmp_path / 'three.txt'}"
    ) - 20e6  # fmt: skip
    samples = np.array([1.0, 1.0, 2.0, 4.0])
    expected_ns = np.unique((samples - samples.mean()) / samples.std() * 2e6)
    nearest = np.abs(off_ns[:, None] - expected_ns).argmin(axis=1)
    # A step of the table of 16 bits is 1/8192 of the deviation: 244 ns.
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
