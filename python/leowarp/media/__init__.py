# SPDX-License-Identifier: Apache-2.0
"""Media, which carry packets: from a plan's medium to its routes and its timeline.

Each medium is a package of its own, found by the type of `plan.medium` (`registry`); all implement the same protocol
(`protocol.PlannedMedium`). Later stages see only routes and timelines:

    routes = routes_of(plan, ephemeris_of(plan))
    events = timeline_of(plan, routes=routes)
"""

from leowarp.media.protocol import PlannedMedium
from leowarp.media.registry import check, planned, routes_of, timeline_of

__all__ = ["PlannedMedium", "check", "planned", "routes_of", "timeline_of"]
