# SPDX-License-Identifier: Apache-2.0
"""The routes of an access link. At each reconfiguration, the path between the two stations changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from leowarp.ephemeris import Ephemeris
from leowarp.media.access.slots import Slots, slots_of
from leowarp.routes.path_numbers import PathNumbers
from leowarp.routes.paths import Path
from leowarp.routes.table import PathValues, Routes
from leowarp.scenario.schema import Access, Plan


@dataclass(frozen=True, kw_only=True)
class AccessRoutes(Routes):
    """The routes of an access link.

    slots: The slots from which the routes were made.
    """

    slots: Slots


def access_routes(plan: Plan, access: Access, ephemeris: Ephemeris | None) -> AccessRoutes:
    """Return the path of each slot in both directions. `path_id` counts slots from 0.

    A path leads from a station over a satellite to a station. The routers terminal and gateway exist only in the
    timeline. Both directions of a path have the same base delay. Jitter, frames and queues are in the timeline.

    Raises ScenarioError if terminal and gateway see no satellite in common during a slot.
    Returns: The routes. Each slot has one update with two rows: dish to server, and server to dish.
    """
    stations = access.STATIONS
    slots = slots_of(plan, access, ephemeris)
    # The first slot began before the run, but its path is listed at the run's time 0.
    t_ns = np.maximum(slots.begin_ns, 0)
    delay_ns = slots.base_at_ns(t_ns).tolist()
    # `old_ns` has, for each change, the delay that the previous path would have now, with its satellite at the current
    # position.
    old_ns = slots.base_at_ns(slots.begin_ns[1:] - 1).tolist()
    values = [
        PathValues(
            delay_ns=delay_ns[slot],
            length_m=None if slots.length_m is None else float(slots.length_m[slot]),
            old_delay_ns=old_ns[slot - 1] if slot else None,
        )
        for slot in range(len(slots.names))
    ]
    # Satellites are in the order in which slots first use them. The order of a set would differ from process to
    # process.
    nodes = [*stations, *dict.fromkeys(slots.names)]
    number = {name: i for i, name in enumerate(nodes)}
    paths: list[list[Path | None]] = [[(0, number[name], 1), (1, number[name], 0)] for name in slots.names]
    # A reconfiguration is a route change even if both slots use the same satellite, so each slot has its own path
    # number.
    numbers = PathNumbers.of_path_ids([[slot, slot] for slot in range(len(paths))])
    summary = _summary(slots, plan.run.duration_ns)
    warnings = [] if ephemeris is None else [*ephemeris.warnings, *_clocks(plan, access)]
    return AccessRoutes.of(
        ends=(stations, stations[::-1]),
        # Both directions of a path have the same values.
        values=[[value, value] for value in values],
        nodes=nodes,
        t_ns=t_ns,
        pairs=[(0, 1), (1, 0)],
        paths=paths,
        numbers=numbers,
        summary=summary,
        warnings=warnings,
        slots=slots,
    )


def _clocks(plan: Plan, access: Access) -> list[str]:
    """Return a warning if two times for the run's start differ: the time from `access.clock`, and the time from the
    constellation's epoch and `run.start`.

    Without a file of elements, the list is empty. In this case, satellites have no real positions, so any date is
    accepted.
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
    """Return the number of route changes, and the minimum, the maximum and the time-weighted mean of the one-way base
    delay."""
    # The first slot began before the run, and the last slot may end after the run. Only the part of each slot that lies
    # within the run is counted.
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
