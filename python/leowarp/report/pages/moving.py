# SPDX-License-Identifier: Apache-2.0
"""Writes the animated page of runs (`leowarp view`) beside a report, and the report's link to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leowarp import view
from leowarp.base.errors import LeowarpError
from leowarp.report import html
from leowarp.results.run import Run

MOST_RUNS = 4
"""Maximum number of runs on an animated page, because each needs a globe and only four fit on a screen."""


def moving(runs: Sequence[Run], folder: Path) -> str:
    """Write the animated page into a folder.

    runs: At most `MOST_RUNS` runs; if there are more, no page is written.
    folder: Folder of the report, in which the animated page is written.
    Returns: HTML of a line with the link, or with the reason why there is no page; "" if there are too many runs.
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
