# SPDX-License-Identifier: Apache-2.0
"""Satellites and stations of a page: their positions at keyframes, and the links between satellites.

Between keyframes the page interpolates with a polynomial of degree 5 through the six nearest keyframes
(`web/src/sky.ts`). Let r be the radius of a circular orbit, w its angular velocity, and h the time between keyframes.
The error is then at most 225/64 r (w h)^6 / 720. With h = 300 s, it is 21 m at an altitude of 1200 km, and 43 m at 550
km. Coordinates are int16. Each coordinate is rounded by at most 1/65534 of the largest coordinate: 116 m at 1200 km.
For comparison: on a globe that is 800 pixels wide, a pixel is 16 km.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from leowarp.ephemeris import EcefMetres, Ephemeris, ephemeris_of
from leowarp.routes.acquisition import AcquisitionTimes
from leowarp.routes.links import isl_rule
from leowarp.scenario.schema import Access, Plan
from leowarp.view.container import Arrays

KEYFRAME_S = 300
BEFORE, AFTER = 2, 3
"""Number of keyframes that an interval's polynomial needs before and after the keyframe at the interval's start."""

MOST_LINK_UPDATES = 400
MOST_LINK_ROWS = 150_000


def sky_of(plan: Plan, end_ns: int, arrays: Arrays) -> dict[str, Any] | None:
    """Positions of all satellites and stations during a run. None if the plan has no constellation.

    end_ns: End of the run. Keyframes extend beyond the end, because the last polynomial needs them.
    Returns: `positions`: int16 in units of `unit_m`, ECEF, in the order keyframe, satellite, coordinate. `unix_s`: time
        0 of the run, for the position of the Sun. `stations`: their positions (m) and their unit vectors upwards.
        `links`: the result of `_links`.
    """
    orbits = ephemeris_of(plan)
    if orbits is None or plan.constellation is None:
        return None
    # Keyframes extend beyond both ends of the run, because the polynomials of the first and the last interval need
    # neighbours too.
    count = -(-end_ns // (KEYFRAME_S * 1_000_000_000)) + BEFORE + AFTER
    t_ns = (np.arange(count + 1) - BEFORE) * (KEYFRAME_S * 1_000_000_000)
    positions_m = np.concatenate([orbits.positions_ecef_m(int(t))[None] for t in t_ns])
    # The largest coordinate uses the full range of int16. The rounding error is half a unit at any position.
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
    """All links between satellites that exist at each route update, as rows with their duration.

    None if there are no such links, or more than a page should contain.

    Returns: Rows with `a`, `b` (numbers of satellites), `from`, `until` (numbers of route updates; `until` is
        exclusive), sorted by `from`; and `interval_s` between updates. If new links need to
        be acquired, `acquired_ms` is the time that each row's link takes from its first update on.
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
            # A pair is encoded as one number, so that sets of pairs can be compared without a loop.
            numbers = pairs[:, 0].astype("int64") * count + pairs[:, 1]
        else:
            # A further update without links follows the last one and ends all remaining links.
            numbers = np.zeros(0, dtype="int64")
        over = ~np.isin(begun[:, 0], numbers)
        ended = begun[over]
        rows.append(np.column_stack([ended, np.full(len(ended), update)]))
        new = numbers[~np.isin(numbers, begun[:, 0])]
        begun = np.concatenate([begun[~over], np.column_stack([new, np.full(len(new), update)])])
        # With the rule `range`, there are thousands of links at a time, and many of them change at each update.
        if sum(map(len, rows)) + len(begun) > MOST_LINK_ROWS:
            return None
    table = np.concatenate(rows)
    # Rows are sorted by the start of the link. Neighbouring rows are then similar, and their differences compress well.
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
        # Links that exist at the first update need no acquisition.
        takes_ns = np.where(table[:, 1] > 0, AcquisitionTimes.of(plan, orbits).of_links_ns(ends), 0)
        found["acquired_ms"] = arrays.integers(takes_ns / 1e6)
    return found
