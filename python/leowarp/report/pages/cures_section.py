# SPDX-License-Identifier: Apache-2.0
"""The section of a run's page about the actions of `[cures]`, with a table for each kind of action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.base import layout
from leowarp.base.nodes import station_of
from leowarp.report import html
from leowarp.results.run import Run

MOST_OPEN = 12
"""The number of a table's visible rows before the reader unfolds it."""

_SWITCHED = {
    "moved_pkts": ("moved", 1),
    "hold_ns": ("a packet at once held, ms", 1e6),
    "held_back_pkts": ("held back", 1),
    "held_back_max_bytes": ("most at once, kB", 1e3),
    "held_back_longest_ns": ("longest, ms", 1e6),
    "full_pkts": ("came to a full buffer", 1),
}
_COPIED = {"copied_pkts": ("copied", 1), "copied_bytes": ("copies, kB", 1e3)}
_MERGED = {
    "marker_ns": ("marker came, s", 1e9),
    "ended_ns": ("wait ended, s", 1e9),
    "waited_pkts": ("waited", 1),
    "waiting_max_bytes": ("most at once, kB", 1e3),
    "longest_ns": ("longest, ms", 1e6),
    "full_pkts": ("came to a full buffer", 1),
}
_NOTICED = {
    "old_delay_ns": ("delay before, ms", 1e6),
    "new_delay_ns": ("delay from then on, ms", 1e6),
    "wait_ns": ("wait that it names, ms", 1e6),
    "sent_ns": ("sent, s", 1e9),
}
_ORDERED = {
    "waited_pkts": ("waited for their turn", 1),
    "waiting_max_bytes": ("most at once, kB", 1e3),
    "longest_ns": ("longest, ms", 1e6),
    "given_up_pkts": ("given up", 1),
    "late_pkts": ("arrived after that", 1),
}
_NODES = {
    "held_max_bytes": ("delayed at once at most, kB", 1e3),
    "held_max_at_ns": ("first at, s", 1e9),
    "held_pkts": ("still delayed at the end", 1),
    "signals_pkts": ("markers and notices", 1),
    "signals_bytes": ("markers and notices, bytes", 1),
}
_REFUSALS = {
    "no_old_path": "the previous link no longer leads there",
    "same_path": "the previous link leads back to this node",
    "no_time": "the paths meet behind a link without delay and rate",
    "in_flight": "packets are in flight on the previous link, and the new path is shorter",
}
_PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP"}


_ENTRY = ("at, s", "node", "link before, to", "link after, to", "for packets to")


def cures_section(view: Run) -> str:
    """Return the HTML of the section, or "" if no node or host acts at route changes."""
    parts = []
    # A table without rows is replaced by the text. A table of streams is always shown (None).
    for name, rows_of, described, without_rows in (
        ("switches", view.switches, _switches,
         "<p>No node changed to another link while packets waited or were in flight on the previous one.</p>"),
        ("merges", view.merges, _merges, "<p>No node changed to another link, so no marker was sent.</p>"),
        ("notices", view.notices, _notices, "<p>No host received a notice of a route change.</p>"),
        ("orders", view.orders, _orders, None),
        ("nodetotals", view.nodetotals, _nodes, ""),
    ):  # fmt: skip
        if (view.path / layout.TRACE / f"{name}.parquet").exists():
            frame = rows_of()
            if len(frame) or without_rows is None:
                parts.append(described(view, frame))
            else:
                parts.append(without_rows)
    return "".join(parts)


def _switches(view: Run, frame: pd.DataFrame) -> str:
    copies = view.document.get("cures", {}).get("duplicate", "off") != "off"
    columns = _COPIED if copies else _SWITCHED
    # Tables of older versions lack the column `refused`.
    told = "refused" in frame and (copies or bool(frame["refused"].notna().any()))
    rows = [
        [*_entry(view, row), *_numbers(row, columns), *([_refusal(row.refused)] if told else [])]
        for row in frame.head(html.MOST_ROWS).itertuples(index=False)
    ]
    because = "no copies because" if copies else "not all moved because"
    header = [*_ENTRY, *_titles(columns), *([because] if told else [])]
    said = (
        "Copied: packets that went over the new link and were also sent over the previous one."
        if copies
        else "Moved: packets that waited at the previous link and were handed to the new one. Delayed: packets that "
        "waited until earlier ones would have arrived."
    )
    left = frozenset(range(1, len(_ENTRY))) | ({len(header) - 1} if told else set())
    return _table(f"Changes of nodes to another link. {said}", header, rows, left, len(frame), "entries")


