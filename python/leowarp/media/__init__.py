# SPDX-License-Identifier: Apache-2.0
"""Carriers of packets: a plan's medium to its routes and its timeline.

Each medium is a package of its own, found by the type of `plan.medium` (`registry`); all of them answer by one protocol
(`protocol.PlannedMedium`). Later rooms of the street see routes and timelines only:

    routes = routes_of(plan, ephemeris_of(plan))
    events = timeline_of(plan, routes=routes)
"""

from leowarp.media.protocol import PlannedMedium
from leowarp.media.registry import check, planned, routes_of, timeline_of

__all__ = ["PlannedMedium", "check", "planned", "routes_of", "timeline_of"]
