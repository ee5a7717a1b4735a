# SPDX-License-Identifier: Apache-2.0
"""The page that compares groups of runs: their differences, medians with confidence intervals, and bands over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leowarp.base import layout, plainfiles
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.report import html
from leowarp.report.figures.bands import GROUP_FIGURES, group_figure
from leowarp.report.labels import warnings_of
from leowarp.report.pages.difference_section import difference_table
from leowarp.report.style import FORMATS, save
from leowarp.results.replicates import Group
from leowarp.scalars.medians import compared_groups, sentence

FIGURES_FOLDER = "figures"


def write_group_comparison(
    groups: Sequence[Group], out_dir: str | Path, *, formats: Sequence[str] = FORMATS, command: str | None = None
) -> Path:
    """Write a page that shows at least two groups of runs side by side, and return its path. The parameters are those
    of `write_comparison`. The page needs the format "png"."""
    folder = Path(out_dir)
    if (why := plainfiles.why_not_plain(folder, itself=True)) is not None:
        raise ScenarioError(f"cannot draw into {folder}: {why}", hint="name another directory with --out")
    (folder / FIGURES_FOLDER).mkdir(parents=True, exist_ok=True)
    names = layout.directory_names([group.path for group in groups])
    views = [(name, list(group.runs)) for name, group in zip(names, groups, strict=True)]
    interval = sentence([len(group.runs) for group in groups])
    pictures, not_drawn = [], []
    for name, (title, _, _) in GROUP_FIGURES.items():
        try:
            save(group_figure(views, name), folder / FIGURES_FOLDER / name, formats)
        # If a group lacks the data for a figure, the page is written without this figure.
        except TraceError as error:
            not_drawn.append(f"<li>{html.text(title)}: {html.text(error.message)}</li>")
        else:
            caption = f"Line: median over the seeds at each instant. Band: {interval.removeprefix('In brackets: ')}"
            pictures.append(html.picture(folder / FIGURES_FOLDER / name, title, caption, FIGURES_FOLDER))
    of_groups = [[run.summary for run in group.runs] for group in groups]
    tables = "".join(map(html.section_table, compared_groups(names, of_groups)))
    figures = f'<div class="figures">{"".join(pictures)}</div>' + (
        f"<ul>{''.join(not_drawn)}</ul>" if not_drawn else ""
    )
    parts = [
        ("medians", "Medians and their intervals", f'<p class="quiet">{html.text(interval)}</p>\n' + tables),
        ("figures", "Over time", figures),
        ("runs", "The runs", _runs(names, groups, folder)),
        ("again", "How to make this again", f"<pre>{html.text(command)}</pre>" if command else ""),
    ]
    title = f"Groups compared: {', '.join(names)}"
    warnings = [
        f"{name}, seed {run.plan.run.seed}: {text}"
        for name, group in zip(names, groups, strict=True)
        for run in group.runs
        for text in warnings_of(run)
    ]
    firsts = [group.runs[0] for group in groups]
    body = f"<h1>{html.text(title)}</h1>\n" + html.warning_box(warnings)
    # Groups are compared by the first run of each group. Seeds of runs differ even within a group, so a different seed
    # is not listed as a difference.
    body += difference_table(firsts, names, but=("run.seed",))
    body += html.sections([part for part in parts if part[2]])
    plainfiles.write(folder / "index.html", html.page(title, body).encode())
    return folder / "index.html"


def _runs(names: Sequence[str], groups: Sequence[Group], folder: Path) -> str:
    items = []
    for name, group in zip(names, groups, strict=True):
        # A run without a report (`--no-report`) is also listed, but without a link, because the medians include it.
        links = [html.link(str(run.plan.run.seed), run.report, folder) for run in group.runs]
        items.append(f"<li>{html.text(name)}: seeds {', '.join(links)}</li>")
    return f"<ul>{''.join(items)}</ul>"
