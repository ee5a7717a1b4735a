# SPDX-License-Identifier: Apache-2.0
"""The routes, loads and arms of the study. In each run, the path changes once. An arm is one condition that is tested
at this change.

A sample is a change at which the sender's own station switches to another satellite. Such changes are chosen because
the queue of a saturated path is at the sender's station. An arm differs from its control only in a few keys, so that a
difference in results has one cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CHANGE_S = 9
"""The time in s at which the path changes in a run. The interval between route updates has the same length. Before the
change, packets use the path with which the run starts."""
NEVER = "3600 s"
RATE_BPS = 10_000_000
QUEUE = "80 pkts"
"""The limit of the queue. This is about the bandwidth-delay product: 76 packets of 1514 bytes, for the 92 ms from
Madrid to Tokyo and back."""
GAP_MS, ACQUISITION_S = 40, 1
"""The length of a gap in ms, and the time in s to point a laser again. The gap is within the range of
`examples/dish-lasers.toml`. Finding a satellite for the first time takes longer, but this additional time is not
included."""


@dataclass(frozen=True)
class Route:
    """Two cities that a constellation connects, and their route changes.

    name: The name of the route in names of runs.
    scenario: The name of the example scenario on which the runs are based.
    changes_s: The times of the changes on the constellation's clock. At each change, only the sender's station switches
        to another satellite.
    lasers_s: The times at which the path begins to use a new link between satellites. The two satellites of such a link
        were out of each other's range `CHANGE_S` seconds earlier. The tuple is empty if the route has no such times.
    """

    name: str
    label: str
    scenario: str
    source: str
    destination: str
    changes_s: tuple[int, ...]
    lasers_s: tuple[int, ...] = ()


ROUTES = (
    # The times are spread over the changes in the first 30 min of the run, with updates every 9 s. In the first half
    # hour, 19 changes meet the condition of `changes_s`, and 10 changes use a new laser.
    Route("madrid-tokyo", "Madrid to Tokyo", "madrid-tokyo", "Madrid", "Tokyo",
          (117, 477, 693, 1053, 1404), (189, 378, 558, 738, 918)),
    # In the first half hour, 16 changes meet the condition of `changes_s`. In a +Grid of one shell, no change uses a
    # new laser. If links were chosen by a range of 2500 km, one of 600 updates would use a new laser.
    Route("new-york-london", "New York to London", "starlink-new-york-london", "New York", "London",
          (99, 441, 639, 1260, 1602)),
)  # fmt: skip
BY_ROUTE = {route.name: route for route in ROUTES}

RENO, CUBIC, BBR, CALL, PAGE = "reno", "cubic", "bbr", "call", "page"
TCPS = (RENO, CUBIC, BBR)
LOADS: Mapping[str, str] = {RENO: "Reno", CUBIC: "CUBIC", BBR: "BBR", CALL: "call", PAGE: "page load"}
"""The loads: a bulk transfer with one of three TCPs, a call beside a CUBIC transfer, and a page load alone."""
START_S = (0, 1, 2, 3, 4)
"""The time in s at which the transfer starts, for each sample. A congestion window grows and shrinks in cycles of some
seconds. The start times differ, so that the changes occur at different points of the cycle."""
PAGE_BEFORE_S = (0.5, 0.8, 1.1, 1.4, 1.7)
"""For each sample, the time in s from the start of a page load to the change. A page is sent in bursts, so a gap of 40
ms may fall between two bursts."""
DURATION_S = {RENO: 18, CUBIC: 18, BBR: 18, CALL: 15, PAGE: 18}

FROZEN, ORDERED, MOVED, PLAIN = "frozen", "ordered", "moved", "plain"
LOST, BUFFERED, OLD = "gap-lost", "gap-buffered", "gap-old"
LASER_PLAIN = "laser-at-once"
LASER_WAIT, LASER_LOST, LASER_BUFFERED = "laser-wait", "laser-lost", "laser-buffered"
DISH_STILL, DISH_HOLD, DISH_PROFILE = "dish-still", "dish-hold", "dish-profile"
CHANGES, LASERS, DISHES = "changes", "lasers", "dishes"
"""The families of arms. Each family has a control, and a set of route changes at which its runs are made."""


@dataclass(frozen=True)
class Arm:
    """One condition that is tested at a route change: an event, or no event.

    control: The name of the condition with which this one is compared.
    keys: The changed scenario keys: dotted keys with their values, or whole sections.
    dish: The keys of the receiver's access link. None means that the receiver has no access link.
    """

    name: str
    label: str
    family: str
    control: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    dish: Mapping[str, Any] | None = None


_MOVE = {"move_queue": "kept"}
_FROZEN = {"interval": NEVER}


def _gap(in_gap: str) -> dict[str, Any]:
    return {"ground": {"handover_gap": f"{GAP_MS} ms", "in_gap": in_gap}}


def _laser(acquiring: str) -> dict[str, Any]:
    return {"isl": {"acquisition": f"{ACQUISITION_S} s", "acquiring": acquiring}}


_CAPACITY = {"capacity": f"{RATE_BPS} bit/s", "queue": QUEUE, "scheduler": "highest", "period": "15 s",
             "phase": f"{CHANGE_S} s"}  # fmt: skip
_NOTHING_ELSE = {
    "capacity_up": f"{RATE_BPS} bit/s", "queue_up": QUEUE, "capacity_spread": "0 %", "wander": "0 %",
    "modulation": "0 %", "jitter": "0 ms", "jitter_up": "0 ms", "outage_share": "0 %",
    "residual_loss": "0 %", "residual_loss_up": "0 %",
}  # fmt: skip
_HOLD = {"handover_min": f"{GAP_MS} ms", "handover_max": f"{GAP_MS} ms"}

ARMS = (
    Arm(FROZEN, "no change", CHANGES, FROZEN, {"routing": _FROZEN}),
    Arm(ORDERED, "change, order kept, queue moved", CHANGES, FROZEN, {"cures": {**_MOVE, "hold": True}}),
    Arm(MOVED, "change, queue moved", CHANGES, ORDERED, {"cures": _MOVE}),
    Arm(PLAIN, "change", CHANGES, MOVED),
    Arm(LOST, f"gap of {GAP_MS} ms, lost", CHANGES, PLAIN, _gap("lost")),
    Arm(BUFFERED, f"gap of {GAP_MS} ms, buffered", CHANGES, PLAIN, _gap("buffered")),
    Arm(OLD, f"gap of {GAP_MS} ms, old link until then", CHANGES, PLAIN, _gap("old")),
    Arm(LASER_PLAIN, "new laser, there at once", LASERS, LASER_PLAIN),
    Arm(LASER_WAIT, f"acquisition of {ACQUISITION_S} s, routes wait", LASERS, LASER_PLAIN, _laser("wait")),
    Arm(LASER_LOST, f"acquisition of {ACQUISITION_S} s, lost", LASERS, LASER_PLAIN, _laser("lost")),
    Arm(LASER_BUFFERED, f"acquisition of {ACQUISITION_S} s, buffered", LASERS, LASER_PLAIN, _laser("buffered")),
    # One slot contains the complete run, so that no reconfiguration occurs.
    Arm(DISH_STILL, "dish, no reconfiguration", DISHES, DISH_STILL,
        dish={**_CAPACITY, **_NOTHING_ELSE, **_HOLD, "period": "30 s", "phase": "25 s"}),
    Arm(DISH_HOLD, f"dish, reconfiguration with a hold of {GAP_MS} ms", DISHES, DISH_STILL,
        dish={**_CAPACITY, **_NOTHING_ELSE, **_HOLD}),
    Arm(DISH_PROFILE, "dish, the profile off-peak", DISHES, DISH_STILL, dish={"preset": "off-peak", **_CAPACITY}),
)  # fmt: skip
"""The arms, in the order of the table."""
BY_NAME = {arm.name: arm for arm in ARMS}
