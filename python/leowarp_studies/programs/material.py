# SPDX-License-Identifier: Apache-2.0
"""Make the study. The study engine makes groups of runs. Claims and figures are computed from the directories of these
runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leowarp import HostError, Run
from leowarp.base.progress import building
from leowarp.report import html
from leowarp.report.rules import kernel_name
from leowarp.study import Making, Material, Section, drawing
from leowarp.study import parts as study_parts
from leowarp_studies.programs import (
    application_figures,
    application_results,
    application_runs,
    fetching,
    figures,
    results,
    runs,
    tables,
)
from leowarp_studies.programs.claims import CLAIMS
from leowarp_studies.programs.rules import Rules
from leowarp_studies.programs.senders import BY_NAME, QUIC, SENDERS

OPTIONS = ("quick", "fetch")
"""The keyword arguments of `reproduce` that apply only to this study."""

TITLE = "QUIC stacks beside the kernel's TCP"
LEAD = (
    "Four QUIC stacks, as their registries have them and with their defaults, and Linux's CUBIC and BBR send the same "
    "transfer over the same paths: around a route change that lets packets overtake each other, over an access link "
    "that is reconfigured, over a fading channel whose repairs arrive out of order, and beside a flow of CUBIC. Over "
    "the same paths pages are loaded by HTTP/1.1, HTTP/2 and HTTP/3, and a film and a live stream are played by DASH. "
    "Every datagram is followed, so that what a stack takes for lost can be held against what was lost. What was "
    "expected was written down before the first run; a claim that does not hold is a finding."
)
TABLE = "programs.csv"
"""The file `TABLE` beside the page has one row per run, for programs to read."""

__all__ = ["CLAIMS", "LEAD", "OPTIONS", "TITLE", "make"]


def make(making: Making, *, quick: bool = False, fetch: bool = False) -> Material:
    """Make the missing runs and the figures (see `leowarp.study.Room`).

    quick: True for a shorter study, with one change and one seed.
    fetch: True to build missing stacks from their registries.
    Raises HostError if no QUIC stack is available, or if a stack cannot be built.
    Raises LeowarpError: The first failure, if no run could be made.
    """
    if fetch:
        with building(making.progress) as told:
            fetching.fetch(told.message)
    missing = fetching.missing()
    here = [sender.name for sender in SENDERS if sender.name not in missing]
    if not any(name in QUIC for name in here):
        listed = "".join(f"\n  - {name}: {why}" for name, why in missing.items())
        raise HostError(f"the study programs needs QUIC stacks, and none is there:{listed}", hint=fetching.COMMAND)
    left_out = [f"{BY_NAME[name].label} is left out: {why}" for name, why in missing.items()]
    parts = runs.parts(here, fetching.place()) + application_runs.parts(here, fetching.place())
    rows, failures = study_parts.made(parts, making, quick=quick, scheduler=None)
    found = results.frame_of({name: rows[name] for name in runs.TRANSFERS}, making.folder)
    if not len(found):
        raise study_parts.first_failure(failures, [part.name for part in parts])
    found.drop(columns="run").to_csv(making.folder / TABLE, index=False)
    frames = {
        "runs": found,
        "pages": application_results.pages_of(rows, making.folder),
        "videos": application_results.videos_of(rows, making.folder),
    }
    for name in ("pages", "videos"):
        frames[name].drop(columns="run").to_csv(making.folder / f"{name}.csv", index=False)
    rules = Rules(kernel_name(Run(found["run"].iloc[0]).manifest))
    sections = [
        Section("senders", "All senders", tables.senders(frames)),
        Section("applications", "Page loads and films", tables.pages(frames) + tables.films(frames)),
        Section("stacks", "The stacks", _stacks(missing)),
        Section("runs", "Runs and their cost", study_parts.cost_table(parts, rows, making.folder)),
        Section("data", "Data", _data_section(parts)),
    ]
    return Material(
        samples=[("this study", frames)],
        figures=drawing.draw((*figures.KINDS, *application_figures.KINDS), frames, making.folder / "figures", rules),
        sections=sections,
        runs={part.name: part.name for part in parts},
        failures=failures,
        left_out=left_out,
        warnings=_warnings(rows, quick=quick),
        cost=study_parts.cost_line(rows, making.folder),
    )


def _warnings(rows: Mapping[str, Any], *, quick: bool) -> list[str]:
    """Return the texts for the top of the page: what a quick study leaves out, and the warnings of the runs."""
    sentences = []
    if quick:
        sentences.append(
            f"quick: one change in place of {len(runs.looked_at())}, one seed in place of {len(runs.SEEDS)}, controls "
            "of the route change alone: a look at the figures and not the study"
        )
    return sentences + study_parts.warnings_said(rows)


def _stacks(missing: Mapping[str, str]) -> str:
    """Return an HTML list of the available stacks."""
    rows = [
        [sender.label, sender.congestion_control, sender.version, missing.get(sender.name, "yes")] for sender in SENDERS
    ]
    caption = "Each with its defaults; what is not Debian's is built by examples/programs/build.sh, versions pinned"
    return html.table(caption, ["sender", "congestion control", "from", "is there"], rows, left=frozenset(range(4)))


def _data_section(parts: Any) -> str:
    """Return the HTML section that says where the results are."""
    note = (
        f'A row a run: <a href="{TABLE}">{TABLE}</a>, <a href="pages.csv">pages.csv</a>, '
        '<a href="videos.csv">videos.csv</a>. '
        "Whole run directories stand in <code>runs/</code> of each group, "
        "what programs printed and ngtcp2's qlogs in their <code>35-programs/</code>."
    )
    example = f'import pandas as pd\npd.read_csv("{TABLE}").groupby(["group", "sender"]).goodput_bps.median()'
    return study_parts.data_section(parts, example, note)
