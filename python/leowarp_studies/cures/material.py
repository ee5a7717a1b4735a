# SPDX-License-Identifier: Apache-2.0
"""The reproduction of the study. The study engine makes groups of runs, and claims and figures use their data sets and
run directories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp import Run
from leowarp.report.rules import kernel_name
from leowarp.study import Making, Material, Section
from leowarp.study import parts as study_parts
from leowarp_studies.cures import figures, results, runs, scalar, tables
from leowarp_studies.cures.claims import CLAIMS
from leowarp_studies.cures.rules import Rules
from leowarp_studies.cures.variants import parts_of

OPTIONS = ("quick", "scheduler")
"""The keyword arguments of `reproduce` that apply only to this study."""

TITLE = "Cures for the reordering of route changes"
LEAD = (
    "A route change over a constellation makes packets overtake each other, and senders take that for loss. What can "
    "the network, or the end host, do about it, and at what cost? Every cure around the same changes, under four TCPs, "
    "with a call and a ping beside the transfer. What was expected of each was written down before its first run; a "
    "claim that does not hold is a finding."
)

TABLE = "cures.csv"
"""The file beside the page that contains all medians. It is meant for programs."""
GUIDE = "guide.md"
"""The file beside the page with the table that docs/guides/route-changes.md shows."""

CLAIM_FRAMES = {"around": runs.AROUND, "predictors": runs.JITTERED}
"""The data sets that claims name in `Claim.runs`, each with the groups of runs from which it is built."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, scheduler: str | None = None) -> Material:
    """Make the missing runs and the figures (see `leowarp.study.Room`).

    Parameters
    ----------
    making : Making
    quick : bool
        True means a shorter study, with fewer changes and TCPs.
    scheduler : str, optional
        The address of a Dask scheduler.

    Raises
    ------
    LeowarpError
        If no group has the runs that the claims need. The error is the first failure.
    """
    rows, failures = study_parts.made(runs.parts(), making, quick=quick, scheduler=scheduler)
    frames = _frames(rows, making.folder)
    if not any(name in frames for name in CLAIM_FRAMES):
        raise study_parts.first_failure(failures, [part.name for part in runs.parts()])
    failures |= study_parts.missing(CLAIM_FRAMES, frames, failures)
    view = next(iter(frames.get("close", {}).values()), None)
    around = frames.get("around")
    saturated = 0 if around is None else around[around["load"] == runs.SATURATED]["change"].nunique()
    rules = Rules(kernel="not recorded" if view is None else kernel_name(view.manifest), changes=saturated)
    sections = []
    if around is not None:
        tables.frame(frames).to_csv(making.folder / TABLE, index=False)
        (making.folder / GUIDE).write_text(tables.guide(frames), encoding="utf-8")
        sections.append(Section("cures", "All cures", tables.cures(frames)))
    if "predictors" in frames:
        sections.append(Section("predictors", "One scalar for reordering", tables.predictors(frames)))
    sections += [
        Section("hours", "How often paths change", tables.hours()),
        Section("runs", "Runs and their cost", study_parts.cost_table(runs.parts(), rows, making.folder)),
        Section("data", "Data", _data_section()),
    ]
    return Material(
        samples=[("this study", frames)],
        figures=figures.draw(frames, making.folder / "figures", rules),
        sections=sections,
        runs={part.name: part.name for part in runs.parts()},
        failures=failures,
        warnings=_warnings(rows, quick=quick),
        cost=study_parts.cost_line(rows, making.folder),
    )


def _frames(rows: Mapping[str, pd.DataFrame], folder: Path) -> dict[str, Any]:
    """Return the inputs of claims and figures. The inputs `around` and `predictors` are left out if one of their runs
    is missing."""
    frames: dict[str, Any] = {}
    around = pd.concat([results.around_changes(rows[name]) for name in runs.AROUND], ignore_index=True)
    # The claims use sums over all route changes. If a change were missing for one variant, the sums of the variants
    # would cover different changes.
    if len(around) and results.complete(around):
        frames["around"] = around
    transfers = pd.concat([rows[name] for name in runs.JITTERED], ignore_index=True)
    if (transfers["status"] == "ok").all():
        frames["predictors"] = scalar.scores(scalar.jittered(transfers))
    kept = rows["close"][rows["close"]["status"] == "ok"]
    frames["close"] = {
        parts_of(row["name"])[0]: Run(folder / "close" / "runs" / row["run_id"], complete=False)
        for row in kept.to_dict("records")
    }
    return frames


def _warnings(rows: Mapping[str, pd.DataFrame], *, quick: bool) -> list[str]:
    """Return texts for the top of the page. The texts say what a quick study leaves out, and repeat the warnings of the
    runs."""
    sentences = []
    if quick:
        sentences.append(
            f"quick: the first change of each direction over one constellation in place of {runs.CHANGES} of four "
            f"pairs, and {', '.join(runs.QUICK_TCPS)} in place of four TCPs: a look at the figures and not the study"
        )
    return sentences + study_parts.warnings_said(rows)


def _data_section() -> str:
    """Return an HTML section that says where the results are stored."""
    note = (
        f'Every median: <a href="{TABLE}">{TABLE}</a>. Whole run directories of the group close stand in its '
        "<code>runs/</code>."
    )
    example = (
        "import pandas as pd\n"
        'rows = pd.read_parquet("saturated/results")\n'
        'rows.groupby("name").flow0_late_by_changes_pkts.median()'
    )
    return study_parts.data_section(runs.parts(), example, note)
