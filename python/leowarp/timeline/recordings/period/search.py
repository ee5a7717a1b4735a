# SPDX-License-Identifier: Apache-2.0
"""Searches the signs for the period and phase of events on a path. The result contains the best candidate and the next
best candidates.

The candidates are the periods of the strongest lines in the signs' spectra, their fractions and their multiples. The
known periods of real networks are candidates, too. Each candidate is evaluated by its Bayes factor (`evidence`) and a
prior. The prior is the candidate's share among all periods and phases that can be distinguished. With n = 2, 3 or 4,
every n-th instant of a period may show other signs than the instants in between. The true period is then n times as
long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leowarp.timeline.recordings.measurement import Series
from leowarp.timeline.recordings.period.evidence import MIDDLE, Ratios, log_mean
from leowarp.timeline.recordings.period.signs import LOSSES, SIGNS, STEPS, TOGETHER, Signs, signs

SHORTEST_S, LONGEST_S = 4.0, 120.0
"""The range of periods to search. A long period is tried only if the measurement is at least four times as long."""

USUAL = {15.0: 0.4, 5.0: 0.03, 10.0: 0.06, 20.0: 0.03, 30.0: 0.06, 60.0: 0.02}
"""The prior probability of a period, keyed by the period in s. Each prior is shared by all periods within 1 % of the
listed value. The rest of the probability is divided among all other periods. The period of the only constellation with
published reconfigurations is 15 s (`scenario.access`). The other values are round numbers, which are usual in
schedules."""

_USUAL_WITHIN = 0.01
EXACT_WITHIN = 1e-4
"""The largest relative error of an unsynchronised computer clock. RFC 5905 (7.3) allows 15 ppm for a synchronised
clock. For an unsynchronised clock, data sheets of quartz crystals give 20 to 100 ppm. If GPS synchronises a schedule
and an unsynchronised clock measures it, the measured period is wrong by at most `EXACT_WITHIN`."""

_EXACT = 0.8
"""The share of a usual period's prior probability that is given to periods within `EXACT_WITHIN` of it."""

# Smallest number of periods in a recording: with only three instants, two differences may be equal by chance
# (`test_three_handovers_are_not_enough_to_be_certain`).
_FEWEST_PERIODS = 4
_KNOWN_S = (5.0, 6.0, 7.5, 10.0, 12.0, 15.0, 20.0, 30.0, 45.0, 60.0)
_RELATIVES = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 2, 2.0, 3.0, 4.0)
_HARMONICS = (1, 2, 4, 8)
_LINES = 4
_MOST_CANDIDATES = 20
_SAME = 0.01
_SAYS_SOMETHING = 2.0
_SPIKES_ALONE = 4.0
"""If the period is unusual and the only signs are spikes, this value is subtracted from the log odds. Any periodic
process, such as a timer or another flow, can cause spikes."""

_SPLIT_CERTAIN = np.log(30.0)
_CHOSEN = np.log(2.0)
"""The log odds that are subtracted for each sign. They are subtracted because the search chooses whether the sign is
the same at all instants."""


@dataclass(frozen=True)
class Candidate:
    """A period and a phase that may describe the reconfigurations, with the evidence for them.

    period_s, phase_s: The phase is the time of an event in [0, period), relative to the first probe.
    log_factor: The natural logarithm of the Bayes factor of this candidate against no schedule.
    log_odds: `log_factor` plus the logarithm of this candidate's prior probability.
    by_sign: The log Bayes factors of each sign separately, at the phase `phase_s`.
    alone: dict of str to (float, float). For each sign, the phase at which the sign is strongest, and its log Bayes
        factor at that phase.
    """

    period_s: float
    phase_s: float
    log_factor: float
    log_odds: float
    by_sign: dict[str, float]
    alone: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Search:
    """The result of a search. It has all candidates, and the best one is first.

    of_sign: dict of str to (Candidate or None). For each sign, the best candidate if only this sign is used. None means
        that this sign supports no candidate.
    multiple: The period with the largest factor is too short if its instants show different signs. `multiple` is the
        factor between that period and the period of the best candidate.
    split_log_odds: The log odds that `multiple` is right. If `multiple` is 1, the log odds are infinite.
    """

    signs: Signs
    candidates: tuple[Candidate, ...]
    of_sign: dict[str, Candidate | None]
    multiple: int
    split_log_odds: float = np.inf


