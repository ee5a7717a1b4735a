# SPDX-License-Identifier: Apache-2.0
"""Estimate isolated loss and outages from lost probes. TCP's retransmissions give an upper bound of isolated loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from leowarp.fitting.bursts import SEGMENT_BYTES
from leowarp.fitting.estimate import TAIL, Estimate, Found, Untold, number, resampled, share_interval
from leowarp.fitting.jitter import simulated_ns
from leowarp.fitting.slotted import Slotted
from leowarp.media.access.outages import outages_ns
from leowarp.media.access.slots import Slots
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings.measurement import Transfer, stretches_of
from leowarp.timeline.recordings.period.schedule import Schedule

_FEWEST_RUNS, _FEWEST_SEGMENTS = 10, 1000
_ROUNDS, _GAIN = 12, 0.5
_SIMULATED, _SPACING_NS = 1000, 4_000_000_000
_APART = (0.1, 0.1, 0.5)
"""Slopes are computed with these steps in the three parameters (a share, a probability and a logarithm). The effect of
each change is larger than the simulation's noise."""
_RANKED = 20
"""The number of runs of lost probes per rank. With 40 runs, `outage_max` is estimated from the second longest run,
because the longest may come from two overlapping outages."""
_LONGEST_OF = np.exp(np.linspace(np.log(0.4), np.log(4.0), 7))
"""To find the interval of `outage_max`, the estimate is multiplied by each of these factors."""
_RECORDINGS = 2000
_PHASE_NS = 100_000_000
"""Times of reconfigurations that are found in the data have this precision, in ns."""
_MOST = np.array([1.0, 0.95, np.log(1.9e9)])
_BOUND = (
    "retransmissions: an upper bound of isolated loss, for drops of queues, bursts and spurious retransmissions are "
    "among them"
)
_OUTAGE_KEYS = ("outage_share", "outage_again", "outage_min", "outage_max")


def fit_losses(probes: Slotted, access: Access, *, counted: bool) -> list[Found]:
    """Estimate the profile's losses from the round trips that were lost. A loss near a reconfiguration counts as part
    of an outage. Any other loss counts as isolated.

    counted: False if the recording lists only replies.
    """
    if not counted:
        why = "the recording holds replies alone, so that a lost probe leaves nothing"
        return [Untold(key, why) for key in ("residual_loss", "residual_loss_up", *_OUTAGE_KEYS)]
    lost, sent = probes.series.lost, ~probes.series.cut
    apart_ns = probes.schedule.distance_ns(probes.series.t_ns)
    near, far = apart_ns <= access.outage_reach_ns, apart_ns > access.outage_reach_ns + _PHASE_NS
    far_lost, far_sent = _by_slot(probes.slot, lost & far), _by_slot(probes.slot, sent & far)
    near_lost, near_sent = _by_slot(probes.slot, lost & near), _by_slot(probes.slot, sent & near)
    residual = _residual(far_lost, far_sent)
    # If losses are not more frequent near reconfigurations than elsewhere, no loss is attributed to an outage.
    both = np.column_stack([near_lost, near_sent, far_lost, far_sent])
    excess = _excess(both)
    low, high = resampled(both, lambda drawn: np.asarray(_excess(drawn)))
    if low <= 0.0:
        note = (
            f"loss within {access.outage_reach_ns / 1e9:g} s of a reconfiguration less that elsewhere: "
            f"{100 * excess:.2g} % ({100 * float(low):.2g} to {100 * float(high):.2g} %), which may be none"
        )
        most = max(_possible(float(high), access), _unseen(len(both), probes.interval_ns, access))
        nothing = Estimate("outage_share", 0.0, 0.0, most, len(both), "slots", note)
        return [*residual, nothing, *(Untold(key, "no outages were seen") for key in _OUTAGE_KEYS[1:])]
    if not probes.is_dense:
        why = f"probes {probes.interval_ns / 1e6:.3g} ms apart do not show how long one lasts"
        return [*residual, *(Untold(key, why) for key in _OUTAGE_KEYS)]
    return [*residual, *_outages(probes, near, access, 1.0 - (1.0 - number(residual[0])) ** 2)]


