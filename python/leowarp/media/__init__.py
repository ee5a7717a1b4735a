# SPDX-License-Identifier: Apache-2.0
"""Media that carry packets. This package turns a plan's medium into its routes and its timeline.

Each medium is a separate package, selected by the type of `plan.medium` (`registry`); all implement one protocol
(`protocol.PlannedMedium`). Later packages only see routes and timelines:

    routes = routes_of(plan, ephemeris_of(plan))
    events = timeline_of(plan, routes=routes)
"""

from leowarp.media.protocol import PlannedMedium
from leowarp.media.registry import check, planned, routes_of, timeline_of

__all__ = ["PlannedMedium", "check", "planned", "routes_of", "timeline_of"]
