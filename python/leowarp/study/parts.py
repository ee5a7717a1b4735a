# SPDX-License-Identifier: Apache-2.0
"""The groups of runs of a reproduced study. The study engine makes the runs, and this module records their costs."""

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
"""The file with the real time in seconds of each group, summed over all starts of the study."""
MOST_WARNINGS = 8
"""The maximum number of different warnings that a page repeats."""


@dataclass(frozen=True)
class Part:
    """A group of runs, which the study engine makes as one study.

    name: The name of the group and of its directory.
    content: The content of the group's study file.
    runs: The number of runs in the group.
    in_quick: Whether a quick reproduction includes the run with these `values` and this seed. `values` maps scenario
        keys to values as they are written in the study file. A later full reproduction keeps these runs.
    """

    name: str
    why: str
    content: dict[str, Any]
    runs: int
    in_quick: Callable[[Mapping[str, Any], int], bool]


def made(
    parts: Sequence[Part], making: Making, *, quick: bool, scheduler: str | None
) -> tuple[dict[str, pd.DataFrame], dict[str, LeowarpError]]:
    """Make the runs of all groups in their order, and return their rows and failures.

    scheduler: The address of a Dask scheduler, whose workers make the runs.
    Returns rows: A dict from group to its rows. Each requested run has one row, even if it failed.
        docs/guides/studies.md lists the columns.
    Returns failures: A dict from `<group>/<run id>` to the error of the run.
    """
    rows: dict[str, pd.DataFrame] = {}
    failures: dict[str, LeowarpError] = {}
    for part in parts:
        rows[part.name], failed = _made(part, making, quick=quick, scheduler=scheduler)
        failures |= failed
    return rows, failures


def first_failure(failures: Mapping[str, LeowarpError], groups: Collection[str]) -> LeowarpError:
    """Return the error that explains why a data set is missing: the first failure in its groups of runs. If no run
    failed, the error says that the data set cannot be built from the results.

    failures: The errors with keys `<group>/<run id>`, from `made`.
    """
    for key, error in failures.items():
        if key.partition("/")[0] in groups:
            return error
    return TraceError(f"no run of {', '.join(groups)} failed, but together they lack something that is judged")


def missing(
    claim_frames: Mapping[str, Collection[str]], frames: Collection[str], failures: Mapping[str, LeowarpError]
) -> dict[str, LeowarpError]:
    """Return the reason for each missing data set that a claim needs. A claim about a missing data set has the verdict
    "cannot be told", with the reason.

    claim_frames: A dict from data set to the groups of runs from which it is built. Claims name these data sets.
    frames: The data sets that exist.
    """
    return {name: first_failure(failures, groups) for name, groups in claim_frames.items() if name not in frames}


def _made(
    part: Part, making: Making, *, quick: bool, scheduler: str | None
) -> tuple[pd.DataFrame, dict[str, LeowarpError]]:
    folder = making.folder / part.name
    # With `force`, the group's directory is deleted, because all of its rows form one data set.
    if making.force and folder.exists():
        shutil.rmtree(folder)
    content = dict(part.content)
    # The kernel is set as `guest.kernel` in the plans, so that rows of different kernels remain separate. If a group
    # sets a kernel itself, the group tests that kernel, so the group's setting applies.
    if making.kernel is not None:
        content["set"] = {"guest.kernel": str(making.kernel), **content.get("set", {})}
    # The cost is measured with a monotonic clock, so that a change of the system clock does not affect it.
    started = time.monotonic()
    # retry_failed is set, because a user who starts a reproduction again wants all of its runs.
    done = run_study(
        StudyFile.of(content), folder, at_once=making.at_once, scheduler=scheduler, progress=making.progress,
        only=(lambda run: part.in_quick(run.values, run.seed)) if quick else None, retry_failed=True,
    )  # fmt: skip
    _note_cost(making.folder, part.name, time.monotonic() - started)
    failed = {f"{part.name}/{run_id}": error for run_id, error in done.failures.items()}
    return done.table().to_pandas(), failed


def warnings_said(rows: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return the distinct warnings of the runs, with the most frequent warning first."""
    said = Counter(text for part in rows.values() for texts in part["warnings"] for text in texts)
    sentences = [f"{text} ({count} runs)" for text, count in said.most_common(MOST_WARNINGS)]
    if len(said) > MOST_WARNINGS:
        sentences.append(f"{len(said) - MOST_WARNINGS} further kinds of warnings: column `warnings` of the data sets")
    return sentences


def _note_cost(folder: Path, part: str, wall_s: float) -> None:
    """Add the real time of this start to the time of earlier starts."""
    path = folder / COST
    spent = recorded.read_json(path) if path.exists() else {}
    # The times of all starts are added up, because each start makes only the runs that are missing.
    spent[part] = spent.get(part, 0.0) + wall_s
    recorded.write_json(path, spent)


def cost_table(parts: Sequence[Part], rows: Mapping[str, pd.DataFrame], folder: Path) -> str:
    """Return an HTML table with the cost of each group and the total."""
    wall = recorded.read_json(folder / COST)
    lines = [_cost_row(part.name, part.why, rows[part.name], part.runs, float(wall[part.name])) for part in parts]
    # Groups have different columns. If a group lacks a column, its rows have null in that column.
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
    cpu_s, guest_s = (float(rows[column].sum()) for column in ("cpu_s", "guest_cpu_s"))
    # If all runs failed, the table has no columns of scalars.
    virtual_s = float(rows["virtual_s"].sum()) if "virtual_s" in rows else None
    failed = int((rows["status"] != "ok").sum())
    return [
        name, why, len(rows), whole, failed, cpu_s, guest_s, cpu_s / len(rows) if len(rows) else None, virtual_s,
        clock(wall_s),
    ]  # fmt: skip


def cost_line(rows: Mapping[str, pd.DataFrame], folder: Path) -> str:
    """Return a text about the cost of the runs, for the terminal. Runs are made in parallel, so the real time may be
    shorter than the processor time."""
    every = pd.concat(list(rows.values()), ignore_index=True)
    wall_s = sum(recorded.read_json(folder / COST).values())
    return (
        f"{len(every):,} runs, {every['cpu_s'].sum():,.0f} CPU s ({every['guest_cpu_s'].sum():,.0f} in the guest), "
        f"{every['cpu_s'].mean():.2f} CPU s a run; {clock(wall_s)} by the wall clock, in all starts"
    )


def data_section(parts: Sequence[Part], example: str, note: str = "") -> str:
    """Return HTML that names the results directory of each group and shows `example`, Python code that reads them."""
    rows = [[part.name, f'<a href="{part.name}/results/">{part.name}/results/</a>', part.why] for part in parts]
    table = html.table(
        "Each group's results are one partitioned Parquet data set, a row a run; units are in the columns' names",
        ["group", "data set", "what for"], rows, left=frozenset((0, 1, 2)), raw=frozenset((1,)),
    )  # fmt: skip
    return f"{table}{note and f'<p>{note}</p>'}<pre>{html.text(example)}</pre>"
