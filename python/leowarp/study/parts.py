# SPDX-License-Identifier: Apache-2.0
"""The groups of runs of a reproduced study: made by the study engine, with their costs."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp.base import recorded
from leowarp.base.errors import LeowarpError, TraceError
from leowarp.base.progress import clock
from leowarp.report import html
from leowarp.study.making import Making
from leowarp.study.sweep import StudyFile, run_study

COST = "cost.json"
"""Wall-clock seconds of all starts, by group."""
MOST_WARNINGS = 8
"""Warnings that a page repeats; a study of thousands of runs has the same few thousands of times."""


@dataclass(frozen=True)
class Part:
    """A group of runs, as the study engine takes it.

    name: Of the group, and of its directory.
    content: A study file's content.
    runs: How many it has.
    in_quick: `in_quick(values, seed)`: whether a quick reproduction makes the run with these values (keys of the
        scenario, as written). Those runs are the same ones: a full one later keeps them.
    """

    name: str
    why: str
    content: dict[str, Any]
    runs: int
    in_quick: Callable[[Mapping[str, Any], int], bool]


def made(
    parts: Sequence[Part], making: Making, *, quick: bool, scheduler: str | None
) -> tuple[dict[str, pd.DataFrame], dict[str, LeowarpError]]:
    """Each group's rows, and the failures among them by `<group>/<run id>`.

    Parameters
    ----------
    parts : sequence of Part
        Made in this order, each in a directory of its own.
    making : Making
    quick : bool
        Whether only the runs of `Part.in_quick` are asked for.
    scheduler : str, optional
        Address of a Dask scheduler whose workers make the runs.

    Returns
    -------
    rows : dict of str to DataFrame
        By group, a row for each run that was asked for, failed ones included; columns as docs/guides/studies.md lists
        them.
    failures : dict of str to LeowarpError
    """
    rows: dict[str, pd.DataFrame] = {}
    failures: dict[str, LeowarpError] = {}
    for part in parts:
        rows[part.name], failed = _made(part, making, quick=quick, scheduler=scheduler)
        failures |= failed
    return rows, failures


def first_failure(failures: Mapping[str, LeowarpError], groups: Collection[str]) -> LeowarpError:
    """Why a data set that is made of these groups of runs is missing: the first failure of one of their runs.

    failures: As `made` gives them, by `<group>/<run id>`.
    groups: Names of groups.
    Returns: Not raised. If no run of them failed, it says that what they gave is not enough.
    """
    for key, error in failures.items():
        if key.partition("/")[0] in groups:
            return error
    return TraceError(f"no run of {', '.join(groups)} failed, but together they lack something that is judged")


def missing(
    claim_frames: Mapping[str, Collection[str]], frames: Collection[str], failures: Mapping[str, LeowarpError]
) -> dict[str, LeowarpError]:
    """Why data sets that claims name are not there, so that such a claim reads "cannot be told" and says why.

    claim_frames: Data sets that claims name, and the groups of runs that each is made of.
    frames: Those that are there.
    failures: As `made` gives them.
    Returns: By name of the data set.
    """
    return {name: first_failure(failures, groups) for name, groups in claim_frames.items() if name not in frames}


def _made(
    part: Part, making: Making, *, quick: bool, scheduler: str | None
) -> tuple[pd.DataFrame, dict[str, LeowarpError]]:
    """A group's rows, and its failures by `<group>/<run id>`; runs that failed before are tried again."""
    folder = making.folder / part.name
    # The whole group, as its rows are one data set.
    if making.force and folder.exists():
        shutil.rmtree(folder)
    content = dict(part.content)
    # As a key of the runs' plans, so that rows made with another kernel are not taken for these. A group that names a
    # kernel is about that kernel and keeps it.
    if making.kernel is not None:
        content["set"] = {"guest.kernel": str(making.kernel), **content.get("set", {})}
    # The monotonic clock: a step of the wall clock is no cost.
    started = time.monotonic()
    # retry_failed: a reproduction is started again in order to be whole.
    done = run_study(
        StudyFile.of(content), folder, at_once=making.at_once, scheduler=scheduler, progress=making.progress,
        only=(lambda run: part.in_quick(run.values, run.seed)) if quick else None, retry_failed=True,
    )  # fmt: skip
    _note_cost(making.folder, part.name, time.monotonic() - started)
    failed = {f"{part.name}/{run_id}": error for run_id, error in done.failures.items()}
    return done.table().to_pandas(), failed


