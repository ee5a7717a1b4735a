# SPDX-License-Identifier: Apache-2.0
"""Write the animated page of runs (`leowarp view`) beside a report. Also make the report's link to this page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leowarp import view
from leowarp.base.errors import LeowarpError
from leowarp.report import html
from leowarp.results.run import Run

MOST_RUNS = 4
"""The maximum number of runs on an animated page. Each run needs a globe, and only four globes fit on a screen."""


def moving(runs: Sequence[Run], folder: Path) -> str:
    """Write the animated page into a folder.

    runs: The runs. With more than `MOST_RUNS`, no page is written.
    folder: The folder of the report, in which the animated page is written.
    Returns: One line of HTML: the link to the page, or the reason why there is none. The line is "" for too many runs.
    """
    if len(runs) > MOST_RUNS:
        return ""
    try:
        page = view.write_view(runs, folder / view.FILE)
    except LeowarpError as error:
        # An old run may lack a table that the animated page needs; its report is written without this page.
        return f'<p class="quiet">No page on which it moves: {html.text(error.message)}</p>\n'
    globe = "globe, " if any(run.plan.constellation is not None for run in runs) else ""
    words = f"{globe}paths, queues, packets and traces with one clock"
    return f'<p class="screen"><a href="{html.text(page.name)}">See it move</a>: {words}.</p>\n'
