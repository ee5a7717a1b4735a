# SPDX-License-Identifier: Apache-2.0
"""The routes and the timeline of a constellation."""

from __future__ import annotations

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.media.constellation.dishes import dishes_of
from leowarp.media.constellation.timeline import constellation_timeline
from leowarp.media.protocol import PlannedMedium, SteadyLinks
from leowarp.routes import Routes, constellation_routes
from leowarp.scenario.schema import Constellation


class PlannedConstellation(PlannedMedium[Constellation]):
    """Stations that communicate over satellites."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Shortest paths at each route update; see `constellation_routes`."""
        return constellation_routes(self.plan, _given(ephemeris), dishes=dishes_of(self.plan, _given(ephemeris)))

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Links and routes over time; see `constellation_timeline`."""
        return constellation_timeline(self.plan, _given(ephemeris), routes)

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """`[isl]` and `[ground]`."""
        return self.plan.isl, self.plan.ground

    def likely_rate_bps(self) -> float | None:
        """The smallest of its links' rates and its dishes' capacities down."""
        dishes_bps = [
            dish.schedule_median_bps if dish.capacity_bps is None else dish.capacity_bps
            for dish in self.plan.dishes.values()
        ]  # fmt: skip
        links_bps = super().likely_rate_bps()
        return min([*dishes_bps, *([] if links_bps is None else [links_bps])], default=None)

    def likely_hops(self) -> int:
        # examples/madrid-tokyo.toml has 6 or 7; this is one more, since a cost guessed too low is worse than one too
        # high.
        return 8


def _given(ephemeris: Ephemeris | None) -> Ephemeris:
    """The ephemeris; only a plan without a constellation may lack one."""
    if ephemeris is None:
        raise ValueError("a plan with a constellation needs its ephemeris")
    return ephemeris
