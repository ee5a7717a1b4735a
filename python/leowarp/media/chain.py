# SPDX-License-Identifier: Apache-2.0
"""A chain: a row of links that never changes.

Chains serve calibration and tests: results of probes have closed forms (design/leolink.md, docs/accuracy.md).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.media.protocol import PlannedMedium, SteadyLinks
from leowarp.routes import Routes
from leowarp.scenario.schema import Chain
from leowarp.timeline.events import LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.rounding import rounded_ns
from leowarp.timeline.row_of_routers import row_events, row_routes


class PlannedChain(PlannedMedium[Chain]):
    """Hosts A and B at the ends of a row of routers."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """One path per direction; its delay is the sum over all links, without transmission times."""
        return row_routes(self.section.hops, self.section.hops * self.section.delay_ns)

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Links with constant rate, delay and loss, and no event after 0."""
        chain = self.section
        link = LinkKind.shaped(self.plan, "isl", chain, "drain")
        events = row_events(self.plan, routes, link)
        delay_ns = rounded_ns(self.plan, chain.delay_ns)
        routers = np.arange(chain.hops + 1)
        events.delays(0, routers[:-1], routers[1:], np.full(chain.hops, delay_ns))
        # netem counts packets in its delay line, too (sch_netem.c, `netem_enqueue`): with a limit of 500 packets and 10
        # ms at 100 Mbit/s, only 417 could wait (docs/concepts/links.md).
        if link.limit_counts_flying:
            events.make_room_for_flying({(i, i + 1): delay_ns for i in range(chain.hops)})
        return events.table(TimelineMetadata(warnings=[]))

    def likely_hops(self) -> int:
        """Links between routers; the wires to the hosts have no delay."""
        return self.section.hops

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """There is only one link section, because all links are equal."""
        return (self.section,)
