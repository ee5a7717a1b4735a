# SPDX-License-Identifier: Apache-2.0
"""The reproduction of the study. The study engine makes groups of runs. Claims and figures use the results of these
groups as data sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leowarp import Run
from leowarp.report import html
from leowarp.report.rules import kernel_name
from leowarp.study import Making, Material, Section
from leowarp.study import parts as study_parts
from leowarp_studies.torres2020 import evidence as ev
from leowarp_studies.torres2020 import figures, results, runs
from leowarp_studies.torres2020.claims import CLAIMS
from leowarp_studies.torres2020.simulation import DISTRIBUTIONS

OPTIONS = ("quick", "scheduler")
"""The keyword arguments of `reproduce` that apply only to this study."""

TITLE = "Packet Reordering Metrics to Enable Performance Comparison in IP-Networks, re-made"
LEAD = (
    "P. R. Torres-Jr and E. P. Ribeiro (2020) delay each packet of a 100 Mbit/s path by chance, measure the "
    "reordering that follows by its density (RD), mean displacement (MD) and entropy (E_r), and set the throughput of "
    "TCP against them: 16,740 transfers. Here the same transfers run on Linux 6.12's own TCP in virtual time; the "
    "study's kernel is not named (Mininet, 2019). A claim that does not hold on this kernel is a finding about the "
    "kernel: the runs on other TCPs beside it tell which mechanism it is."
)

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, scheduler: str | None = None) -> Material:
    """Make the missing runs and the figures (see `leowarp.study.Room`).

    quick: True means a shorter study, with fewer jitters and seeds (`runs.QUICK_US`, `runs.QUICK_SEEDS`).
    scheduler: The address of a Dask scheduler.
    Raises LeowarpError: The first failure, if no group has a successful run.
    """
    tables, failures = study_parts.made(runs.parts(), making, quick=quick, scheduler=scheduler)
    frames, shape_view = _frames(tables, making.folder)
    if not frames:
        raise study_parts.first_failure(failures, [part.name for part in runs.parts()])
    failures |= study_parts.missing(CLAIM_PARTS, frames, failures)
    rules = figures.Rules(
        kernel="not recorded" if shape_view is None else kernel_name(shape_view.manifest),
        seeds=int(frames["transfers"]["seed"].nunique()) if "transfers" in frames else 0,
    )
    return Material(
        samples=[(LINUX, frames), *_other_tcps(frames)],
        figures=figures.draw(frames, making.folder / "figures", rules),
        sections=[
            *([Section("mechanisms", "Mechanisms", _mechanisms(frames))] if "mechanisms" in frames else []),
            Section("runs", "Runs and their cost", study_parts.cost_table(runs.parts(), tables, making.folder)),
            Section("data", "Data", _data_section()),
            Section("grid", "Jitters", _grid_section()),
        ],
        runs={part.name: part.name for part in runs.parts()},
        failures=failures,
        warnings=_warnings(tables, frames, quick=quick),
        cost=study_parts.cost_line(tables, making.folder),
    )


LINUX = "Linux 6.12"
"""The name of the first sample, which has the study's own transfers. Each further sample has the transfers with one TCP
of `runs.PROFILES`, and is named after this TCP."""

MECHANISMS = ("mechanisms-normal", "mechanisms-bic", "early-rack-normal", "early-rack-bic")
"""The rows of these groups of runs form one data set, which covers all TCPs."""

CLAIM_PARTS = {
    "transfers": ("transfers",),
    "yeah": ("yeah",),
    "probes": ("probes",),
    "path": ("probes",),
    "shapes": ("shapes",),
    "counted": ("shapes", "beyond"),
    "mechanisms": MECHANISMS,
}
"""A dict from data set to the groups of runs from which it is built. Claims name data sets in `Claim.runs`."""


def _frames(tables: Mapping[str, pd.DataFrame], folder: Path) -> tuple[dict[str, Any], Run | None]:
    """Return a dict from name to data set, for claims and figures. A data set is left out if all its runs failed.

    Returns frames: `transfers`, `yeah`, `mechanisms`, `probes` and `path` (DataFrames), `shapes` (`Shape` by
        distribution), `counted` (`Counted` by (distribution, jitter in ms)).
    Returns view: A run whose directory is stored. The kernel's name is read from it.
    """
    frames: dict[str, Any] = {}
    for name in ("transfers", "yeah"):
        frames[name] = results.transfers(tables[name])
    # In `MECHANISMS`, two of the distributions were run with BIC only, in separate groups, so all groups are joined to
    # one data set.
    frames["mechanisms"] = results.joined({name: results.transfers(tables[name]) for name in MECHANISMS})
    if _some_ok(tables["probes"]):
        frames["probes"] = frames["path"] = results.probes(tables["probes"])
    views = {
        (row.distribution, row.rate): Run(folder / "shapes" / "runs" / row.run_id, complete=False)
        for row in tables["shapes"].itertuples()
        if row.status == "ok"
    }
    beyond = {
        row.distribution: Run(folder / "beyond" / "runs" / row.run_id, complete=False)
        for row in tables["beyond"].itertuples()
        if row.status == "ok"
    }
    # Figures 2 and 3 and claim 2.2 compare the distributions with each other, so either all six probe runs are included
    # or none.
    if len(views) == len(tables["shapes"]):
        frames["shapes"] = {
            name: results.shape(views[name, runs.SHAPED].tables, views[name, runs.UNSHAPED].tables)
            for name in DISTRIBUTIONS
        }
    # Claim 2.9 needs probes with packets beyond the threshold, and probes without such packets.
    if "shapes" in frames and len(beyond) == len(tables["beyond"]):
        inside = {
            (name, runs.SHAPE_US / 1e3): results.counted(views[name, runs.SHAPED].tables) for name in DISTRIBUTIONS
        }
        frames["counted"] = inside | {
            (name, runs.BEYOND_US / 1e3): results.counted(view.tables) for name, view in beyond.items()
        }
    full = {name: frame for name, frame in frames.items() if len(frame)}
    return full, next(iter(views.values()), None)


def _other_tcps(frames: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return one sample for each TCP other than the study's own. These samples have fewer jitters, and serve the claims
    about TCP."""
    if "mechanisms" not in frames or "path" not in frames:
        return []
    mechanisms: pd.DataFrame = frames["mechanisms"]
    samples = []
    for profile in ev.profiles_of(mechanisms):
        mine = mechanisms[mechanisms["profile"] == profile]
        # Each curve of throughput over jitter begins with a transfer without jitter. If this transfer is missing
        # because its runs failed, the TCP has no sample.
        points = mine[mine["jitter_ns"] == 0].groupby(["distribution", "congestion_control"]).ngroups
        if profile == runs.PROFILES[0] or points < len(DISTRIBUTIONS) + len(runs.ALGORITHMS):
            continue
        is_fourth = mine["congestion_control"] == runs.FOURTH
        samples.append((profile, {"transfers": mine[~is_fourth], "yeah": mine[is_fourth], "path": frames["path"],
                                  "mechanisms": mechanisms, "profile": profile}))  # fmt: skip
    return samples


