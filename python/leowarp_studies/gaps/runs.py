# SPDX-License-Identifier: Apache-2.0
"""The runs of the study. Every arm is run with every load, at the same path changes. Each route and family of arms is a
group of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leowarp.study.parts import Part
from leowarp_studies.gaps.arms import (
    ARMS,
    CALL,
    CHANGE_S,
    CHANGES,
    CUBIC,
    DISHES,
    DURATION_S,
    FROZEN,
    LASERS,
    LOADS,
    LOST,
    NEVER,
    PAGE,
    PAGE_BEFORE_S,
    PLAIN,
    QUEUE,
    RATE_BPS,
    ROUTES,
    START_S,
    TCPS,
    Arm,
    Route,
)

FAMILIES = {
    CHANGES: "no change, a change with and without its queue and its reordering, a gap of three kinds",
    DISHES: "the receiver's dish without a reconfiguration, with a hold, with a whole profile",
    LASERS: "a laser that is there at once, waited for, lost on or buffered for",
}
"""The families of arms, each with a description. The runs of the families are made in this order."""
_SECTIONS = ("routing", "cures", "ground", "isl")
_QUICK_LOADS, _QUICK_ARMS = (CUBIC, PAGE), (FROZEN, PLAIN, LOST)
CALL_S = 3


def parts() -> tuple[Part, ...]:
    """Return all groups of runs. The groups of route changes come first."""
    return tuple(
        _part(route, family, why) for family, why in FAMILIES.items() for route in ROUTES if samples(route, family)
    )


def samples(route: Route, family: str) -> tuple[int, ...]:
    """Return the times of the changes in a family's runs, on the constellation's clock, in s."""
    return route.lasers_s if family == LASERS else route.changes_s


def group_of(route: Route, family: str) -> str:
    """Return the name of the group of runs that have this route and family of arms."""
    return f"{route.name}-{family}"


def name_of(route: Route, at_s: int, arm: str, load: str) -> str:
    """Return the scenario name of a run. The name identifies the run in the rows of the results."""
    return f"{route.name}.{at_s}.{arm}.{load}"


def parts_of(name: str) -> tuple[str, int, str, str]:
    """Return the four parts of a scenario's name: route, sample, arm and load.

    >>> parts_of("madrid-tokyo.117.gap-lost.cubic")
    ('madrid-tokyo', 117, 'gap-lost', 'cubic')
    """
    route, at_s, arm, load = name.split(".")
    return route, int(at_s), arm, load


def _part(route: Route, family: str, why: str) -> Part:
    ones = list(_ones(route, family))
    content = {
        "name": group_of(route, family),
        "scenario": f"{route.scenario}.toml",
        "set": {
            "routing.interval": f"{CHANGE_S} s", "routing.link_interval": "1 s", "observe.packets": "none",
            "observe.queues": "none",
        },
        "together": [{key: [one[key] for one in ones] for key in ones[0]}],
    }  # fmt: skip
    first = samples(route, family)[0]

    def in_quick(values: Mapping[str, Any], seed: int) -> bool:
        _, at_s, arm, load = parts_of(values["name"])
        return family == CHANGES and at_s == first and arm in _QUICK_ARMS and load in _QUICK_LOADS

    return Part(group_of(route, family), f"{route.label}: {why}", content, len(ones), in_quick)


def _ones(route: Route, family: str) -> Iterator[dict[str, Any]]:
    """Yield the scenario keys of each run of a route and a family of arms."""
    for load in LOADS:
        for number, at_s in enumerate(samples(route, family)):
            for arm in (arm for arm in ARMS if arm.family == family):
                yield {
                    "name": name_of(route, at_s, arm.name, load),
                    "run.start": f"{at_s - CHANGE_S} s",
                    "run.seed": number + 1,
                    "run.duration": f"{DURATION_S[load]} s",
                    "stations": _stations(route, arm),
                    "flows": _flows(route, load, number),
                } | _sections(arm)


def _sections(arm: Arm) -> dict[str, dict[str, Any]]:
    # The sender's ground link is the bottleneck, so that the queue is at the node where the path changes. With a dish,
    # the access link of the dish is the bottleneck.
    links = {"rate": f"{RATE_BPS if arm.dish is None else 100 * RATE_BPS} bit/s", "queue": QUEUE}
    own = {section: dict(arm.keys.get(section, {})) for section in _SECTIONS}
    if arm.dish is not None:
        own["routing"]["interval"] = NEVER
    return own | {"isl": links | own["isl"], "ground": links | own["ground"]}


def _stations(route: Route, arm: Arm) -> list[dict[str, Any]]:
    receiver: dict[str, Any] = {"name": route.destination}
    return [{"name": route.source}, receiver if arm.dish is None else receiver | {"access": dict(arm.dish)}]


def _flows(route: Route, load: str, number: int) -> list[dict[str, Any]]:
    ends = {"source": route.source, "destination": route.destination}
    program = ends | {"kind": "program", "client_at": "destination"}
    if load in TCPS:
        return [ends | {"congestion_control": load, "start": f"{START_S[number]} s"}]
    if load == CALL:
        asked = f"--rate 30 --bitrate 2000 --seconds {CALL_S}"
        call = program | {
            "port": 5004, "start": f"{CHANGE_S - 1} s", "server": "python3 {applications} send-frames {port}",
            "client": f"python3 {{applications}} frames {{server}} {{port}} {asked}",
        }  # fmt: skip
        return [call, ends | {"congestion_control": CUBIC}]
    return [program | {
        "port": 8080, "start": f"{CHANGE_S - PAGE_BEFORE_S[number]:.1f} s",
        "server": "python3 {applications} serve {port}",
        "client": "python3 {applications} page {server} {port} --timeout 9",
    }]  # fmt: skip
