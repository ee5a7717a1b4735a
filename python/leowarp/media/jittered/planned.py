# SPDX-License-Identifier: Apache-2.0
"""A jittered path and its timeline."""

from __future__ import annotations

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.media.jittered.timeline import ENDS, NODES, ROUTER, A, B, jittered_timeline
from leowarp.media.protocol import PlannedMedium, SteadyLinks
from leowarp.routes import Routes, fixed_routes
from leowarp.scenario.schema import Jittered


class PlannedJittered(PlannedMedium[Jittered]):
    """Hosts A and B at one router."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """One path each way, router to host: its delay is the mean of what packets draw."""
        # The links that have values are those from the router to each host.
        return fixed_routes(NODES, ENDS, ((ROUTER, B), (ROUTER, A)), (self.section.delay_ns, self.section.delay_up_ns))

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Everything at 0, with the distribution's table; see `jittered_timeline`."""
        return jittered_timeline(self.plan, self.section, routes)

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """The one section; its rate is that towards B."""
        return (self.section,)