def _some_ok(rows: pd.DataFrame) -> bool:
    """Return true if at least one run of a group succeeded."""
    return bool((rows["status"] == "ok").any())


def _warnings(tables: Mapping[str, pd.DataFrame], frames: Mapping[str, Any], *, quick: bool) -> list[str]:
    """Return texts for the top of the page. They say what a quick reproduction leaves out, which transfers did not
    finish, and what the runs warn about.
    """
    sentences = []
    if quick:
        sentences.append(
            f"quick: {len(runs.QUICK_US)} of {len(runs.JITTERS_US)} jitters, {runs.QUICK_SEEDS} of {runs.SEEDS} seeds; "
            "a look at the figures and not the study"
        )
    for name in ("transfers", "yeah", "mechanisms"):
        frame = frames.get(name)
        if frame is not None and not frame["finished"].all():
            count = int((~frame["finished"]).sum())
            sentences.append(
                f"{name}: {count} of {len(frame)} transfers were not done at the end of their run (1000 s); they count "
                "with what they had delivered"
            )
    return sentences + study_parts.warnings_said(tables)


def _mechanisms(frames: Mapping[str, Any]) -> str:
    """Return an HTML table of how each TCP reacts to the jitter at which the study's transfers collapse. The numbers
    are medians over seeds."""
    mechanisms = frames["mechanisms"]
    at_ns = ev.telling_jitter_ns(mechanisms)
    rows = []
    for algorithm in (*runs.ALGORITHMS, runs.FOURTH):
        for profile in ev.profiles_of(mechanisms):
            numbers = [
                ev.median_of(mechanisms, profile, algorithm, at_ns, column) * scale
                for column, scale in _MECHANISM_COLUMNS.values()
            ]
            rows.append([f"{ev.NAMES[algorithm]}, {profile}", *(None if np.isnan(n) else float(n) for n in numbers)])
    caption = f"Transfers with normal jitter of {at_ns / 1e6:g} ms, medians over seeds"
    table = html.table(caption, ["algorithm, TCP", *_MECHANISM_COLUMNS], rows)
    texts = "".join(f"<li><strong>{name}</strong>: {html.text(text)}</li>" for name, text in runs.PROFILE_TEXT.items())
    note = (
        "Spurious: the original arrived, too. Threshold: duplicate ACKs that the sender waited for at the end. "
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
    "spurious": ("spurious_pkts", 1),
    "lost": ("lost_pkts", 1),
    "DSACKs": ("dsacks_pkts", 1),
    "reordering seen": ("reordering_events", 1),
    "threshold, packets": ("reordering_pkts", 1),
    "own E_r": ("own_entropy_nats", 1),
    "own extent, packets": ("own_extent_pkts", 1),
}
"""The columns of the table of mechanisms. For each heading, the dict has the column of the data set, and a factor for
its values."""


def _data_section() -> str:
    """Return an HTML section about the places of the results."""
    example = (
        "import pandas as pd\n"
        'transfers = pd.read_parquet("transfers/results")\n'
        'transfers.groupby(["congestion_control", "distribution", "jitter_ns"]).flow0_completion_ns.median()'
    )
    return study_parts.data_section(runs.parts(), example)


def _grid_section() -> str:
    """Return an HTML section with the jitters of the runs, and with the jitters that the study names."""
    named = ", ".join(f"{jitter_us / 1e3:g}" for jitter_us in runs.NAMED_US)
    every = ", ".join(f"{jitter_us / 1e3:g}" for jitter_us in runs.JITTERS_US)
    return (
        f"<p>The study says that it took 62 jitters from 0 to 10 ms; its text names {named} ms. The others are an "
        f"assumption of this reproduction: {every} ms.</p>"
    )
