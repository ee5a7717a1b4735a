# SPDX-License-Identifier: Apache-2.0
"""The timeline of a chain: links that never change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from leowarp.scenario.schema import Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.rounding import rounded_ns
from leowarp.timeline.row_of_routers import row_of_routers


def from_chain(plan: Plan) -> pa.Table:
    """The timeline of a plan's ``[chain]``; columns as in `timeline.schema`."""
    chain = plan.chain
    if chain is None:
        raise ValueError("the plan has no chain")
    link = LinkKind.shaped(plan, "isl", chain, "drain")
    events: Events
    events, _ = row_of_routers(plan, chain.hops, link)
    delay_ns = rounded_ns(plan, chain.delay_ns)
    routers = np.arange(chain.hops + 1)
    events.delays(0, routers[:-1], routers[1:], np.full(chain.hops, delay_ns))
    if link.limit_counts_flying:
        events.make_room_for_flying({(i, i + 1): delay_ns for i in range(chain.hops)})
    return events.table(TimelineMetadata(warnings=[]))
