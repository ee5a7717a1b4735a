# SPDX-License-Identifier: Apache-2.0
"""Makes the study. The study engine makes the runs in groups. The claims are checked on one data set with all runs."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from leowarp.study import Making, Material, Section
from leowarp.study import parts as study_parts
from leowarp_studies.gaps import results, runs, tables
from leowarp_studies.gaps.arms import CHANGES
from leowarp_studies.gaps.claims_harm import CLAIMS, FRAME

OPTIONS = ("quick", "scheduler")
"""The keyword arguments of `reproduce` that apply only to this study."""
TITLE = "What a gap adds to a route change"
LEAD = (
    "When a path changes, a new link may not be there at once, packets overtake each other, and a queue stays behind. "
    "How much of the harm is each? The three are switched on one by one around the same changes, under three TCPs, a "
    "call and a page load, over two routes. Lasers that need pointing and dishes stand beside them. What was expected "
    "was written down before the first run; a claim that does not hold is a finding."
)
TABLE, GUIDE = "gaps.csv", "guide.md"
"""The files beside the page: a table of all runs, for programs to read, and the tables of docs/guides/gaps.md."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, scheduler: str | None = None) -> Material:
    """Make the missing runs (see `leowarp.study.Room`).

    Parameters
    ----------
    making : Making
    quick : bool
        True for a shorter study: one change of each route, three arms and two loads.
    scheduler : str, optional
        The address of a Dask scheduler.

    Raises
    ------
    LeowarpError
        If no run succeeded. The raised error is the error of the first failed run.
    """
    # A quick study makes no runs of the other groups, so these groups would have no data set.
    parts = [part for part in runs.parts() if not quick or part.name.endswith(CHANGES)]
    rows, failures = study_parts.made(parts, making, quick=quick, scheduler=scheduler)
    frame = results.frame_of(rows)
    if not len(frame):
        raise study_parts.first_failure(failures, [part.name for part in parts])
    frame.to_csv(making.folder / TABLE, index=False)
    (making.folder / GUIDE).write_text(tables.guide(frame), encoding="utf-8")
    return Material(
        samples=[("this study", {FRAME: frame})],
        figures=[],
        sections=[
            Section("harm", "What each costs", tables.harm(frame)),
            Section("packets", "Packets", tables.counts(frame)),
            Section("runs", "Runs and their cost", study_parts.cost_table(parts, rows, making.folder)),
            Section("data", "Data", study_parts.data_section(parts, f'import pandas as pd\npd.read_csv("{TABLE}")')),
        ],
        runs={part.name: part.name for part in parts},
        failures=failures,
        warnings=_warnings(rows, quick=quick),
        cost=study_parts.cost_line(rows, making.folder),
    )


def _warnings(rows: Mapping[str, pd.DataFrame], *, quick: bool) -> list[str]:
    """Return the texts for the top of the page. The texts are the warnings of the runs. For a quick study, they also
    say what the study leaves out."""
    sentences = []
    if quick:
        sentences.append("quick: one change of each route, three arms, CUBIC and a page load: verdicts mean nothing")
    return sentences + study_parts.warnings_said(rows)
