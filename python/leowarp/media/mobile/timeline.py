# SPDX-License-Identifier: Apache-2.0
"""The timeline of a mobile channel. Its hosts are mobile and server, and its routers are terminal, satellite and
gateway.

The link from satellite to terminal fades. The terminal is a router between the fading link and the host. A host's
capture records a packet when the host's own link begins to send it. If the host itself had the fading link, a capture
would not contain the time in this link's queue.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from leowarp.base.instants import distinct
from leowarp.base.nodes import host_node
from leowarp.ephemeris import Ephemeris
from leowarp.media.mobile.parameters import described, fading_of, last_hop_of, realisation_of, warnings_about
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes, constellation_routes, fixed_routes
from leowarp.routes.observed import PathDelays, l2_instants_ns
from leowarp.scenario.schema import Mobile, Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.rounding import rounded_ns

ROUTERS = TERMINAL, SATELLITE, GATEWAY = "terminal", "satellite", "gateway"
"""The routers from the mobile host to the server. The link from satellite to terminal fades."""

NODES = (*ROUTERS, *(host_node(station) for station in Mobile.STATIONS))
_TERMINAL, _SATELLITE, _GATEWAY, _MOBILE, _SERVER = range(5)
_ROW = (_MOBILE, _TERMINAL, _SATELLITE, _GATEWAY, _SERVER)


class PlannedMobile(PlannedMedium[Mobile]):
    """A mobile channel: hosts mobile and server, with the routers terminal, satellite and gateway between them."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Return routes over the constellation. The fading link replaces one of the ground links. Without a
        constellation, there is one path per direction."""
        if ephemeris is not None:
            return constellation_routes(self.plan, ephemeris, last_hop_of(self.section))
        # The fading link's delay is the delay of a packet that travels towards the terminal and is decoded after the
        # first transmission.
        last_hop, forward_ns = last_hop_of(self.section), self.section.forward_delay_ns
        delays_ns = forward_ns + last_hop.leaving_ns, forward_ns + last_hop.arriving_ns
        there = tuple(range(len(ROUTERS)))
        return fixed_routes(ROUTERS, self.section.STATIONS, (there, there[::-1]), delays_ns)

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return the timeline, with fading and hybrid ARQ as a table of the last hop.

        The metadata `harq` is the outcome of all codewords of the run, even of codewords that carried no packet
        (`parameters.described`). With a constellation, the delay between gateway and satellite is the delay of the
        current path up to its last satellite. This delay is computed at each route update and each delay update.
        """
        plan, mobile = self.plan, self.section
        realised = realisation_of(plan, mobile)
        rows, outcomes = realised.rows(), realised.outcomes
        # With resequencing, packets behind an undecoded packet wait in the link until that packet is decoded or lost.
        last_hop = replace(LinkKind.queued(plan, "gsl", mobile, "drain"), in_order=mobile.resequencing)
        events = Events(NODES)
        for node, kind in enumerate(("router", "router", "router", "host", "host")):
            events.node(node, kind)
        events.link_up(0, _MOBILE, _TERMINAL, LinkKind.ideal(plan, "wire"))
        events.link_up(0, _TERMINAL, _SATELLITE, last_hop)
        # One link represents the whole constellation, as in the study's simulation with three nodes. The link's delay
        # follows the routes, and route changes do not reorder packets (docs/concepts/mobile-channel.md).
        events.link_up(0, _SATELLITE, _GATEWAY, LinkKind.ideal(plan, "isl"))
        events.link_up(0, _SERVER, _GATEWAY, LinkKind.ideal(plan, "wire"))
        if mobile.retransmissions_take_capacity:
            events.capacity(_SATELLITE, _TERMINAL, *realised.shared_bps(mobile.rate_bps))
        else:
            events.rate(0, _SATELLITE, _TERMINAL, mobile.rate_bps)
        events.rate(0, _TERMINAL, _SATELLITE, mobile.return_rate_bps)
        events.channel(_SATELLITE, _TERMINAL, rows.t_ns, rounded_ns(plan, rows.delay_ns), rows.loss_ratio)
        _delay(plan, events, 0, _TERMINAL, _SATELLITE, mobile.return_delay_ns)
        for there in (_ROW, _ROW[::-1]):
            for node, next_hop in pairwise(there):
                events.route(0, node, there[-1], next_hop, None)
        if ephemeris is None:
            for a, b in ((_GATEWAY, _SATELLITE), (_SATELLITE, _GATEWAY)):
                _delay(plan, events, 0, a, b, mobile.forward_delay_ns)
            for pair, there in enumerate((_ROW, _ROW[::-1])):
                events.paths(routes, pair, there[0], there[-1])
        else:
            _follow(plan, events, PathDelays(plan, ephemeris, last_hop_of(mobile)), routes)
        return events.table(TimelineMetadata(warnings=warnings_about(plan, mobile), harq=described(mobile, outcomes)))

    def likely_rate_bps(self) -> float | None:
        """Return the rate without retransmissions. Retransmissions may take capacity. The result is then an upper limit
        of the rate."""
        return self.section.rate_bps

    def check(self) -> None:
        """Reject an environment that is unknown or lacks a length, before a kernel is built for the plan."""
        # The table of environments is opened here, because the plan was made without reading it.
        fading = fading_of(self.section)
        if fading is not None:
            fading.model()


