# SPDX-License-Identifier: Apache-2.0
"""Who can see whom, and which way packets go: the rules, the shortest paths, and `Routes`, what media make of them."""

from leowarp.routes.fixed import fixed_routes
from leowarp.routes.last_hop import LastHop
from leowarp.routes.over_constellation import constellation_routes
from leowarp.routes.table import Leaving, Routes, paths_of

__all__ = ["LastHop", "Leaving", "Routes", "constellation_routes", "fixed_routes", "paths_of"]