def _merges(view: Run, frame: pd.DataFrame) -> str:
    rows = [
        [*_entry(view, row), _end(view, row.new_direction, 1), *_numbers(row, _MERGED), _refusal(row.refused)]
        for row in frame.head(html.MOST_ROWS).itertuples(index=False)
    ]
    header = [*_ENTRY, "paths meet at", *_titles(_MERGED), "no marker because"]
    caption = (
        "Markers follow the last packet on the previous link. At the node where both paths meet, packets of the new "
        "path wait for the marker."
    )
    left = frozenset((*range(1, len(_ENTRY) + 1), len(header) - 1))
    return _table(caption, header, rows, left, len(frame), "markers")


def _notices(view: Run, frame: pd.DataFrame) -> str:
    rows = [
        [html.number(row.t_ns, 1e9), _end(view, row.to_direction, 0), station_of(row.told_host),
         station_of(row.destination_host), _what(row), *_numbers(row, _NOTICED)]
        for row in frame.head(html.MOST_ROWS).itertuples(index=False)
    ]  # fmt: skip
    header = ["at, s", "sent by", "sent to", "path to", "notice", *_titles(_NOTICED)]
    caption = (
        "Notices of route changes. Delays are the sums of the links from host to host. The wait is the time for which "
        "hosts must delay loss detection; 0: no packet is late."
    )
    return _table(caption, header, rows, frozenset(range(1, 5)), len(frame), "notices")


def _orders(view: Run, frame: pd.DataFrame) -> str:
    cures = view.document.get("cures", {})
    orders, copies = (cures.get(key, "off") != "off" for key in ("resequence", "duplicate"))
    columns: dict[str, tuple[str, float]] = {"numbered_pkts": ("numbered", 1)}
    columns |= _ORDERED if orders else {}
    columns |= {"eliminated_pkts": ("second copies discarded", 1)} if copies else {}
    rows = [
        [station_of(row.source_host), station_of(row.destination_host), _stream(row), *_numbers(row, columns)]
        for row in frame.head(html.MOST_ROWS).itertuples(index=False)
    ]
    header = ["numbered at", "received at", "stream", *_titles(columns)]
    caption = "Streams of packets that one station numbered. " + (
        "The other station put them in order (RFC 9550). Given up: a packet that had not arrived when a later one had "
        "waited for the longest time."
        if orders
        else ""
    )
    return _table(caption, header, rows, frozenset(range(3)), len(frame), "streams")


def _nodes(view: Run, frame: pd.DataFrame) -> str:
    rows = [[row.node, *_numbers(row, _NODES)] for row in frame.head(html.MOST_ROWS).itertuples(index=False)]
    caption = (
        "Bytes that nodes delayed, before and behind all their links together, and the markers and notices that they "
        "sent, as Ethernet frames."
    )
    return _table(caption, ["node", *_titles(_NODES)], rows, frozenset((0,)), len(frame), "nodes")


def _entry(view: Run, row: Any) -> list[object]:
    before, after = row.from_direction, row.to_direction
    ends = (_end(view, before, 0), _end(view, before, 1), _end(view, after, 1))
    return [html.number(row.t_ns, 1e9), *ends, station_of(row.host)]


def _end(view: Run, direction: Any, side: int) -> str | None:
    """Return the name of the sender (side 0) or receiver (side 1) of a direction, or None without a direction."""
    return None if pd.isna(direction) else view.tables.directions[int(direction)][side]


def _refusal(refused: Any) -> str | None:
    # A reason that this version does not know is shown as its number.
    return None if pd.isna(refused) else _REFUSALS.get(str(refused), str(refused))


def _what(row: Any) -> str:
    what = "a change that there is not" if row.is_false else "a change"
    return f"{what}, lost" if row.is_lost else what


def _table(caption: str, header: list[str], rows: list[list[Any]], left: frozenset[int], count: int, what: str) -> str:
    table = html.table(caption, header, rows, left=left, long=True)
    shown = f"{count} {what}" if count <= html.MOST_ROWS else f"{html.MOST_ROWS} of {count} {what}"
    return table if count <= MOST_OPEN else html.folded(shown, table)


def _numbers(row: Any, columns: Mapping[str, tuple[str, float]]) -> list[float | int | None]:
    # Tables of older versions lack columns that were added later.
    known = set(row._fields)
    return [html.number(getattr(row, name), unit) if name in known else None for name, (_, unit) in columns.items()]


def _titles(columns: Mapping[str, tuple[str, float]]) -> list[str]:
    return [title for title, _ in columns.values()]


def _stream(row: Any) -> str:
    if pd.isna(row.protocol):
        return "all packets"
    name = _PROTOCOLS.get(int(row.protocol), f"protocol {int(row.protocol)}")
    # Port 0 stands for a protocol without ports.
    return f"{name}, port {row.source_port:.0f} to {row.destination_port:.0f}" if row.source_port else name
