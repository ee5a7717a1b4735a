# SPDX-License-Identifier: Apache-2.0
"""Repeats the study's sessions over a replay of a recorded dish, which replaces the profile.

The recording is divided into windows, each as long as a session of the study. The study uses different windows instead
of different seeds. In each window, all variants run over the same part of the recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leowarp import Run, ScenarioError
from leowarp.base.units import TIME
from leowarp.study import parts as study_parts
from leowarp.study.parts import Part
from leowarp.timeline.recordings import Measurement, Schedule, describe, read_capacity
from leowarp.timeline.recordings import read as read_delays
from leowarp_studies.huston2024 import results
from leowarp_studies.huston2024.groups import DURATION_S, PEAK, content
from leowarp_studies.huston2024.traces import Trace, trace_of
from leowarp_studies.huston2024.variants import (
    BBR3,
    BBR3_KERNEL,
    BESIDE,
    BY_NAME,
    CURES,
    MAIN,
    PROPOSALS,
    Variant,
    in_step,
)

SCENARIO = "measured-path.toml"
LINK = ("r0", "r1")
"""The two nodes of the link whose capacity is the replay's downlink capacity."""
S = 1_000_000_000
MOST_WINDOWS, QUICK_WINDOWS = 20, 2
SPARE_NS = 2 * S
"""The recording must continue for this time in ns after the last window. Packets sent at the window's end still need a
path."""

OTHERS = ("cubic-fq_codel", "cubic-nosack", "reno-nosack", "bbr-nosack", "cubic-fq", "reno-fq")
SESSIONS, BESIDE_GROUP, BBR3_SESSIONS, BBR3_BESIDE = "replay", "replay-beside", "replay-bbr3", "replay-bbr3-beside"
FRAMES = ("sessions", "traces", "beside", "bbr3", "aware")
"""The data sets that exist for claims if the sessions run over a recording."""
NOT_ASKED = "over a recording the claims about TCP are judged, and not those that need the profile or two hours of it"


@dataclass(frozen=True)
class Recording:
    """A recorded path.

    path, capacity: The file with the delays, and the file with the capacity, if it is a separate file.
    starts_ns: The start of each window on the recording's clock.
    schedule: The schedule of the reconfigurations in the recording, or None if no period was found.
    """

    path: Path
    capacity: Path | None
    starts_ns: tuple[int, ...]
    schedule: Schedule | None

    @property
    def name(self) -> str:
        """Return the name with which the recording appears in the list of samples."""
        return f"the recording {self.path.name}"

    def changes_ns(self, start_ns: int) -> np.ndarray:
        """For the window that begins at `start_ns`, return the times of the reconfigurations on the run's clock."""
        if self.schedule is None:
            return np.zeros(0, dtype="int64")
        return self.schedule.instants_ns(start_ns, start_ns + DURATION_S * S) - start_ns

    def phase_ns(self, start_ns: int) -> int:
        """For the window that begins at `start_ns`, return the time of the first reconfiguration on the run's clock."""
        assert self.schedule is not None, "handover-aware variants need a schedule"
        return (self.schedule.phase_ns - start_ns) % self.schedule.period_ns


