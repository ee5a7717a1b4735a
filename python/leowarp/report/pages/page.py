# SPDX-License-Identifier: Apache-2.0
"""Write the page of one run, and the page that compares several runs: `index.html` and the files of the figures."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp import trace
from leowarp.base import layout, plainfiles
from leowarp.base.checksums import SEAL
from leowarp.base.errors import LeowarpError, ScenarioError, TraceError
from leowarp.ephemeris import fibres
from leowarp.report import html
from leowarp.report.figures import FIGURES, Runs, views
from leowarp.report.figures.drawing import Drawing, OnFigure, draw_all
from leowarp.report.figures.instants import chosen_instant_s, sentence
from leowarp.report.labels import by_run, footer_of, is_access, labels, mobile_of, numbers_of, warnings_of, worded
from leowarp.report.pages import interactive
from leowarp.report.pages.channel_section import channel_section
from leowarp.report.pages.cures_section import cures_section
from leowarp.report.pages.difference_section import difference_table
from leowarp.report.pages.iperf3_section import iperf3_section
from leowarp.report.pages.network_section import network_section
from leowarp.report.pages.outcome import outcome
from leowarp.report.pages.reconfigurations import reconfigurations_section
from leowarp.report.pages.reordering_section import reordering_section
from leowarp.report.pages.summary_section import first_numbers, summary_tables
from leowarp.report.rules import rules_of
from leowarp.results.run import Run
from leowarp.view import FILE as MOVING
from leowarp.view import write_view

PAGE, FIGURES_FOLDER = "index.html", "figures"

_NOT_SHOWN = ("warnings", "files", "drawn", "later", SEAL)
"""The keys of the manifest that the table of versions does not show."""

MOST_CHANGES = 12
"""In the table of route changes, this many rows are visible at first. The reader can unfold the table."""

MOST_CHARTED = 200
"""The maximum number of flows in the interactive chart, which lists the flows' names for selection. A page with 2,000
flows took 20 s and had 12 MB."""

MOST_FIBRES = 3
"""The maximum number of station pairs for which the page compares the path's delay with the delay of a fibre."""

MOST_MOVING = 4
"""The maximum number of runs on an animated page. Each run needs a globe, and only four globes fit on a screen."""

STUDY = {"pattern": "star", "planes": 18, "satellites_per_plane": 36, "altitude": "1200 km", "inclination": "86.4 deg"}
"""The constellation of Frederiksen et al. (2024). A figure reproduces a figure of this study only if the run has this
constellation."""


def write_report(
    run_dir: str | Path | Run, *, command: str | None = None, formats: Sequence[str] = (),
    figures: Sequence[str] | None = None, flow: int | str | Sequence[int | str] | None = None,
    on_figure: OnFigure | None = None,
) -> Path:  # fmt: skip
    """Write the figures and the page of a run into `50-report/`, and return the page's path.

    Parameters
    ----------
    run_dir : path or Run
        A run directory with plan and trace, or its `Run`.
    command : str, optional
        The command line that made the run. By default, it is a command line that repeats the run from its plan.
    formats : sequence of str
        The formats of the figures ("pdf", "png") in addition to SVG.
    figures : sequence of str, optional
        The names of the figures to draw. The default is all figures for which the run has data.
    flow : int or str, or a sequence of them, optional
        The flows that the figures show, by number or name. The default is all flows. Tables always list all flows.
    on_figure : callable, optional
        A function that is called after each figure, with the number of figures drawn so far and the number of all
        figures.

    Raises
    ------
    ScenarioError
        If there is no such figure or format, or the run has no such flow.
    TraceError
        If the run lacks the data for a figure in `figures`. All other figures and the page are written before the error
        is raised.
    """
    view = views(run_dir)[0]
    chosen = None if flow is None else numbers_of(view, flow)
    drawing = Drawing(figures, formats, chosen, on_figure=on_figure or Drawing.on_figure)
    # `leowarp verify` reads the entries of `pages` to draw the same pages again.
    pages: dict[str, dict[str, Any]] = {
        f"{layout.REPORT}/{PAGE}": {
            "directory": _directory(view), "figures": figures and list(figures), "flows": chosen, "command": command,
        },
        f"{layout.REPORT}/{MOVING}": {"directory": view.path.resolve().name},
    }  # fmt: skip
    with trace.relisted(view.path, pages):
        folder = view.path / layout.REPORT
        drawn, not_drawn = draw_all([view], folder / FIGURES_FOLDER, drawing)
        if figures is not None:
            # The page lists the figures that were not requested but could be drawn. Without this list, a page with two
            # figures would suggest that the run has no data for other figures.
            left_out = [name for name in replace(drawing, names=None).chosen([view]) if name not in figures]
            not_drawn |= dict.fromkeys(
                left_out, f"not asked for; leowarp report {shlex.quote(_directory(view))} draws it"
            )
        body = _run_body(view, drawn, not_drawn, command, chosen, _moving([view], folder))
        page = _write(folder, body, view.name)
        for name in figures or ():
            if name in not_drawn:
                raise TraceError(
                    f"cannot draw the figure {name!r} of {view.path.name}: {not_drawn[name]}",
                    hint=f"the page is written, and says so too: {page}",
                )
        return page


