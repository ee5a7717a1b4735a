# SPDX-License-Identifier: Apache-2.0
"""An access link: one path per slot, and delays, outages and capacity from a profile, each drawn from a stream of its
own.

The modules lead from the plan to events: `slots` (when the path changes, and its base delay), `capacity`, `delays` and
`outages` (the components, each drawn independently). Then come `starlink` (all components together), `profile` (the
resulting tables) and `timeline` (events). For the model and the source of each number see docs/guides/access-links.md;
for their effects see design/starlink-profile.md.
"""

from leowarp.media.access.planned import PlannedAccess
from leowarp.media.access.profile import Drawn, Profile, Way
from leowarp.media.access.starlink import starlink_profile
from leowarp.media.access.timeline import GATEWAY, TERMINAL, profile_of

__all__ = ["GATEWAY", "TERMINAL", "Drawn", "PlannedAccess", "Profile", "Way", "profile_of", "starlink_profile"]
