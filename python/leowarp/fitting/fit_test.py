# SPDX-License-Identifier: Apache-2.0
"""Tests fits of simulated recordings whose parameters are known. design/fit-coverage.py repeats the fits with a hundred
seeds of each kind."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from leowarp.base.errors import ScenarioError
from leowarp.fitting import fit, preset_text
from leowarp.fitting.bursts import fit_bursts
from leowarp.fitting.estimate import resampled, share_interval
from leowarp.fitting.jitter import _chance_widths_ns
from leowarp.fitting.losses import retransmitted
from leowarp.fitting.slotted import slotted
from leowarp.scenario import load, resolve
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings import Measurement
from leowarp.timeline.recordings.measurement import Capacity, Transfer
from leowarp.timeline.recordings.period.schedule import Schedule
from support.fitted import KINDS, WALL_NS, estimates_of, fit_of, recording, truths

SECOND_NS = 1_000_000_000
SHORT = dataclasses.replace(KINDS["150 ms, 60 min"], minutes=10)


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


@pytest.mark.parametrize("name", KINDS)
def test_parameters_of_a_recording_that_the_profile_made_come_back_within_their_intervals(name):
    truth, found = truths(KINDS[name]), estimates_of(name, 1)
    # Uplink and downlink loss are both estimated as half of the round-trip loss, so only one of the two intervals is
    # tested.
    del found["residual_loss_up"]
    outside = {key: found[key] for key in found if not found[key][1] <= truth[key] <= found[key][2]}
    # In one of nine fits, at least one of a dozen 99 % intervals misses the true value. The test therefore detects
    # broken estimators, but does not measure how often their intervals contain the true value
    # (`design/fit-coverage.py` does).
    assert len(outside) <= 1, outside
    assert {"jitter_up", "base_kept", "base_rtts, median", "residual_loss", "outage_share"} <= found.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_as_often_as_they_say(name):
    truth = truths(KINDS[name])
    missed: Counter[str] = Counter()
    told: Counter[str] = Counter()
    # The fit of seed 1 is the same as in the test above.
    for seed in range(1, 4):
        for key, (_, low, high) in estimates_of(name, seed).items():
            told[key] += 1
            missed[key] += not low <= truth[key] <= high
    del told["residual_loss_up"], missed["residual_loss_up"]
    # Suppose that intervals contained the true value in only 95 of 100 recordings. A single key would exceed its limit
    # of misses in 1 of 10,000 cases. All keys together would exceed their common limit in 1 of 1,000 cases.
    assert {key: count for key, count in missed.items() if count > binom.ppf(0.9999, told[key], 0.05)} == {}
    assert missed.total() <= binom.ppf(0.999, told.total(), 0.05)


def test_what_a_fit_writes_is_a_preset_and_its_plan_needs_the_file_no_more(tmp_path):
    (tmp_path / "my-dish.toml").write_text(preset_text(fit_of("150 ms, 60 min", 1)), encoding="utf-8")
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
    made = recording(SHORT, 1)
    kept = ~made.round_trip.lost
    replies = Measurement.of_round_trips(
        made.round_trip.t_ns[kept], made.round_trip.delay_ns[kept], wall_ns=WALL_NS, source="replies.csv"
    )
    untold = fit([type(replies)(**{**vars(replies), "format": "columns"})]).untold
    assert "replies alone" in untold["residual_loss"]
    assert "outage_share" in untold


def test_retransmissions_bound_the_loss_of_probes_from_above():
    probes = recording(SHORT, 1)
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
    assert found["capacity"][0].low <= 100e6 <= found["capacity"][0].high
    assert found["capacity_spread"][0].low <= 0.2 <= found["capacity_spread"][0].high


def test_a_recording_that_is_too_short_is_refused_with_what_to_record():
    short = Measurement.of_round_trips(np.arange(100) * SECOND_NS // 10, np.full(100, 30e6))
    with pytest.raises(ScenarioError, match=r"nothing to fit: .*100 probes in 9\.9 s are too few") as refused:
        fit([short])
    assert "ping of four minutes" in refused.value.hint


def test_a_link_without_slots_is_refused_with_how_to_replay_it():
    rng = np.random.default_rng(1)
    t_ns = np.arange(9000, dtype=np.int64) * (SECOND_NS // 10)
    wired = Measurement.of_round_trips(t_ns, 10e6 + rng.exponential(3e5, 9000))
    with pytest.raises(ScenarioError, match=r"in 899\.9? s no delay or loss keeps a period|in 900 s no") as refused:
        fit([wired])
    assert "[measured]" in refused.value.hint


def test_no_losses_do_not_mean_that_there_are_surely_no_outages():
    quiet = dataclasses.replace(
        SHORT,
        keys=SHORT.keys | {"residual_loss_ratio": 0.0, "residual_loss_up_ratio": 0.0},
    )
    share = fit([recording(quiet, 1)]).chosen["outage_share"][0]
    # None of 41 reconfigurations showed a loss. If 12 % of all reconfigurations had a loss, 41 reconfigurations without
    # a loss would have a probability of 0.5 %.
    assert (share.value, share.low) == (0.0, 0.0)
    assert share.high == pytest.approx(1.0 - 0.005 ** (1 / 41), rel=0.05)


def test_shares_of_retransmissions_are_shares():
    once = {"seconds": 3, "retransmissions": 0.0}
    few = transfer(40e6, **once)
    few.retransmissions[3] = 3.0
    (share,) = retransmitted(few)
    assert 0.0 <= share.low < share.value < share.high < 4e-3
    nothing = transfer(0.0, **once)
    nothing.retransmissions[:] = 3.0
    assert "0 segments were carried" in retransmitted(nothing)[0].why
    assert fit_bursts(nothing, Access())[0].why == "nothing was carried"


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
    assert share_interval(0, 100)[1] == pytest.approx(1.0 - 0.005**0.01)
    assert share_interval(100, 100)[1] == pytest.approx(1.0)


def test_resampling_gives_the_interval_of_a_mean():
    values = np.random.default_rng(2).normal(10.0, 2.0, 4000)
    low, high = resampled(values, lambda drawn: np.asarray(drawn.mean()))
    assert high - low == pytest.approx(2 * 2.576 * values.std() / np.sqrt(4000), rel=0.1)


def test_jitter_that_differs_from_slot_to_slot_and_has_a_tail_is_told():
    kind = KINDS["150 ms, 60 min"]
    keys = {**kind.keys, "jitter_spread_ratio": 0.45, "jitter_up_shape": "exponential"}
    found = fit([recording(dataclasses.replace(kind, keys=keys), 2)]).chosen
    assert found["jitter_up_shape"][0].value == "exponential"
    assert found["jitter_spread"][0].low <= 0.45 <= found["jitter_spread"][0].high
    assert found["jitter_up"][0].low <= 10.5e6 <= found["jitter_up"][0].high


def test_the_spread_by_chance_is_that_of_recordings_with_one_jitter():
    # With six simulations, the variance was 8 % smaller than in recordings. The jitter of recordings therefore seemed
    # to differ from slot to slot.
    kind = KINDS["150 ms, 60 min"]
    access = Access(residual_loss_ratio=0.005, residual_loss_up_ratio=0.005)
    probes = slotted(recording(kind, 1).round_trip, Schedule(15 * SECOND_NS, 12 * SECOND_NS))
    of_chance = np.log(_chance_widths_ns(probes, access, ("up", "down"))).var()
    # The expected value is the mean over 80 recordings (seeds 1 to 80).
    assert of_chance == pytest.approx(3.68e-3, rel=0.03)
