# SPDX-License-Identifier: Apache-2.0
"""The satellites and stations on a page. The page gets their positions at keyframes, and the links between satellites.

Between keyframes the page interpolates with a polynomial of degree 5 through the six nearest keyframes
(`web/src/sky.ts`). On a circular orbit of radius r and angular velocity w, with the time h between keyframes, the
maximum error is 225/64 r (w h)^6 / 720. With h = 300 s, the maximum error is 21 m at an altitude of 1200 km, and 43 m
at 550 km. The rounding to int16 changes a coordinate by at most 1/65534 of the largest coordinate (116 m at an altitude
of 1200 km).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from leowarp.ephemeris import EcefMetres, Ephemeris, ephemeris_of
from leowarp.routes.acquisition import Acquired
from leowarp.routes.links import isl_rule
from leowarp.scenario.schema import Access, Plan
from leowarp.view.container import Arrays

KEYFRAME_S = 300
BEFORE, AFTER = 2, 3
"""The polynomial of an interval uses this many keyframes before and after the first keyframe of the interval."""

MOST_LINK_UPDATES = 400
MOST_LINK_ROWS = 150_000


def sky_of(plan: Plan, end_ns: int, arrays: Arrays) -> dict[str, Any] | None:
    """Return the positions of all satellites and stations during a run, or None without a constellation.

    Returns: `positions`: int16 array in units of `unit_m`, earth-fixed (ECEF), ordered by keyframe, satellite,
        coordinate. `unix_s`: date and time of the run's time 0, as Unix time, for the Sun's position. `stations`:
        position (m) and upward unit vector of each station. `links`: the result of `_links`.
    """
    orbits = ephemeris_of(plan)
    if orbits is None or plan.constellation is None:
        return None
    # There are keyframes before the run's start and after its end, because the polynomials of the first and the last
    # interval need them.
    count = -(-end_ns // (KEYFRAME_S * 1_000_000_000)) + BEFORE + AFTER
    t_ns = (np.arange(count + 1) - BEFORE) * (KEYFRAME_S * 1_000_000_000)
    positions_m = np.concatenate([orbits.positions_ecef_m(int(t))[None] for t in t_ns])
    # The unit is chosen so that the largest coordinate becomes the largest int16. With this unit, the rounding error of
    # every coordinate is at most half a unit.
    unit_m = float(np.abs(positions_m).max()) / 32767
    # Times in plans are UTC.
    epoch = datetime.fromisoformat(plan.constellation.epoch).replace(tzinfo=UTC)
    stations = orbits.stations
    return {
        "satellites": orbits.names,
        "keyframe_s": KEYFRAME_S,
        "first_s": -BEFORE * KEYFRAME_S,
        "unit_m": unit_m,
        "positions": arrays.shorts(np.rint(positions_m / unit_m)),
        "radius_m": stations.sphere_radius_m,
        "unix_s": epoch.timestamp() + plan.run.start_ns / 1e9,
        "stations": [
            {"name": name, "position_m": [round(float(x), 1) for x in position], "up": [float(x) for x in up]}
            for name, position, up in zip(stations.names, stations.positions_ecef_m, stations.verticals, strict=True)
        ],
        "links": _links(plan, orbits, end_ns, arrays),
    }


def _links(plan: Plan, orbits: Ephemeris, end_ns: int, arrays: Arrays) -> dict[str, Any] | None:
    """Return all links between satellites. Each row says at which route update a link comes up, and at which update it
    goes down.

    If there are no such links, or too many for a page, the result is None.

    Returns: The rows with `a`, `b` (numbers of satellites), `from`, `until` (numbers of route updates, `until` is
        exclusive), sorted by `from`, and `interval_s` between updates. If links need acquisition, `acquired_ms` is the
        time from a link's first update until its acquisition.
    """
    updates_ns = np.arange(0, end_ns, plan.routing.interval_ns, dtype="int64")
    if isinstance(plan.medium, Access) or plan.isl.rule == "none" or len(updates_ns) > MOST_LINK_UPDATES:
        return None
    rule, count = isl_rule(plan, orbits), len(orbits.names)
    rows: list[np.ndarray] = []
    begun = np.zeros((0, 2), dtype="int64")  # columns: number of the pair, and update at which its link came up
    for update in range(len(updates_ns) + 1):
        if update < len(updates_ns):
            pairs = rule.pairs(EcefMetres(orbits.positions_ecef_m(int(updates_ns[update]))))
            # A pair of satellites is encoded as one integer, so that sets of pairs can be compared without a loop.
            numbers = pairs[:, 0].astype("int64") * count + pairs[:, 1]
        else:
            # After the last update, an empty set of links ends all links that are still up.
            numbers = np.zeros(0, dtype="int64")
        over = ~np.isin(begun[:, 0], numbers)
        ended = begun[over]
        rows.append(np.column_stack([ended, np.full(len(ended), update)]))
        new = numbers[~np.isin(numbers, begun[:, 0])]
        begun = np.concatenate([begun[~over], np.column_stack([new, np.full(len(new), update)])])
        # The rule `range` gives thousands of links at a time, many of which change at each update.
        if sum(map(len, rows)) + len(begun) > MOST_LINK_ROWS:
            return None
    table = np.concatenate(rows)
    # Rows are sorted by the update at which the link came up. After sorting, neighbouring rows are similar, so their
    # differences compress well.
    table = table[np.lexsort((table[:, 0], table[:, 1]))]
    ends = np.column_stack(np.divmod(table[:, 0], count))
    found = {
        "interval_s": plan.routing.interval_ns / 1e9,
        "a": arrays.integers(ends[:, 0]),
        "b": arrays.integers(ends[:, 1]),
        "from": arrays.integers(table[:, 1]),
        "until": arrays.integers(table[:, 2]),
    }
    if plan.isl.longest_acquisition_ns:
        # Links that exist at the first update count as already acquired.
        takes_ns = np.where(table[:, 1] > 0, Acquired(plan, orbits).times_ns(ends), 0)
        found["acquired_ms"] = arrays.integers(takes_ns / 1e6)
    return found
