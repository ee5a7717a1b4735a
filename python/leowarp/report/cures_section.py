# SPDX-License-Identifier: Apache-2.0
"""What `[cures]` did, on a run's page: entries of nodes that went over to another link, streams put in order."""

from __future__ import annotations

from typing import Any

import pandas as pd

from leowarp.metrics.tables import Tables
from leowarp.nodes import station_of
from leowarp.report import html
from leowarp.report.view import RunView

MOST_ROWS = 300
"""Rows of a table; more would make a page of megabytes. The tables `switches` and `orders` have all."""
MOST_OPEN = 12
"""Rows that stand open."""

_SWITCHED = {
    "moved_pkts": ("moved", 1),
    "hold_ns": ("a packet at once held, ms", 1e6),
    "held_back_pkts": ("held back", 1),
    "held_back_max_bytes": ("most at once, kB", 1e3),
    "held_back_longest_ns": ("longest, ms", 1e6),
    "full_pkts": ("came to a full buffer", 1),
}
_ORDERED = {
    "numbered_pkts": ("numbered", 1),
    "waited_pkts": ("waited for their turn", 1),
    "waiting_max_bytes": ("most at once, kB", 1e3),
    "longest_ns": ("longest, ms", 1e6),
    "given_up_pkts": ("given up", 1),
    "late_pkts": ("came after that", 1),
}
_PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP"}


def cures_section(view: RunView) -> str:
    """HTML of the section; "" of a run whose network does nothing about route changes."""
    tables = view.run.tables
    return _switches(tables) + _orders(view)


def _switches(tables: Tables) -> str:
    if not tables.has("switches"):
        return ""
    frame = tables.switches
    if len(frame) == 0:
        return "<p>No entry of a node went over to another link while packets waited or flew before it.</p>"
    rows = [
        [f"{row.t_ns / 1e9:g}", tables.directions[row.from_direction][0],
         tables.directions[row.from_direction][1], tables.directions[row.to_direction][1],
         _station(tables, row.host), *_numbers(row, _SWITCHED)]
        for row in frame.head(MOST_ROWS).itertuples(index=False)
    ]  # fmt: skip
    header = ["at, s", "node", "link before, to", "link after, to", "for packets to", *_titles(_SWITCHED)]
    caption = (
        "Entries of nodes that went over to another link. Moved: packets that waited at the link before and were "
        "handed to the new one. Held back: until those that left before would have arrived first."
    )
    return _folded(html.table(caption, header, rows, left=frozenset(range(5)), long=True), len(frame), "entries")


def _orders(view: RunView) -> str:
    if view.document.get("cures", {}).get("resequence", "off") == "off":
        return ""
    frame = view.run.table("orders").to_pandas()
    tables = view.run.tables
    rows = [
        [_station(tables, row.source_host), _station(tables, row.destination_host), _stream(row),
         *_numbers(row, _ORDERED)]
        for row in frame.head(MOST_ROWS).itertuples(index=False)
    ]  # fmt: skip
    header = ["numbered at", "put in order at", "stream", *_titles(_ORDERED)]
    caption = (
        "Streams that one station numbered and another put in order (RFC 9550). Given up: it had not come when one "
        "behind it had waited its time."
    )
    return _folded(html.table(caption, header, rows, left=frozenset(range(3)), long=True), len(frame), "streams")


def _folded(table: str, count: int, what: str) -> str:
    if count <= MOST_OPEN:
        return table
    shown = f"{count} {what}" if count <= MOST_ROWS else f"{MOST_ROWS} of {count} {what}"
    return f"<details><summary>{shown}</summary>{table}</details>"


def _numbers(row: Any, columns: dict[str, tuple[str, float]]) -> list[float | int | None]:
    return [html.number(getattr(row, name), unit) for name, (_, unit) in columns.items()]


def _titles(columns: dict[str, tuple[str, float]]) -> list[str]:
    return [title for title, _ in columns.values()]


def _station(tables: Tables, host: int) -> str:
    return station_of(tables.hosts[host])


def _stream(row: Any) -> str:
    if pd.isna(row.protocol):
        return "all packets"
    name = _PROTOCOLS.get(int(row.protocol), f"protocol {int(row.protocol)}")
    # 0: the protocol has no ports.
    return f"{name}, port {row.source_port:.0f} to {row.destination_port:.0f}" if row.source_port else name