def search(series: Series) -> Search | None:
    """Search for period and phase. None means that the series is shorter than four periods of 4 s."""
    found = signs(series)
    # If bins are longer than the longest period, no period can be found. If a recording has a pause of years, its bins
    # are too long. Without this check, billions of periods would be tried.
    if found is None or found.bin_s > max(LONGEST_S, (series.interval_ns or 0) / 1e9):
        return None
    ratios = Ratios.from_signs(found)
    longest_s = min(LONGEST_S, ratios.span_s / _FEWEST_PERIODS)
    if longest_s <= SHORTEST_S:
        return None
    together = int(found.rows(TOGETHER)[0])
    weighed = [_weighed(ratios, period_s, row) for period_s, row in _lines(ratios, longest_s)]
    for period_s in _KNOWN_S:
        if period_s <= longest_s:
            # A known period is tried in two ways: exactly, because the exact period has a higher prior
            # (`EXACT_WITHIN`), and on a grid around it. The grid may miss the exact period.
            weighed += [_weighed(ratios, period_s, together), _of_period(ratios, period_s)]
    weighed.sort(key=lambda one: -one.log_odds)
    # The strongest line is often at half of the period or at a multiple of it, because recurring events have lines at
    # all of these periods.
    for one in _distinct(weighed)[:3]:
        for times in _RELATIVES:
            if SHORTEST_S <= one.period_s * times <= longest_s:
                weighed.append(_weighed(ratios, one.period_s * times, together))
    best = _distinct(sorted(weighed, key=lambda one: -one.log_odds))
    part = _part(ratios, best)
    whole, multiple, split = _whole(ratios, part, longest_s)
    if multiple > 1:
        best = [whole, *(one for one in best if abs(one.period_s / whole.period_s - 1) > _SAME)]
    whole = _polished(ratios, best[0])
    # A candidate with the same period but a different phase is also an alternative. For instance, spikes and losses may
    # happen at different instants.
    other = _other_phase(ratios, whole)
    best = sorted([*best[1:], *([other] if other else [])], key=lambda one: -one.log_odds)
    return Search(found, (whole, *best), {sign: _by_itself(ratios, weighed, sign) for sign in SIGNS}, multiple, split)


def _lines(ratios: Ratios, longest_s: float) -> list[tuple[float, int]]:
    """Return the periods of the strongest lines in the spectra. Each period comes with the index of its row in
    `Signs.shares`.

    If a short event recurs in every period, the spectrum has harmonics of equal strength. The powers of the harmonics
    are added, as in searches for pulsars (Taylor and Huguenin, "Two new pulsating radio sources", Nature 221, 1969).

    Returns: list of (float, int). The list has at most 20 periods, the strongest first.
    """
    # The series is padded with zeros to four times its length. The padding makes the distance between neighbouring
    # frequencies of the spectrum smaller than the width of a spectral line. No line is then missed.
    length = 1 << int(np.ceil(np.log2(4 * ratios.bins)))
    step_hz = 1 / (length * ratios.signs.bin_s)
    found: list[tuple[float, float, int]] = []
    for row in range(len(ratios.signs.names)):
        of = ratios.of[row, MIDDLE]
        if of.std() == 0:
            continue
        power = np.abs(np.fft.rfft(of - of.mean(), length)) ** 2
        power /= power.mean()
        for harmonics in _HARMONICS:
            low, high = int(np.ceil(1 / longest_s / step_hz)), int(1 / SHORTEST_S / step_hz)
            places = np.arange(low, high + 1)
            strength = np.zeros(len(places))
            for harmonic in range(1, harmonics + 1):
                strength += power[np.minimum(places * harmonic, len(power) - 1)]
            peaks = 1 + np.flatnonzero((strength[1:-1] >= strength[:-2]) & (strength[1:-1] > strength[2:]))
            for peak in peaks[np.argsort(-strength[peaks])][:_LINES]:
                # The standard deviation of a sum of n noise powers grows with the root of n. Each sum is divided by
                # this root, so that sums of one, two, four and eight powers are comparable.
                found.append((float(strength[peak] / np.sqrt(harmonics)), 1 / (places[peak] * step_hz), row))
    found.sort(reverse=True)
    kept: list[tuple[float, int]] = []
    for _, period_s, row in found:
        # Two periods that diverge by less than a third of a period over the whole recording cannot be distinguished.
        near = 0.3 * period_s / ratios.span_s
        if all(abs(period_s / other - 1) > near for other, _ in kept):
            kept.append((period_s, row))
    return kept[:_MOST_CANDIDATES]


def _weighed(ratios: Ratios, about_s: float, row: int) -> Candidate:
    """Return the best period near `about_s`, by the evaluation of a sign in the row `row`, with its best phase."""
    bin_s, span_s = ratios.signs.bin_s, ratios.span_s
    # From one tried period to the next, the last instant moves by less than a bin.
    step = 0.6 * bin_s / span_s
    reach = min(0.45 * about_s / span_s, 0.01)
    tried_s = about_s * (1 + step * np.arange(-int(reach / step) - 1, int(reach / step) + 2))
    return _of_period(ratios, ratios.strongest(row, tried_s.tolist()))


