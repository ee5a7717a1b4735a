# SPDX-License-Identifier: Apache-2.0
"""The timeline of an access link. The timeline has the hosts dish and server, the routers terminal and gateway, and one
path per slot."""

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
"""The names of the routers at the two ends of the access link."""

_NODES = (TERMINAL, GATEWAY, *(host_node(station) for station in Access.STATIONS))
_TERMINAL, _GATEWAY, _DISH, _SERVER = range(4)


def profile_of(plan: Plan, access: Access, slots: Slots) -> Profile:
    """Return the profile's tables for the run.

    plan: The plan with the seed and the duration.
    slots: The slots of the plan's routes. The timeline must be made from the same slots.
    """
    return starlink_profile(access, slots, seed=plan.run.seed, duration_ns=plan.run.duration_ns)


def access_timeline(plan: Plan, access: Access, routes: AccessRoutes) -> pa.Table:
    """Return the timeline of a plan's ``[access]``, with the columns of `timeline.schema`.

    The metadata `slots` and `outages` contain the random values (`Profile.slot_table` and `Profile.outage_table`).

    routes: The routes of the same plan, which contain the slots.
    Returns: The timeline. Only `path` events and rows of the tables have times other than 0.
    """
    profile = profile_of(plan, access, routes.slots)
    events = Events(_NODES)
    for node, kind in enumerate(("router", "router", "host", "host")):
        events.node(node, kind)
    # The dish and the queue are on different nodes: if the queue were on the host's own interface, TCP small queues
    # would hold packets back in the socket (docs/concepts/links.md).
    events.link_up(0, _DISH, _TERMINAL, LinkKind.ideal(plan, "wire"))
    access_link(plan, events, access, profile, (_TERMINAL, _GATEWAY))
    events.link_up(0, _SERVER, _GATEWAY, LinkKind.ideal(plan, "wire"))
    _forward(events)
    for pair, ends in enumerate(((_DISH, _SERVER), (_SERVER, _DISH))):
        events.paths(routes, pair, *ends)
    # The metadata contains slots and outages, because the tables alone do not distinguish a handover from jitter.
    # `leowarp timeline` prints the slots and outages.
    drawn = {"slots": profile.slot_table().to_pylist(), "outages": profile.outage_table().to_pylist()}
    return events.table(TimelineMetadata(warnings=[], **drawn))


def access_link(plan: Plan, events: Events, access: Access, profile: Profile, ends: tuple[int, int]) -> None:
    """Add the access link between two nodes, with the queues and tables of a profile.

    events: The builder to which the link, its queues and its tables are added.
    ends: The nodes of the link. The first node is at the terminal, and the second node is at the other end.
    """
    terminal, gateway = ends
    events.link_up(0, terminal, gateway, _link(plan, access))
    _queues(events, access, terminal, gateway)
    _tables(plan, events, terminal, gateway, profile.up)
    _tables(plan, events, gateway, terminal, profile.down)


def slots_of_timeline(table: pa.Table) -> list[dict[str, Any]]:
    """Return the random values of each slot from an access link's timeline, with the columns `SLOT_COLUMNS`."""
    return TimelineMetadata.of(table.schema).slots or []


def _link(plan: Plan, access: Access) -> LinkKind:
    """Return the link between terminal and gateway. The link's rates, delays and losses are in tables.

    The link never goes down, so `on_down` has no effect. During an outage, the loss ratio in the table is 1.
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


def _queues(events: Events, access: Access, terminal: int, gateway: int) -> None:
    """Add the queues, except fifo queues with the limit of the downlink. For these fifo queues, the limit is part of
    the link."""
    plain = access.queue_discipline == "fifo"
    limits = (
        # The queues are deep by default, as the study observed and LeoReplayer's authors recommend. On the downlink,
        # 5000 packets take 0.24 s at 250 Mbit/s. A handover of 50 ms fills less than half of the downlink queue even at
        # the highest rate. On the uplink, 500 packets take 0.4 s at 15 Mbit/s (docs/guides/access-links.md).
        (terminal, gateway, access.queue_up_pkts, None),
        (gateway, terminal, access.queue_pkts, access.queue_bytes),
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
    """Add the tables of capacity, delay and loss for the direction a to b. Delays are rounded as the plan specifies."""
    events.capacity(a, b, way.capacity_t_ns, way.rate_bps)
    events.channel(a, b, way.channel_t_ns, rounded_ns(plan, way.delay_ns), way.loss_ratio)


def _forward(events: Events) -> None:
    """Add the forwarding entries. The entries never change, because all slots use the same link."""
    row = (_DISH, _TERMINAL, _GATEWAY, _SERVER)
    for there in (row, row[::-1]):
        for node, next_hop in pairwise(there):
            events.route(0, node, there[-1], next_hop, None)
