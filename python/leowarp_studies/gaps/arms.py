# SPDX-License-Identifier: Apache-2.0
"""Routes, loads and arms. Each run has one change of the path; an arm is a condition at this change.

A sample is a change at which the sender's own station switches to another satellite, because the queue of a full path
is at this station. An arm differs from its control in a few keys, so that a difference in results has one cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CHANGE_S = 9
"""Time of the change in a run, and interval between route updates. Until the change, the path of the run's start is in
force."""
NEVER = "3600 s"
RATE_BPS = 10_000_000
QUEUE = "80 pkts"
"""The bandwidth-delay product is 76 packets of 1514 bytes, at 92 ms from Madrid to Tokyo and back."""
GAP_MS, ACQUISITION_S = 40, 1
"""Length of a gap, within the range of `examples/dish-lasers.toml`, and time to point a laser again; finding the other
satellite anew would take longer."""


@dataclass(frozen=True)
class Route:
    """Two cities connected by a constellation, and their route changes.

    name: Name of the route in names of runs.
    scenario: Name of the example that the runs extend.
    changes_s: Times on the constellation's clock at which the sender's station switches to another satellite, but the
        receiver's station does not.
    lasers_s: Times at which a path begins to use a link between satellites that was out of range `CHANGE_S` seconds
        before; empty if there are no such times.
    """

    name: str
    label: str
    scenario: str
    source: str
    destination: str
    changes_s: tuple[int, ...]
    lasers_s: tuple[int, ...] = ()


ROUTES = (
    # The instants are spread over the changes of the first half hour, with updates every 9 s. There are 19 such
    # changes, and 10 changes with a new laser.
    Route("madrid-tokyo", "Madrid to Tokyo", "madrid-tokyo", "Madrid", "Tokyo",
          (117, 477, 693, 1053, 1404), (189, 378, 558, 738, 918)),
    # The half hour has 16 such changes. A +Grid of one shell never has a new laser; with links by a range of 2500 km, 1
    # of 600 updates has one.
    Route("new-york-london", "New York to London", "starlink-new-york-london", "New York", "London",
          (99, 441, 639, 1260, 1602)),
)  # fmt: skip
BY_ROUTE = {route.name: route for route in ROUTES}

RENO, CUBIC, BBR, CALL, PAGE = "reno", "cubic", "bbr", "call", "page"
TCPS = (RENO, CUBIC, BBR)
LOADS: Mapping[str, str] = {RENO: "Reno", CUBIC: "CUBIC", BBR: "BBR", CALL: "call", PAGE: "page load"}
"""Loads: one bulk transfer with any of three TCPs; a call beside a transfer with CUBIC; a page load alone."""
START_S = (0, 1, 2, 3, 4)
"""Start of a transfer, by sample. A window grows and is reduced in cycles of some seconds; if every change met the same
point of a cycle, the results would not represent its other points."""
PAGE_BEFORE_S = (0.5, 0.8, 1.1, 1.4, 1.7)
"""Time from the start of a page load to the change, by sample. A page is sent in bursts, so a gap of 40 ms may fall
between two bursts."""
DURATION_S = {RENO: 18, CUBIC: 18, BBR: 18, CALL: 15, PAGE: 18}

FROZEN, ORDERED, MOVED, PLAIN = "frozen", "ordered", "moved", "plain"
LOST, BUFFERED, OLD = "gap-lost", "gap-buffered", "gap-old"
LASER_PLAIN = "laser-at-once"
LASER_WAIT, LASER_LOST, LASER_BUFFERED = "laser-wait", "laser-lost", "laser-buffered"
DISH_STILL, DISH_HOLD, DISH_PROFILE = "dish-still", "dish-hold", "dish-profile"
CHANGES, LASERS, DISHES = "changes", "lasers", "dishes"
"""Families of arms. Each family has its own samples and its own control."""


@dataclass(frozen=True)
class Arm:
    """A condition at the change: an event or no event.

    control: Name of the arm with which this arm is compared.
    keys: Keys of a scenario, dotted, or whole sections.
    dish: Keys of the receiver's access link; None: the receiver has no access link.
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
    # The slot begins before the run's start and ends after the run's end.
    Arm(DISH_STILL, "dish, no reconfiguration", DISHES, DISH_STILL,
        dish={**_CAPACITY, **_NOTHING_ELSE, **_HOLD, "period": "30 s", "phase": "25 s"}),
    Arm(DISH_HOLD, f"dish, reconfiguration with a hold of {GAP_MS} ms", DISHES, DISH_STILL,
        dish={**_CAPACITY, **_NOTHING_ELSE, **_HOLD}),
    Arm(DISH_PROFILE, "dish, the profile off-peak", DISHES, DISH_STILL, dish={"preset": "off-peak", **_CAPACITY}),
)  # fmt: skip
"""All arms, in the order of the table."""
BY_NAME = {arm.name: arm for arm in ARMS}