def write_comparison(
    runs: Runs, out_dir: str | Path, *, title: str | None = None, lead: str = "", formats: Sequence[str] = (),
    command: str | None = None, change: str | None = None, on_figure: OnFigure | None = None,
) -> Path:  # fmt: skip
    """Write a page that shows several runs side by side.

    Parameters
    ----------
    runs : sequence of paths
        The run directories.
    out_dir : path
        The folder for `index.html` and `figures/`.
    title : str, optional
        The heading of the page.
    lead : str
        The HTML below the heading, for instance a table of claims.
    command : str, optional
        The command line that made the page. The page shows it.
    change : str, optional
        Some figures show a route change. This is the change for all runs: its time, such as "150 s", or its number,
        from 1. By default, `leowarp.report.figures.instants.RULE` chooses the change.
    on_figure : callable, optional
        A function that is called after each figure, with the number of figures drawn so far and the number of all
        figures.

    Returns
    -------
    page : Path
        The file `index.html` in `out_dir`.

    Raises
    ------
    ScenarioError
        If there are fewer than two runs, or if the folder is a symbolic link.
    """
    many = views(runs)
    if len(many) < 2:
        raise ScenarioError(f"cannot compare {len(many)} run(s)", hint="give two or more: leowarp compare RUN RUN")
    # The time is determined first, so that a wrong --change is reported before anything is drawn.
    folder = Path(out_dir)
    change_s = None if change is None else chosen_instant_s(many, change)
    drawing = Drawing(formats=formats, change_s=change_s, on_figure=on_figure or Drawing.on_figure)
    drawn, not_drawn = draw_all(many, folder / FIGURES_FOLDER, drawing)
    title = title or "Runs compared: " + ", ".join(labels(many))
    warnings = [f"{label}: {text}" for run, label in zip(many, labels(many), strict=True) for text in warnings_of(run)]
    parts = [
        ("zoom", "Over time", _chart(many)),
        ("figures", "Figures", _instant(many, change_s) + _pictures(many, folder, drawn) + _not_drawn(not_drawn)),
        ("summary", "All numbers", html.folded("Each flow and each run", summary_tables(many))),
        ("rules", "Rules and versions", html.folded("Rules", "".join(
            _rules_table(run, label) for run, label in zip(many, labels(many), strict=True)))),
        ("runs", "The runs", _run_links(many, folder)),
        ("again", "How to make this again", f"<pre>{html.text(command)}</pre>" if command else ""),
    ]  # fmt: skip
    lead = _moving(many, folder) + lead
    body = f"<h1>{html.text(title)}</h1>\n" + html.warning_box(warnings)
    # Differences between the runs come first on the page, because a reader needs them to interpret the numbers.
    body += (
        difference_table(many, labels(many))
        + worded(many, first_numbers(many))
        + lead
        + html.sections([part for part in parts if part[2]])
    )
    return _write(folder, body, title)


def _moving(runs: Sequence[Run], folder: Path) -> str:
    """Write the animated page beside the report. Return one line of HTML: the link to it, or the reason why there is
    none. The line is "" for too many runs."""
    if len(runs) > MOST_MOVING:
        return ""
    try:
        page = write_view(runs, folder / MOVING)
    except LeowarpError as error:
        # An old run may lack a table that the animated page needs; its report is written without this page.
        return f'<p class="quiet">No page on which it moves: {html.text(error.message)}</p>\n'
    globe = "globe, " if any(run.plan.constellation is not None for run in runs) else ""
    words = f"{globe}paths, queues, packets and traces with one clock"
    return f'<p class="screen"><a href="{html.text(page.name)}">See it move</a>: {words}.</p>\n'


