# SPDX-License-Identifier: Apache-2.0
"""Builds the study's tables for the page and the guide. The tables give the harm of each arm under each load, and the
three parts of the harm."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from leowarp.report import html
from leowarp_studies.gaps.arms import ARMS, BY_NAME, CALL, LOADS, ROUTES, TCPS, Arm, Route
from leowarp_studies.gaps.results import COUNTS, extra, values

_HEADER = ("what happens", *(f"{LOADS[load]}, ms" for load in LOADS), "call, frames lost")
CAPTION = (
    "More than the arm that is named, around the same change: of transfers, ms for which the link's rate did not "
    "arrive; of a call, ms of its slowest frame; of a page load, ms. Medians of five changes, smallest to largest"
)


def harm(frame: pd.DataFrame) -> str:
    """Return one table per route, as HTML. Each row shows the harm of an arm minus the harm of its control, as medians
    with intervals."""
    return "".join(
        html.table(f"{route.label}. {CAPTION}", list(_HEADER), [list(row) for row in _rows(frame, route)],
                   left=frozenset((0,)))
        for route in ROUTES
    )  # fmt: skip


def counts(frame: pd.DataFrame) -> str:
    """Return an HTML table of lost, late and retransmitted packets of transfers, as sums over samples."""
    rows = [
        [route.label, arm.label, LOADS[load],
         *(f"{values(frame, route.name, arm.name, load, name).sum():.0f}" for name in COUNTS)]
        for route in ROUTES for arm in ARMS for load in TCPS if len(values(frame, route.name, arm.name, load))
    ]  # fmt: skip
    header = ["route", "what happens", "load", "late, packets", "lost in gaps", "spurious", "timeouts"]
    return html.table("Packets of all five changes together", header, rows, left=frozenset((0, 1, 2)))


def guide(frame: pd.DataFrame) -> str:
    """Return the tables of docs/guides/gaps.md, as Markdown."""
    lines = []
    for route in ROUTES:
        lines += [f"### {route.label}", "", f"| {' | '.join(_HEADER)} |", "|---|" + "---:|" * (len(_HEADER) - 1)]
        lines += [f"| {' | '.join(row)} |" for row in _rows(frame, route)]
        lines.append("")
    return "\n".join(lines)


def _rows(frame: pd.DataFrame, route: Route) -> Iterator[tuple[str, ...]]:
    for arm in ARMS:
        cells = [extra(frame, route.name, arm.name, load) for load in LOADS]
        cells.append(extra(frame, route.name, arm.name, CALL, "lost_frames"))
        if arm.control != arm.name and any(cell.known for cell in cells):
            yield (f"{_said(arm)}", *(cell.text(1, 0) if cell.known else "-" for cell in cells))


def _said(arm: Arm) -> str:
    return f"{arm.label}, over: {BY_NAME[arm.control].label}"
