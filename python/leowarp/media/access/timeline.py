# SPDX-License-Identifier: Apache-2.0
"""The timeline of an access link. The timeline has the hosts dish and server, the routers terminal and gateway, and one
path per slot."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa

from leowarp.base.nodes import host_node
from leowarp.ephemeris import Ephemeris
from leowarp.media.access.profile import Profile
from leowarp.media.access.routes import AccessRoutes, access_routes
from leowarp.media.access.starlink import starlink_profile
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes
from leowarp.scenario.schema import Access, Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.rounding import rounded_ns

TERMINAL, GATEWAY = "terminal", "gateway"
"""The names of the routers at the two ends of the access link."""

_NODES = (TERMINAL, GATEWAY, *(host_node(station) for station in Access.STATIONS))
_TERMINAL, _GATEWAY, _DISH, _SERVER = range(4)
_ROW = (_DISH, _TERMINAL, _GATEWAY, _SERVER)


class PlannedAccess(PlannedMedium[Access]):
    """An access link between the hosts dish and server. The routers terminal and gateway are between them.

    The routes are `AccessRoutes`, which contain the slots. Routes and timeline therefore use the same slots.
    """

    def routes(self, ephemeris: Ephemeris | None) -> AccessRoutes:
        return access_routes(self.plan, self.section, ephemeris)

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return the tables of both directions, and a `path` event at each reconfiguration.

        The metadata `slots` and `outages` contain the random values (`Profile.slot_table` and `Profile.outage_table`).
        """
        assert isinstance(routes, AccessRoutes), "routes of another medium"
        plan = self.plan
        profile = starlink_profile(self.section, routes.slots, seed=plan.run.seed, duration_ns=plan.run.duration_ns)
        events = Events(_NODES)
        for node, kind in enumerate(("router", "router", "host", "host")):
            events.node(node, kind)
        # The dish and the queue are on different nodes: if the queue were on the host's own interface, TCP small queues
        # would hold packets back in the socket (docs/concepts/links.md).
        events.link_up(0, _DISH, _TERMINAL, LinkKind.ideal(plan, "wire"))
        access_link(plan, events, self.section, profile, (_TERMINAL, _GATEWAY))
        events.link_up(0, _SERVER, _GATEWAY, LinkKind.ideal(plan, "wire"))
        # The forwarding entries never change, because all slots use the same link.
        for pair, row in enumerate((_ROW, _ROW[::-1])):
            for node, next_hop in pairwise(row):
                events.route(0, node, row[-1], next_hop, None)
            events.paths(routes, pair, row[0], row[-1])
        # The metadata contains slots and outages, because the tables alone do not distinguish a handover from jitter.
        # `leowarp timeline` prints the slots and outages.
        drawn = {"slots": profile.slot_table().to_pylist(), "outages": profile.outage_table().to_pylist()}
        return events.table(TimelineMetadata(warnings=[], **drawn))

    def likely_rate_bps(self) -> float | None:
        """Return the median downlink capacity. If the capacity follows a schedule, the result is the median of the
        schedule. The capacity that this run samples may differ from this result."""
        return self.section.capacity_bps or self.section.schedule_median_bps


def access_link(plan: Plan, events: Events, access: Access, profile: Profile, ends: tuple[int, int]) -> None:
    """Add the access link between two nodes, with the queues and tables of a profile.

    ends: The nodes of the link. The first node is at the terminal, and the second node is at the other end.
    """
    terminal, gateway = ends
    # The link never goes down: during an outage, the loss ratio in the table is 1. The link itself is a fifo with the
    # limits of the downlink, because the two directions have different limits. Their own queues are added below.
    events.link_up(0, terminal, gateway, replace(LinkKind.queued(plan, "gsl", access, "drain"), queue="fifo"))
    down_limits = (access.queue_pkts, access.queue_bytes)
    for a, b, way, limits in (
        (terminal, gateway, profile.up, (access.queue_up_pkts, None)),
        (gateway, terminal, profile.down, down_limits),
    ):
        # A fifo queue with the limits of the downlink is already part of the link.
        if access.queue_discipline != "fifo" or limits != down_limits:
            events.queue(
                a, b, access.queue_discipline, ecn=access.ecn, parameters=access.queue_parameters,
                limit_pkts=limits[0], limit_bytes=limits[1],
            )  # fmt: skip
        events.capacity(a, b, way.capacity_t_ns, way.rate_bps)
        events.channel(a, b, way.channel_t_ns, rounded_ns(plan, way.delay_ns), way.loss_ratio)
