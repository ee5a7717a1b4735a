# SPDX-License-Identifier: Apache-2.0
"""The stations of a constellation with an access link (`[stations.access]`): their satellite in each slot.

A dish consists of two nodes of the timeline. The dish's router is next to the host. The second node is the station's
own node. It is on the router's other side, and has the ground links. The profile's access link connects the router to
the station. The link's tables contain capacity, jitter, loss and the hold at each reconfiguration. The ground link has
neither rate nor queue. The delay of the ground link has two parts: the propagation delay to the slot's satellite, and
the fixed delay of the access network. At a reconfiguration, the ground link changes. Packets that wait for the radio
stay in the access link's queue.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.ephemeris import EcefMetres, Ephemeris
from leowarp.media.access.slots import Slots, reconfigurations_ns, scheduled
from leowarp.media.access.starlink import starlink_profile
from leowarp.media.access.timeline import access_link
from leowarp.routes.dishes import Dish
from leowarp.routes.sightings import limits_of
from leowarp.scenario.schema import Access, Plan
from leowarp.timeline.events import Events

_LOOKED_AT_NS = 1_000_000_000
"""Within a slot, the position of a satellite is compared with an obstruction map at intervals of this length. At 550
km, a satellite moves by at most 0.8 deg in this time."""


def dishes_of(plan: Plan, ephemeris: Ephemeris) -> tuple[Dish, ...]:
    """Return the dishes of a plan, in the order of its stations.

    Raises ScenarioError if a dish has a slot during which no satellite stays visible from begin to end.
    """
    names = [station.name for station in plan.stations]
    return tuple(_dish(plan, ephemeris, names.index(name), access) for name, access in plan.dishes.items())


def _dish(plan: Plan, ephemeris: Ephemeris, station: int, access: Access) -> Dish:
    begin_ns = reconfigurations_ns(access, plan.run.duration_ns)
    draws = stream(_seed(plan, station), "access.scheduler").random(len(begin_ns)).tolist()
    satellites = []
    for t_ns, draw in zip(begin_ns.tolist(), draws, strict=True):
        # Within one pass, a satellite rises once and sets once. A satellite that is above the mask at both ends of the
        # slot is therefore above the mask in between.
        ends_m = ephemeris.positions_ecef_m(np.array([t_ns, t_ns + access.period_ns - 1]))
        seen_deg = ephemeris.stations.elevations_deg(station, EcefMetres(ends_m))
        least_deg = seen_deg.min(axis=0)
        above = least_deg >= access.min_elevation_deg
        visible = np.flatnonzero(_free_through(ephemeris, station, t_ns, access.period_ns, above))
        if not len(visible):
            hidden = limits_of(plan.stations[station]) if above.any() else ""
            raise _blind(plan.stations[station].name, access, t_ns, float(least_deg.max()), hidden)
        satellites.append(scheduled(access, visible, seen_deg[0, visible], draw))
    return Dish(
        station=station, begin_ns=begin_ns, satellites=np.array(satellites, dtype=np.intp),
        fixed_ns=access.processing_delay_ns + access.server_delay_ns,
    )  # fmt: skip


def _free_through(
    ephemeris: Ephemeris, station: int, t_ns: int, period_ns: int, above: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which satellites above the mask (`above`) are never hidden by an obstruction during a slot. The result is
    a bool array of shape (n,)."""
    if ephemeris.stations.skies[station] is None:
        return above
    # A satellite may pass behind an obstruction during a slot, so checking both ends is not enough.
    free = above
    for at_ns in range(t_ns, t_ns + period_ns, _LOOKED_AT_NS):
        free = ephemeris.stations.is_free(station, ephemeris.positions_ecef_m(at_ns), free)
    return free


def link_dish(plan: Plan, events: Events, dish: Dish, ends: tuple[int, int]) -> None:
    """Add the access link of a dish, between the dish's router and its station.

    ends: The nodes of the router and of the station, in this order.
    """
    access = plan.dishes[plan.stations[dish.station].name]
    # The ground link already has the base delay, so the access link's base delay is 0.
    slots = Slots(
        begin_ns=dish.begin_ns, names=tuple(f"s-{slot}" for slot in range(len(dish.begin_ns))),
        base_t_ns=dish.begin_ns[:1], base_ns=np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    profile = starlink_profile(access, slots, seed=_seed(plan, dish.station), duration_ns=plan.run.duration_ns)
    access_link(plan, events, access, profile, ends)


def _seed(plan: Plan, station: int) -> int:
    """Return a separate seed for each dish. All dishes use streams of random numbers with equal names. If dishes had
    the same seed, they would get the same random numbers."""
    return int(stream(plan.run.seed, "stations.access", station).integers(2**63 - 1))


def _blind(name: str, access: Access, t_ns: int, best_deg: float, hidden: str) -> ScenarioError:
    if hidden:
        return ScenarioError(
            f"the dish of {name} sees no satellite through the slot that begins at {t_ns / 1e9:g} s: those above "
            f"min_elevation are hidden by its {hidden}",
            f"check {hidden}, or take a constellation with more satellites",
        )
    lower = f'set min_elevation = "{max(np.floor(best_deg), 0):.0f} deg", or ' if best_deg > 0 else ""
    return ScenarioError(
        f"the dish of {name} sees no satellite through the slot that begins at {t_ns / 1e9:g} s: "
        f"min_elevation asks for {access.min_elevation_deg:g} deg, and the best stays above {best_deg:.1f} deg",
        f"{lower}take a constellation with more satellites",
    )
