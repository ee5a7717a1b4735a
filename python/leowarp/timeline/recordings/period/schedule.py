# SPDX-License-Identifier: Apache-2.0
"""The schedule of a path's reconfigurations: a period and a phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Schedule:
    """A schedule with the instants ``phase_ns + k period_ns``.

    phase_ns: The first instant at or after 0 on the measurement's clock, below `period_ns`.
    """

    period_ns: int
    phase_ns: int

    def instants_ns(self, begin_ns: int, end_ns: int) -> NDArray[np.int64]:
        """Return the instants in [begin, end)."""
        # Integers are used because instants are compared for equality: as a float, 15 s times k would be off by ns
        # after hours.
        first = -(-(begin_ns - self.phase_ns) // self.period_ns)
        after = -(-(end_ns - self.phase_ns) // self.period_ns)
        return self.phase_ns + self.period_ns * np.arange(first, max(after, first), dtype=np.int64)

    def distance_ns(self, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the distance of each instant from the nearest instant of the schedule."""
        into = (t_ns - self.phase_ns) % self.period_ns
        return np.minimum(into, self.period_ns - into)
