# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.media.access.capacity import capacity_rows, median_bps, slot_levels_bps
from leowarp.media.access.slots import slots_of
from leowarp.scenario.schema import Access
from support.probes import SECOND_NS, plan_of, profile_for

MBIT_S = 1_000_000


@pytest.mark.slow
def test_capacity_is_around_what_was_asked_for_and_0_only_in_handovers():
    profile = profile_for(60)
    for way, median in ((profile.down, 250), (profile.up, 15)):
        lasts_ns = np.diff(np.append(way.capacity_t_ns, 3600 * SECOND_NS))
        held = way.rate_bps == 0
        held_ns = lasts_ns[held].sum()
        assert held_ns == profile.drawn.handover_ns[1:].sum()
        assert set(way.capacity_t_ns[held]) == set(profile.slots.begin_ns[1:])
        order = np.argsort(way.rate_bps)
        half = np.searchsorted(np.cumsum(lasts_ns[order]), lasts_ns.sum() / 2)
        assert way.rate_bps[order][half] / MBIT_S == pytest.approx(median, rel=0.06)
        assert way.rate_bps.max() < 2.4 * median * MBIT_S


def test_it_differs_from_slot_to_slot_and_within_one_by_what_was_asked_for():
    levels_bps, t_ns, rate_bps = without_handovers(300, wander_ratio=0.0, modulation_ratio=0.0)
    # Truncation at two standard deviations reduces the standard deviation of a normal distribution to 0.88 of its
    # value.
    assert np.log(levels_bps).std() == pytest.approx(0.2 * 0.88, rel=0.07)
    assert len(t_ns) == 1201
    assert set(rate_bps.tolist()) == set(levels_bps.tolist())


def test_it_wanders_and_forgets():
    _, t_ns, rate_bps = without_handovers(300, capacity_spread_ratio=0.0, modulation_ratio=0.0)
    at = np.searchsorted(t_ns, np.arange(50_000_000, 18_000 * SECOND_NS, 100_000_000), side="right") - 1
    wander = np.log(rate_bps[at] / (250 * MBIT_S))
    assert wander.std() == pytest.approx(0.08, rel=0.1)
    # 50 samples are `wander_time`, after which the correlation is e^-1.
    assert (wander[50:] * wander[:-50]).mean() / wander.var() == pytest.approx(np.exp(-1), abs=0.1)


def test_its_modulation_steps():
    _, t_ns, rate_bps = without_handovers(60, capacity_spread_ratio=0.0, wander_ratio=0.0)
    assert set(rate_bps.tolist()) == {220 * MBIT_S, 250 * MBIT_S, 280 * MBIT_S}
    assert np.diff(t_ns).mean() == pytest.approx(0.5e9, rel=0.05)


def without_handovers(minutes, **keys):
    """Return the levels of the slots, and the downlink's capacity table: times and rates."""
    plan = plan_of(minutes, **keys)
    begin_ns, duration_ns = slots_of(plan, plan.medium).begin_ns, plan.run.duration_ns
    levels_bps = slot_levels_bps(plan.medium, "down", len(begin_ns), 1)
    never = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    rows = capacity_rows(plan.medium, "down", begin_ns, levels_bps, never, seed=1, duration_ns=duration_ns)
    return levels_bps, *rows


def schedule_of_months(seed):
    """Return the capacity tests every four hours for 244 days, Mbit/s down and up, shapes (244, 6)."""
    clocks = [
        f"2024-0{1 + day // 28}-{1 + day % 28:02}T{hour:02}:00:00Z" for day in range(244) for hour in range(2, 24, 4)
    ]
    medians_bps = [
        [median_bps(Access(clock=clock, capacity_bps=None, capacity_up_bps=None), way, seed) for way in ("down", "up")]
        for clock in clocks
    ]
    return np.array(medians_bps).T.reshape(2, 244, 6) / MBIT_S


def test_tests_of_some_months_reach_what_the_study_saw():
    down, up = schedule_of_months(1)
    assert np.median(down) == pytest.approx(120, rel=0.1)
    assert 10 <= down.min() < 25
    assert 300 < down.max() <= 370
    assert np.median(up) == pytest.approx(15, rel=0.1)
    assert 5 <= up.min() < 7
    assert 40 < up.max() <= 50


def test_at_busy_hours_they_reach_less():
    down, _ = schedule_of_months(1)
    by_hour = dict(zip(range(2, 24, 4), np.median(down, axis=0), strict=True))
    assert min(by_hour, key=by_hour.get) == 10
    assert by_hour[10] == pytest.approx(78, rel=0.2)
    assert by_hour[22] == pytest.approx(145, rel=0.2)


def test_a_schedule_before_1970_is_refused():
    with pytest.raises(ScenarioError, match="seconds since 1970"):
        median_bps(Access(capacity_bps=None, clock="1969-07-20T20:17:00Z"), "down", 1)


def test_a_test_depends_on_clock_and_seed_and_a_given_capacity_on_neither():
    def at(clock, seed, **keys):
        return median_bps(Access(clock=clock, **({"capacity_bps": None} | keys)), "down", seed)

    noon, four = "2024-05-17T12:00:00Z", "2024-05-17T16:00:00Z"
    assert at(noon, 1) == at(noon, 1)
    assert len({at(noon, 1), at(noon, 2), at(four, 1)}) == 3
    assert at(noon, 1, capacity_bps=7 * MBIT_S) == at(four, 2, capacity_bps=7 * MBIT_S) == 7 * MBIT_S
