# SPDX-License-Identifier: Apache-2.0
"""Rules about gaps of ground links and the acquisition of lasers, in combination with the rest of a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from leowarp.base import units
from leowarp.scenario.network.links import ACQUISITION_KEYS, GAP_KEYS, Ground, Isl, Network, Routing
from leowarp.scenario.text.decoding import Section, value_of
from leowarp.scenario.text.problems import Problems


def check_interruptions(tables: Mapping[str, Section], is_any_cure: bool, problems: Problems) -> None:
    """Check gaps and acquisitions, alone and in combination with the routes.

    tables: All sections, decoded and completed.
    is_any_cure: Whether ``[cures]`` switches any cure on.
    problems: Receives keys without effect, interruptions longer than a route interval, and routing keys that take links
        down.
    """
    for name, keys, schema, mode, others in (
        ("isl", ACQUISITION_KEYS, Isl, "acquiring", ("lost", "buffered")),
        ("ground", GAP_KEYS, Ground, "in_gap", ("lost", "buffered", "old")),
    ):
        section = tables[name]
        if not value_of(section, schema, f"{keys[0]}_ns"):
            for key in filter(section.gave, keys[1:]):
                rule = f"has no effect without {keys[0]}"
                problems.add(section.where(key), f"{name}.{key}", rule, f'write {keys[0]} = "30 ms", too')
        elif value_of(section, schema, mode) in others:
            _check_one(tables, section, name, keys[0], problems)
            if is_any_cure:
                rule = f"cannot be with {name}.{keys[0]}: cures reckon with links that are there at once"
                problems.add(tables["cures"].origin, "cures", rule, "take one of them out")
    ground = tables["ground"]
    gap_ns, spread_ns = (value_of(ground, Ground, f"{key}_ns") for key in GAP_KEYS[:2])
    if gap_ns and spread_ns > gap_ns:
        rule = "is more than handover_gap, so that gaps would be shorter than nothing"
        hint = f"at most {units.TIME.format(gap_ns)}"
        problems.add(ground.where("handover_gap_spread"), "ground.handover_gap_spread", rule, hint)


def _check_one(tables: Mapping[str, Section], section: Section, name: str, key: str, problems: Problems) -> None:
    """Check that an interruption ends before the next route update, and that no link goes down while it lasts."""
    schema: type = Isl if name == "isl" else Ground
    longest_ns = value_of(section, schema, f"{key}_ns")
    if name == "ground":
        longest_ns += value_of(section, Ground, "handover_gap_spread_ns")
    interval_ns = value_of(tables["routing"], Routing, "interval_ns")
    if longest_ns >= interval_ns:
        rule = f"lasts {units.TIME.format(longest_ns)}, and the next route update comes after " + units.TIME.format(
            interval_ns
        )
        hint = "write less, or a longer routing.interval"
        if name == "isl":
            hint += ', or acquiring = "wait", by which routes wait for the link'
        problems.add(section.where(key), f"{name}.{key}", rule, hint)
    in_flight = "drain" if name == "ground" and value_of(section, Ground, "in_gap") == "old" else "drain or source"
    for table, declared, other, allowed in (
        ("routing", Routing, "in_flight", in_flight.split(" or ")),
        ("routing", Routing, "leaving_links", ["keep"]),
        ("routing", Routing, "update", ["atomic"]),
        ("network", Network, "link_model", ["leolink"]),
        ("network", Network, "neighbours", ["static"]),
        ("network", Network, "instantiate", ["used"]),
        ("network", Network, "endpoints", ["stations"]),
    ):
        value = value_of(tables[table], declared, other)
        if value not in allowed:
            rule = f'cannot be "{value}" with {name}.{key}'
            hint = f'write {other} = "{allowed[0]}", or take {name}.{key} out'
            problems.add(tables[table].where(other), f"{table}.{other}", rule, hint)
