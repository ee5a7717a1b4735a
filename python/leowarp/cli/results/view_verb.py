# SPDX-License-Identifier: Apache-2.0
"""The verb `view`: one page with animated runs.

`leowarp.view` writes the page; this module chooses its place and updates the manifest of its run.
"""

from __future__ import annotations

import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from leowarp.cli import options
from leowarp.cli.output import say


def view(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="A run directory, or several to see with one clock.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file; of one run 50-report/view.html in it, else view.html here."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser, too.")] = False,
    json_: options.Json = False,
) -> None:
    """One HTML file that shows runs moving: globe, paths, queues, packets, traces. It needs no network, no server."""
    import leowarp
    from leowarp import trace
    from leowarp import view as rooms
    from leowarp.base.layout import REPORT
    from leowarp.base.machine.bound import lift
    from leowarp.cli.output import print_json

    opened = [leowarp.open(run) for run in runs]
    # A page of several runs belongs to none of these runs.
    within = out is None and len(opened) == 1
    target = opened[0].path / REPORT / rooms.FILE if within else Path(rooms.FILE) if out is None else out
    # The page is one more file of the run, so the manifest lists it with its checksum.
    drawn = {f"{REPORT}/{rooms.FILE}": {"directory": opened[0].path.resolve().name}}
    with trace.relisted(opened[0].path, drawn) if within else nullcontext():
        page = rooms.write_view(opened, target)
    if json_:
        print_json({"runs": [str(run.path) for run in opened], "view": str(page), "bytes": page.stat().st_size})
    else:
        say(page)
    if open_:
        # The browser is started last, so that the page and the line with its path are not lost if it cannot start.
        lift()
        webbrowser.open(page.resolve().as_uri())
