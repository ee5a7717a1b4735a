# SPDX-License-Identifier: Apache-2.0
"""The section of the page about reordering, for each flow and for each route change."""

from __future__ import annotations

import pandas as pd

from leowarp import scalars
from leowarp.report import html
from leowarp.report.labels import MOST_LINES, is_access
from leowarp.report.pages.scalar_rows import Row, scalar_rows
from leowarp.results.run import Run
from leowarp.scalars.of_flows import REORDERING

SCALAR_ROWS: tuple[Row, ...] = (
    "reordered_ratio",
    "reordered3_ratio",
    "mean_displacement_pkts",
    "entropy_nats",
    "buffer_mean_pkts",
    "density_beyond_pkts",
    "reordering_extent_mean_pkts",
    ("reordering_extent_max_pkts", "largest extent"),
    "late_time_mean_ns",
    "late_time_max_ns",
    "byte_offset_max_bytes",
    "reordering_discontinuities",
    "reordering_free_run_mean_pkts",
    ("late_pkts", "late packets"),
    "late_by_changes_pkts",
    "lost_pkts",
    "lost_by_changes_pkts",
    "needed_retransmissions_pkts",
    "needed_by_changes_pkts",
    ("spurious_retransmissions_pkts", "spurious retransmissions"),
    "spurious_by_changes_pkts",
)
"""The scalars of a flow that the section shows, in this order."""

RULES = (
    "A late packet is attributed to the route change during its flight, a lost packet to the change that removed its "
    "link or its route, and a retransmission to the same change as its first transmission. Needed: sent again because "
    'bytes were lost; spurious: sent again although the original arrived. The row "no change" has all other packets, '
    "above all losses at full queues."
)


def reordering_section(view: Run, pictures: str) -> str:
    """Return the HTML of the section: numbers per flow, the figures, and the effects of each route change."""
    flows = view.numbers.summary["flows"]
    measured = [flow for flow in flows if any(flow.get(name) is not None for name in scalars.names(REORDERING))]
    if not measured:
        return "<p>Reordering was not measured: no packet of this run was followed.</p>"
    heads = [view.flow_names[flow["flow"]] for flow in measured]
    # For an access link, losses by route changes are not shown, because packets at a reconfiguration are lost on the
    # link itself.
    kept = [
        row
        for row in SCALAR_ROWS
        if not (is_access(view) and isinstance(row, str) and row.endswith("_by_changes_pkts"))
    ]
    rows = scalar_rows(kept, scalars.FLOW_SCALARS, measured, unknown=True)
    caption = (
        "First transmissions of the whole run, in order of sending (RFC 4737, RFC 5236; a dash: none was reordered). "
        f"Threshold of RD and of the buffer: {view.plan.observe.reordering_threshold_pkts} packets."
    )
    whole = html.table(caption, ["", "unit", *heads], rows, left=frozenset((0, 1)))
    if len(heads) > MOST_LINES:
        whole = html.folded(f"Each of the {len(heads)} flows", whole)
    return whole + pictures + _changes(view)


def _changes(view: Run) -> str:
    """Return a table of the route changes that affected a flow. Its last row has what no route change caused."""
    causes = view.numbers.causes
    # An access link has a reconfiguration every 15 s, which gives many rows. If no packet was late, all rows would be
    # zero, so the table is left out.
    if not causes["change"].notna().any() or (is_access(view) and not causes["late_pkts"].any()):
        return ""
    around = view.numbers.reordering[view.numbers.reordering["scope"] == "change"].set_index(["flow", "number"])
    rows = []
    for cause in causes.itertuples(index=False):
        named = not pd.isna(cause.change)
        key = (cause.flow, int(cause.change)) if named else None
        row = around.loc[key] if key in around.index else None
        rows.append([
            f"{cause.t_ns / 1e9:g}" if named else "no change", view.flow_names[cause.flow], cause.late_pkts,
            *(html.number(None if row is None else row[name], scale) for name, scale in (
                ("extent_max_pkts", 1), ("late_time_max_ns", 1e6), ("reordered_ratio", 0.01),
                ("mean_displacement_pkts", 1), ("entropy_nats", 1), ("buffer_mean_pkts", 1),
                ("density_beyond_pkts", 1))),
            cause.lost_pkts, cause.needed_retransmissions_pkts, cause.spurious_retransmissions_pkts,
        ])  # fmt: skip
    header = ["at, s", "flow", "late", "largest extent", "late by, ms", "reordered, %", "MD, packets", "E_r, nats",
              "buffer, packets", "beyond RD", "lost", "needed", "spurious"]  # fmt: skip
    observe = view.plan.observe
    caption = (
        "What each route change caused, in packets. From extent to beyond RD: the packets sent from "
        f"{observe.packets_before_ns / 1e9:g} s before to {observe.packets_after_ns / 1e9:g} s after it, as a sequence "
        f"of their own. {RULES}"
    )
    return html.table(caption, header, rows)