def _polished(ratios: Ratios, best: Candidate) -> Candidate:
    """Vary the period and the phase of the best candidate slightly, and return the best result."""
    bin_s, span_s = ratios.signs.bin_s, ratios.span_s
    phases_s = (best.phase_s + bin_s * np.arange(-4, 5) / 2) % best.period_s
    found = [best]
    for part in np.arange(-6, 7) / 6:
        period_s = best.period_s * (1 + part * bin_s / span_s)
        # The period is varied, but the schedule's instant in the middle of the recording does not move.
        turned_s = phases_s - round(span_s / 2 / best.period_s) * (period_s - best.period_s)
        factors = log_mean(ratios.sums(period_s, turned_s % period_s), axis=1)
        found.append(_candidate(ratios, period_s, turned_s % period_s, factors, int(np.argmax(ratios.whole(factors)))))
    return replace(max(found, key=lambda one: one.log_odds), alone=best.alone)


def _of_period(ratios: Ratios, period_s: float) -> Candidate:
    factors = log_mean(ratios.folded(period_s), axis=1)
    return _candidate(ratios, period_s, ratios.phases(period_s), factors, int(np.argmax(ratios.whole(factors))))


def _candidate(
    ratios: Ratios, period_s: float, phases_s: NDArray[np.float64], factors: NDArray[np.float64], at: int
) -> Candidate:
    """Return the candidate with this period and the phase at index `at`. All its results are included.

    phases_s: float64 array of shape (phases,)
    factors: float64 array of shape (rows, phases). The log Bayes factors.
    at: The index of the candidate's phase in `phases_s`.
    """
    log_factor = float(ratios.whole(factors)[at])
    by_sign = ratios.by_sign(factors)
    log_odds = log_factor + _log_prior(ratios, period_s)
    usual = any(abs(period_s / usual_s - 1) <= _USUAL_WITHIN for usual_s in USUAL)
    if not usual and max(by_sign[sign][at] for sign in (STEPS, LOSSES)) < _SAYS_SOMETHING:
        log_odds -= _SPIKES_ALONE
    return Candidate(
        period_s=period_s,
        phase_s=float(phases_s[at]),
        log_factor=log_factor,
        log_odds=log_odds,
        by_sign={name: float(of[at]) for name, of in by_sign.items()},
        alone={name: (float(phases_s[np.argmax(of)]), float(of.max())) for name, of in by_sign.items()},
    )


def _other_phase(ratios: Ratios, best: Candidate) -> Candidate | None:
    """Return the best candidate of this period whose phase is not close to the best phase, or None without such a
    phase."""
    phases_s = ratios.phases(best.period_s)
    factors = log_mean(ratios.folded(best.period_s), axis=1)
    apart_s = np.abs((phases_s - best.phase_s + best.period_s / 2) % best.period_s - best.period_s / 2)
    away = np.flatnonzero(apart_s > max(1.0, 0.1 * best.period_s))
    if not len(away):
        return None
    return _candidate(ratios, best.period_s, phases_s, factors, int(away[np.argmax(ratios.whole(factors)[away])]))


def _by_itself(ratios: Ratios, weighed: list[Candidate], sign: str) -> Candidate | None:
    """Return the best candidate of one sign alone, or None if its log odds are not above 0."""
    best = max(weighed, key=lambda one: one.alone[sign][1] + _log_prior(ratios, one.period_s))
    phase_s, log_factor = best.alone[sign]
    log_odds = log_factor + _log_prior(ratios, best.period_s)
    return replace(best, phase_s=phase_s, log_factor=log_factor, log_odds=log_odds) if log_odds > 0 else None


def weight(found: Search, period_s: float, phase_s: float) -> float:
    """Return the log Bayes factor of an arbitrary period and phase. The period and the phase need not belong to a
    candidate."""
    ratios = Ratios.from_signs(found.signs)
    factors = log_mean(ratios.sums(period_s, np.array([phase_s % period_s])), axis=1)
    return float(ratios.whole(factors)[0])


