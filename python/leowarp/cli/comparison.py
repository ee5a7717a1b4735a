# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: as a table, as JSON, as a page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.cli.output import say

if TYPE_CHECKING:
    from leowarp.result import Run


def print_comparison(runs: Sequence[Run]) -> None:
    """The numbers of the runs that a paper would compare, one column a run, and where all of them are.

    Parameters
    ----------
    runs : sequence of Run
        One at least; the first one's path stands in the last line's example.
    """
    from leowarp.cli.tables import print_sections
    from leowarp.overview import compared

    print_sections(compared(labels(runs), [run.summary for run in runs]))
    say(f"All scalars: leowarp metrics {shlex.quote(str(runs[0].path))}, and so on")


def print_comparison_json(runs: Sequence[Run], page: Path) -> None:
    """The runs' summaries as one JSON object.

    Parameters
    ----------
    runs : sequence of Run
    page : Path
        The page of the comparison, written before.
    """
    from leowarp.cli.output import print_json

    print_json({"page": str(page), "runs": [{"run": str(run.path), "summary": run.summary} for run in runs]})


def labels(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: its directory's, or as much of the path as tells them apart.

    Parameters
    ----------
    runs : sequence of Run
        One at least.

    Returns
    -------
    list of str
        ``["cubic", "bbr"]`` of /x/runs/cubic and /y/runs/bbr; ``["runs/cubic", "more/cubic"]`` where the last part is
        alike. A run that is named twice has its whole path twice.
    """
    parts: list[Any] = [run.path.resolve().parts for run in runs]
    # The shortest endings that differ: two runs called `cubic` in two folders become `a/cubic` and `b/cubic`.
    for depth in range(1, max(len(part) for part in parts) + 1):
        endings = ["/".join(part[-depth:]) for part in parts]
        if len(set(endings)) == len(endings):
            return endings
    return ["/".join(part) for part in parts]
