# SPDX-License-Identifier: Apache-2.0
"""Verbs for existing runs: show, compare, export."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import Annotated

import typer

import leowarp
from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import notes, print_json, say
from leowarp.cli.printed.link_tables import Order
from leowarp.results.run import Run


def show(
    run: options.RunPath,
    metrics: Annotated[bool, typer.Option("--metrics", help="Print all scalars, grouped by subject.")] = False,
    all_: Annotated[
        bool,
        typer.Option("--all", help="As --metrics, and also the scalars that are null: not recorded, or not defined."),
    ] = False,
    links: Annotated[
        bool, typer.Option("--links", help="Print utilisation, drops and longest queues of links and satellites.")
    ] = False,
    satellites: Annotated[bool, typer.Option("--satellites", help="--links, of satellites alone.")] = False,
    top: Annotated[
        int | None, typer.Option(min=1, help="As --links, with this many directions and satellites [default: 20].")
    ] = None,
    by: Annotated[
        Order | None,
        typer.Option(
            help="Order of --links, largest first: bytes delivered [default], longest queue in bytes, or drops."
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Compute the metrics again from the trace, and write them.")
    ] = False,
    json_: options.Json = False,
) -> None:
    """Print the results of a run: the most important numbers, all numbers, or its links."""
    from leowarp.cli.printed import link_tables
    from leowarp.cli.printed.tables import print_scalars
    from leowarp.cli.runs.run_verbs import print_run

    opened = leowarp.open(run)
    of_links = links or satellites or top is not None or by is not None
    if of_links and (metrics or all_):
        raise ScenarioError("--metrics and --links are two tables", hint="ask for one, then for the other")
    if again:
        from leowarp import metrics as metrics_of
        from leowarp import trace

        # The trace does not contain the costs of the run, so they are copied from the manifest.
        costs = opened.manifest["costs"]
        numbers = metrics_of.metrics(opened.tables, opened.plan).with_cost(cpu_s=costs["cpu_s"], wall_s=costs["wall_s"])
        # The manifest has the sha256 of every file. `relisted` updates the manifest's hashes for the files that are
        # written here.
        with trace.relisted(opened.path):
            numbers.write(opened.path)
    if of_links:
        link_tables.print_network(opened, top=top or 20, by=by or Order.bytes, satellites=satellites, json_=json_)
    elif not (metrics or all_):
        print_run(opened, json_)
    elif json_:
        print_json(opened.summary)
    else:
        print_scalars(opened.summary, nulls=all_)


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN RUN...", help="Two or more run directories, or groups of runs (run --seeds)."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory for the page and its figures [default: comparison]."),
    ] = None,
    change: Annotated[
        str | None,
        typer.Option(
            metavar="N|TIME",
            help="Instant that figures around a route change show for all runs: the number of a change, from 1, or a "
            "time such as '150 s'. By default a rule chooses it, and the page states it.",
        ),
    ] = None,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            help="Print the differences between two runs, without a page: plans, modules, kernels, then metrics.",
        ),
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="As --diff, with every scalar that differs, for every flow.")
    ] = False,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Compare runs, or groups of runs: their differences, a table of results, and a page with their figures."""
    from leowarp import report as report_room
    from leowarp.base.progress import of_figures, shown
    from leowarp.cli.printed import comparison, group_tables
    from leowarp.results.replicates import is_group

    if len(runs) < 2:
        raise ScenarioError("compare needs two runs or more", hint="leowarp compare RUN RUN [RUN...]")
    if diff or all_:
        if len(runs) != 2 or out is not None or change is not None:
            raise ScenarioError(
                "--diff compares two runs, and makes no page with --out or --change", hint="leowarp compare A B --diff"
            )
        comparison.print_differences(leowarp.open(runs[0]), leowarp.open(runs[1]), everything=all_, as_json=json_)
        return
    out = out or Path("comparison")
    if any(is_group(run) for run in runs):
        if change is not None:
            raise ScenarioError("--change is for single runs: pages of groups show whole runs", hint="leave it out")
        group_tables.compare_groups(runs, out, json_)
        return
    opened = [leowarp.open(run) for run in runs]
    asked = "" if change is None else f" --change {shlex.quote(change)}"
    command = f"leowarp compare {' '.join(shlex.quote(str(run)) for run in runs)}{asked}"
    with shown(options.progress_of(progress)) as show:
        page = report_room.write_comparison(
            runs, out, command=command, change=change, on_figure=of_figures(show, out.name)
        )
    if json_:
        comparison.print_comparison_json(opened, page)
    else:
        for run in opened:
            # Warnings are printed first, so that the reader sees them before the numbers.
            notes(f"warning: {run.path}", run.warnings)
        comparison.print_comparison(opened)
        say(f"Page:        {page}")


def export(
    run: options.RunPath,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[TABLE]", help="Name of a table (sockets, packets, bins, links, ...), or pcapng."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output file, or directory for pcapng; default for a table: stdout."),
    ] = None,
    flow: options.Flow = None,
    czml_: Annotated[
        bool,
        typer.Option(
            "--czml", help="Export satellites, stations and the links of paths for Cesium, instead of a table."
        ),
    ] = False,
) -> None:
    """Export a table of a run as CSV, its packet captures as pcapng, or its moving objects as CZML."""
    from leowarp.results import export as exports

    if (what is None) != czml_ or (czml_ and flow is not None):
        raise ScenarioError(
            "export needs either the name of a table, or --czml (which has no flows)",
            hint=f"leowarp export {run} sockets, or leowarp export {run} --czml --out run.czml",
        )
    opened = leowarp.open(run)
    if what is None:
        _export_czml(opened, out)
    elif what == "pcapng":
        for path in exports.pcapng(opened, out or Path()):
            say(path)
    elif out is None:
        import sys

        if sys.stdout.isatty():
            # On a terminal, control characters are made visible; a file or a pipe gets the bytes unchanged.
            text = io.BytesIO()
            exports.csv(opened, what, text, flow=flow)
            say(text.getvalue().decode(errors="surrogateescape"), end="")
        else:
            exports.csv(opened, what, sys.stdout.buffer, flow=flow)
    else:
        plainfiles.refuse_link(out)
        with out.open("wb") as stream:
            exports.csv(opened, what, stream, flow=flow)


def _export_czml(run: Run, out: Path | None) -> None:
    from leowarp.results.czml import czml

    text = czml(run)
    if out is None:
        say(text)
    else:
        plainfiles.refuse_link(out)
        out.write_text(text, encoding="utf-8")
