# SPDX-License-Identifier: Apache-2.0
"""The access link: each slot has one path, and a profile gives delays, outages and capacity.

`slots` computes the times of path changes and the base delays. `capacity`, `delays` and `outages` draw the random
values of their components independently. `starlink` combines the components, `profile` holds the tables, and `timeline`
makes events. docs/guides/access-links.md gives the source of each number. design/starlink-profile.md shows how each
number affects the results.
"""

from leowarp.media.access.timeline import GATEWAY, TERMINAL, PlannedAccess
