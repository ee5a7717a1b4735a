# SPDX-License-Identifier: Apache-2.0
"""The study made again: six groups of runs by the study engine, judged and drawn from their data sets."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leowarp import rundir
from leowarp.errors import LeowarpError
from leowarp.progress import clock
from leowarp.report import RunView, html
from leowarp.report.view import kernel_name
from leowarp.study.page import Section
from leowarp.study.reproduction import Making, Material
from leowarp.study.sweep import StudyFile, StudyRun, run_study
from leowarp.study.torres2020 import evidence as ev
from leowarp.study.torres2020 import figures, results, runs
from leowarp.study.torres2020.claims import CLAIMS
from leowarp.study.torres2020.runs import Part
from leowarp.study.torres2020.simulation import DISTRIBUTIONS

OPTIONS = ("quick", "scheduler")

TITLE = "Packet Reordering Metrics to Enable Performance Comparison in IP-Networks, re-made"
LEAD = (
    "P. R. Torres-Jr and E. P. Ribeiro (2020) delay each packet of a 100 Mbit/s path by chance, measure the "
    "reordering that follows by its density (RD), mean displacement (MD) and entropy (E_r), and set the throughput of "
    "TCP against them: 16,740 transfers. Here the same transfers run on Linux 6.12's own TCP in virtual time; the "
    "study's kernel is not named (Mininet, 2019). A claim that does not hold on this kernel is a finding about the "
    "kernel: the runs on other TCPs beside it tell which mechanism it is."
)

COST = "cost.json"
MOST_WARNINGS = 8

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, scheduler: str | None = None) -> Material:
    """See `leowarp.study.reproduction`."""
    tables: dict[str, pd.DataFrame] = {}
    failures: dict[str, LeowarpError] = {}
    for part in runs.parts():
        tables[part.name], failed = _made(part, making, quick=quick, scheduler=scheduler)
        failures |= failed
    frames, shape_view = _frames(tables, making.folder)
    if not frames:
        raise next(iter(failures.values()))
    for name in CLAIM_PARTS:
        if name not in frames:
            failures[name] = next(error for key, error in failures.items() if key.startswith(f"{name}/"))
    rules = figures.Rules(
        kernel="not recorded" if shape_view is None else kernel_name(shape_view.manifest),
        seeds=int(frames["transfers"]["seed"].nunique()) if "transfers" in frames else 0,
    )
    return Material(
        samples=[("this reproduction", frames)],
        figures=figures.draw(frames, making.folder / "figures", rules),
        sections=[
            *([Section("mechanisms", "Mechanisms", _mechanisms(frames))] if "mechanisms" in frames else []),
            Section("runs", "Runs and their cost", _cost_table(tables, making.folder)),
            Section("data", "Data", _data_section()),
            Section("grid", "Jitters", _grid_section()),
        ],
        runs={part.name: part.name for part in runs.parts()},
        failures=failures,
        warnings=_warnings(tables, frames, quick=quick),
        cost=_cost_line(tables, making.folder),
    )


CLAIM_PARTS = ("transfers", "yeah", "probes", "shapes", "mechanisms")


def _made(
    part: Part, making: Making, *, quick: bool, scheduler: str | None
) -> tuple[pd.DataFrame, dict[str, LeowarpError]]:
    """A group's rows, and the failures among them by `<group>/<run id>`."""
    folder = making.folder / part.name
    if making.force and folder.exists():
        shutil.rmtree(folder)
    content = dict(part.content)
    if making.kernel is not None:
        content["set"] = {**content.get("set", {}), "guest.kernel": str(making.kernel)}
    started = time.monotonic()
    done = run_study(
        StudyFile.of(content), folder, at_once=making.at_once, scheduler=scheduler, progress=making.progress,
        only=(lambda run: _is_quick(part, run)) if quick else None, retry_failed=True,
    )  # fmt: skip
    _note_cost(making.folder, part.name, time.monotonic() - started)
    failed = {f"{part.name}/{run_id}": error for run_id, error in done.failures.items()}
    return done.table().to_pandas(), failed


