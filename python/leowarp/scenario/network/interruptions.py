# SPDX-License-Identifier: Apache-2.0
"""The rules about gaps of ground links and acquisitions of links between satellites."""

from __future__ import annotations

from collections.abc import Mapping

from leowarp.base import units
from leowarp.scenario.network.links import ACQUISITION_KEYS, GAP_KEYS
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.problems import Problems


def check_interruptions(tables: Mapping[str, Section], is_any_cure: bool, problems: Problems) -> None:
    """Check the keys for gaps and acquisitions, and their combination with the routing keys."""
    _check_classes(tables, problems)
    isl, ground = tables["isl"], tables["ground"]
    gap_ns, spread_ns = (ground.value(f"{key}_ns") for key in GAP_KEYS[:2])
    by_key_ns = {key: isl.value(f"{key}_ns") or 0 for key in ACQUISITION_KEYS[:2]}
    slowest = max(by_key_ns, key=lambda key: by_key_ns[key])
    for name, key, longest_ns, needless, mode, others in (
        ("isl", slowest, by_key_ns[slowest], ACQUISITION_KEYS[2:], "acquiring", ("lost", "buffered")),
        ("ground", GAP_KEYS[0], gap_ns and gap_ns + spread_ns, GAP_KEYS[1:], "in_gap", ("lost", "buffered", "old")),
    ):
        section = tables[name]
        if not longest_ns:
            for other in filter(section.gave, needless):
                section.refuse(problems, other, f"has no effect without {key}", f'write {key} = "30 ms", too')
        elif section.value(mode) in others:
            _check_one(tables, name, key, longest_ns, problems)
            if is_any_cure:
                rule = f"cannot be with {name}.{key}: cures reckon with links that are there at once"
                problems.add(tables["cures"].origin, "cures", rule, "take one of them out")
    if gap_ns and spread_ns > gap_ns:
        rule = "is more than handover_gap, so that gaps would be shorter than nothing"
        ground.refuse(problems, "handover_gap_spread", rule, f"at most {units.TIME.format(gap_ns)}")


def _check_classes(tables: Mapping[str, Section], problems: Problems) -> None:
    """If links between planes have their own acquisition time, check that the planes can be found. If this time equals
    the acquisition time of all links, the key is removed. Then, the plan is equal to a plan without the key."""
    isl = tables["isl"]
    key, attribute = "acquisition_between_planes", "acquisition_between_planes_ns"
    if isl.value(attribute) == isl.value("acquisition_ns"):
        isl.values.pop(attribute, None)
    if isl.value(attribute) is None or "constellation" not in tables:
        return
    rule_of_links = isl.value("rule")
    if rule_of_links == "none":
        rule, hint = 'has no effect: isl.rule = "none" links no satellites', "take it out"
        isl.refuse(problems, key, rule, hint)
    elif tables["constellation"].values.get("tle") is not None and rule_of_links != "plus-grid":
        rule = f'needs planes, and isl.rule = "{rule_of_links}" does not look for any in constellation.tle'
        hint = 'write rule = "plus-grid", which finds them, or acquisition alone: one time for all links'
        isl.refuse(problems, key, rule, hint)


def _check_one(tables: Mapping[str, Section], name: str, key: str, longest_ns: int, problems: Problems) -> None:
    """Check that an interruption ends before the next route update, and that no other key forbids it."""
    section = tables[name]
    interval_ns = tables["routing"].value("interval_ns")
    if longest_ns >= interval_ns:
        rule = f"lasts {units.TIME.format(longest_ns)}, and the next route update comes after " + units.TIME.format(
            interval_ns
        )
        hint = "write less, or a longer routing.interval"
        if name == "isl":
            hint += ', or acquiring = "wait", by which routes wait for the link'
        section.refuse(problems, key, rule, hint)
    in_flight = "drain" if name == "ground" and section.value("in_gap") == "old" else "drain or source"
    for table, other, allowed in (
        ("routing", "in_flight", in_flight.split(" or ")),
        ("routing", "leaving_links", ["keep"]),
        ("routing", "update", ["atomic"]),
        ("network", "link_model", ["leolink"]),
        ("network", "neighbours", ["static"]),
        ("network", "instantiate", ["used"]),
        ("network", "endpoints", ["stations"]),
    ):
        value = tables[table].value(other)
        if value not in allowed:
            rule = f'cannot be "{value}" with {name}.{key}'
            tables[table].refuse(problems, other, rule, f'write {other} = "{allowed[0]}", or take {name}.{key} out')
