# SPDX-License-Identifier: Apache-2.0
"""Fits of simulated recordings whose parameters are known. design/fit-coverage.py repeats the fits with a hundred seeds
of each kind."""

import dataclasses
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from leowarp.base.errors import ScenarioError
from leowarp.fitting import fit, preset_text
from leowarp.fitting.estimate import resampled, share_interval
from leowarp.scenario import load, resolve
from leowarp.timeline.recordings import Measurement
from leowarp.timeline.recordings.measurement import Capacity, Transfer
from support.fitted import KINDS, WALL_NS, estimates_of, recording, truths

SECOND_NS = 1_000_000_000


def transfer(rate_bps: float, seconds: int = 120, retransmissions: float = float("nan"), total: int | None = None):
    count = 10 * seconds
    return Transfer(
        t_ns=np.arange(count, dtype=np.int64) * (SECOND_NS // 10),
        length_ns=np.full(count, SECOND_NS // 10),
        way="down",
        rate_bps=np.full(count, rate_bps),
        retransmissions=np.full(count, retransmissions),
        cwnd_bytes=np.full(count, np.nan),
        rtt_ns=np.full(count, np.nan),
        all_retransmissions=total,
    )


@cache
def estimated(name: str, seed: int) -> dict[str, tuple[float, float, float]]:
    """`estimates_of`, which takes up to six seconds of a CPU core."""
    return estimates_of(KINDS[name], seed)


@pytest.mark.parametrize("name", KINDS)
def test_parameters_of_a_recording_that_the_profile_made_come_back_within_their_intervals(name):
    truth, found = truths(KINDS[name]), dict(estimated(name, 1))
    # Uplink and downlink loss are both estimated as half of the round-trip loss, so only one of the two intervals is
    # tested.
    del found["residual_loss_up"]
    outside = {key: found[key] for key in found if not found[key][1] <= truth[key] <= found[key][2]}
    # Among a dozen 95 % intervals, one may miss the true value. In one of eight fits, two intervals miss
    # (`design/fit-coverage.py`); with seed 3, the residual loss of this test misses. The test therefore detects broken
    # estimators, but does not measure how often their intervals contain the true value.
    assert len(outside) <= 1, outside
    assert {"jitter_up", "base_kept", "base_rtts, median", "residual_loss", "outage_share"} <= found.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_as_often_as_they_say(name):
    truth = truths(KINDS[name])
    missed: Counter[str] = Counter()
    told: Counter[str] = Counter()
    for seed in range(1, 7):
        for key, (_, low, high) in estimated(name, seed).items():
            told[key] += 1
            missed[key] += not low <= truth[key] <= high
    del told["residual_loss_up"], missed["residual_loss_up"]
    # If the intervals are true 95 % intervals, a given key exceeds this number of misses in 1 of 10,000 cases, and some
    # key does in 1 of 1,000.
    assert {key: count for key, count in missed.items() if count > binom.ppf(0.9999, told[key], 0.05)} == {}
    assert missed.total() <= binom.ppf(0.999, told.total(), 0.05)


def test_what_a_fit_writes_is_a_preset_and_its_plan_needs_the_file_no_more(tmp_path):
    sparse = recording(KINDS["150 ms, 60 min"], 1)
    (tmp_path / "my-dish.toml").write_text(preset_text(fit([sparse])), encoding="utf-8")
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        'name = "x"\n[access]\npreset = "my-dish.toml"\njitter = "1 ms"\n[[flows]]\nsource = "server"\n'
        'destination = "dish"\n'
    )
    plan = resolve(load(scenario))
    access = plan.medium
    assert len(access.base_rtts) == 11
    assert access.jitter_ns == 1_000_000
    assert access.preset_file.startswith("my-dish.toml ")
    (tmp_path / "my-dish.toml").unlink()
    (tmp_path / "again.toml").write_text(plan.to_toml(), encoding="utf-8")
    assert resolve(load(tmp_path / "again.toml")).medium == access


def test_a_table_of_replies_alone_tells_nothing_of_loss():
    made = recording(KINDS["150 ms, 60 min"], 1)
    kept = ~made.round_trip.lost
    replies = Measurement.of_round_trips(
        made.round_trip.t_ns[kept], made.round_trip.delay_ns[kept], wall_ns=WALL_NS, source="replies.csv"
    )
    untold = fit([type(replies)(**{**vars(replies), "format": "columns"})]).untold
    assert "replies alone" in untold["residual_loss"]
    assert "outage_share" in untold


def test_retransmissions_bound_the_loss_of_probes_from_above():
    probes = recording(KINDS["150 ms, 60 min"], 1)
    sent = Measurement(source="iperf3.json", format="iperf3", transfer=transfer(40e6, total=400))
    found = fit([probes, sent]).chosen
    estimate, source = found["residual_loss"]
    assert source == "iperf3.json"
    assert estimate.value == pytest.approx(400 / (40e6 * 120 / 8 / 1448))
    assert found["residual_loss_up"][1] != "iperf3.json"


def test_a_transfer_bounds_the_capacity_from_below():
    fast = Measurement(source="x", format="iperf3", transfer=transfer(400e6, retransmissions=1.0))
    estimate = fit([fast]).chosen["capacity"][0]
    assert estimate.value == pytest.approx(400e6 * 1514 / 1448)
    assert "lower bound" in estimate.note


def test_a_transfer_below_the_profile_s_capacity_tells_nothing_of_it():
    slow = fit([Measurement(source="x", format="iperf3", transfer=transfer(40e6, retransmissions=1.0))])
    assert "capacity" not in slow.chosen
    assert "41.82 Mbit/s" in slow.untold["capacity"]


def test_a_trace_of_capacity_gives_median_and_spread():
    rng = np.random.default_rng(1)
    levels = 100e6 * np.exp(0.2 * np.clip(rng.standard_normal(200), -2, 2))
    t_ns = np.arange(200 * 150, dtype=np.int64) * (SECOND_NS // 10)
    phased = np.repeat(levels, 150)
    capacity = Capacity(t_ns=t_ns + 12 * SECOND_NS, rate_bps=phased.astype(np.int64), end_ns=3012 * SECOND_NS)
    found = fit([Measurement(source="x", format="csv", probes=False, capacity_down=capacity)]).chosen
    assert found["capacity"][0].holds(100e6)
    assert found["capacity_spread"][0].holds(0.2)


def test_a_recording_that_is_too_short_is_refused_with_what_to_record():
    short = Measurement.of_round_trips(np.arange(100) * SECOND_NS // 10, np.full(100, 30e6))
    with pytest.raises(ScenarioError, match="nothing to fit") as refused:
        fit([short])
    assert "ping of four minutes" in refused.value.hint


def test_times_of_replies_become_times_of_requests():
    sent_ns = np.arange(50, dtype=np.int64) * 10_000_000
    rtt_ns = np.where(np.arange(50) % 7 == 3, 45e6, 20e6)
    rtt_ns[0] = 20e6
    arrived_ns = sent_ns + rtt_ns.astype(np.int64)
    order = np.argsort(arrived_ns, kind="stable")
    received = Measurement.of_round_trips(arrived_ns[order] + np.arange(50), rtt_ns[order]).as_sent()
    apart_ns = np.diff(received.round_trip.t_ns)
    assert (apart_ns > 9_999_000).all()


def test_intervals_of_shares_hold_no_and_all():
    assert share_interval(0, 100)[0] == 0.0
    assert share_interval(0, 100)[1] == pytest.approx(0.037, abs=0.001)
    assert share_interval(100, 100)[1] == pytest.approx(1.0)


def test_resampling_gives_the_interval_of_a_mean():
    values = np.random.default_rng(2).normal(10.0, 2.0, 4000)
    low, high = resampled(values, lambda drawn: np.asarray(drawn.mean()))
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(4000), rel=0.1)


def test_jitter_that_differs_from_slot_to_slot_and_has_a_tail_is_told():
    kind = KINDS["150 ms, 60 min"]
    keys = {**kind.keys, "jitter_spread_ratio": 0.45, "jitter_up_shape": "exponential"}
    found = fit([recording(dataclasses.replace(kind, keys=keys), 2)]).chosen
    assert found["jitter_up_shape"][0].value == "exponential"
    assert found["jitter_spread"][0].holds(0.45)
    assert found["jitter_up"][0].holds(10.5e6)
