# SPDX-License-Identifier: Apache-2.0
"""Experiments with parts that a fitted profile lacks. Each experiment is about one part, and computes distances from
the second half of a public recording.

    PYTHONPATH=tests python design/missing-parts.py pings [NAME...] [--recordings FOLDER]
    PYTHONPATH=tests python design/missing-parts.py transfers [NAME...] [--recordings FOLDER] [--validation validation]

Pings: the profile is fitted to the first half of the recording, as in `leowarp validate`. One part of the profile is
changed. Probes are then sent over the profile's tables, at the times of the recording. No guest runs. Transfers: the
guest runs a scenario with changed keys. The scenario is the `fitted-run.toml` that `leowarp validate NAME` left in its
folder. The samples of four seeds are combined (pings), or the samples of two runs (transfers). A single run has few
slots, so its samples alone are too noisy.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from leowarp.fitting import Fit, fit
from leowarp.fitting.fit import _start, _values
from leowarp.guest.building.cache import cache_place
from leowarp.media.access.probes import pings
from leowarp.running.one import run
from leowarp.scenario import plan_of
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings import describe, read
from leowarp.timeline.recordings.measurement import Measurement, Series
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.timeline.recordings.period.spikes import find_spikes
from leowarp.validation import PUBLIC
from leowarp.validation.halves import halves
from leowarp.validation.made import printed_ns, transfer_of
from leowarp.validation.quantities import (
    ABOVE,
    DIFFERENCES,
    GOODPUT,
    RETRANSMISSIONS,
    SPIKES,
    STEPS,
    TCP_RTT,
    Samples,
    of_probes,
    of_transfer,
)  # fmt: skip
from support.probes import profile_for

PINGS = ("starlink-victoria-1", "starlink-victoria-5", "starlink-seattle", "starlink-lagos", "starlink-bad-sky")
QUANTITIES = (DIFFERENCES, STEPS, ABOVE, SPIKES)
SEEDS = range(1, 5)
NEAR_NS = 1_000_000_000
TRANSFERS: dict[str, Sequence[Sequence[str]]] = {
    "starlink-cubic": (["access.loss_burst=1 ms"], ["access.loss_burst=2 ms"]),
    "starlink-cubic-up": (["access.loss_burst=2 ms"],),
    "starlink-cubic-up-lasers": (
        ["access.loss_burst=6 ms", "access.server_delay=43 ms"], ["access.server_delay=43 ms"],
    ),
}  # fmt: skip
RUN_SEEDS = (1, 2)


def recording(name: str, folder: Path) -> Measurement | None:
    """Return a public recording. If the folder does not contain the recording, print a line and return None."""
    public = PUBLIC[name]
    path = public.found(folder)
    if path is None:
        print(f"{name}: skipped, {public.command(folder)}")
        return None
    measurement = read(path, columns=public.columns)
    return measurement.as_sent() if public.received else measurement


def keys_of(fitted: Fit) -> dict[str, Any]:
    """Return the fitted scenario keys as attributes of `Access`."""
    found = _values([one for one, _ in fitted.chosen.values() if not isinstance(one.value, tuple)], ("",))
    bases = fitted.chosen["base_rtts"][0].value
    assert isinstance(bases, tuple)
    return found | {"base_rtts": tuple(f"{base_ns / 1e6:.6f} ms" for base_ns in bases)}


def walked(t_ns: Any, keys: dict[str, Any]) -> Samples:
    """Send probes at these times over profiles with these scenario keys. Return the samples of all seeds together."""
    found: list[Samples] = []
    for seed in SEEDS:
        profile = profile_for(t_ns[-1] / 60e9 + 0.1, seed, **keys)
        access = Access(**keys)
        schedule = Schedule(access.period_ns, access.phase_ns % access.period_ns)
        found.append(of_probes(Series.of(t_ns, printed_ns(pings(profile, t_ns, seed))), schedule))
    return {name: np.concatenate([one[name] for one in found]) for name in QUANTITIES}


def distances(one: Samples, other: Samples) -> str:
    """Return the cells of a row of the table."""
    return " | ".join(
        f"{ks_2samp(one[name], other[name]).statistic:.3f}" if min(len(one[name]), len(other[name])) >= 8 else ""
        for name in QUANTITIES
    )


def longer_holds(series: Series, schedule: Schedule, keys: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two sets of keys. In the first set, a hold is as long as the highest spikes at reconfigurations. The
    second set has stalls. They reproduce the spikes that are not near a reconfiguration."""
    spikes = find_spikes(series)
    heights_ns = np.array([spike.height_ns for spike in spikes], dtype=np.float64)
    near = schedule.distance_ns(np.array([spike.t_ns for spike in spikes], dtype=np.int64)) <= NEAR_NS
    holds = {"handover_min_ns": 0, "handover_max_ns": round(np.quantile(heights_ns[near], 0.95))}
    away_ns = heights_ns[~near]
    # A probe meets a stall if the stall lasts until the next probe is sent. The share of stalls that a probe meets is
    # therefore the stall's length divided by the interval, and at most 1.
    met = min(float(np.median(away_ns)) / float(series.interval_ns or 1), 1.0)
    lengths = tuple(f"{each / 1e6:.1f} ms" for each in np.quantile(away_ns, np.linspace(0.0, 1.0, 11)))
    return holds, {"stall_every_ns": round(float(series.t_ns[-1]) / len(away_ns) * met), "stalls": lengths}


