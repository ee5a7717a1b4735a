# SPDX-License-Identifier: Apache-2.0
"""The chain: a row of links that never changes.

For a chain, formulas give the results of probes. Chains are therefore used for calibration and tests
(design/leolink.md, docs/accuracy.md).
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
    """A chain: hosts A and B at the ends of a row of routers."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        return row_routes(self.section.hops, self.section.hops * self.section.delay_ns)

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return links with constant rate, delay and loss. All events are at time 0."""
        chain = self.section
        link = LinkKind.shaped(self.plan, "isl", chain, "drain")
        events = row_events(self.plan, routes, link)
        delay_ns = rounded_ns(self.plan, chain.delay_ns)
        routers = np.arange(chain.hops + 1)
        events.delays(0, routers[:-1], routers[1:], np.full(chain.hops, delay_ns))
        # netem's limit includes the packets in its delay line (sch_netem.c, `netem_enqueue`). With a limit of 500
        # packets and 10 ms at 100 Mbit/s, only 417 packets could wait (docs/concepts/links.md).
        if link.limit_counts_flying:
            events.make_room_for_flying({(i, i + 1): delay_ns for i in range(chain.hops)})
        return events.table(TimelineMetadata(warnings=[]))

    def likely_hops(self) -> int:
        """Return the number of links between routers. The wires to the hosts are not counted. They have no delay."""
        return self.section.hops

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        return (self.section,)
