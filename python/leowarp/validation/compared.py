# SPDX-License-Identifier: Apache-2.0
"""Compare recordings with the guest. The result has distances and a verdict for each quantity (`validate(recordings,
folder)`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from leowarp.base.errors import LeowarpError, ScenarioError
from leowarp.fitting import Fit, fit, preset_text
from leowarp.timeline.recordings import describe, read
from leowarp.timeline.recordings.measurement import Measurement
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.validation.halves import halves
from leowarp.validation.made import PRESET, media_of, samples_of
from leowarp.validation.public import PUBLIC
from leowarp.validation.quantities import Samples, of_probes, of_transfer

LIMIT_RATIO = 0.15
"""The maximum Kolmogorov-Smirnov distance from the recording at which a fitted profile counts as valid."""

FEWEST = 8
"""The minimum number of samples for a meaningful distance."""

QUANTILES = (0.1, 0.5, 0.9)

_MISSING = {
    "spikes": "how long handovers hold, which probes 0.1 s apart and more do not show, and how the jitter drifts",
    "|dRTT|": "how the jitter drifts: a profile has one level, with one spread over its slots",
    "RTT steps": "how bases drift: a profile keeps a base or draws anew from one distribution",
    "goodput": "the capacity, and how long a burst of loss lasts: a transfer bounds the first and hints at the second",
}


@dataclass(frozen=True)
class Row:
    """A quantity of a recording's second half, compared with the same quantity in the guest.

    count: The number of samples in the recording's second half.
    quantiles: The `QUANTILES` of the recording's second half, and of each medium. They are empty without samples.
    distances: The Kolmogorov-Smirnov distance between each medium and the recording's second half.
    floor: The same distance between the first half, to which the profile was fitted, and the second half.
    noise: If both sample sets come from one distribution, the distance exceeds this value by chance in 5 of 100 cases.
    """

    quantity: str
    count: int
    quantiles: Mapping[str, tuple[float, ...]]
    distances: Mapping[str, float]
    floor: float | None
    noise: float
    verdict: str


@dataclass(frozen=True)
class Validated:
    """A comparison of a recording with the guest. `samples` are those of the recording and of each medium."""

    name: str
    source: str
    rows: tuple[Row, ...]
    fit: Fit | None
    notes: tuple[str, ...]
    samples: Mapping[str, Samples] = field(repr=False)


@dataclass(frozen=True)
class Skipped:
    """A recording that was not compared. `fetch` is the command that fetches it."""

    name: str
    why: str
    fetch: str | None


@dataclass(frozen=True)
class _Given:
    name: str
    link: str
    measurement: Measurement
    profile: str


def validate(
    recordings: Sequence[str],
    folder: Path,
    *,
    recordings_folder: Path,
    columns: tuple[str, ...] | None = None,
    received: bool = False,
    interval_ns: int | None = None,
    profile: str = "starlink",
    longest_ns: int | None = None,
    seed: int = 1,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Validated | Skipped]:
    """Compare the second halves of recordings with the same measurement in the guest.

    The measurement is repeated over three paths: a replay of the second half, the profile fitted to the first half, and
    the default profile.

    recordings: The files, or the names of public recordings in `PUBLIC`.
    folder: The folder for the results. Each recording gets a subfolder with scenarios and runs.
    recordings_folder: The folder that is searched for public recordings.
    columns: The columns of files without a header.
    received: If true, the times in files without a header are the times at which replies arrived.
    interval_ns: The interval between the lines of files that do not contain times.
    profile: The profile with which files are compared. Public recordings name theirs.
    longest_ns: The maximum duration of each simulated run. The default is the duration of the recording.
    tell: The function that is called with a line of text before each step.
    Returns: The comparisons in the order of `recordings`. A missing or unusable recording is `Skipped` with the reason.
    """
    given: list[_Given | Skipped] = [
        _read(one, recordings_folder, columns, received, interval_ns, profile) for one in recordings
    ]
    by_link: dict[str, list[Measurement]] = {}
    for one in given:
        if isinstance(one, _Given):
            by_link.setdefault(one.link, []).append(one.measurement)
    found: list[Validated | Skipped] = []
    for one in given:
        if isinstance(one, Skipped):
            found.append(one)
            continue
        tell(f"{one.name}: fitting, then runs in the guest")
        # A transfer is compared with a fit to all recordings of its link, and probes with a fit to these alone.
        of_link = by_link[one.link] if one.measurement.transfer is not None else [one.measurement]
        try:
            found.append(_compared(one, of_link, folder / one.name, longest_ns, seed))
        except LeowarpError as error:
            found.append(Skipped(one.name, _why(error), None))
    return found


def _read(
    recording: str, folder: Path, columns: tuple[str, ...] | None, received: bool, interval_ns: int | None, profile: str
) -> _Given | Skipped:
    public = PUBLIC.get(recording)
    try:
        if public is None:
            path = Path(recording)
            if not path.is_file():
                why = "there is no such file, and no public recording of this name (leowarp validate --list)"
                return Skipped(recording, why, None)
            name, link = path.stem, "given"
        else:
            path = folder / public.file_name
            if public.found(folder) is None:
                why = f"{path} has another content than sha256 {public.sha256}" if path.is_file() else "not fetched"
                return Skipped(public.name, why, public.command(folder))
            name, link, profile = public.name, public.link, public.profile
            columns, received, interval_ns = public.columns, public.received, None
        measurement = read(path, interval_ns=interval_ns, columns=columns)
        return _Given(name, link, measurement.as_sent() if received else measurement, profile)
    except LeowarpError as error:
        return Skipped(Path(recording).stem, _why(error), None)


def _why(error: LeowarpError) -> str:
    return error.message if error.hint is None else f"{error.message} ({error.hint})"


def _compared(
    given: _Given, of_link: Sequence[Measurement], folder: Path, longest_ns: int | None, seed: int
) -> Validated:
    notes = list(given.measurement.notes)
    schedule: Schedule | None = None
    if given.measurement.transfer is not None:
        learned, held = halves(given.measurement)
        assert learned.transfer is not None
        assert held.transfer is not None
        before, recorded = of_transfer(learned.transfer), of_transfer(held.transfer)
        span_ns = int(held.transfer.t_ns[-1] + held.transfer.length_ns[-1])
        notes.append("a transfer has no replay: what it got is no capacity")
        if given.measurement.transfer.all_retransmissions is not None:
            notes.append("the share that was sent again is that of both halves: the file has their sum")
    else:
        series = given.measurement.round_trip
        if series is None:
            raise ScenarioError(f"{given.measurement.source}: neither round trips nor a transfer to compare")
        learned, held = halves(given.measurement)
        assert learned.round_trip is not None
        assert held.round_trip is not None
        few = min(len(learned.round_trip), len(held.round_trip))
        if few < FEWEST:
            raise ScenarioError(
                f"{given.measurement.source}: {few} round trips in a half of its time, and {FEWEST} are the fewest",
                "a ping of four minutes and more can be compared",
            )
        # The schedule contains none of the compared quantities, so it is found from the complete recording.
        schedule = describe(given.measurement).schedule
        zero_ns = int(series.t_ns[-1] - held.round_trip.t_ns[-1])
        before = of_probes(learned.round_trip, schedule)
        if schedule is None:
            notes.append("nothing in it keeps a schedule: there are no slots to compare, and no profile is fitted")
        else:
            schedule = Schedule(schedule.period_ns, (schedule.phase_ns - zero_ns) % schedule.period_ns)
        recorded = of_probes(held.round_trip, schedule)
        # The run ends with the last probe, because the replay ends there.
        span_ns = int(held.round_trip.t_ns[-1])
    folder.mkdir(parents=True, exist_ok=True)
    fitted: Fit | None = None
    try:
        fitted = fit([learned if one is given.measurement else one for one in of_link])
        (folder / PRESET).write_text(preset_text(fitted), encoding="utf-8")
    except LeowarpError as error:
        notes.append(f"the first half: {error.message}")
    duration_ns = min(span_ns, longest_ns) if longest_ns is not None else span_ns
    samples: dict[str, Samples] = {"recording": recorded}
    for name, medium in media_of(held, folder, given.profile).items():
        if name == "fitted" and fitted is None:
            continue
        samples[name] = samples_of(held, medium, name, folder, schedule=schedule, duration_ns=duration_ns, seed=seed)
    rows = tuple(
        _row(quantity, {name: each.get(quantity, np.empty(0)) for name, each in samples.items()},
             before.get(quantity, np.empty(0)))
        for quantity in recorded
    )  # fmt: skip
    return Validated(given.name, given.measurement.source, rows, fitted, tuple(notes), samples)


def _row(quantity: str, samples: Mapping[str, NDArray[np.float64]], before: NDArray[np.float64]) -> Row:
    recorded = samples["recording"]
    distances = {
        name: float(ks_2samp(recorded, values).statistic)
        for name, values in samples.items()
        if name != "recording" and len(recorded) >= FEWEST and len(values) >= FEWEST
    }
    floor = None
    if min(len(before), len(recorded)) >= FEWEST:
        floor = float(ks_2samp(before, recorded).statistic)
    quantiles = {
        name: tuple(np.quantile(values, QUANTILES).tolist()) if len(values) else () for name, values in samples.items()
    }
    count = len(recorded)
    other = len(samples.get("fitted", samples.get("default", recorded)))
    # 1.358 sqrt((n + m) / (n m)) is the distance that two samples of one distribution exceed in 5 % of cases (Smirnov).
    noise = 1.358 * float(np.sqrt((count + other) / (count * other))) if count and other else 1.0
    verdict = _verdict(quantity, samples, distances, floor, noise)
    return Row(quantity, count, quantiles, distances, floor, min(noise, 1.0), verdict)


def _verdict(
    quantity: str, samples: Mapping[str, NDArray[np.float64]], distances: Mapping[str, float], floor: float | None,
    noise: float,
) -> str:  # fmt: skip
    counts = {name: len(values) for name, values in samples.items()}
    judged = "fitted" if "fitted" in samples else "default"
    if judged not in distances:
        made = counts.get(judged, 0)
        return f"not compared: {counts['recording']} in the recording, {made} over the {judged} profile"
    distance, fewest = distances[judged], min(counts["recording"], counts[judged])
    if distance <= LIMIT_RATIO:
        few = f"; {fewest} samples may be {noise:.2f} apart by chance" if noise > LIMIT_RATIO else ""
        return f"holds ({judged}){few}"
    if floor is not None and distance <= floor:
        return f"no further than the recording's halves from each other ({judged})"
    if distance <= noise:
        return f"cannot tell: {fewest} samples are too few to tell this from noise ({judged})"
    beyond = ""
    if floor is not None and floor > LIMIT_RATIO:
        beyond = f"; the halves are {floor:.3f} apart, so that a perfect copy of the first would miss the limit as well"
    missing = next((why for name, why in _MISSING.items() if quantity.startswith(name)), "")
    return f"differs ({judged})" + (f"; {missing}" if missing else "") + beyond
