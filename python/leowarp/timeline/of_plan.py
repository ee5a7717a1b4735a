# SPDX-License-Identifier: Apache-2.0
"""The timeline of a plan, wherever its path comes from; and what a timeline says in a few numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from leowarp import ephemeris as ephemeris_room
from leowarp import routes as routes_room
from leowarp.ephemeris import Ephemeris
from leowarp.metadata import decode_metadata
from leowarp.routes import Routes
from leowarp.scenario.schema import Plan
from leowarp.timeline.from_access import from_access
from leowarp.timeline.from_chain import from_chain
from leowarp.timeline.from_jittered import from_jittered
from leowarp.timeline.from_measured import from_measured
from leowarp.timeline.from_mobile import fading_of, from_mobile
from leowarp.timeline.from_routes import from_routes


def timeline(plan: Plan, ephemeris: Ephemeris | None = None, routes: Routes | None = None) -> pa.Table:
    """Everything that happens to a plan's network, as events.

    Parameters
    ----------
    plan : Plan
    ephemeris, routes : optional
        Of the same plan, if there are already; computed otherwise. Without a constellation there is no use for them.

    Returns
    -------
    timeline : pyarrow.Table
        Columns as in `timeline.schema`; metadata `warnings` (JSON list).

    Raises
    ------
    ScenarioError
        As `ephemeris`, `routes`, `from_measured` and `from_jittered` do.
    """
    if plan.chain is not None:
        return from_chain(plan)
    if plan.measured is not None:
        return from_measured(plan)
    if plan.jittered is not None:
        return from_jittered(plan)
    if plan.mobile is not None and plan.constellation is None:
        return from_mobile(plan)
    if ephemeris is None:
        ephemeris = ephemeris_room.ephemeris(plan)
    if routes is None:
        routes = routes_room.routes(plan, ephemeris)
    if plan.access is not None:
        return from_access(plan, routes.slots)
    if plan.mobile is not None:
        return from_mobile(plan, ephemeris, routes)
    if ephemeris is None:
        raise ValueError("the plan has no constellation, chain, measured, jittered, access or mobile path")
    return from_routes(plan, ephemeris, routes)


def check(plan: Plan) -> None:
    """Refuse a plan whose timeline would be refused for what its mobile channel's table of environments lacks.

    That table is read here, not when the plan is made: whoever shows a plan or is about to build a kernel asks first.

    Raises
    ------
    ScenarioError
        As `timeline.channel.LandMobile.model`.
    """
    fading = None if plan.mobile is None else fading_of(plan.mobile)
    if fading is not None:
        fading.model()


def warnings_of(table: pa.Table) -> list[str]:
    """The warnings that a timeline or routes table carries."""
    return decode_metadata(table.schema, "warnings") or []


def describe(table: pa.Table) -> dict[str, object]:
    """What a timeline holds: events, nodes and links by kind, changes of path, range of the delays.

    Returns
    -------
    summary : dict
        `events`, `nodes`, `links` (dicts of counts by kind), `path_changes`, `route_changes` (entries of routing
        tables after 0), `links_taken_down`, `delay_min_ns`, `delay_max_ns` (null without delays), `last_event_ns`.
    """
    events = table.group_by("event").aggregate([([], "count_all")])
    counted = dict(zip(events["event"].to_pylist(), events["count_all"].to_pylist(), strict=True))
    links = table.filter(pc.field("event") == "link")
    later = pc.field("t_ns") > 0
    delay = table["delay_ns"]
    extremes = pc.min_max(delay).as_py()
    distinct = links.group_by(["a", "b", "kind"]).aggregate([])
    return {
        "events": {name: counted[name] for name in sorted(counted)},
        "nodes": _by_kind(table.filter(pc.field("event") == "node")),
        "links": _by_kind(distinct),
        "path_changes": table.filter((pc.field("event") == "path") & later).num_rows,
        "route_changes": table.filter((pc.field("event") == "route") & later).num_rows,
        "links_taken_down": links.filter(~pc.field("up")).num_rows,
        "delay_min_ns": extremes["min"],
        "delay_max_ns": extremes["max"],
        "last_event_ns": pc.max(table["t_ns"]).as_py(),
    }


def _by_kind(table: pa.Table) -> dict[str, int]:
    kinds = table["kind"].to_pylist()
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}
