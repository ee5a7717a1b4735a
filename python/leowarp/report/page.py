# SPDX-License-Identifier: Apache-2.0
"""The report of one run, and of several compared: `50-report/index.html`, with the figures' files beside it."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp import layout, plainfiles, scalars
from leowarp.errors import ScenarioError
from leowarp.overview import overview
from leowarp.report import html, interactive
from leowarp.report.channel_section import channel_section
from leowarp.report.drawing import Drawing, OnFigure, draw_all
from leowarp.report.figures import FIGURES, Runs, views
from leowarp.report.moving import moving
from leowarp.report.reconfigurations import reconfigurations_section
from leowarp.report.reordering_section import reordering_section
from leowarp.report.scalar_rows import scalar_rows
from leowarp.report.view import MOST_LINES, RunView, labels, worded

FIGURES_FOLDER = "figures"

FLOW_ROWS = (
    "congestion_control",
    "goodput_mean_bps",
    "goodput_acked_mean_bps",
    "goodput_sacked_mean_bps",
    "srtt_p50_us",
    "srtt_p99_us",
    "rtt_min_ns",
    "rtt_mean_ns",
    "rtt_p50_ns",
    "rtt_p90_ns",
    "rtt_p99_ns",
    "rtt_p999_ns",
    "rtt_max_ns",
    "rtt_error_ns",
    "rtt_step_mean_ns",
    "share_ratio",
    "cwnd_p50_pkts",
    "sent_pkts",
    "retransmissions_pkts",
    "spurious_retransmissions_pkts",
    "dsacks_pkts",
    "data_drops_pkts",
    "delivered_ce_pkts",
    "received_ce_pkts",
    "late_pkts",
    "reordering_extent_max_pkts",
    "acks_late_pkts",
    "completion_ns",
    "probes_pkts",
    "probes_lost_pkts",
    "replies_lost_pkts",
    "replies_lost_near_changes_pkts",
    "loss_runs",
    "loss_run_max_pkts",
    "owd_min_ns",
    "owd_p50_ns",
    "owd_p99_ns",
    "owd_max_ns",
)
"""Scalars of a flow that the page shows first, in its order."""

RUN_ROWS = (
    "fairness.jain_index",
    "route_changes",
    "route_changes_shorter",
    "route_changes_with_late_pkts",
    "path_delay_min_ns",
    "path_delay_mean_ns",
    "path_delay_max_ns",
    "no_path_s",
    "drops_pkts",
    "received_ce_pkts",
    "late_outside_changes_pkts",
    "virtual_s",
    "cpu_s",
    "wall_s",
)
"""Scalars of the run that it shows below them."""


def write_report(
    run_dir: str | Path, *, command: str | None = None, formats: Sequence[str] = (),
    figures: Sequence[str] | None = None, flow: int | Sequence[int] | None = None, on_figure: OnFigure | None = None,
) -> Path:  # fmt: skip
    """Writes a run's figures and page into `50-report/`; returns the page.

    Parameters
    ----------
    run_dir : path
        A run directory with plan and trace.
    command : str, optional
        The command that made the run; by default the one that re-makes it from its plan.
    formats : sequence of str
        Of the figures' files ("pdf", "png"), besides SVG.
    figures : sequence of str, optional
        Which figures, by name; by default all that the run has something to show in.
    flow : int or sequence of int, optional
        Which flows the figures show; by default all. The tables have all of them.
    on_figure : callable, optional
        Hears how many figures are drawn, of how many.

    Raises
    ------
    ScenarioError
        If there is no such figure or format, or the run has no such flow.
    """
    view = RunView(run_dir)
    folder = view.path / layout.REPORT
    chosen = _chosen_flows(view, flow)
    drawing = Drawing(figures, formats, chosen, on_figure or Drawing.on_figure)
    drawn, not_drawn = draw_all([view], folder / FIGURES_FOLDER, drawing)
    if figures is not None:
        left_out = [name for name in replace(drawing, names=None).chosen([view]) if name not in figures]
        not_drawn |= dict.fromkeys(left_out, f"not asked for; leowarp report {shlex.quote(view.path.name)} draws it")
    body = _run_body(view, drawn, not_drawn, command, chosen, moving([view.run], folder))
    return _write(folder, body, view.name)


def _chosen_flows(view: RunView, flow: int | Sequence[int] | None) -> list[int] | None:
    if flow is None:
        return None
    chosen = [flow] if isinstance(flow, int) else list(dict.fromkeys(flow))
    count = len(view.plan.flows)
    wrong = [number for number in chosen if not 0 <= number < count]
    if wrong:
        raise ScenarioError(
            f"cannot draw flow {wrong[0]} of {view.path.name}: it has {count} flow{'s' if count > 1 else ''}",
            hint=f"name one from 0 to {count - 1}",
        )
    return chosen


def write_comparison(
    runs: Runs, out_dir: str | Path, *, title: str | None = None, lead: str = "", formats: Sequence[str] = (),
    command: str | None = None,
) -> Path:  # fmt: skip
    """Writes one page that shows several runs side by side; returns it.

    Parameters
    ----------
    runs : sequence of paths
        Run directories.
    out_dir : path
        Where `index.html` and `figures/` go.
    title : str, optional
        Heading of the page.
    lead : str
        HTML to stand below the heading (a claims table, for instance).
    command : str, optional
        What made the page.
    """
    many = views(runs)
    if len(many) < 2:
        raise ScenarioError(f"cannot compare {len(many)} run(s)", hint="give two or more: leowarp compare RUN RUN")
    folder = Path(out_dir)
    drawn, not_drawn = draw_all(many, folder / FIGURES_FOLDER, Drawing(formats=formats))
    title = title or "Runs compared: " + ", ".join(labels(many))
    warnings = [f"{label}: {text}" for run, label in zip(many, labels(many), strict=True) for text in run.warnings]
    parts = [
        ("summary", "Summary", _summary_tables(many) + _not_drawn(not_drawn)),
        ("figures", "Figures", _pictures(many, folder, drawn)),
        ("zoom", "Over time, to zoom into", _chart(many)),
        ("rules", "Rules and versions", "".join(_rules_table(run, label) for run, label in
                                                zip(many, labels(many), strict=True))),
        ("runs", "The runs", _run_links(many, folder)),
    ]  # fmt: skip
    if command:
        parts.append(("again", "How to make this again", f"<pre>{html.text(command)}</pre>"))
    lead = moving([run.run for run in many], folder) + lead
    body = f"<h1>{html.text(title)}</h1>\n" + html.warning_box(warnings) + lead + _assembled(parts)
    return _write(folder, body, title)


def _run_body(
    view: RunView,
    drawn: Sequence[str],
    not_drawn: dict[str, str],
    command: str | None,
    chosen: Sequence[int] | None,
    lead: str,
) -> str:
    folder = view.path / layout.REPORT
    parts = [
        ("summary", "Summary", _summary_tables([view])),
        ("channel", "Mobile channel", channel_section(view, _pictures([view], folder, _part(drawn, "channel")))),
        ("changes", worded([view], "Route changes"),
         reconfigurations_section(view) if view.is_access else _changes_table(view)),
        ("figures", "Figures", _pictures([view], folder, _part(drawn, "figures")) + _not_drawn(not_drawn)),
        ("reordering", "Reordering", reordering_section(view, _pictures([view], folder, _part(drawn, "reordering")))),
        ("zoom", "Over time, to zoom into", _chart([view], chosen)),
        ("recovery", worded([view], "Recovery after route changes"), _recovery_table(view)),
        ("links", "Links", _links_table(view)),
        ("rules", "Rules and versions", _rules_table(view, "") + _versions(view)),
        ("again", "How to make this run again", _again(view, command)),
    ]  # fmt: skip
    count = len(view.plan.flows)
    heading = f"{view.name}, {_kinds(view)}"
    if count == 1:
        heading = ", ".join([view.name, *labels([view])]) if view.tcp_flows else view.name
    line = f"{count} flow{'s' if count > 1 else ''}, {view.metrics.end_ns / 1e9:g} s of virtual time"
    return (
        f'<h1>{html.text(heading)}</h1>\n<p class="quiet">{html.text(line)}; {html.text(view.footer())}</p>\n'
        + _figures_of(view, chosen)
        + html.warning_box(view.warnings)
        + lead
        + _assembled(parts)
    )


def _kinds(view: RunView) -> str:
    """How many flows of which congestion control or kind: "2 cubic, 1 bbr, 1 ping"."""
    sorts = Counter(flow.congestion_control if flow.kind == "tcp" else flow.kind for flow in view.plan.flows)
    return ", ".join(f"{number} {name}" for name, number in sorts.items())


def _figures_of(view: RunView, chosen: Sequence[int] | None) -> str:
    if chosen is None:
        return ""
    names = "; ".join(f"{view.flow_names[number]} (number {number})" for number in chosen)
    return f'<p class="quiet">Figures show these flows: {html.text(names)}. Tables have all.</p>\n'


def _assembled(parts: Sequence[tuple[str, str, str]]) -> str:
    shown = [part for part in parts if part[2]]
    sections = "".join(html.section(*part) for part in shown)
    return html.navigation((name, heading) for name, heading, _ in shown) + sections


def _write(folder: Path, body: str, title: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.html"
    plainfiles.write(path, html.page(title, body).encode())
    return path


def _summary_tables(runs: Sequence[RunView]) -> str:
    heads, columns = [], []
    for run, label in zip(runs, labels(runs), strict=True):
        for flow in run.summary["flows"]:
            several = len(run.summary["flows"]) > 1
            way = f"{flow['flow']}: {run.flow_names[flow['flow']]}" if several else run.flow_names[flow["flow"]]
            heads.append(f"{label}, {way}" if len(runs) > 1 and several else (label if len(runs) > 1 else way))
            columns.append(flow)
    each = html.table(
        "Each flow, by number" if len(heads) > len(runs) else "Each flow",
        ["", "unit", *heads],
        scalar_rows(FLOW_ROWS, scalars.FLOW_SCALARS, columns),
        left=frozenset((0, 1)),
    )
    tables = _spread_tables(runs[0]) if len(runs) == 1 and len(heads) > MOST_LINES else ""
    tables += f"<details><summary>All {len(heads)} flows</summary>{each}</details>" if len(heads) > MOST_LINES else each
    heads = list(labels(runs)) if len(runs) > 1 else [""]
    rows = scalar_rows(RUN_ROWS, scalars.RUN_SCALARS, [run.summary for run in runs])
    return worded(runs, tables + html.table("Each run", ["", "unit", *heads], rows, left=frozenset((0, 1))))


def _spread_tables(run: RunView) -> str:
    """Of many flows: sums and quantiles over them, then the worst and the best."""
    found = ""
    for section in overview(run.summary):
        few = section.of(section.title, range(len(section.columns)))
        if section.spread is not None and len(section.columns) > MOST_LINES:
            title = f"{section.title}: {len(section.columns)} flows, each quantity by itself"
            found += html.table(title, ["", *section.spread.columns], [(name, *of) for name, of in section.spread.rows])
            ends = [*section.ranked[:3], *section.ranked[: -3 - 1 : -1]]
            few = section.of(f"{section.title}: worst 3, then best 3 by {section.ranked_by}", ends)
        if section.spread is not None:
            found += html.table(few.title, ["", *few.columns], [(name, *of) for name, of in few.rows])
    return found


def _changes_table(view: RunView) -> str:
    changes = view.metrics.route_changes
    if len(changes) == 0:
        return "<p>The route never changed.</p>"
    rows = []
    for change in changes.itertuples(index=False):
        hops_changed = [
            name
            for name in ("first", "middle", "last")
            if _true(getattr(change, f"{name}_hop{'s' if name == 'middle' else ''}_changed"))
        ]
        rows.append([
            f"{change.t_ns / 1e9:g}", f"{change.source} to {change.destination}", ", ".join(hops_changed) or "–",
            _arrow(change.hops_before, change.hops_after, 1),
            _arrow(change.delay_before_ns, change.delay_after_ns, 1e6),
            *(_missing(getattr(change, name)) for name in (
                "overtaken_pkts", "extent_max_pkts", "queue_left_pkts", "retransmissions_pkts",
                "spurious_retransmissions_pkts", "dsacks_pkts", "lost_pkts")),
        ])  # fmt: skip
    header = ["at, s", "pair", "hop changed", "hops", "delay, ms", "overtaken", "largest extent", "queue left",
              "retransmitted", "spurious", "DSACKs", "lost"]  # fmt: skip
    return html.table(
        "Packets, put down to a change until the next one, at most 5 s. Queue left: packets waiting on the abandoned "
        "links at the last sample before.", header, rows, left=frozenset((0, 1, 2)),
    )  # fmt: skip


def _recovery_table(view: RunView) -> str:
    frame = view.metrics.recoveries
    if len(frame) == 0:
        return ""
    rows = []
    for row in frame.itertuples(index=False):
        rows.append([
            f"{row.t_ns / 1e9:g}", view.flow_names[row.flow], *(_missing(value, scale) for value, scale in (
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
    return f"<details><summary>{len(rows)} rows</summary>{html.table(caption, header, rows)}</details>"


def _links_table(view: RunView) -> str:
    links = view.metrics.links.sort_values(["queue_max_pkts", "offered_pkts"], ascending=False).head(40)
    if len(links) == 0:
        return ""
    rows = [
        [f"{row.a} > {row.b}", row.kind, f"{row.queue}, ECN" if row.ecn else row.queue,
         *(_missing(getattr(row, f"{name}_pkts")) for name in ("offered", "dropped_queue", "dropped_loss",
                                                               "dropped_down")),
         _missing(row.utilisation_ratio, 0.01), _missing(row.queue_max_pkts), _missing(row.queue_mean_pkts)]
        for row in links.itertuples(index=False)
    ]  # fmt: skip
    header = ["direction", "kind", "queueing", "offered", "dropped: queue", "loss", "link down", "use, %",
              "longest queue", "mean queue"]  # fmt: skip
    count = len(view.metrics.links)
    caption = f"Packets; the {len(rows)} directions with the longest queues, of {count} that carried any."
    return (
        f"<details><summary>{len(rows)} of {count} directions</summary>"
        f"{html.table(caption, header, rows, left=frozenset((0, 1, 2)))}</details>"
    )


def _rules_table(view: RunView, label: str) -> str:
    caption = f"Rules that shape the results{' of ' + label if label else ''}"
    return html.table(caption, ["rule", "value"], view.rules(), left=frozenset((0, 1)))


def _versions(view: RunView) -> str:
    rows: list[tuple[str, str]] = []

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        elif not isinstance(value, list):
            rows.append((prefix, html.cell(value)))

    walk("", {key: value for key, value in view.manifest.items() if key not in ("warnings", "files", "sha256")})
    if not rows:
        return ""
    shown = html.table("manifest.json", ["what", "value"], rows, left=frozenset((0, 1)))
    return f"<details><summary>Versions and hashes</summary>{shown}</details>"


def _again(view: RunView, command: str | None) -> str:
    directory = view.path.name
    lines = [
        command or f"leowarp run {shlex.quote(f'{directory}/{layout.PLAN}')} --out {shlex.quote(directory + '-again')}",
        f"leowarp verify {shlex.quote(directory)}    # makes it again and compares the traces byte by byte",
        f"leowarp report {shlex.quote(directory)}    # makes this page again",
    ]
    plan = (view.path / layout.PLAN).read_text(encoding="utf-8")
    return (
        f"<pre>{html.text(chr(10).join(lines))}</pre>"
        f"<details><summary>The plan ({layout.PLAN})</summary><pre>{html.text(plan)}</pre></details>"
    )


def _pictures(runs: Sequence[RunView], folder: Path, names: Sequence[str]) -> str:
    blocks = []
    for name in names:
        kind = FIGURES[name]
        # The study is one of routes over satellites.
        of_study = kind.study and not any(run.is_access or run.mobile for run in runs)
        title = worded(runs, kind.title) + (f" ({kind.study} of the study)" if of_study else "")
        blocks.append(html.picture(folder / FIGURES_FOLDER / name, title, worded(runs, kind.caption), FIGURES_FOLDER))
    return f'<div class="figures">{"".join(blocks)}</div>' if blocks else ""


def _part(names: Sequence[str], part: str) -> list[str]:
    return [name for name in names if FIGURES[name].part == part]


def _not_drawn(not_drawn: dict[str, str]) -> str:
    if not not_drawn:
        return ""
    items = "".join(f"<li>{html.text(FIGURES[name].title)}: {html.text(why)}</li>" for name, why in not_drawn.items())
    return f'<p class="quiet">Not drawn:</p><ul class="quiet">{items}</ul>'


def _chart(runs: Sequence[RunView], chosen: Sequence[int] | None = None) -> str:
    """The zoom chart of every TCP flow, or of those chosen."""
    if not all(run.tcp_flows and run.tables.has("sockets") for run in runs):
        return ""
    views_shown: list[RunView] = []
    for run in runs:
        numbers = [number for number in run.tcp_flows if chosen is None or number in chosen]
        views_shown += [run] if len(run.tcp_flows) == 1 and numbers else [run.of_flow(number) for number in numbers]
    if not views_shown:
        return ""
    note = (
        '<p class="quiet">Drag to zoom, double-click for the whole run, arrow keys to move and zoom, click a name to '
        "hide it. Goodput in order at the receiver, 50 ms bins; queue: packets waiting on all links of the path in "
        "force.</p>"
    )
    return f'<div class="screen">{note}{interactive.library()}{interactive.chart(views_shown, "chart")}</div>'


def _run_links(runs: Sequence[RunView], folder: Path) -> str:
    items = []
    for run, label in zip(runs, labels(runs), strict=True):
        page = run.path / layout.REPORT / "index.html"
        shown = html.text(f"{label}: {run.path.name}")
        if page.exists():
            relative = Path(_relative(page, folder)).as_posix()
            shown = f'<a href="{html.text(relative)}">{shown}</a>'
        items.append(f"<li>{shown}</li>")
    return f"<ul>{''.join(items)}</ul>"


def _relative(path: Path, start: Path) -> str:
    return os.path.relpath(path.resolve(), start.resolve())


def _arrow(before: Any, after: Any, scale: float) -> str:
    def one(value: Any) -> str:
        if value is None or pd.isna(value):
            return "none"
        return f"{value / scale:.2f}" if scale != 1 else f"{int(value)}"

    return f"{one(before)} → {one(after)}"


def _true(value: Any) -> bool:
    return not pd.isna(value) and bool(value)


def _missing(value: Any, scale: float = 1) -> object:
    if value is None or pd.isna(value):
        return None
    return int(value) if scale == 1 and float(value).is_integer() else float(value) / scale