def _is_quick(part: Part, run: StudyRun) -> bool:
    return part.in_quick(run.values, run.seed)


def _frames(tables: Mapping[str, pd.DataFrame], folder: Path) -> tuple[dict[str, Any], RunView | None]:
    """What claims and figures take; a group of which every run failed is left out."""
    frames: dict[str, Any] = {}
    for name in ("transfers", "yeah"):
        frames[name] = results.transfers(tables[name])
    frames["mechanisms"] = results.joined(
        {name: results.transfers(tables[name]) for name in ("mechanisms-normal", "mechanisms-bic")}
    )
    if _some_ok(tables["probes"]):
        frames["probes"] = results.probes(tables["probes"])
    views = {
        (row.distribution, row.rate): RunView(folder / "shapes" / "runs" / row.run_id)
        for row in tables["shapes"].itertuples()
        if row.status == "ok"
    }
    if len(views) == len(tables["shapes"]):
        frames["shapes"] = {
            name: results.shape(views[name, runs.SHAPED].tables, views[name, runs.UNSHAPED].tables)
            for name in DISTRIBUTIONS
        }
    found = {name: frame for name, frame in frames.items() if len(frame)}
    return found, next(iter(views.values()), None)


def _some_ok(rows: pd.DataFrame) -> bool:
    return bool((rows["status"] == "ok").any())


def _warnings(tables: Mapping[str, pd.DataFrame], frames: Mapping[str, Any], *, quick: bool) -> list[str]:
    found = []
    if quick:
        found.append(
            f"quick: {len(runs.QUICK_US)} of {len(runs.JITTERS_US)} jitters, {runs.QUICK_SEEDS} of {runs.SEEDS} seeds; "
            "a look at the figures and not the study"
        )
    for name in ("transfers", "yeah", "mechanisms"):
        frame = frames.get(name)
        if frame is not None and not frame["finished"].all():
            count = int((~frame["finished"]).sum())
            found.append(
                f"{name}: {count} of {len(frame)} transfers were not done at the end of their run (1000 s); they count "
                "with what they had delivered"
            )
    said = Counter(text for rows in tables.values() for texts in rows["warnings"] for text in texts)
    found += [f"{text} ({count} runs)" for text, count in said.most_common(MOST_WARNINGS)]
    if len(said) > MOST_WARNINGS:
        found.append(f"{len(said) - MOST_WARNINGS} further kinds of warnings: column `warnings` of the data sets")
    return found


def _note_cost(folder: Path, part: str, wall_s: float) -> None:
    """Adds what a start took by the wall clock: a study that was interrupted has several."""
    path = folder / COST
    spent = rundir.read_json(path) if path.exists() else {}
    spent[part] = spent.get(part, 0.0) + wall_s
    rundir.write_json(path, spent)


def _cost_table(tables: Mapping[str, pd.DataFrame], folder: Path) -> str:
    wall = rundir.read_json(folder / COST)
    rows = []
    for part in runs.parts():
        table = tables[part.name]
        rows.append(_cost_row(part.name, part.why, table, part.runs, float(wall[part.name])))
    everything = pd.concat(list(tables.values()), ignore_index=True)
    rows.append(_cost_row("all", "", everything, sum(part.runs for part in runs.parts()), sum(wall.values())))
    header = ["group", "what for", "runs here", "of", "failed", "CPU, s", "of which in the guest, s", "CPU a run, s",
              "virtual time, s", "wall clock, all starts"]  # fmt: skip
    caption = (
        "What it cost, measured. In the guest: boot (one for a batch of runs), building the network, packets, records. "
        "The rest: plans, reading the records, metrics, rows. The wall clock includes starts that were interrupted."
    )
    return html.table(caption, header, rows, left=frozenset((0, 1)))


def _cost_row(name: str, why: str, rows: pd.DataFrame, whole: int, wall_s: float) -> list[Any]:
    cpu_s, guest_s = (float(rows[column].sum()) for column in ("cpu_s", "guest_cpu_s"))
    virtual_s = float(rows["virtual_s"].sum()) if "virtual_s" in rows else None
    failed = int((rows["status"] != "ok").sum())
    return [
        name, why, len(rows), whole, failed, cpu_s, guest_s, cpu_s / len(rows) if len(rows) else None, virtual_s,
        clock(wall_s),
    ]  # fmt: skip


