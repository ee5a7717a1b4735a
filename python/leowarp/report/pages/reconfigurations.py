# SPDX-License-Identifier: Apache-2.0
"""The section of the page about the reconfigurations of an access link. A run with an access link has this section
instead of the section about route changes over satellites."""

from __future__ import annotations

import pandas as pd

from leowarp import scalars
from leowarp.report import html
from leowarp.report.pages.scalar_rows import Row, scalar_rows
from leowarp.results.run import Run

SUMMARY_ROWS: tuple[Row, ...] = (
    "recovery_p50_ns",
    "recovery_p90_ns",
    "recovered_ratio",
    "goodput_dip_p50_ratio",
    "spike_p50_ns",
    "spike_p90_ns",
    "changes_with_loss_ratio",
    "changes_with_one_loss_ratio",
    "lost_near_changes_pkts",
    "lost_queue_near_changes_pkts",
    ("lost_pkts", "data packets lost in the whole run"),
    "lost_queue_pkts",
)
"""The scalars of a flow that the section shows, in this order."""


def reconfigurations_section(view: Run) -> str:
    """Return the HTML of a table of numbers per flow over all reconfigurations, and a folded table that lists them."""
    changes = view.numbers.route_changes
    if len(changes) == 0:
        return "<p>The path was never reconfigured.</p>"
    flows = view.summary["flows"]
    heads = [view.flow_names[flow["flow"]] for flow in flows]
    rows = scalar_rows(SUMMARY_ROWS, scalars.FLOW_SCALARS, flows)
    together = html.table("All reconfigurations together", ["", "unit", *heads], rows, left=frozenset((0, 1)))
    return together + _each(view, changes)


def _each(view: Run, changes: pd.DataFrame) -> str:
    rows = []
    for t_ns, here in changes.groupby("t_ns", sort=True):
        # Both directions change at the same time and use the same satellite, so the first row is enough to name the new
        # path.
        after = here["path_after"].iloc[0]
        steps, losses = [], []
        for row in here.itertuples(index=False):
            way = f"{row.source} to {row.destination}"
            steps.append(f"{way}: {html.arrow(row.delay_before_ns, row.delay_after_ns, 1e6)}")
            losses.append(f"{way}: {_count(row.lost_pkts)}, {_count(row.retransmissions_pkts)}")
        satellite = after.split(" > ")[1] if isinstance(after, str) and after.count(" > ") == 2 else after
        rows.append([f"{int(t_ns) / 1e9:g}", satellite, "; ".join(steps), "; ".join(losses)])
    caption = (
        "Base delay: smallest propagation delay of the slot, ms. Lost, sent again: packets of all flows in that "
        "direction, until the next reconfiguration, at most for 5 s."
    )
    header = ["at, s", "then by", "base delay, before → after", "lost, sent again"]
    shown = html.table(caption, header, rows, left=frozenset((0, 1, 2, 3)))
    return html.folded(f"Each of the {len(rows)} reconfigurations", shown)


def _count(value: object) -> str:
    return html.cell(html.number(value))
