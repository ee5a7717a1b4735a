# SPDX-License-Identifier: Apache-2.0
"""The page on which runs move (`leowarp view`), beside a report, and the line of the report that leads there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leowarp import view
from leowarp.base.errors import LeowarpError
from leowarp.report import html
from leowarp.results.run import Run

MOST_RUNS = 4
"""A comparison of more has none: each has a globe of its own, and a screen shows this number."""


def moving(runs: Sequence[Run], folder: Path) -> str:
    """Writes the page into a folder.

    runs: Up to `MOST_RUNS`; of more none is written.
    folder: That of the report, which links to it.
    Returns: The line that leads there, or says why there is none; "" for too many runs.
    """
    if len(runs) > MOST_RUNS:
        return ""
    try:
        page = view.write_view(runs, folder / view.FILE)
    except LeowarpError as error:
        # An old run may lack a table of it, and its report is worth having all the same.
        return f'<p class="quiet">No page on which it moves: {html.text(error.message)}</p>\n'
    globe = "globe, " if any(run.plan.constellation is not None for run in runs) else ""
    words = f"{globe}paths, queues, packets and traces with one clock"
    return f'<p class="screen"><a href="{html.text(page.name)}">See it move</a>: {words}.</p>\n'
