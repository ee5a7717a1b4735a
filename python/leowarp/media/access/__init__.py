# SPDX-License-Identifier: Apache-2.0
"""An access link: one path per slot; delays, outages and capacity come from a profile, each with its own random stream.

The steps from plan to events begin with `slots` (times of path changes, and base delays), `capacity`, `delays` and
`outages` (the components, generated independently). The next steps are `starlink` (all components together), `profile`
(the resulting tables), `timeline` (events). docs/guides/access-links.md explains the model and the source of each
number; design/starlink-profile.md shows their effects.
"""

from leowarp.media.access.planned import PlannedAccess
from leowarp.media.access.profile import Drawn, Profile, Way
from leowarp.media.access.starlink import starlink_profile
from leowarp.media.access.timeline import GATEWAY, TERMINAL, profile_of

__all__ = ["GATEWAY", "TERMINAL", "Drawn", "PlannedAccess", "Profile", "Way", "profile_of", "starlink_profile"]
