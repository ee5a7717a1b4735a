# SPDX-License-Identifier: Apache-2.0
from typing import Any

import numpy as np
import pytest

from leowarp.timeline.recordings.measurement import Series
from leowarp.timeline.recordings.period.finding import find
from leowarp.timeline.recordings.period.schedule import Schedule
from support.synthetic.dish import MS, S, dish


def found(**of: Any) -> Schedule | None:
    t_ns, rtt_ns, _ = dish(**of)
    return find(Series.of(t_ns, rtt_ns)).schedule


def apart_ns(schedule: Schedule, phase_ns: int) -> int:
    return int(schedule.distance_ns(np.array([phase_ns]))[0])


@pytest.mark.parametrize("phase_s", [0, 2.3, 7.5, 8.75, 12, 14.9])
def test_the_phase_is_found_whatever_it_is(phase_s: float) -> None:
    schedule = found(phase_ns=round(phase_s * S), seed=round(10 * phase_s))
    assert schedule is not None
    assert schedule.period_ns == pytest.approx(15 * S, abs=5 * MS)
    assert apart_ns(schedule, round(phase_s * S)) < 50 * MS


@pytest.mark.parametrize("period_s", [5, 10, 13.7, 15, 30, 60])
def test_the_period_is_found_whatever_it_is(period_s: float) -> None:
    schedule = found(phase_ns=3 * S, period_ns=round(period_s * S), span_ns=round(20 * period_s * S))
    assert schedule is not None
    assert schedule.period_ns == pytest.approx(period_s * S, rel=2e-3)


@pytest.mark.parametrize(
    "only",
    [
        {"spike_ns": 0, "lost_probes": 0, "step_ns": 12 * MS},
        {"spike_ns": 0, "step_ns": 0},
        {"lost_probes": 0, "step_ns": 0},
        {"residual_loss_ratio": 0.002},
        {"interval_ns": 1 * S, "span_ns": 3600 * S, "residual_loss_ratio": 0.002},
    ],
    ids=["steps alone", "losses alone", "spikes alone", "other losses too", "one ping a second"],
)
def test_any_of_the_signs_is_enough(only: dict[str, Any]) -> None:
    schedule = found(phase_ns=12 * S, **only)
    assert schedule is not None
    assert schedule.period_ns == pytest.approx(15 * S, abs=20 * MS)
    assert apart_ns(schedule, 12 * S) < 500 * MS


@pytest.mark.parametrize("seed", range(8))
def test_a_path_without_a_schedule_has_none(seed: int) -> None:
    dice = np.random.default_rng(seed)
    t_ns = np.arange(0, 600 * S, 50 * MS)
    rtt_ns = 30 * MS + np.round(dice.gamma(2, 2 * MS, len(t_ns)))
    rtt_ns += 40 * MS * (dice.random(len(t_ns)) < 0.004)
    rtt_ns += 5 * MS * np.cumsum(dice.random(len(t_ns)) < 0.003) % (30 * MS)
    rtt_ns[dice.random(len(t_ns)) < 0.005] = np.nan
    assert find(Series.of(t_ns, rtt_ns)).schedule is None


def test_three_handovers_are_not_enough_to_be_certain() -> None:
    assert found(phase_ns=4 * S, span_ns=48 * S) is None


def test_a_constant_or_an_empty_series_has_no_schedule() -> None:
    t_ns = np.arange(0, 100 * S, S)
    assert find(Series.of(t_ns, np.full(len(t_ns), 30.0 * MS))).schedule is None
    assert find(Series.of(t_ns, np.full(len(t_ns), np.nan))).schedule is None
    assert find(Series.of([], [])).schedule is None


def test_instants_are_those_of_the_half_open_stretch() -> None:
    schedule = Schedule(15 * S, 12 * S)
    assert schedule.instants_ns(0, 42 * S).tolist() == [12 * S, 27 * S]
    assert schedule.instants_ns(-5 * S, -3 * S + 1).tolist() == [-3 * S]
    assert schedule.instants_ns(13 * S, 14 * S).tolist() == []