def _delay(plan: Plan, events: Events, t_ns: int, a: int, b: int, delay_ns: int) -> None:
    """Set the delay of the direction a to b from `t_ns` on, rounded as the plan specifies."""
    one = np.array([rounded_ns(plan, delay_ns)], dtype=np.int64)
    events.delays(t_ns, np.array([a]), np.array([b]), one, both_ways=False)


def _follow(plan: Plan, events: Events, delays: PathDelays, routes: Routes) -> None:
    """Add paths and delays over the run. While a pair has no path, the routers next to its two hosts have no next hop.

    At each route update and each delay update, the delay becomes the path delay of the first pair.
    """
    ends = dict(zip(Mobile.STATIONS, ((_MOBILE, _TERMINAL), (_SERVER, _GATEWAY)), strict=True))
    for i, pair in enumerate(routes.pairs):
        (source, router), (destination, _) = (ends[routes.nodes[node]] for node in pair)
        events.paths(routes, i, source, destination)
        there_is_one = True
        for t_ns, paths in zip(routes.t_ns.tolist(), routes.paths, strict=True):
            # Only the routers at the two ends lose their next hop, because one link represents the whole constellation
            # between them.
            if (paths[i] is not None) != there_is_one:
                there_is_one = not there_is_one
                events.route(t_ns, router, destination, _SATELLITE if there_is_one else None, None)
    clock_ns = l2_instants_ns(plan)
    until_ns = [*routes.t_ns[1:].tolist(), plan.run.duration_ns]
    now_ns = -1
    for t_ns, end_ns, paths in zip(routes.t_ns.tolist(), until_ns, routes.paths, strict=True):
        # The first pair's path gives the delay of both directions, even if the directions have different paths
        # (routing.reverse = "own").
        path = paths[0]
        if path is None:
            continue
        at_ns = distinct([[t_ns], clock_ns[(clock_ns > t_ns) & (clock_ns < end_ns)]])
        forward_ns = delays.forward_ns(at_ns, path)
        changes = np.diff(forward_ns, prepend=now_ns) != 0
        for instant_ns, delay_ns in zip(at_ns[changes].tolist(), forward_ns[changes].tolist(), strict=True):
            ways = np.array([_GATEWAY]), np.array([_SATELLITE]), np.array([delay_ns], dtype=np.int64)
            events.delays(instant_ns, *ways)
        now_ns = int(forward_ns[-1])
