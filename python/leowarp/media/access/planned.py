# SPDX-License-Identifier: Apache-2.0
"""The routes and timeline of an access link."""

from __future__ import annotations

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.media.access.routes import AccessRoutes, access_routes
from leowarp.media.access.timeline import access_timeline
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes
from leowarp.scenario.schema import Access


class PlannedAccess(PlannedMedium[Access]):
    """An access link between the hosts dish and server. The routers terminal and gateway are between them.

    The routes are `AccessRoutes`, which contain the slots. Routes and timeline therefore use the same slots.
    """

    def routes(self, ephemeris: Ephemeris | None) -> AccessRoutes:
        """Return the routes: one path per slot for each direction (`access_routes`)."""
        return access_routes(self.plan, self.section, ephemeris)

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return the tables of both directions, and a `path` event at each reconfiguration (`access_timeline`)."""
        assert isinstance(routes, AccessRoutes), "routes of another medium"
        return access_timeline(self.plan, self.section, routes)

    def likely_rate_bps(self) -> float | None:
        """Return the median downlink capacity. If the capacity follows a schedule, the result is the median of the
        schedule. The capacity that this run samples may differ from this result."""
        given_bps = self.section.capacity_bps
        return self.section.schedule_median_bps if given_bps is None else given_bps
