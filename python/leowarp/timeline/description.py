# SPDX-License-Identifier: Apache-2.0
"""The summary of a timeline in a few numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.tables.metadata import decode_metadata
from leowarp.timeline.unsettled import unsettled


def warnings_of(table: pa.Table) -> list[str]:
    """Return the warnings in the metadata of a timeline or of a table of routes.

    table: A timeline's or routes table. A table without metadata has no warnings.
    """
    return decode_metadata(table.schema, "warnings") or []


def describe(table: pa.Table) -> dict[str, object]:
    """Return the contents of a timeline: events, nodes and links by kind, route changes, and delays.

    Returns: `events`, `nodes`, `links` (dicts of counts by kind), `route_changes` (counted as in `Routes.summary`),
        `routing_entries_changed` (entries in the routing tables of all nodes, after 0), `links_taken_down`,
        `circle_ns`, `no_entry_ns` (see `unsettled`), `delay_min_ns`, `delay_max_ns` (null without delays),
        `last_event_ns`.
    """
    events = table.group_by("event").aggregate([([], "count_all")])
    counted = dict(zip(events["event"].to_pylist(), events["count_all"].to_pylist(), strict=True))
    links = table.filter(pc.field("event") == "link")
    # Events at time 0 set the initial state, so they are not changes.
    later = pc.field("t_ns") > 0
    delay = table["delay_ns"]
    extremes = pc.min_max(delay).as_py()
    # A link that goes down and comes up again counts as one link.
    distinct = links.group_by(["a", "b", "kind"]).aggregate([])
    return {
        "events": {name: counted[name] for name in sorted(counted)},
        "nodes": _by_kind(table.filter(pc.field("event") == "node")),
        "links": _by_kind(distinct),
        "route_changes": _route_changes(table.filter(pc.field("event") == "path")),
        "routing_entries_changed": table.filter((pc.field("event") == "route") & later).num_rows,
        "links_taken_down": links.filter(~pc.field("up")).num_rows,
        **unsettled(table),
        "delay_min_ns": extremes["min"],
        "delay_max_ns": extremes["max"],
        "last_event_ns": pc.max(table["t_ns"]).as_py(),
    }


def _by_kind(table: pa.Table) -> dict[str, int]:
    kinds = table["kind"].to_pylist()
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def _route_changes(paths: pa.Table) -> int:
    """Return the number of path changes. Changes of both directions at the same instant count as one."""
    on: dict[tuple[str, str], int | None] = {}
    changes = set()
    for row in paths.sort_by("t_ns").to_pylist():
        ends = (row["a"], row["b"])
        # A change to or from "no path" is not counted, because it is an outage. `Routes.summary` measures outages in
        # `no_path_s`.
        if on.get(ends) is not None and row["path_id"] is not None and row["path_id"] != on[ends]:
            # With `routing.reverse = "mirror"`, both directions change at once, which counts as one change, as in
            # `leowarp routes`.
            changes.add((row["t_ns"], frozenset(ends)))
        on[ends] = row["path_id"]
    return len(changes)
