# SPDX-License-Identifier: Apache-2.0
"""Who can see whom, and which way packets go: `routes(plan, ephemeris)`."""

from leowarp.routes.of_plan import routes
from leowarp.routes.table import Leaving, Routes, paths_of

__all__ = ["Leaving", "Routes", "paths_of", "routes"]
