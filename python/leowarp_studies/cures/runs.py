# SPDX-License-Identifier: Apache-2.0
"""Runs of the study, in four groups. The first group runs every variant with each of its TCPs, around the same route
changes. The second group runs some variants at loads that cause no queue. The third group stores all packets around one
route change. The fourth group contains the jittered transfers of `torres2020`, which show which metric predicts the
effect of reordering.

Each group is a separate study file (a scenario and parameters), whose runs the study engine makes and can resume. The
links of this study have no randomness, so its samples are different route changes, not different seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leowarp.study.parts import Part
from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures.changes import IDENTITY, LONGER, PAIRS, SCENARIO, Change
from leowarp_studies.cures.variants import (
    BY_NAME,
    CONTROL,
    FROZEN,
    LINKS,
    LOADED,
    NONE,
    QUEUES,
    TCPS,
    VARIANTS,
    Variant,
    name_of,
    parts_of,
)
from leowarp_studies.torres2020.runs import parts as torres2020_parts

SATURATED, HIGH, HALF = "saturated", "90 %", "50 %"
LOADS = (SATURATED, HIGH, HALF)
"""A load is the transfer's rate, divided by the path's payload rate of 95.6 Mbit/s."""
RATES = {SATURATED: "unlimited", HIGH: "86 Mbit/s", HALF: "48 Mbit/s"}
"""The transfer's rate at each load, as the value of the scenario key `rate`."""

CHANGES, LOADED_CHANGES = 5, 3
"""The number of route changes for each pair of cities and direction. The first number is for saturation, and the second
for lower loads. At saturation, there are 20 changes to a longer path and 20 to a shorter path. At lower loads, there
are 12 changes to a longer path and 12 to a shorter path."""
QUICK_TCPS, QUICK_LOADED_TCPS = ("cubic", "classic"), ("cubic",)
QUICK_QUEUES = ("queue-100", "fq-codel")
_NOT_QUICK = {f"{control}{name}" for name in QUEUES if name not in QUICK_QUEUES for control in ("", f"{FROZEN}-")}
JITTERED = ("mechanisms-normal", "mechanisms-bic")
"""The groups of `torres2020` that store packets of four TCPs."""


AROUND = ("saturated", "loaded")
"""The groups of runs that cover the time around route changes."""


def parts() -> tuple[Part, ...]:
    """Return all groups."""
    saturated, loaded = AROUND
    return (
        _around_changes(saturated, "every cure, every TCP, the queue full", tuple(BY_NAME), CHANGES, (SATURATED,),
                        QUICK_TCPS),
        _around_changes(loaded, "at 90 % and 50 % of the capacity", LOADED, LOADED_CHANGES, (HIGH, HALF),
                        QUICK_LOADED_TCPS),
        _close(),
        *(part for part in torres2020_parts() if part.name in JITTERED),
    )  # fmt: skip


def _around_changes(
    name: str, why: str, variants: Sequence[str], each: int, loads: Sequence[str], quick_tcps: Sequence[str]
) -> Part:
    """Return a group of runs around route changes of every pair. Each variant runs with each of its TCPs at each
    load."""
    looked_at = route_changes.changes(each)
    # A quick study has only the first change of each pair and direction, in the first constellation.
    few = {change.identity for change in looked_at if change.number == 0 and change.pair.preset == PAIRS[0].preset}
    content = {
        "name": name,
        "scenario": SCENARIO,
        "parameters": {"flows.0.rate": {"label": "load", "values": [RATES[load] for load in loads]}},
        "together": [_changes_together(looked_at), _variants_together(variants, tuple(TCPS))],
        "set": {"observe.packets": "none", "observe.queues": "none"},
    }
    runs = len(_under(variants, tuple(TCPS))) * len(looked_at) * len(loads)
    return Part(name, why, content, runs, _quick(few, quick_tcps))


def _quick(identities: set[tuple[str, ...]], tcps: Sequence[str]) -> Callable[[Mapping[str, Any], int], bool]:
    """Return a filter that selects the runs of a quick study."""

    def is_made(values: Mapping[str, Any], seed: int) -> bool:
        variant, tcp = parts_of(values["name"])
        return tuple(values[key] for key in IDENTITY) in identities and tcp in tcps and variant not in _NOT_QUICK

    return is_made


def close_change() -> Change:
    """Return the route change whose packets the page shows. This is the first change to a longer path among the changes
    of the first pair."""
    return next(change for change in route_changes.changes(CHANGES) if change.direction == LONGER)


def _close() -> Part:
    """Return a group of runs under CUBIC with one route change. The runs record every packet. The complete run
    directories are stored."""
    shown = [variant.name for variant in VARIANTS if variant.where != CONTROL or variant.name in (NONE, FROZEN)]
    content = {
        "name": "close",
        "scenario": SCENARIO,
        "set": close_change().keys(),
        "together": [_variants_together(shown, ("cubic",))],
        "keep": {"runs": "all"},
    }
    why = "one change, packet by packet: whole run directories"
    runs = len(_under(shown, ("cubic",)))
    return Part("close", why, content, runs, lambda values, seed: parts_of(values["name"])[0] not in _NOT_QUICK)


def _under(variants: Sequence[str], tcps: Sequence[str]) -> list[tuple[Variant, str]]:
    """Return pairs of a variant and a TCP with which the study runs the variant."""
    return [(BY_NAME[name], tcp) for name in variants for tcp in tcps if BY_NAME[name].runs_under(tcp)]


def _changes_together(looked_at: Sequence[Change]) -> dict[str, Any]:
    """Return the scenario keys of the given changes. The keys vary together. The keys have labels. The labels become
    columns, which join the rows of the runs with the table `changes`."""
    keys = [change.keys() for change in looked_at]
    return {key: _labelled([each[key] for each in keys], IDENTITY.get(key)) for key in keys[0]}


def _variants_together(variants: Sequence[str], tcps: Sequence[str]) -> dict[str, Any]:
    """Return scenario keys that vary together. Each key has one value per combination of variant and TCP. The
    scenario's name identifies the combination."""
    pairs = _under(variants, tcps)
    links = {
        f"{section}.{key}": [variant.links.get(key, usual) for variant, _ in pairs]
        for section in ("isl", "ground")
        for key, usual in LINKS.items()
    }
    return links | {
        "name": [name_of(variant.name, tcp) for variant, tcp in pairs],
        # The overrides contain complete sections, because single keys of a cure that is off are rejected.
        "cures": [dict(variant.cures) for variant, _ in pairs],
        "routing": [dict(variant.routing) for variant, _ in pairs],
        "tcp": [{**TCPS[tcp]["tcp"], **variant.tcp} for variant, tcp in pairs],
        "modules": [{name: dict(given) for name, given in variant.modules.items()} for variant, _ in pairs],
        "flows.0.congestion_control": [
            variant.senders.get(tcp, TCPS[tcp]["congestion_control"]) for variant, tcp in pairs
        ],
    }


def _labelled(values: list[Any], label: str | None) -> Any:
    return values if label is None else {"label": label, "values": values}
