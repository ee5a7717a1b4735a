# SPDX-License-Identifier: Apache-2.0
"""What carries the packets: a plan's medium to its routes and its timeline."""

from leowarp.media.protocol import PlannedMedium
from leowarp.media.registry import check, planned, routes_of, timeline_of

__all__ = ["PlannedMedium", "check", "planned", "routes_of", "timeline_of"]
