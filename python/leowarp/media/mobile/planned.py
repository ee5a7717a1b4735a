# SPDX-License-Identifier: Apache-2.0
"""The routes and timeline of a mobile channel."""

from __future__ import annotations

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.media.mobile.parameters import fading_of, last_hop_of
from leowarp.media.mobile.timeline import ROUTERS, mobile_timeline
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes, constellation_routes, fixed_routes
from leowarp.scenario.schema import Mobile


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
        """Return the timeline, with fading and hybrid ARQ as a table of the last hop (`mobile_timeline`)."""
        return mobile_timeline(self.plan, self.section, ephemeris, routes)

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