def _residual(lost: NDArray[np.float64], sent: NDArray[np.float64]) -> list[Estimate]:
    """Return the ratio of isolated losses, the same in each direction, that gives round trips the measured ratio."""
    table = np.column_stack([lost, sent])

    def one_way(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        ratio = drawn[:, 0].sum() / max(drawn[:, 1].sum(), 1.0)
        return np.asarray(1.0 - np.sqrt(1.0 - ratio))

    value = float(one_way(table))
    low, high = (float(end) for end in resampled(table, one_way))
    # A few losses may be spread evenly over the slots by chance, so the interval is never narrower than that of
    # independent losses.
    least, most = (1.0 - float(np.sqrt(1.0 - end)) for end in share_interval(int(lost.sum()), int(sent.sum())))
    low, high = max(min(low, least), 0.0), max(high, most)
    note = "losses of probes away from reconfigurations; which way they were lost is not known, half is put on each"
    return [
        Estimate(key, value, low, high, int(sent.sum()), "probes", note)
        for key in ("residual_loss", "residual_loss_up")
    ]


def _excess(table: NDArray[np.float64]) -> float:
    near_lost, near_sent, far_lost, far_sent = table.sum(axis=0)
    return float(near_lost / max(near_sent, 1.0) - far_lost / max(far_sent, 1.0))


def _possible(excess: float, access: Access) -> float:
    """Return which share of reconfigurations must have an outage to explain the additional loss `excess`."""
    of_one = _mean_ns(access) / (1.0 - access.outage_again_ratio) / (2.0 * access.outage_reach_ns)
    return float(min(max(excess / of_one, 0.0), 1.0))


def _unseen(slots: int, interval_ns: int, access: Access) -> float:
    """Return the largest plausible share of reconfigurations with an outage if none of `slots` slots had one. Resamples
    of such slots cannot give this limit, because they have no outage either."""
    return min(share_interval(0, slots)[1] / min(_mean_ns(access) / interval_ns, 1.0), 1.0)


def _mean_ns(access: Access) -> float:
    """Return the mean length of an outage. The logarithms of lengths are uniformly distributed."""
    span = np.log(access.outage_max_ns / access.outage_min_ns)
    return float((access.outage_max_ns - access.outage_min_ns) / max(span, 1e-9))


def _outages(probes: Slotted, near: NDArray[np.bool_], access: Access, isolated_ratio: float) -> list[Found]:
    """Fit the share, number and length of outages. With the fitted values, simulated outages give the same runs of lost
    probes as the recording."""
    lost = probes.series.lost & near
    counts, logs, numbers = _runs(probes.series.t_ns, lost, probes.interval_ns, probes.schedule)
    told: list[Found] = [Untold("outage_min", "an outage shorter than the time between two probes is met by chance")]
    if len(logs) < _FEWEST_RUNS:
        return [Untold(key, f"{len(logs)} runs of lost probes are too few") for key in _OUTAGE_KEYS]
    rank = _rank(len(logs))
    longest = float(np.sort(logs)[-rank])
    target = np.array([*_shares(counts), longest])
    # The value with this rank lies at a random quantile, which has a beta distribution with the median `middle`.
    middle = float(beta(len(logs) - rank + 1, rank).ppf(0.5))
    found = np.array([access.outage_share_ratio, access.outage_again_ratio, np.log(access.outage_max_ns)])
    found[2] = max(found[2], float(logs.max()))

    def statistics(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        made_counts, made_logs, _ = _simulated_runs(probes, access, values, isolated_ratio, seed)
        return np.array([*_shares(made_counts), float(np.quantile(made_logs, middle))])

    for seed in range(1, _ROUNDS + 1):
        moved = target - statistics(found, seed)
        found = np.clip(found + _GAIN * moved, _least(access), _MOST)
    # Outages may overlap, and short outages may fall between two probes. If a parameter changes, its statistic
    # therefore changes by less than the parameter.
    slopes = _slopes(lambda values: statistics(values, _ROUNDS), found, access)
    slots = np.arange(len(counts), dtype=np.float64)[:, None]

    def moved_by(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        chosen = drawn[:, 0].astype(np.int64)
        runs = np.concatenate([np.flatnonzero(numbers == one) for one in chosen])
        here = np.zeros(3)
        if len(runs):
            here = np.array([*_shares(counts[chosen]), np.sort(logs[runs])[-_rank(len(runs))]])
        return np.asarray(found + np.linalg.solve(slopes, here - target))

    ends = [np.clip(end, _least(access), _MOST) for end in resampled(slots, moved_by)]
    # A resample never contains an outage longer than the longest observed outage, so resampling gives no valid interval
    # for the maximum length.
    low, high = ends
    # The lower end of the longest outage is computed with the upper end of the number of outages per reconfiguration,
    # and vice versa. If there are more outages, they merge more often, and shorter ones give equally long runs.
    for end, other, quantile in ((low, high, 1.0 - TAIL), (high, low, TAIL)):
        values = np.array([found[0], other[1], found[2]])
        end[2] = _longest(probes, access, values, isolated_ratio, quantile, longest, len(counts))
    note = f"{len(logs)} runs of lost probes around {len(counts)} reconfigurations, matched by the profile's"
    for place, key in enumerate(("outage_share", "outage_again", "outage_max")):
        value, least, most = (float(each[place]) for each in (found, *ends))
        if key == "outage_max":
            value, least, most = (float(np.exp(each)) for each in (value, least, most))
        of, count = ("reconfigurations", len(counts)) if place < 2 else ("runs", len(logs))
        told.append(Estimate(key, value, least, most, count, of, note))
    return told


def _slopes(
    statistics: Callable[[NDArray[np.float64]], NDArray[np.float64]], found: NDArray[np.float64], access: Access
) -> NDArray[np.float64]:
    """Return the derivatives of the statistics with respect to each parameter, of shape (3, 3). They are differences
    between simulations that use the same random numbers."""
    slopes = np.eye(3)
    for place, step in enumerate(_APART):
        least, most = found.copy(), found.copy()
        least[place] = max(found[place] - step, _least(access)[place])
        most[place] = min(found[place] + step, _MOST[place])
        slopes[:, place] = (statistics(most) - statistics(least)) / (most[place] - least[place])
    return slopes


def _least(access: Access) -> NDArray[np.float64]:
    return np.array([0.0, 0.0, np.log(1.1 * access.outage_min_ns)])


def _runs(
    t_ns: NDArray[np.int64], lost: NDArray[np.bool_], interval_ns: int, schedule: Schedule
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the number of runs of lost probes at each reconfiguration. For each run of lost probes, also return the
    logarithm of its length, and the number of its reconfiguration."""
    begins, ends = stretches_of(lost)
    logs = np.log((ends - begins) * float(interval_ns))
    first, last = (round((int(t) - schedule.phase_ns) / schedule.period_ns) for t in t_ns[[0, -1]])
    nearest = np.rint((t_ns[begins] - schedule.phase_ns) / schedule.period_ns).astype(np.int64) - first
    return np.bincount(nearest, minlength=last - first + 1).astype(np.float64), logs, nearest


def _shares(counts: NDArray[np.float64]) -> tuple[float, float]:
    """Return the share of reconfigurations with at least one run of lost probes, and the share of runs that are not the
    first at their reconfiguration."""
    some = float((counts > 0).mean())
    return some, 1.0 - some / max(float(counts.mean()), 1e-9)


def _rank(runs: int) -> int:
    """Return the rank of the run of lost probes whose length gives `outage_max`. Rank 1 is the longest run."""
    return max(round(runs / _RANKED), 1)


def _longest(
    probes: Slotted, access: Access, found: NDArray[np.float64], isolated_ratio: float, quantile: float, length: float,
    times: int,
) -> float:  # fmt: skip
    """Return the logarithm of the `outage_max` with which the loss run of rank `_rank` is at most `length` long in the
    share `quantile` of simulated recordings.

    length: The logarithm of the length that the run of this rank has in the recording.
    times: The number of reconfigurations in the recording.
    """
    tried = np.clip(found[2] + np.log(_LONGEST_OF), _least(access)[2], _MOST[2])
    rng = np.random.default_rng(1)
    made = []
    for one in tried.tolist():
        counts, logs, numbers = _simulated_runs(probes, access, np.append(found[:2], one), isolated_ratio, _ROUNDS)
        copies = rng.multinomial(times, np.full(len(counts), 1.0 / len(counts)), _RECORDINGS)
        order = np.argsort(-logs)
        # `ranks[k, n]`: runs in simulated recording k that are at least as long as the n-th longest of all.
        ranks = np.cumsum(copies[:, numbers[order]], axis=1)
        wanted = np.maximum(np.rint(ranks[:, -1:] / _RANKED), 1)
        made.append(float(np.quantile(logs[order][np.argmax(ranks >= wanted, axis=1)], quantile)))
    return float(np.interp(length, np.maximum.accumulate(made), tried))


def _simulated_runs(
    probes: Slotted, access: Access, found: NDArray[np.float64], isolated_ratio: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Simulate many reconfigurations with outages. Return the `_runs` of probes at the recording's interval."""
    drawn = dataclasses.replace(
        access, outage_share_ratio=float(found[0]), outage_again_ratio=float(found[1]),
        outage_max_ns=round(float(np.exp(found[2]))), period_ns=_SPACING_NS,
    )  # fmt: skip
    begin_ns = np.arange(_SIMULATED, dtype=np.int64) * _SPACING_NS + _SPACING_NS // 2
    nothing = np.zeros(len(begin_ns), dtype=np.int64)
    slots = Slots(begin_ns=begin_ns, names=("",) * len(begin_ns), base_t_ns=begin_ns, base_ns=nothing)
    end_ns = _SIMULATED * _SPACING_NS
    begins_ns, ends_ns = outages_ns(drawn, slots, seed=seed, duration_ns=end_ns)
    t_ns = np.arange(0, end_ns, probes.interval_ns, dtype=np.int64)
    # An outage loses probes on their way up, and probes sent earlier that are on their way back.
    back_ns = (
        t_ns + round(probes.one_way_ns) + simulated_ns(access, t_ns, ("up",), seed, end_ns, begin_ns).astype(np.int64)
    )
    lost = _within(t_ns, begins_ns, ends_ns) | _within(back_ns, begins_ns, ends_ns)
    schedule = Schedule(_SPACING_NS, _SPACING_NS // 2)
    # In the simulation, as in the recording, an isolated loss is a single lost probe.
    isolated = np.random.default_rng(seed).random(len(t_ns)) < isolated_ratio
    lost |= isolated & (schedule.distance_ns(t_ns) <= access.outage_reach_ns)
    counts, logs, numbers = _runs(t_ns, lost, probes.interval_ns, schedule)
    # A run of losses is counted only if outages were simulated for its reconfiguration.
    inside = numbers < len(begin_ns)
    return counts[: len(begin_ns)], logs[inside], numbers[inside]


def _within(t_ns: NDArray[np.int64], begins_ns: NDArray[np.int64], ends_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.searchsorted(begins_ns, t_ns, side="right") > np.searchsorted(ends_ns, t_ns, side="right")


def retransmitted(transfer: Transfer) -> list[Found]:
    """Return the share of retransmitted segments. Isolated loss is at most this share, because some retransmissions
    repair drops at queues."""
    key = "residual_loss" if transfer.way == "down" else "residual_loss_up"
    segments = transfer.rate_bps * transfer.length_ns / 8e9 / SEGMENT_BYTES
    if segments.sum() < _FEWEST_SEGMENTS:
        return [Untold(key, f"{segments.sum():.0f} segments were carried, which are too few")]
    if np.isnan(transfer.retransmissions).all():
        if transfer.all_retransmissions is None:
            return []
        note = f"{transfer.all_retransmissions} {_BOUND}; no interval, for the file has their sum alone"
        ratio_of_all = min(transfer.all_retransmissions / float(segments.sum()), 1.0)
        return [Estimate(key, ratio_of_all, None, None, round(float(segments.sum())), "segments", note)]
    told = ~np.isnan(transfer.retransmissions)
    table = np.column_stack([transfer.retransmissions[told], segments[told]])
    whole = max(round(1e9 / float(np.median(transfer.length_ns))), 1)
    # Losses come in bursts, so whole seconds are resampled instead of single intervals.
    seconds = np.add.reduceat(table, np.arange(0, len(table), whole), axis=0)

    def ratio(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(drawn[:, 0].sum() / max(drawn[:, 1].sum(), 1.0))

    low, high = (float(end) for end in resampled(seconds, ratio))
    count, total = table.sum(axis=0)
    # A segment may be retransmitted several times, so retransmissions may outnumber the segments that arrived.
    least, most = share_interval(min(int(count), int(total)), int(total))
    low, high = max(min(low, least), 0.0), min(max(high, most), 1.0)
    note = f"{int(count)} {_BOUND}"
    return [Estimate(key, min(float(ratio(seconds)), 1.0), low, high, round(float(total)), "segments", note)]


def _by_slot(slot: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.bincount(slot, weights=flags.astype(np.float64)).astype(np.float64)
