# SPDX-License-Identifier: Apache-2.0
"""The section of a run's page about its network. The tables list busy links and satellites, dropped packets and queues,
and the TCP flows by pair of stations."""

from __future__ import annotations

from typing import Any

import pandas as pd

from leowarp.metrics import pairs
from leowarp.report import html
from leowarp.report.figures.across_flows import has_pairs
from leowarp.report.labels import MOST_LINES
from leowarp.results.run import Run

_CARRIED = {
    "offered_pkts": ("offered", 1),
    "dropped_queue_pkts": ("dropped: queue", 1),
    "dropped_loss_pkts": ("loss", 1),
    "dropped_down_pkts": ("link down", 1),
    "queue_max_pkts": ("longest queue", 1),
    "queue_max_pkts_at_ns": ("first at, s", 1e9),
}
_LINKS = {
    "delivered_bytes": ("delivered, MB", 1e6),
    "utilisation_ratio": ("use, %", 0.01),
    "on_path_ns": ("on a path, s", 1e9),
    "use_on_path_ratio": ("use then, %", 0.01),
    **_CARRIED,
    "queue_mean_pkts": ("mean queue", 1),
}
_SATELLITES = {
    "directions": ("links", 1),
    "delivered_bytes": ("delivered, MB", 1e6),
    "on_path_ns": ("on a path, s", 1e9),
    **_CARRIED,
}
_PAIRS = {
    "flows": ("flows", 1),
    "goodput_mean_bps": ("goodput, Mbit/s", 1e6),
    "rtt_p50_ns": ("median round trip, ms", 1e6),
    "sent_pkts": ("sent", 1),
    "lost_pkts": ("lost", 1),
    "lost_ratio": ("lost, %", 0.01),
    "retransmissions_pkts": ("retransmitted", 1),
}
"""The columns of the tables. Each column has a label, and a number by which its values are divided."""


def network_section(view: Run) -> str:
    """Return the HTML of tables of links, satellites and pairs of stations, or "" if no link carried a packet."""
    links = view.numbers.links
    if len(links) == 0:
        return ""
    satellites = view.satellites()
    tables = [_links(links)]
    if len(satellites):
        tables.insert(0, _table("satellite", satellites, list(satellites["satellite"]), _SATELLITES, "satellites"))
    if has_pairs(view):
        found = pairs(view.summary["flows"])
        names = [f"{row.source} to {row.destination}" for row in found.itertuples(index=False)]
        tables.insert(0, _table("from, to", found, names, _PAIRS, "pairs of stations", by=("goodput_mean_bps",)))
    is_open = len(view.tcp_flows) > MOST_LINES
    folded = "".join(html.folded(summary, table, is_open=is_open) for summary, table in tables)
    return f'<p class="quiet">{_WORDS}</p>{folded}'


def _links(frame: pd.DataFrame) -> tuple[str, str]:
    names = [f"{row.a} > {row.b}" for row in frame.itertuples(index=False)]
    words = [[row.kind, f"{row.queue}, ECN" if row.ecn else row.queue] for row in frame.itertuples(index=False)]
    return _table("direction", frame, names, _LINKS, "directions of links", lead=("kind", "queueing"), words=words)


def _table(
    head: str, frame: pd.DataFrame, names: list[str], columns: dict[str, tuple[str, float]], what: str, *,
    by: tuple[str, ...] = ("queue_max_pkts", "dropped_queue_pkts"), lead: tuple[str, ...] = (),
    words: list[list[Any]] | None = None,
) -> tuple[str, str]:  # fmt: skip
    """Return a table's title and HTML. The rows are sorted by the columns in `by`, with the largest values first."""
    keys = frame[list(by)].astype("Float64").reset_index(drop=True)
    order = keys.sort_values(list(by), ascending=False, kind="stable").index[: html.MOST_ROWS]
    rows = [
        [names[place], *(words[place] if words else ()),
         *(html.number(frame[name].iloc[place], unit) for name, (_, unit) in columns.items())]
        for place in order
    ]  # fmt: skip
    header = [head, *lead, *(title for title, _ in columns.values())]
    shown = f"{len(rows)} {what}" if len(rows) == len(frame) else f"{len(rows)} of {len(frame)} {what}"
    left = frozenset(range(1 + len(lead)))
    return shown, html.table(f"By {columns[by[0]][0]}, the most first", header, rows, left=left, long=True)


_WORDS = (
    "A click on the name of a column sorts by it. Values without a unit are packets. Use: delivered bits divided by "
    "the link's capacity while it is up; then divided by its capacity while a path of the flows used it (above 100 % "
    "if an abandoned link still delivers). The longest queue is counted packet by packet, with the first instant at "
    "which it was so long."
)