def _cost_line(tables: Mapping[str, pd.DataFrame], folder: Path) -> str:
    """What the runs took, for the terminal."""
    rows = pd.concat(list(tables.values()), ignore_index=True)
    wall_s = sum(rundir.read_json(folder / COST).values())
    return (
        f"{len(rows):,} runs, {rows['cpu_s'].sum():,.0f} CPU s ({rows['guest_cpu_s'].sum():,.0f} in the guest), "
        f"{rows['cpu_s'].mean():.2f} CPU s a run; {clock(wall_s)} by the wall clock, in all starts"
    )


def _mechanisms(frames: Mapping[str, Any]) -> str:
    """What the four TCPs did with the jitter of the study's collapse: medians over seeds."""
    mechanisms = frames["mechanisms"]
    at_ns = ev.telling_jitter_ns(mechanisms)
    rows = []
    for algorithm in (*runs.ALGORITHMS, runs.FOURTH):
        for profile in runs.PROFILES:
            numbers = [
                ev.median_of(mechanisms, profile, algorithm, at_ns, column) * scale
                for column, scale in _MECHANISM_COLUMNS.values()
            ]
            rows.append([f"{ev.NAMES[algorithm]}, {profile}", *(None if np.isnan(n) else float(n) for n in numbers)])
    caption = f"Transfers with normal jitter of {at_ns / 1e6:g} ms, medians over seeds"
    table = html.table(caption, ["algorithm, TCP", *_MECHANISM_COLUMNS], rows)
    texts = "".join(f"<li><strong>{name}</strong>: {html.text(text)}</li>" for name, text in runs.PROFILE_TEXT.items())
    note = (
        "In vain: the original arrived too. Threshold: duplicate ACKs that the sender had come to wait for by the end. "
        "Own E_r (threshold 200) and largest extent are those of the transfer's first transmissions. TCP sends in "
        "bursts, and a burst that leaves at one instant is shuffled whole, however small the jitter: with a large "
        "window they are larger than the probe's."
    )
    return f"<ul>{texts}</ul>{table}<p>{html.text(note)}</p>"


_MECHANISM_COLUMNS = {
    "Mbit/s": ("throughput_bps", 1e-6),
    "recoveries": ("recoveries", 1),
    "taken back": ("undos", 1),
    "retransmitted": ("retransmissions_pkts", 1),
    "in vain": ("spurious_pkts", 1),
    "lost": ("lost_pkts", 1),
    "DSACKs": ("dsacks_pkts", 1),
    "reordering seen": ("reordering_events", 1),
    "threshold, packets": ("reordering_pkts", 1),
    "own E_r": ("own_entropy_nats", 1),
    "own extent, packets": ("own_extent_pkts", 1),
}


def _data_section() -> str:
    rows = [[part.name, f'<a href="{part.name}/results/">{part.name}/results/</a>', part.why] for part in runs.parts()]
    table = html.table(
        "Each group's results are one partitioned Parquet data set, a row a run; units are in the columns' names",
        ["group", "data set", "what for"], rows, left=frozenset((0, 1, 2)), raw=frozenset((1,)),
    )  # fmt: skip
    example = (
        "import pandas as pd\n"
        'transfers = pd.read_parquet("transfers/results")\n'
        'transfers.groupby(["congestion_control", "distribution", "jitter_ns"]).flow0_completion_ns.median()'
    )
    return f"{table}<pre>{html.text(example)}</pre>"


def _grid_section() -> str:
    named = ", ".join(f"{jitter_us / 1e3:g}" for jitter_us in runs.NAMED_US)
    every = ", ".join(f"{jitter_us / 1e3:g}" for jitter_us in runs.JITTERS_US)
    return (
        f"<p>The study says that it took 62 jitters from 0 to 10 ms; its text names {named} ms. The others are an "
        f"assumption of this reproduction: {every} ms.</p>"
    )
