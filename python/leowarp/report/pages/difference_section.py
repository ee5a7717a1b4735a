# SPDX-License-Identifier: Apache-2.0
"""The first section of a page that compares runs: their differences in plan keys, modules, kernels and versions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from leowarp.report import html
from leowarp.results.differences import causes, condensed, said
from leowarp.results.run import Run

MOST_ROWS = 12
"""The number of visible rows. The reader can unfold further rows."""


def difference_table(runs: Sequence[Run], names: Sequence[str], *, but: Collection[str] = ()) -> str:
    """Return the HTML of the table of differences without the keys `but`. `names` are the headers of the columns."""
    found = condensed([each for each in causes(runs) if each.key not in but])
    if not found:
        return '<p class="quiet">The same plan, modules, kernel and version.</p>\n'
    rows = [[each.key, *(said(value) for value in each.values)] for each in found]
    words = "Differences; everything else in plans, modules, kernels and versions is the same"
    table = html.table(words, ["", *names], rows, left=frozenset(range(len(runs) + 1)))
    if len(rows) > MOST_ROWS:
        table = html.folded(f"What differs: {len(rows)} keys", table)
    return table + "\n"