def _log_prior(ratios: Ratios, period_s: float) -> float:
    """Return the log prior of a period and its phase, among all periods and phases that can be distinguished."""
    bin_s = ratios.signs.bin_s
    # If two periods differ by less than `apart_s`, their last instants differ by less than a bin. Such periods count as
    # one.
    apart_s = bin_s * period_s / (2 * ratios.span_s)
    # Periods other than the usual ones have a prior that is uniform in the logarithm, because nothing is known about
    # their size.
    density = (1 - sum(USUAL.values())) / (period_s * np.log(LONGEST_S / SHORTEST_S))
    believed = density * apart_s
    for usual_s, share in USUAL.items():
        if abs(period_s / usual_s - 1) <= _USUAL_WITHIN:
            believed += share * (1 - _EXACT) * min(apart_s / (2 * _USUAL_WITHIN * usual_s), 1.0)
        # The recording may have exactly the usual period, measured with a slightly wrong clock. The prior probability
        # of this case is divided evenly among the periods within `EXACT_WITHIN` of the usual period.
        exact_s = EXACT_WITHIN * usual_s
        low_s, high_s = max(period_s - apart_s / 2, usual_s - exact_s), min(period_s + apart_s / 2, usual_s + exact_s)
        believed += share * _EXACT * max(high_s - low_s, 0.0) / (2 * exact_s)
    return float(np.log(believed) + np.log(bin_s / period_s))


def _distinct(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates, but only the first of several candidates with about the same period."""
    kept: list[Candidate] = []
    for one in candidates:
        if all(abs(one.period_s / other.period_s - 1) > _SAME for other in kept):
            kept.append(one)
    return kept


def _part(ratios: Ratios, candidates: list[Candidate]) -> Candidate:
    """Return the first candidate. If a fraction of its period gives a larger Bayes factor, return the candidate with
    this fraction.

    If there are two delay spikes per period, the prior may prefer the whole period. Its phase is then the phase of one
    of the spikes. If half the period is used, `_whole` can decide between the two phases.
    """
    best = candidates[0]
    lengths_s = [best.period_s / times for times in (2, 3, 4) if best.period_s / times >= SHORTEST_S]
    parts = [_of_period(ratios, length_s) for length_s in lengths_s]
    parts += [one for one in candidates if any(abs(one.period_s / length_s - 1) <= _SAME for length_s in lengths_s)]
    return max([best, *parts], key=lambda one: one.log_factor)


def _whole(ratios: Ratios, best: Candidate, longest_s: float) -> tuple[Candidate, int, float]:
    """If the instants of a candidate's period show different signs, return a multiple of the period. The result is
    (candidate, multiple, log odds). If the signs do not differ, the result is the given candidate with the multiple
    1."""
    choices: list[tuple[float, Candidate, int, float]] = []
    for times in (2, 3, 4):
        period_s = best.period_s * times
        if period_s > longest_s:
            break
        gain, phase_s, ahead = _split(ratios, best, times)
        gain += _log_prior(ratios, period_s) - _log_prior(ratios, best.period_s)
        if gain > _SPLIT_CERTAIN:
            phases_s = np.array([phase_s % period_s])
            factors = log_mean(ratios.sums(period_s, phases_s), axis=1)
            choices.append((gain, _candidate(ratios, period_s, phases_s, factors, 0), times, min(gain, ahead)))
    if not choices:
        return best, 1, np.inf
    _, candidate, times, sure = max(choices, key=lambda choice: choice[0])
    return candidate, times, sure


def _split(ratios: Ratios, best: Candidate, times: int) -> tuple[float, float, float]:
    """Return by how much the log odds rise if some signs happen only at every n-th instant of a period. Two further
    results are the phase of these instants, and their margin over the next best instants.

    Each sign contributes the Bayes factor of every n-th instant, divided by the Bayes factor of all instants. If the
        latter is below 1, it is replaced by 1. With no instants, the factor is 1.
    """
    found, ahead = (0.0, best.phase_s), 0.0
    # A step and the spike of the same event may be in neighbouring bins, so phases one bin before and after are tried
    # as well.
    for phase_s in best.phase_s + ratios.signs.bin_s * np.array([0.0, -1.0, 1.0]):
        classes_s = phase_s + best.period_s * np.arange(1, times + 1)
        sums = ratios.sums(best.period_s * times, classes_s % (best.period_s * times))
        apart, alike = log_mean(sums, axis=1), log_mean(sums.sum(axis=2), axis=1)  # shapes (rows, classes) and (rows,)
        gain = np.zeros(times)
        for sign in SIGNS:
            rows = ratios.signs.rows(sign)
            of_class, of_all = log_mean(apart[rows], axis=0), float(log_mean(alike[rows], axis=0))
            at = int(np.argmax(of_class))
            # If the sign also occurs in another class of instants, the strongest class does not indicate a longer
            # period.
            if np.delete(of_class, at).max() <= 0:
                gain[at] += max(float(of_class[at]) - max(of_all, 0.0) - _CHOSEN, 0.0)
        if gain.max() > found[0]:
            found = (float(gain.max()), float(best.phase_s + best.period_s * (int(np.argmax(gain)) + 1)))
            ahead = float(gain.max() - np.sort(gain)[-2])
    return (*found, ahead)
