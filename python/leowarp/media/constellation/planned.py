# SPDX-License-Identifier: Apache-2.0
"""The routes and timeline of a constellation."""

from __future__ import annotations

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.media.constellation.dishes import dishes_of
from leowarp.media.constellation.timeline import constellation_timeline
from leowarp.media.protocol import PlannedMedium, SteadyLinks
from leowarp.routes import Routes, constellation_routes
from leowarp.scenario.schema import Constellation


class PlannedConstellation(PlannedMedium[Constellation]):
    """A constellation. The stations communicate over its satellites."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Return the shortest paths at each route update (`constellation_routes`)."""
        return constellation_routes(self.plan, _given(ephemeris), dishes=dishes_of(self.plan, _given(ephemeris)))

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return the events of changing links and routes (`constellation_timeline`)."""
        return constellation_timeline(self.plan, _given(ephemeris), routes)

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """Return the sections whose links have a steady rate: `[isl]` and `[ground]`."""
        return self.plan.isl, self.plan.ground

    def likely_rate_bps(self) -> float | None:
        """Return the lowest of two kinds of rates: the links' rates, and the dishes' downlink capacities."""
        dishes_bps = [
            dish.schedule_median_bps if dish.capacity_bps is None else dish.capacity_bps
            for dish in self.plan.dishes.values()
        ]  # fmt: skip
        links_bps = super().likely_rate_bps()
        return min([*dishes_bps, *([] if links_bps is None else [links_bps])], default=None)

    def likely_hops(self) -> int:
        # The paths of examples/madrid-tokyo.toml have 6 or 7 links; the estimate is higher, because underestimating the
        # cost is worse.
        return 8


def _given(ephemeris: Ephemeris | None) -> Ephemeris:
    """Return the ephemeris. Raise an error if it is None, as for a plan without a constellation."""
    if ephemeris is None:
        raise ValueError("a plan with a constellation needs its ephemeris")
    return ephemeris