def read(path: Path | str, capacity: Path | str | None) -> Recording:
    """Read a recording, divide it into windows, and search for its schedule.

    Raises ScenarioError if the recording has no capacity, or if it is shorter than a session.
    """
    path, capacity = Path(path), None if capacity is None else Path(capacity)
    found = read_delays(path)
    if found.capacity_down is None and capacity is None:
        raise ScenarioError(
            f"reproducing huston2024 over {path}: it does not say what the path could carry",
            hint="add --capacity FILE: a CSV table with t_s, rate_mbps, or a Mahimahi trace",
        )
    first_ns, last_ns = _span_ns(found)
    if capacity is not None:
        last_ns = min(last_ns, read_capacity(capacity)[0].end_ns)
    room_ns = last_ns - first_ns - SPARE_NS
    count = min(room_ns // (DURATION_S * S), MOST_WINDOWS)
    if count < 1:
        raise ScenarioError(
            f"reproducing huston2024 over {path}: it lasts {TIME.format(max(last_ns - first_ns, 0))}, and a session "
            f"{DURATION_S} s",
            hint=f"record {DURATION_S + SPARE_NS // S} s or more",
        )
    starts = tuple(first_ns + number * DURATION_S * S for number in range(count))
    return Recording(path.resolve(), capacity and capacity.resolve(), starts, describe(found).schedule)


def capacity_alone() -> ScenarioError:
    """Return the error for a capacity file without a recording."""
    return ScenarioError("--capacity says what a recording could carry, and none is given", hint="add --path FILE")


def _span_ns(found: Measurement) -> tuple[int, int]:
    """Return the start and end, in ns, of the time for which all series have values. The start is rounded up to a whole
    second."""
    series = [one for one in found.series.values() if len(one)]
    if not series:
        raise ScenarioError(f"reproducing huston2024 over {found.source}: it has no delays")
    first_ns = max(int(one.t_ns[0]) for one in series)
    # Between the two returned times, every series has values.
    return -(-first_ns // S) * S, min(int(one.t_ns[-1]) for one in series)


def parts(recording: Recording, *, bbr3: bool) -> tuple[Part, ...]:
    """Return all groups of runs for a recording. If the recording has no schedule, groups that need one are left
    out."""
    wanted = (*MAIN, *CURES, *PROPOSALS, *(BY_NAME[name] for name in OTHERS))
    if recording.schedule is None:
        wanted = tuple(variant for variant in wanted if not variant.congestion_control.endswith("_handover"))
    found = [
        _part(recording, SESSIONS, "sessions over the recording", wanted, beside=False),
        _part(recording, BESIDE_GROUP, "each beside one CUBIC flow", MAIN, beside=True),
    ]
    if bbr3 and recording.schedule is not None:
        newer = [
            _part(recording, BBR3_SESSIONS, "BBR version 3", BBR3, beside=False),
            _part(recording, BBR3_BESIDE, "BBR version 3 beside CUBIC", BBR3, beside=True),
        ]
        for part in newer:
            part.content["set"]["guest.kernel"] = BBR3_KERNEL
        found += newer
    return tuple(found)


def _part(recording: Recording, name: str, why: str, variants: Sequence[Variant], *, beside: bool) -> Part:
    """Return a group of runs, with one run for each variant in each window of the recording."""
    made = content(name, SCENARIO, {}, 1)
    made["set"] |= {
        "run.duration": f"{DURATION_S} s", "measured.file": str(recording.path), "measured.queue": "5000 pkts",
        # The user's host measured the delays, so the recording contains the delays of the whole path. In gaps of the
        # recording, the last measured values remain valid.
        "measured.rtt_from": "B", "measured.gaps": "hold",
        "observe.sockets": "20 ms", "observe.queues": "none", "observe.packets": "none",
    }  # fmt: skip
    if recording.capacity is not None:
        made["set"]["measured.capacity"] = str(recording.capacity)
    if beside:
        made["set"] |= {"flows.1.kind": "tcp", "flows.1.source": "A", "flows.1.destination": "B",
                        "flows.1.congestion_control": BESIDE}  # fmt: skip
    else:
        made["keep"] = {"runs": "all"}
    starts = [TIME.format(start_ns) for start_ns in recording.starts_ns]
    windows: dict[str, Any] = {"run.start": {"label": "start", "values": starts}}
    if recording.schedule is not None:
        # Every run sets the schedule in both congestion control modules, whichever module its flow uses.
        for module in ("bbr_handover", "cubic_handover"):
            made["set"][f"modules.{module}.period_ns"] = TIME.format(recording.schedule.period_ns)
            windows[f"modules.{module}.phase_ns"] = [
                TIME.format(recording.phase_ns(start_ns)) for start_ns in recording.starts_ns
            ]
    stepped = {key.replace("access.", "measured.", 1): values for key, values in in_step(variants).items()}
    made["together"] = [stepped, windows]
    few = set(starts[:QUICK_WINDOWS])
    return Part(name, why, made, len(variants) * len(starts), lambda values, seed: values["run.start"] in few)


def frames(recording: Recording, rows: Mapping[str, pd.DataFrame], folder: Path) -> tuple[dict[str, Any], Run | None]:
    """Return a dict from the names that claims use to the data sets. The column `seed` contains the number of the
    window. The only preset is called peak.

    Returns frames: The data sets of `FRAMES` that have runs.
    Returns view: One of the runs.
    """
    numbered = {name: _numbered(recording, mine) for name, mine in rows.items()}
    traces: dict[tuple[str, str], list[Trace]] = {}
    views = []
    for name in (SESSIONS, BBR3_SESSIONS):
        for row in numbered.get(name, pd.DataFrame()).to_dict("records"):
            views.append(Run(folder / name / "runs" / row["run_id"], complete=False))
            trace = trace_of(
                views[-1], link=LINK, changes_ns=recording.changes_ns(int(row["start_ns"])), seed=row["seed"]
            )
            traces.setdefault((row["name"], PEAK), []).append(trace)
    sessions = results.joined(
        [results.sessions(numbered[name]) for name in (SESSIONS, BBR3_SESSIONS) if name in numbered]
    )
    found: dict[str, Any] = {
        "sessions": sessions,
        "beside": results.joined(
            [results.beside(numbered[name]) for name in (BESIDE_GROUP, BBR3_BESIDE) if name in numbered]
        ),
        "aware": sessions[sessions["variant"].str.contains("_handover")],
    }
    if BBR3_SESSIONS in numbered:
        found["bbr3"] = sessions[sessions["variant"].isin([variant.name for variant in BBR3])]
    # Claims compare the three congestion controls with each other, so either all three are included or none.
    if all(traces.get((variant.name, PEAK)) for variant in MAIN):
        found["traces"] = traces
    return {name: frame for name, frame in found.items() if len(frame)}, next(iter(views), None)


def _numbered(recording: Recording, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the successful rows. The column `seed` is the number of the window, from 1."""
    good = rows[rows["status"] == "ok"]
    window = {start_ns: number for number, start_ns in enumerate(recording.starts_ns, 1)}
    return good.assign(seed=good["start_ns"].map(window)).sort_values("seed", kind="stable")


def skipped(recording: Recording) -> dict[str, str]:
    """Return the names of the data sets that are missing because the recording has no schedule, each with the
    reason."""
    if recording.schedule is not None:
        return {}
    why = f"no period is found in {recording.name}, so that there is no schedule to be aware of"
    return {"aware": why, "bbr3": why}


def warnings(recording: Recording, rows: Mapping[str, pd.DataFrame], *, quick: bool) -> list[str]:
    """Return texts for the top of the page."""
    shown = "no reconfigurations are found in it" if recording.schedule is None else (
        f"it is reconfigured every {recording.schedule.period_ns / 1e9:.2f} s, as found in it"
    )  # fmt: skip
    sentences = [
        f"sessions over a replay of {recording.name}, in windows of {DURATION_S} s ({len(recording.starts_ns)}) that "
        f"stand where seeds stand in the texts; {shown}; the one hour of the recording is called peak",
        *skipped(recording).values(),
    ]
    if quick:
        sentences.append(f"quick: {QUICK_WINDOWS} windows: a look, and an interval of 2 values is none")
    return [*dict.fromkeys(sentences), *study_parts.warnings_said(rows)]
