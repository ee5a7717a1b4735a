# SPDX-License-Identifier: Apache-2.0
"""Routes of an access link: a new path between its two stations at each reconfiguration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from leowarp.ephemeris import Ephemeris
from leowarp.media.access.slots import Slots, slots_of
from leowarp.routes.path_numbers import PathNumbers
from leowarp.routes.paths import Path
from leowarp.routes.table import PathValues, Routes, routes_table
from leowarp.scenario.schema import Access, Plan


@dataclass(frozen=True, kw_only=True)
class AccessRoutes(Routes):
    """Routes of an access link.

    slots: The slots from which the routes were made.
    """

    slots: Slots


def access_routes(plan: Plan, access: Access, ephemeris: Ephemeris | None) -> AccessRoutes:
    """The path of each slot, in both directions; `path_id` numbers slots from 0.

    The path is station, satellite, station: terminal and gateway are nodes of the timeline only. At an update both
    directions have the same base delay; jitter, frames and queues are in the timeline.

    Raises ScenarioError: As in `slots_of`.
    access: The plan's medium.
    ephemeris: Ephemeris of the same plan, if it has a constellation.
    Returns: Two rows per update, dish to server and back; one update per slot.
    """
    stations = access.STATIONS
    slots = slots_of(plan, access, ephemeris)
    # The slot in which the run begins began earlier.
    t_ns = np.maximum(slots.begin_ns, 0)
    delay_ns = slots.base_at_ns(t_ns).tolist()
    # Delay that the previous path would have an instant later, with its satellite at its current position.
    old_ns = slots.base_at_ns(slots.begin_ns[1:] - 1).tolist()
    values = [
        PathValues(
            delay_ns=delay_ns[slot],
            length_m=None if slots.length_m is None else float(slots.length_m[slot]),
            old_delay_ns=old_ns[slot - 1] if slot else None,
        )
        for slot in range(len(slots.names))
    ]
    # Each satellite occurs once, in the order of its first slot: a set would give another order in another process.
    nodes = [*stations, *dict.fromkeys(slots.names)]
    number = {name: i for i, name in enumerate(nodes)}
    paths: list[list[Path | None]] = [[(0, number[name], 1), (1, number[name], 0)] for name in slots.names]
    # Paths are not numbered by their nodes: the same satellite in two successive slots is a reconfiguration, too.
    numbers = PathNumbers.of_path_ids([[slot, slot] for slot in range(len(paths))])
    summary = _summary(slots, plan.run.duration_ns)
    warnings = [] if ephemeris is None else [*ephemeris.warnings, *_clocks(plan, access)]
    return AccessRoutes(
        table=routes_table(
            nodes=nodes,
            ends=(stations, stations[::-1]),
            t_ns=t_ns,
            paths=paths,
            numbers=numbers,
            # Both directions have the values of the slot.
            values=[[value, value] for value in values],
            summary=summary,
            warnings=warnings,
        ),
        nodes=nodes,
        t_ns=t_ns,
        pairs=[(0, 1), (1, 0)],
        paths=paths,
        numbers=numbers,
        summary=summary,
        warnings=tuple(warnings),
        slots=slots,
    )


def _clocks(plan: Plan, access: Access) -> list[str]:
    """Satellites from orbital elements have positions at a real date; the reconfigurations should use the same date.

    Returns the warning, or an empty list: without orbital elements, satellites have no date.
    """
    sky = access.constellation
    if sky is None or sky.tle is None:
        return []
    at = datetime.fromisoformat(sky.epoch) + timedelta(microseconds=plan.run.start_ns / 1000)
    if at == datetime.fromisoformat(access.clock):
        return []
    return [
        f"the run begins at {access.clock} by access.clock and at {at.isoformat()} by constellation.epoch and "
        "run.start: satellites and reconfigurations are not of the same instant"
    ]


def _summary(slots: Slots, duration_ns: int) -> dict[str, int | float]:
    """Minimum, maximum and time-weighted mean of the one-way base delay, and the number of changes.

    duration_ns: Duration of the run; a base delay counts for the time during which it is in force within the run.
    Returns: `route_updates`, `route_changes`, `route_changes_shorter` (numbers), `path_delay_min_ns`, `..._mean_ns`,
        `..._max_ns`.
    """
    # The slot in which the run begins may have begun earlier, and the last one may end after it.
    held = np.append(np.maximum(slots.base_t_ns, 0), duration_ns).clip(max=duration_ns)
    lasts_ns = np.diff(held)
    in_run_ns = slots.base_ns[lasts_ns > 0]
    begins_ns = slots.base_at_ns(np.maximum(slots.begin_ns, 0))
    return {
        "route_updates": len(slots.begin_ns),
        "route_changes": len(slots.begin_ns) - 1,
        "route_changes_shorter": int((begins_ns[1:] < slots.base_at_ns(slots.begin_ns[1:] - 1)).sum()),
        "path_delay_min_ns": int(in_run_ns.min()),
        "path_delay_mean_ns": float(np.average(slots.base_ns, weights=lasts_ns)),
        "path_delay_max_ns": int(in_run_ns.max()),
    }
