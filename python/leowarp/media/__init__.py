# SPDX-License-Identifier: Apache-2.0
"""The media, which carry packets. This package computes the routes and the timeline of a plan's medium.

Each medium is a separate package, selected by the type of `plan.medium` (`registry`). All implement one protocol
(`protocol.PlannedMedium`). Packages for later stages use only the resulting routes and timelines:

    routes = routes_of(plan, ephemeris_of(plan))
    events = timeline_of(plan, routes=routes)
"""

from leowarp.media.protocol import PlannedMedium
from leowarp.media.registry import check, planned, routes_of, timeline_of
