# SPDX-License-Identifier: Apache-2.0
"""The summary of a timeline in a few numbers."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.errors import TraceError
from leowarp.base.tables.metadata import decode_metadata


def warnings_of(table: pa.Table) -> list[str]:
    """Return the warnings in the metadata of a timeline or of a table of routes. Without metadata, there are none."""
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
    return dict(sorted(Counter(table["kind"].to_pylist()).items()))


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


def unsettled(table: pa.Table) -> dict[str, int]:
    """Return the total time during which packets would loop, or would reach a node without a route. Only the routing
    entries are considered, not the positions of real packets.

    Returns: `circle_ns` is the time in which packets would go in a circle. `no_entry_ns` is the time in which a node
        has no route. Both are sums over all ordered pairs that have a path. If all nodes of a path switch at the same
        instant, both sums are 0.
    Raises TraceError if an event names a node that does not exist.
    """
    times = {"circle_ns": 0, "no_entry_ns": 0}
    kind = pc.field("event")
    entries = table.filter((kind == "route") & pc.field("next_hop").is_valid())["t_ns"].unique().to_pylist()
    if set(entries) <= set(table.filter(kind == "path")["t_ns"].unique().to_pylist()):
        return times
    rows = table.filter(kind.isin(["node", "link", "route", "path"])).to_pylist()
    instants = [(t_ns, list(events)) for t_ns, events in groupby(rows, key=lambda row: row["t_ns"])]
    until_ns = [t_ns for t_ns, _ in instants[1:]]
    nodes: set[str] = set()
    up: dict[tuple[str, str], bool] = {}
    next_hop: dict[tuple[str, str], str | None] = {}
    path_ids: dict[tuple[str, str], int | None] = {}
    # The time after the last event is not counted, because the timeline does not contain the end of the run.
    for (t_ns, events), next_ns in zip(instants, until_ns, strict=False):
        for event in events:
            name, ends = event["event"], (event["a"], event["b"])
            if name == "node":
                nodes.add(event["a"])
            elif name == "route":
                if event["node"] not in nodes:
                    where = f"{t_ns} ns on {event['node']}"
                    raise TraceError(f"replaying a timeline: a route at {where}, which is no node")
                next_hop[event["node"], event["destination"]] = event["next_hop"]
            elif not nodes >= set(ends):
                raise TraceError(f"replaying a timeline: {name} at {t_ns} ns between {ends}, which are no nodes")
            elif name == "link":
                up[ends] = event["up"]
            else:
                path_ids[ends] = event["path_id"]
        for (source, destination), path_id in path_ids.items():
            if path_id is None:
                continue
            passed = [source]
            while passed[-1] != destination:
                after = next_hop.get((passed[-1], destination))
                if after is None or not (up.get((passed[-1], after)) or up.get((after, passed[-1]))):
                    times["no_entry_ns"] += next_ns - t_ns
                    break
                if after in passed:
                    times["circle_ns"] += next_ns - t_ns
                    break
                passed.append(after)
    return times
