# SPDX-License-Identifier: Apache-2.0
"""The verb `view`: one page with animated runs.

`leowarp.view` writes the page. This module chooses the page's path and updates the run's manifest.
"""

from __future__ import annotations

import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from leowarp.cli import options
from leowarp.cli.output import print_json, say


def view(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="A run directory, or several, which are shown with one clock."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Output file; default: 50-report/view.html in the run directory, or view.html here for several runs.",
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Also open it in the browser.")] = False,
    json_: options.Json = False,
) -> None:
    """Make one HTML file that animates runs: globe, paths, queues, packets, traces. The file needs no network and no
    server."""
    import leowarp
    from leowarp import trace
    from leowarp import view as rooms
    from leowarp.base.layout import REPORT
    from leowarp.base.machine.bound import lift

    opened = [leowarp.open(run) for run in runs]
    # A page of several runs does not belong to a single run. It is therefore written outside of the run directories.
    within = out is None and len(opened) == 1
    target = opened[0].path / REPORT / rooms.FILE if within else Path(rooms.FILE) if out is None else out
    # The page becomes a file of the run, so its checksum is added to the manifest.
    drawn = {f"{REPORT}/{rooms.FILE}": {"directory": opened[0].path.resolve().name}}
    with trace.relisted(opened[0].path, drawn) if within else nullcontext():
        page = rooms.write_view(opened, target)
    if json_:
        print_json({"runs": [str(run.path) for run in opened], "view": str(page), "bytes": page.stat().st_size})
    else:
        say(page)
    if open_:
        # The browser is started last: even if this fails, the page exists and its path is printed.
        lift()
        webbrowser.open(page.resolve().as_uri())
