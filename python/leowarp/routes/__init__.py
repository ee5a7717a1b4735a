# SPDX-License-Identifier: Apache-2.0
"""Visibility and routes. Contains the rules for links, the shortest paths, and `Routes`, which holds the routes of any
medium."""

from leowarp.routes.fixed import fixed_routes
from leowarp.routes.last_hop import LastHop
from leowarp.routes.over_constellation import constellation_routes
from leowarp.routes.table import Leaving, Routes, paths_of
