# SPDX-License-Identifier: Apache-2.0
"""An access link: a path a slot, delays, outages and capacity from a profile, each from a stream of its own.

From the plan to events: `slots` (when the path changes, and its base delay), `capacity`, `delays` and `outages` (the
components, each drawn for itself). Then `starlink` (all of them together), `profile` (the resulting tables), `timeline`
(events). The model and the source of each number: docs/guides/access-links.md; their effects:
design/starlink-profile.md.
"""

from leowarp.media.access.planned import PlannedAccess
from leowarp.media.access.profile import Drawn, Profile, Way
from leowarp.media.access.starlink import starlink_profile
from leowarp.media.access.timeline import GATEWAY, TERMINAL, profile_of

__all__ = ["GATEWAY", "TERMINAL", "Drawn", "PlannedAccess", "Profile", "Way", "profile_of", "starlink_profile"]
