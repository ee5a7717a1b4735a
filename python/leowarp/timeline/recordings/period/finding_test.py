# SPDX-License-Identifier: Apache-2.0
"""Tests how often the search finds the right period and phase of synthetic recordings. The recordings with which the
search was developed had other seeds (`DEVELOPED`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from leowarp.timeline.recordings import Description, Measurement, Series, describe
from leowarp.timeline.recordings.formats.numbered_probes import sent_in_order
from leowarp.timeline.recordings.period.finding import find
from leowarp.timeline.recordings.period.schedule import Schedule
from support.recordings import Recording, Truth, recording
from support.synthetic.dish import MS, S, dish

DEVELOPED = (range(0, 200), range(1000, 1200), range(2000, 2200), range(3000, 3200))
JUDGED = range(7000, 7200)

PERIOD_RATIO = 0.01
PHASE_NS = S // 2
"""The allowed error of the phase in the middle of the recording. If the interval between probes is longer than this
value, the error may be as large as the interval."""


@dataclass(frozen=True)
class Judgement:
    seed: int
    truth: Truth
    description: Description
    answer: str

    @property
    def right(self) -> bool:
        return self.answer in ("right", "rightly none")

    @property
    def confidence_ratio(self) -> float:
        assert self.description.finding is not None
        return self.description.finding.confidence_ratio


def measurement_of(made: Recording) -> Measurement:
    """Return the measurement that would result from a file with numbered probes."""
    sent = sent_in_order("made up", made.sequence, made.t_ns, made.rtt_ns)
    return Measurement(
        source="made up",
        format="columns",
        round_trip=sent.series,
        clock_steps=sent.clock_steps,
        steady_ns=sent.steady_ns,
        duplicates=int(made.duplicated.sum()),
    )


def judged(seed: int) -> Judgement:
    made = recording(seed)
    description = describe(measurement_of(made))
    truth, found = made.truth, description.schedule
    if truth.period_ns is None or truth.phase_ns is None:
        answer = "rightly none" if found is None else "found where none is"
    elif found is None:
        answer = "missed"
    elif abs(found.period_ns / truth.period_ns - 1) > PERIOD_RATIO:
        answer = "other period"
    elif abs(phase_error_ns(found, truth, description.span_ns)) > max(PHASE_NS, truth.interval_ns):
        answer = "other phase"
    else:
        answer = "right"
    return Judgement(seed, truth, description, answer)


def phase_error_ns(found: Schedule, truth: Truth, span_ns: int) -> float:
    assert truth.period_ns is not None
    assert truth.phase_ns is not None
    middle_ns = found.phase_ns + round((span_ns / 2 - found.phase_ns) / found.period_ns) * found.period_ns
    return (middle_ns - truth.phase_ns + truth.period_ns / 2) % truth.period_ns - truth.period_ns / 2


@pytest.mark.slow
def test_of_two_hundred_recordings_95_of_100_are_right_and_of_the_sure_ones_nine_of_ten() -> None:
    of = [judged(seed) for seed in JUDGED]
    confusion = Counter((one.truth.kind, one.answer) for one in of)
    wrong = [(one.seed, one.answer, round(one.confidence_ratio, 2)) for one in of if not one.right]
    print(confusion, wrong)  # pytest shows this output if the test fails.
    assert all(seeds.stop <= JUDGED.start for seeds in DEVELOPED)
    assert sum(one.right for one in of) >= 0.95 * len(of), wrong
    sure = [one for one in of if one.confidence_ratio >= 0.9]
    assert len(sure) >= 0.7 * len(of)  # Without this check, answers that are never certain would pass.
    assert sum(one.right for one in sure) >= 0.9 * len(sure), wrong
    # The confidence agrees with the share of right answers, within three standard deviations.
    stated = np.array([one.confidence_ratio for one in of])
    came_true = np.array([one.right for one in of])
    assert abs(stated.sum() - came_true.sum()) <= 3 * max(np.sqrt((stated * (1 - stated)).sum()), 1)
    set_back = [one for one in of if any(by_ns < 0 for _, by_ns in one.truth.clock_steps)]
    named = [one for one in set_back if any(step.by_ns < 0 for step in one.description.clock_steps)]
    assert len(named) >= 0.9 * len(set_back) > 0


def made_of(period_s: float, t_ns: np.ndarray, into_ns: np.ndarray, parts: int) -> Series:
    """Return a series with a step after every period. Each period is divided into equal parts, and each part begins
    with a spike."""
    dice = np.random.default_rng(3)
    slot = ((t_ns + period_s * S - into_ns) // (period_s * S)).astype(np.int64)
    rtt_ns = 30 * MS + dice.normal(0, 4 * MS, slot.max() + 1)[slot] + dice.gamma(2, 0.5 * MS, len(t_ns))
    rtt_ns += 40 * MS * (into_ns % (period_s * S / parts) < 80 * MS)
    return Series.of(t_ns, np.round(rtt_ns))


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_whole_period_is_told_from_its_parts(parts: int) -> None:
    t_ns = np.arange(0, 800 * S, 12 * MS)
    found = find(made_of(15, t_ns, (t_ns - 12 * S) % (15 * S), parts))
    assert found.schedule is not None
    assert found.schedule.period_ns == pytest.approx(15 * S, rel=1e-3)
    assert found.schedule.distance_ns(np.array([12 * S]))[0] < 0.2 * S
    assert found.parts == parts


def test_a_part_with_stronger_spikes_is_told_from_the_whole_by_losses_and_steps() -> None:
    """Spikes occur at every third of a period of 15 s. Losses and steps occur once per period."""
    dice = np.random.default_rng(8)
    t_ns = np.arange(0, 450 * S, S // 2)
    slot, into_ns = (t_ns - 8 * S) // (15 * S), (t_ns - 8 * S) % (15 * S)
    rtt_ns = 30 * MS + dice.normal(0, 5 * MS, slot.max() + 2)[slot] + dice.gamma(2, MS, len(t_ns))
    rtt_ns += 40 * MS * (into_ns % (5 * S) < S // 2)
    found = find(Series.of(t_ns, np.where(into_ns < S // 4, np.nan, np.round(rtt_ns))))
    assert found.schedule is not None
    assert found.schedule.period_ns == pytest.approx(15 * S, rel=1e-3)
    assert found.schedule.distance_ns(np.array([8 * S]))[0] <= S // 2
    assert found.parts == 3


def test_two_satellites_in_turn_are_no_period_of_two() -> None:
    t_ns = np.arange(0, 600 * S, 50 * MS)
    level_ns = np.where((t_ns // (15 * S)) % 2, 30.0 * MS, 37.0 * MS)
    found = find(Series.of(t_ns, level_ns + np.random.default_rng(1).gamma(2, MS, len(t_ns)).round()))
    assert found.schedule is not None
    assert found.schedule.period_ns == pytest.approx(15 * S, rel=1e-3)
    assert found.by_sign["steps"] is not None
    assert found.by_sign["losses"] is None


def test_runners_up_and_the_answer_share_one_certainty() -> None:
    t_ns, rtt_ns, _ = dish(phase_ns=3 * S, span_ns=150 * S, spike_ns=0, lost_probes=0, step_ns=3 * MS, jitter_ns=6 * MS)
    found = find(Series.of(t_ns, rtt_ns))
    ratios = [ratio for _, ratio in found.runners_up]
    assert ratios == sorted(ratios, reverse=True)
    assert found.confidence_ratio + sum(ratios) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_a_clock_set_forward_is_told_from_a_pause() -> None:
    t_ns, rtt_ns, _ = dish(phase_ns=3 * S, span_ns=400 * S)
    later = t_ns >= 200 * S
    paused = describe(Measurement.of_round_trips(t_ns[~later | (t_ns >= 206 * S)], rtt_ns[~later | (t_ns >= 206 * S)]))
    assert paused.clock_steps == ()
    assert len(paused.gaps) == 1
    moved = describe(Measurement.of_round_trips(t_ns + 6 * S * later, rtt_ns))
    (step,) = moved.clock_steps
    assert step.by_ns == pytest.approx(6 * S, abs=30 * MS)
    for of in (paused, moved):
        assert of.schedule is not None
        assert of.schedule.distance_ns(np.array([3 * S]))[0] < 0.1 * S
