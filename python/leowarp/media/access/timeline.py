# SPDX-License-Identifier: Apache-2.0
"""The timeline of an access link: hosts dish and server, terminal and gateway between them, a path for each slot."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa

from leowarp.base.nodes import host_node
from leowarp.media.access.profile import Profile, Way
from leowarp.media.access.routes import AccessRoutes
from leowarp.media.access.slots import Slots
from leowarp.media.access.starlink import starlink_profile
from leowarp.scenario.schema import Access, Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.rounding import rounded_ns

TERMINAL, GATEWAY = "terminal", "gateway"
"""The routers at the ends of the link."""

_NODES = (TERMINAL, GATEWAY, *(host_node(station) for station in Access.STATIONS))
_TERMINAL, _GATEWAY, _DISH, _SERVER = range(4)


def profile_of(plan: Plan, access: Access, slots: Slots) -> Profile:
    """A plan's access link over the run, given its slots.

    plan: For the seed and the duration.
    slots: Of the same plan: routes and timeline must be made from the same ones.
    """
    return starlink_profile(access, slots, seed=plan.run.seed, duration_ns=plan.run.duration_ns)


def access_timeline(plan: Plan, access: Access, routes: AccessRoutes) -> pa.Table:
    """The timeline of a plan's ``[access]``; columns as in `timeline.schema`.

    Metadata: `slots` and `outages`, what was drawn (`Profile.slot_table` and `Profile.outage_table`).

    routes: Of the same plan; the slots are taken from them.
    Returns: Everything at 0 but `path` events and rows of the tables.
    """
    profile = profile_of(plan, access, routes.slots)
    events = Events(_NODES)
    for node, kind in enumerate(("router", "router", "host", "host")):
        events.node(node, kind)
    # A router stands between host and queue: on a host's own interface TCP's small queues would hold packets back in
    # the socket instead (docs/concepts/links.md).
    events.link_up(0, _DISH, _TERMINAL, LinkKind.ideal(plan, "wire"))
    events.link_up(0, _TERMINAL, _GATEWAY, _link(plan, access))
    events.link_up(0, _SERVER, _GATEWAY, LinkKind.ideal(plan, "wire"))
    _queues(events, access)
    _tables(plan, events, _TERMINAL, _GATEWAY, profile.up)
    _tables(plan, events, _GATEWAY, _TERMINAL, profile.down)
    _forward(events)
    for pair, ends in enumerate(((_DISH, _SERVER), (_SERVER, _DISH))):
        events.paths(routes, pair, *ends)
    # Into the metadata: the tables alone do not tell a handover from jitter, and `leowarp timeline` shows what was
    # drawn.
    drawn = {"slots": profile.slot_table().to_pylist(), "outages": profile.outage_table().to_pylist()}
    return events.table(TimelineMetadata(warnings=[], **drawn))


def slots_of_timeline(table: pa.Table) -> list[dict[str, Any]]:
    """Draws for each slot, as a timeline of an access link carries them; columns as in `SLOT_COLUMNS`."""
    return TimelineMetadata.of(table.schema).slots or []


def _link(plan: Plan, access: Access) -> LinkKind:
    """The link between terminal and gateway; its rates, delays and losses are the tables'.

    `on_down` never applies: an outage is a loss ratio of 1 in the table, and the link itself stays up.
    """
    return LinkKind(
        kind="gsl",
        discipline=plan.network.link_model,
        on_down="drain",
        overhead_bytes=access.overhead_bytes,
        limit_pkts=access.queue_pkts,
        limit_bytes=access.queue_bytes,
        has_own_rate=False,
    )


def _queues(events: Events, access: Access) -> None:
    """Place of the queue: a plain queue down has the link's own limit and needs no event."""
    plain = access.queue_discipline == "fifo"
    limits = (
        # Deep by default, as the study sees and LeoReplayer's authors advise. Down, 5000 packets are 0.24 s at 250
        # Mbit/s, more than twice the queue of a handover of 50 ms at the fastest. Up, 500 are 0.4 s at 15 Mbit/s
        # (docs/guides/access-links.md).
        (_TERMINAL, _GATEWAY, access.queue_up_pkts, None),
        (_GATEWAY, _TERMINAL, access.queue_pkts, access.queue_bytes),
    )
    for a, b, limit_pkts, limit_bytes in limits:
        if plain and (limit_pkts, limit_bytes) == (access.queue_pkts, access.queue_bytes):
            continue
        events.queue(
            a,
            b,
            access.queue_discipline,
            ecn=access.ecn,
            parameters=access.queue_parameters,
            limit_pkts=limit_pkts,
            limit_bytes=limit_bytes,
        )


def _tables(plan: Plan, events: Events, a: int, b: int, way: Way) -> None:
    """Capacity and channel of the direction a>b, delays rounded as the plan says."""
    events.capacity(a, b, way.capacity_t_ns, way.rate_bps)
    events.channel(a, b, way.channel_t_ns, rounded_ns(plan, way.delay_ns), way.loss_ratio)


def _forward(events: Events) -> None:
    """Packets go the one way there is, whatever the slot."""
    row = (_DISH, _TERMINAL, _GATEWAY, _SERVER)
    for there in (row, row[::-1]):
        for node, next_hop in pairwise(there):
            events.route(0, node, there[-1], next_hop, None)