def of_pings(name: str, folder: Path) -> None:
    whole = recording(name, folder)
    if whole is None:
        return
    first, second = halves(whole)
    assert first.round_trip is not None and second.round_trip is not None and whole.round_trip is not None  # noqa: PT018
    schedule = describe(whole).schedule
    assert schedule is not None
    zero_ns = int(whole.round_trip.t_ns[-1] - second.round_trip.t_ns[-1])
    later = Schedule(schedule.period_ns, (schedule.phase_ns - zero_ns) % schedule.period_ns)
    before, recorded = of_probes(first.round_trip, schedule), of_probes(second.round_trip, later)
    base = dataclasses.asdict(_start("starlink"))
    keys = {name: base[name] for name in ("residual_loss_ratio", "residual_loss_up_ratio")} | keys_of(fit([first]))
    others = keys_of(fit([second]))
    level = float(np.median(recorded[ABOVE]) / np.median(before[ABOVE]))
    drift = {key: round(keys[key] * level) for key in ("jitter_ns", "jitter_up_ns")}
    bases = {key: others[key] for key in ("base_rtts", "base_kept_ratio")}
    holds, stalls = longer_holds(first.round_trip, schedule, keys)
    t_ns = second.round_trip.t_ns
    for lab, series, of in (("first", first.round_trip, schedule), ("second", second.round_trip, later)):
        spikes = find_spikes(series)
        near = of.distance_ns(np.array([spike.t_ns for spike in spikes], dtype=np.int64)) <= NEAR_NS
        print(
            f"{name}, {lab} half: {near.sum()} of {len(spikes)} spikes within 1 s of a reconfiguration, by chance "
            f"{2 * NEAR_NS / of.period_ns:.0%}"
        )
    print(f"level {level:.2f}, holds {holds}, stalls {stalls['stall_every_ns'] / 1e9:.1f} s")
    print("| | " + " | ".join(QUANTITIES) + " |\n|---|" + "---:|" * len(QUANTITIES))
    print(f"| floor | {distances(before, recorded)} |")
    print(f"| fitted, from the half it was fitted to | {distances(walked(first.round_trip.t_ns, keys), before)} |")
    for label, changed in (
        ("fitted", {}),
        ("one jitter for all slots, without a tail", {"jitter_spread_ratio": 0.0, "jitter_up_shape": "uniform"}),
        ("jitter at the level of the second half", drift),
        ("bases of the second half", bases),
        ("bases and level of the second half", bases | drift),
        ("holds as long as spikes at reconfigurations", holds),
        ("holds, bases and level of the second half", bases | drift | holds),
        ("holds, and stalls like the spikes elsewhere", holds | stalls),
        ("stalls alone", stalls),
        # The table of frames is long: 750 rows per second.
        *([("frame_steps = 8", {"frame_steps": 8})] if t_ns[-1] < 1e12 else ()),
    ):
        made = walked(t_ns, keys | changed)
        print(f"| {label} | {distances(made, recorded)} | {len(made[SPIKES]) // len(SEEDS)} spikes", flush=True)


def of_transfers(name: str, folder: Path, validation: Path) -> None:
    whole = recording(name, folder)
    if whole is None:
        return
    held = halves(whole)[1].transfer
    assert held is not None
    recorded = of_transfer(held)
    _transfer_row(name, "recorded", recorded, recorded)
    for keys in TRANSFERS[name]:
        found: list[Samples] = []
        for seed in RUN_SEEDS:
            plan = plan_of(validation / name / "fitted-run.toml", [*keys, f"run.seed={seed}"])
            with tempfile.TemporaryDirectory() as place:
                result = run(plan, (), Path(place) / "run", report=False, progress=False)
                found.append(of_transfer(transfer_of(result, held.way)))
        each = [ks_2samp(one[GOODPUT], recorded[GOODPUT]).statistic for one in found]
        together = {quantity: np.concatenate([one[quantity] for one in found]) for quantity in found[0]}
        _transfer_row(name, ", ".join(keys) or "fitted", together, recorded, len(found))
        line = f"    each seed: {', '.join(f'{one:.3f}' for one in each)}"
        if held.way == "up":
            counted = [in_pieces(one[GOODPUT], recorded[GOODPUT]) for one in found]
            apart = [ks_2samp(one, recorded[GOODPUT]).statistic for one in counted]
            line += f"; in the pieces in which the recording counts: {np.mean(apart):.3f}"
        print(line, flush=True)


def in_pieces(goodput: Any, recorded: Any) -> Any:
    """Return the goodput as iperf3 would report it. iperf3 counts only whole pieces that it has written. The size of a
    piece is the most frequent value in the recording."""
    values, counts = np.unique(recorded[recorded > 0].round(2), return_counts=True)
    piece = float(values[np.argmax(counts)])
    return np.diff(np.floor(np.cumsum(goodput) / piece) * piece, prepend=0.0)


def _transfer_row(name: str, label: str, made: Samples, recorded: Samples, runs: int = 1) -> None:
    low, middle, high = np.quantile(made[GOODPUT], (0.1, 0.5, 0.9))
    again = f"{made[RETRANSMISSIONS].sum() / runs:,.0f}" if RETRANSMISSIONS in made else ""
    tcp = f"{ks_2samp(made[TCP_RTT], recorded[TCP_RTT]).statistic:.3f}" if TCP_RTT in recorded else ""
    apart = ks_2samp(made[GOODPUT], recorded[GOODPUT]).statistic
    print(
        f"| {name} | {label} | {made[GOODPUT].mean():.1f}; {low:.1f}, {middle:.1f}, {high:.1f} | {again} | {apart:.3f} "
        f"| {tcp} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("pings", "transfers"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--recordings", type=Path, default=cache_place() / "recordings")
    parser.add_argument("--validation", type=Path, default=Path("validation"))
    options = parser.parse_args()
    for name in options.names or (PINGS if options.kind == "pings" else TRANSFERS):
        if options.kind == "pings":
            of_pings(name, options.recordings)
        else:
            of_transfers(name, options.recordings, options.validation)


if __name__ == "__main__":
    main()
