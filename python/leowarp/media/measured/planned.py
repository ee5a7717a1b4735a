# SPDX-License-Identifier: Apache-2.0
"""A measured path and its timeline."""

from __future__ import annotations

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.media.measured.timeline import measured_timeline
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes
from leowarp.scenario.schema import Measured
from leowarp.timeline.recordings.measurement import UNSHAPED
from leowarp.timeline.recordings.planned import measurement_of
from leowarp.timeline.row_of_routers import row_routes


class PlannedMeasured(PlannedMedium[Measured]):
    """Hosts A and B and one link."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        # A measurement's delays change with each row: no one number is the path's.
        return row_routes(1, None)

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """The measurement as tables of both directions; see `measured_timeline`."""
        return measured_timeline(self.plan, self.section, routes)

    def likely_rate_bps(self) -> float | None:
        """Mean capacity down; None: unshaped, at least at times."""
        end_ns = self.plan.run.start_ns + self.plan.run.duration_ns
        capacity = measurement_of(self.section, end_ns, self.plan.run.start_ns).capacity_down
        if capacity is None or UNSHAPED in capacity.rate_bps:
            return None
        # Rows as such, for a rough number: they are of one length in most files.
        return float(capacity.rate_bps.mean())
