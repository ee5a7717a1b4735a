# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: as a table, as JSON, as a page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    from leowarp.cli.diff_verb import print_causes
    from leowarp.cli.tables import print_sections
    from leowarp.differences import causes
    from leowarp.layout import directory_names
    from leowarp.overview import compared

    print_causes(runs, causes(runs))
    print_sections(compared(directory_names([run.path for run in runs]), [run.summary for run in runs]))
    # The first run's command, because the others' differ from it in the path alone.
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