def _instant(runs: Sequence[Run], change_s: float | None) -> str:
    text = sentence(runs, change_s) if any(run.tcp_flows for run in runs) else ""
    return f'<p class="quiet">{html.text(text)}</p>\n' if text else ""


def _run_body(
    view: Run, drawn: Sequence[str], not_drawn: dict[str, str], command: str | None, chosen: Sequence[int] | None,
    lead: str,
) -> str:  # fmt: skip
    folder = view.path / layout.REPORT
    pictures = {
        part: _pictures([view], folder, [name for name in drawn if FIGURES[name].part == part])
        for part in ("channel", "figures", "reordering")
    }
    parts = [
        ("zoom", "Over time", _chart([view], chosen)),
        ("channel", "Mobile channel", channel_section(view, pictures["channel"])),
        ("figures", "Figures", pictures["figures"] + _not_drawn(not_drawn)),
        ("changes", worded([view], "Route changes"),
         reconfigurations_section(view) if is_access(view) else _changes_table(view)),
        ("cures", "Cures of route changes", cures_section(view)),
        ("reordering", "Reordering", reordering_section(view, pictures["reordering"])),
        ("iperf3", "iperf3 beside the trace", iperf3_section(view)),
        ("summary", "All numbers", html.folded("Each flow and the run", summary_tables([view]))),
        ("recovery", worded([view], "Recovery after route changes"), _recovery_table(view)),
        ("links", "The network", network_section(view)),
        ("rules", "Rules and versions", html.folded("Rules", _rules_table(view, "")) + _versions(view)),
        ("again", "How to repeat this run", _again(view, command)),
    ]  # fmt: skip
    count = len(view.observed_plan.flows)
    heading = f"{view.name}, {_kinds(view)}"
    if count == 1:
        heading = ", ".join([view.name, *labels([view])]) if view.tcp_flows else view.name
    line = f"{count} flow{'s' if count > 1 else ''}, {view.end_ns / 1e9:g} s of virtual time"
    return (
        f'<h1>{html.text(heading)}</h1>\n<p class="quiet">{html.text(line)}; {html.text(footer_of([view]))}</p>\n'
        + _figures_of(view, chosen)
        # Warnings come first on the page, because a reader must check them before trusting the numbers.
        + html.warning_box(warnings_of(view))
        + outcome(view)
        + worded([view], first_numbers([view]))
        + lead
        + html.sections([part for part in parts if part[2]])
    )


def _kinds(view: Run) -> str:
    """Return text such as "2 cubic, 1 bbr, 1 ping"."""
    sorts = Counter(flow.congestion_control if flow.kind == "tcp" else flow.kind for flow in view.observed_plan.flows)
    return ", ".join(f"{number} {name}" for name, number in sorts.items())


def _figures_of(view: Run, chosen: Sequence[int] | None) -> str:
    if chosen is None:
        return ""
    names = "; ".join(f"{view.flow_names[number]} (number {number})" for number in chosen)
    return f'<p class="quiet">Figures show these flows: {html.text(names)}. Tables have all.</p>\n'


def _directory(view: Run) -> str:
    """Return the name of the run's directory, even if the path is ".", which has no name."""
    return view.path.name or view.path.resolve().name


