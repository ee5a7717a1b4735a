# SPDX-License-Identifier: Apache-2.0
"""An access link: each slot has one path; delays, outages and capacity are sampled from a profile, each from its own
random stream.

`slots` computes the times of path changes and the base delays. `capacity`, `delays` and `outages` sample their
components independently. `starlink` combines the components, `profile` holds the resulting tables, and `timeline` makes
events. docs/guides/access-links.md explains the model and the source of each number; design/starlink-profile.md shows
their effects.
"""

from leowarp.media.access.planned import PlannedAccess
from leowarp.media.access.profile import Profile, Way
from leowarp.media.access.timeline import GATEWAY, TERMINAL, profile_of
