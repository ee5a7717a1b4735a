# SPDX-License-Identifier: Apache-2.0
"""Display a run or a group of runs in a notebook. The display contains the summary from the top of the run's page, and
figures.

Each HTML element has its own style, because a style sheet would affect the rest of the notebook. The HTML sets a colour
only for lines, not for text or background, so it also suits a dark notebook. Figures are PNG images, which are saved
with the notebook.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.figure import Figure

from leowarp.base import layout
from leowarp.base.errors import TraceError
from leowarp.report import html
from leowarp.report.figures import FIGURES, figure
from leowarp.report.figures.bands import GROUP_FIGURES, group_figure
from leowarp.report.labels import MOST_LINES, footer_of, warnings_of, worded
from leowarp.report.pages.summary_section import first_entries
from leowarp.report.style import notebook_png
from leowarp.results.run import Run
from leowarp.scalars.medians import compared_groups, sentence
from leowarp.scalars.overview import Section, overview

SHOWN: tuple[tuple[str, ...], ...] = (
    ("throughput", "goodput", "ping"),
    ("rtt_ccdf", "ping_slots"),
    ("matrix", "map", "ping_change"),
    ("packets", "probes"),
)
"""The groups of figures. The display shows the first figure of each group for which the run has data. Not all figures
are drawn, because each takes a third of a second."""

_LINE = "1px solid rgba(128, 128, 128, 0.4)"


def inline(runs: Sequence[Run]) -> str:
    """Return the HTML of one run or several runs. If there are several runs, they must have the same plan with
    different seeds. They are shown as medians with confidence intervals, and as bands over time."""
    return _run(runs[0]) if len(runs) == 1 else _group(runs)


def _run(view: Run) -> str:
    concerned = [name for name, kind in FIGURES.items() if kind.concerns([view])]
    chosen = [next((name for name in group if name in concerned), None) for group in SHOWN]
    shown = [name for name in chosen if name is not None]
    pictures = "".join(_drawn(FIGURES[name].title, partial(figure, view, name)) for name in shown)
    others = ", ".join(name for name in concerned if name not in shown)
    more = f"<p>Also <code>run.figure(NAME)</code>: {html.text(others)}; <code>run.view()</code></p>" if others else ""
    tables = "".join(_table(each) for section in overview(view.summary) for each in _fitting(section))
    return worded(
        [view],
        _heading(view.name, view.path.as_posix(), f"{view.end_ns / 1e9:g} s of virtual time; {footer_of([view])}")
        + _warnings(warnings_of(view))
        + _numbers(first_entries(view))
        + f"<details><summary>Summary</summary>{tables}</details>"
        + _side_by_side(pictures)
        + more,
    )


def _group(views: Sequence[Run]) -> str:
    first, seeds = views[0], [view.plan.run.seed for view in views]
    name = layout.directory_names([view.path.parent for view in views[:1]])[0]
    said = sentence([len(views)])
    warnings = [f"seed {view.plan.run.seed}: {text}" for view in views for text in warnings_of(view)]
    sections = compared_groups([name], [[view.summary for view in views]])
    pictures = "".join(
        _drawn(title, partial(group_figure, [(name, views)], key)) for key, (title, _, _) in GROUP_FIGURES.items()
    )
    return (
        _heading(first.name, first.path.parent.as_posix(), f"{len(views)} seeds: {', '.join(map(str, seeds))}")
        + _warnings(warnings)
        + "".join(_table(section) for section in sections)
        + f"<p>{html.text(said)}</p>"
        + _side_by_side(pictures)
    )


def _heading(name: str, path: str, line: str) -> str:
    return (
        f"<p style='margin: 0'><b>{html.text(name)}</b> <code>{html.text(path)}</code></p>"
        f"<p style='margin: 0; opacity: 0.7'>{html.text(line)}</p>"
    )


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{html.text(warning)}</li>" for warning in warnings)
    return (
        "<div style='border-left: 4px solid #d55e00; padding-left: 0.7em; margin: 0.6em 0'>"
        f"<b>Check before you trust the result</b><ul style='margin: 0'>{items}</ul></div>"
    )


def _numbers(entries: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        "<div style='border-left: 3px solid #0072b2; padding-left: 0.6em'>"
        f"<div style='font-size: 1.2em; font-weight: 600'>{html.text(value)}</div>"
        f"<div style='opacity: 0.7'>{html.text(label)}</div></div>"
        for label, value in entries
    )
    return f"<div style='display: flex; flex-wrap: wrap; gap: 0.6em 1.6em; margin: 0.8em 0'>{cells}</div>"


def _fitting(section: Section) -> list[Section]:
    """Return the tables that are printed for `section`. If there are too many flows for one column each, one table has
    sums and quantiles over the flows, and another the three worst and the three best flows."""
    if section.spread is None or len(section.columns) <= MOST_LINES:
        return [section]
    return [section.spread, section.ends()]


def _table(section: Section) -> str:
    def row(kind: str, texts: Sequence[str | None]) -> str:
        cells = [
            f"<{kind} style='text-align: {'left' if place == 0 else 'right'}; padding: 0.1em 0.7em; border: 0; "
            f"border-bottom: {_LINE}'>{html.text(html.cell(text))}</{kind}>"
            for place, text in enumerate(texts)
        ]
        return f"<tr style='background: none'>{''.join(cells)}</tr>"

    rows = "".join(row("td", (name, *values)) for name, values in section.rows)
    return (
        f"<div style='overflow-x: auto'><table style='border-collapse: collapse; margin: 0.5em 0'>"
        f"{row('th', (section.title, *section.columns))}{rows}</table></div>"
    )


def _side_by_side(pictures: str) -> str:
    return f"<div style='display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0.5em'>{pictures}</div>"


def _drawn(title: str, draw: Callable[[], Figure]) -> str:
    """Return the HTML of a figure. If the run has no data for the figure, return the reason as HTML."""
    try:
        picture, size = notebook_png(draw())
    except TraceError as error:
        return f"<p style='opacity: 0.7'>{html.text(title)}: {html.text(error.message)}</p>"
    source = base64.b64encode(picture).decode()
    return (
        f"<img alt='{html.text(title)}' style='display: block; width: {size['width']}px; max-width: 100%; "
        f"height: auto' src='data:image/png;base64,{source}'>"
    )