def _write(folder: Path, body: str, title: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PAGE
    plainfiles.write(path, html.page(title, body).encode())
    return path


def _changes_table(view: Run) -> str:
    # Paths over satellites may be faster than a fibre, so the page compares the delays of both.
    beside = [fibre.text() for fibre in fibres(view.plan)[:MOST_FIBRES]]
    ground = f'<p class="quiet">Beside these paths: {html.text("; ".join(beside))}, one way.</p>' if beside else ""
    changes = view.numbers.route_changes
    if len(changes) == 0:
        return f"<p>The route never changed.</p>{ground}"
    rows = []
    for change in changes.itertuples(index=False):
        hops_changed = [
            name
            for name in ("first", "middle", "last")
            if _true(getattr(change, f"{name}_hop{'s' if name == 'middle' else ''}_changed"))
        ]
        rows.append([
            f"{change.t_ns / 1e9:g}", f"{change.source} to {change.destination}", ", ".join(hops_changed) or "–",
            html.arrow(change.hops_before, change.hops_after, 1),
            html.arrow(change.delay_before_ns, change.delay_after_ns, 1e6),
            *(html.number(getattr(change, name)) for name in (
                "overtaken_pkts", "queue_left_pkts", "retransmissions_pkts", "spurious_retransmissions_pkts",
                "dsacks_pkts", "lost_pkts")),
        ])  # fmt: skip
    header = ["at, s", "pair", "hop changed", "hops", "delay, ms", "overtaken", "queue left", "retransmitted",
              "spurious", "DSACKs", "lost"]  # fmt: skip
    table = html.table(
        "Packets, put down to a change until the next one, at most 5 s. Queue left: packets waiting on the abandoned "
        "links at the last sample before.", header, rows, left=frozenset((0, 1, 2)),
    )  # fmt: skip
    if len(rows) > MOST_CHANGES:
        table = html.folded(f"Each of the {len(rows)} route changes", table)
    return ground + table


def _recovery_table(view: Run) -> str:
    frame = view.numbers.recoveries
    if len(frame) == 0:
        return ""
    rows = []
    for row in frame.itertuples(index=False):
        rows.append([
            f"{row.t_ns / 1e9:g}", view.flow_names[row.flow], *(html.number(value, scale) for value, scale in (
                (row.goodput_before_bps, 1e6), (row.goodput_min_bps, 1e6), (row.depth_ratio, 0.01),
                (row.duration_ns, 1e6), (row.recovery_state_ns, 1e6), (row.cwnd_before_pkts, 1), (row.cwnd_min_pkts, 1),
                (row.cwnd_after_pkts, 1), (row.srtt_before_us, 1e3), (row.srtt_min_us, 1e3), (row.srtt_max_us, 1e3),
                (row.retransmissions_pkts, 1), (row.spurious_ratio, 0.01), (row.lost_near_pkts, 1),
                (row.spike_ns, 1e6))),
        ])  # fmt: skip
    header = ["at, s", "flow", "goodput before, Mbit/s", "lowest", "depth, %", "back after, ms", "in recovery, ms",
              "window before", "lowest", "after", "srtt before, ms", "lowest", "highest", "retransmitted",
              "spurious, %", "lost within 1 s", "spike, ms"]  # fmt: skip
    caption = ("Goodput in order at the receiver, 50 ms bins; before: mean of the second before the change; back: "
               "first of 3 bins in a row at 90 % of that; a dash: not within 5 s. Spike: largest one-way delay in the "
               "second after it, less the mean of the second before.")  # fmt: skip
    return html.folded(f"{len(rows)} rows", html.table(caption, header, rows))


def _rules_table(view: Run, label: str) -> str:
    caption = f"Rules that shape the results{' of ' + label if label else ''}"
    return html.table(caption, ["rule", "value"], rules_of(view.document, view.manifest), left=frozenset((0, 1)))


def _versions(view: Run) -> str:
    rows: list[tuple[str, str]] = []

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        elif not isinstance(value, list):
            rows.append((prefix, html.cell(value)))

    # Values are compared as texts, because a plan spells each value in only one form. Some entries are added to the
    # manifest only after the page is written. These entries are left out, so that the same page can be drawn again. The
    # list of all files with their sha256 is left out, because it would be longer than the page.
    walk("", {key: value for key, value in view.manifest.items() if key not in _NOT_SHOWN})
    if not rows:
        return ""
    shown = html.table("manifest.json", ["what", "value"], rows, left=frozenset((0, 1)))
    return html.folded("Versions and hashes", shown)


def _again(view: Run, command: str | None) -> str:
    directory = _directory(view)
    lines = [
        command or f"leowarp run {shlex.quote(f'{directory}/{layout.PLAN}')} --out {shlex.quote(directory + '-again')}",
        f"leowarp verify {shlex.quote(directory)}    # checks every file, makes the run again and compares",
        f"leowarp report {shlex.quote(directory)}    # makes this page again",
    ]
    # The page contains the plan, because the page may be sent to somebody without the run directory.
    plan = (view.path / layout.PLAN).read_text(encoding="utf-8")
    shown = html.folded(f"The plan ({layout.PLAN})", f"<pre>{html.text(plan)}</pre>")
    return f"<pre>{html.text(chr(10).join(lines))}</pre>{shown}"


def _pictures(runs: Sequence[Run], folder: Path, names: Sequence[str]) -> str:
    """Return the HTML of the figures. Two figures that are half as wide as the page share a row."""
    blocks, waiting = [], ""
    for name in names:
        kind = FIGURES[name]
        title = worded(runs, kind.title)
        if kind.study and all(_is_of_study(run) for run in runs):
            title += f" (as {kind.study} of Frederiksen et al., 2024)"
        stem = folder / FIGURES_FOLDER / name
        block = html.picture(stem, title, worded(runs, kind.caption), FIGURES_FOLDER, _python(runs, name))
        if not html.is_half(stem):
            blocks.append(block)
        elif waiting:
            # The second half-width figure is placed beside the first, where there would otherwise be a gap.
            blocks[blocks.index(waiting)] = waiting + block
            waiting = ""
        else:
            blocks.append(waiting := block)
    if waiting:
        blocks[blocks.index(waiting)] = waiting.replace('class="half"', 'class="alone"', 1)
    return f'<div class="figures">{"".join(blocks)}</div>' if blocks else ""


def _python(runs: Sequence[Run], name: str) -> str:
    """Return two lines of Python code that draw a figure if they run in the folder with the run directories."""
    paths = [_directory(group[0]) for group in by_run(runs)]
    if len(paths) == 1:
        return f"import leowarp as lw\nlw.open({paths[0]!r}).figure({name!r})"
    return f"from leowarp.report import figure\nfigure({paths!r}, {name!r})"


def _is_of_study(run: Run) -> bool:
    # Values are compared as texts, because a plan spells each value in only one form.
    shell = run.document.get("constellation", {})
    return (
        not is_access(run) and mobile_of(run) is None and all(shell.get(key) == value for key, value in STUDY.items())
    )


def _not_drawn(not_drawn: dict[str, str]) -> str:
    if not not_drawn:
        return ""
    # If several figures are missing for the same reason, they are listed together. For instance, a run without samples
    # lacks seven figures for one reason.
    reasons: dict[str, list[str]] = {}
    for name, why in not_drawn.items():
        reasons.setdefault(why, []).append(FIGURES[name].title)
    items = "".join(f"<li>{html.text(', '.join(titles))}: {html.text(why)}</li>" for why, titles in reasons.items())
    return f'<p class="quiet">Not drawn:</p><ul class="quiet">{items}</ul>'


def _chart(runs: Sequence[Run], chosen: Sequence[int] | None = None) -> str:
    if not all(run.tcp_flows and run.tables.has("sockets") for run in runs):
        return ""
    views_shown: list[Run] = []
    of = ""
    for run in runs:
        numbers = [number for number in run.tcp_flows if chosen is None or number in chosen]
        if len(numbers) > MOST_CHARTED:
            of += f" Of {len(numbers):,} flows it has {MOST_CHARTED}, evenly spaced by their mean goodput."
            numbers = _evenly(run, numbers)
        # If a run has a single flow, the view of the run is drawn, not the view of the flow. The line in the chart then
        # has the run's name, and the run's colour in the comparison.
        views_shown += [run] if len(run.tcp_flows) == 1 and numbers else [run.of_flow(number) for number in numbers]
    if not views_shown:
        return ""
    chart = interactive.chart(views_shown, "chart")
    if not chart:
        return ""
    note = (
        '<p class="quiet">Drag to zoom, double-click for the whole run, arrow keys to move and zoom, click a name to '
        "hide it. Goodput in order at the receiver, 50 ms bins, bursts above the path's capacity cut off; queue: "
        f"packets waiting on all links of the path in force.{of}</p>"
    )
    script = html.own_script("chart.js")
    return f'<div class="screen">{note}{chart}{script}</div>'


def _evenly(run: Run, numbers: Sequence[int]) -> list[int]:
    """Return at most `MOST_CHARTED` of the flows `numbers`, at evenly spaced ranks of their mean goodput. The flows
    with the lowest and the highest goodput are included."""
    means = [flow.get("goodput_mean_bps") or 0.0 for flow in run.summary["flows"]]
    ordered = sorted(numbers, key=lambda number: means[number])
    places = {round(step * (len(ordered) - 1) / (MOST_CHARTED - 1)) for step in range(MOST_CHARTED)}
    return sorted(ordered[place] for place in places)


def _run_links(runs: Sequence[Run], folder: Path) -> str:
    items = []
    for run, label in zip(runs, labels(runs), strict=True):
        items.append(f"<li>{html.link(html.text(f'{label}: {run.path.name}'), run.report, folder)}</li>")
    return f"<ul>{''.join(items)}</ul>"


def _true(value: Any) -> bool:
    # NA is checked first, because bool(pd.NA) raises TypeError.
    return not pd.isna(value) and bool(value)