def warnings_said(rows: Mapping[str, pd.DataFrame]) -> list[str]:
    """Warnings of the runs themselves, each text once, the most frequent first."""
    said = Counter(text for part in rows.values() for texts in part["warnings"] for text in texts)
    sentences = [f"{text} ({count} runs)" for text, count in said.most_common(MOST_WARNINGS)]
    if len(said) > MOST_WARNINGS:
        sentences.append(f"{len(said) - MOST_WARNINGS} further kinds of warnings: column `warnings` of the data sets")
    return sentences


def _note_cost(folder: Path, part: str, wall_s: float) -> None:
    """Adds what a start took by the wall clock: a study that was interrupted has several."""
    path = folder / COST
    spent = recorded.read_json(path) if path.exists() else {}
    # Added up, as each start makes only what is missing.
    spent[part] = spent.get(part, 0.0) + wall_s
    recorded.write_json(path, spent)


def cost_table(parts: Sequence[Part], rows: Mapping[str, pd.DataFrame], folder: Path) -> str:
    """Cost of each group, as an HTML table with a line for all.

    rows: As `made` gives them.
    folder: The study's directory, with `cost.json`.
    """
    wall = recorded.read_json(folder / COST)
    lines = [_cost_row(part.name, part.why, rows[part.name], part.runs, float(wall[part.name])) for part in parts]
    # A study's groups have different columns; what a group lacks is missing there.
    everything = pd.concat(list(rows.values()), ignore_index=True)
    lines.append(_cost_row("all", "", everything, sum(part.runs for part in parts), sum(wall.values())))
    header = ["group", "what for", "runs here", "of", "failed", "CPU, s", "of which in the guest, s", "CPU a run, s",
              "virtual time, s", "wall clock, all starts"]  # fmt: skip
    caption = (
        "What it cost, measured. In the guest: boot, building the network, packets, records. "
        "The rest: plans, reading the records, metrics, rows. The wall clock includes starts that were interrupted."
    )
    return html.table(caption, header, lines, left=frozenset((0, 1)))


def _cost_row(name: str, why: str, rows: pd.DataFrame, whole: int, wall_s: float) -> list[Any]:
    """A line of `cost_table`: processor time is the sum of the runs' own, the wall clock that of all starts."""
    cpu_s, guest_s = (float(rows[column].sum()) for column in ("cpu_s", "guest_cpu_s"))
    # Without a single good run the rows have no scalars.
    virtual_s = float(rows["virtual_s"].sum()) if "virtual_s" in rows else None
    failed = int((rows["status"] != "ok").sum())
    return [
        name, why, len(rows), whole, failed, cpu_s, guest_s, cpu_s / len(rows) if len(rows) else None, virtual_s,
        clock(wall_s),
    ]  # fmt: skip


def cost_line(rows: Mapping[str, pd.DataFrame], folder: Path) -> str:
    """Cost of the runs, for the terminal: processor time of guest and host, and the wall-clock time of all starts.

    The two need not agree: several runs are made at once, and a start that was interrupted counts with the time it
    took.
    """
    every = pd.concat(list(rows.values()), ignore_index=True)
    wall_s = sum(recorded.read_json(folder / COST).values())
    return (
        f"{len(every):,} runs, {every['cpu_s'].sum():,.0f} CPU s ({every['guest_cpu_s'].sum():,.0f} in the guest), "
        f"{every['cpu_s'].mean():.2f} CPU s a run; {clock(wall_s)} by the wall clock, in all starts"
    )


def data_section(parts: Sequence[Part], example: str, note: str = "") -> str:
    """Where each group's results are, and how to begin with them, as HTML.

    example: Python that reads them.
    """
    rows = [[part.name, f'<a href="{part.name}/results/">{part.name}/results/</a>', part.why] for part in parts]
    table = html.table(
        "Each group's results are one partitioned Parquet data set, a row a run; units are in the columns' names",
        ["group", "data set", "what for"], rows, left=frozenset((0, 1, 2)), raw=frozenset((1,)),
    )  # fmt: skip
    return f"{table}{note and f'<p>{note}</p>'}<pre>{html.text(example)}</pre>"
