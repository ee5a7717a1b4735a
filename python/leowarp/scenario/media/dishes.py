# SPDX-License-Identifier: Apache-2.0
"""The section `[stations.access]`: stations that are connected to a constellation through a dish with an access link.

The table has the keys of `[access]`, and the dish uses the constellation's satellites. The places of a terminal, a
gateway or a point of presence have no effect. The keys of base round trips also have no effect.
"""

from __future__ import annotations

from leowarp.scenario.media.access import Access
from leowarp.scenario.network.cures import is_any_on
from leowarp.scenario.network.queues import complete_queue
from leowarp.scenario.text.decoding import Draft, Section
from leowarp.scenario.text.key import keys
from leowarp.scenario.text.problems import Problems

DISH = "access"
"""The name of the key that contains a station's access link."""
_PLACES = (
    "geometry", "terminal_latitude", "terminal_longitude", "gateway_latitude", "gateway_longitude", "pop_latitude",
    "pop_longitude",
)  # fmt: skip
DISH_IDLE_KEYS = (*_PLACES, "base_rtt_min", "base_rtt_max", "base_step_min")
"""The keys of `[access]` that have no effect for a station of a constellation."""


def complete_dishes(draft: Draft, is_constellation: bool, problems: Problems) -> None:
    """Apply the preset of each dish, and reject settings that dishes do not support."""
    for section in draft.dishes.values():
        if not is_constellation:
            rule = "has no effect: only stations of a [constellation] that is the medium have access links"
            problems.add(section.origin, section.name, rule, "take it out")
            continue
        for key in filter(section.gave, _PLACES):
            rule = "has no effect: the dish stands where the station is, and its satellites are the constellation's"
            section.refuse(problems, key, rule, "take it out")
        _forget_places(section)
        section.values["geometry"] = "constellation"
        complete_queue(section, False, problems)
        Access.complete(section, problems)
    if draft.dishes and is_constellation:
        _check_rest(draft, problems)


def _forget_places(section: Section) -> None:
    """Remove the base round trips that a preset file gives. These values have no effect for a dish. A dish's round
    trips follow from the constellation."""
    file = section.nodes.get("preset_file")
    if file is None or file.origin.file == section.origin.file:
        return
    for key in (*DISH_IDLE_KEYS, "base_rtts", "base_kept"):
        if section.gave(key) and section.where(key).file == file.origin.file:
            section.values.pop(keys(Access)[key][0])
            section.nodes.pop(key)


def _check_rest(draft: Draft, problems: Problems) -> None:
    """Check that links use leolink, that route updates are atomic, and that no cure is on. A dish needs tables of
    capacity and delay."""
    for name, attribute, only in (
        ("network", "link_model", "leolink"),
        ("network", "endpoints", "stations"),
        ("network", "delay_rounding", "none"),
        ("routing", "update", "atomic"),
    ):
        section = draft.sections[name]
        value = section.value(attribute)
        if value != only:
            rule = f'cannot be "{value}" with [stations.access]'
            section.refuse(problems, attribute, rule, f'write {attribute} = "{only}"')
    cures = draft.sections["cures"]
    if is_any_on(cures):
        rule = "cannot be with [stations.access]: cures reckon with route changes alone, not with reconfigurations"
        problems.add(cures.origin, "cures", rule, "take one of them out")
