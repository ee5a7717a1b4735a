# SPDX-License-Identifier: Apache-2.0
"""A scenario while it is read: what each section says so far, filled in and checked in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from leowarp.scenario.text.decoding import Section


@dataclass(kw_only=True)
class Draft:
    """What a `Scenario` is made from; its attributes are explained there.

    Presets, defaults of a medium and implied stations are added to it after all sections are decoded.

    name: The run's name; "" if it is missing or wrong, which is noted as a problem.
    sections: The tables of `loading.TABLES`; of the media only those that are given.
    stations, flows: In the order of the file. `completion` replaces the stations by those that a medium implies.
    modules: Kernel module to its parameters, as texts.
    hosts, pinned: Station name to what ``[hosts.NAME]`` says.
    """

    # Mutable, unlike `Scenario`: completion fills it in place, and a Scenario is made from it only once nothing is
    # wrong.
    name: str
    sections: dict[str, Section]
    stations: list[Section]
    flows: list[Section]
    modules: dict[str, Section]
    hosts: dict[str, Section] = field(default_factory=dict)
    pinned: dict[str, Section] = field(default_factory=dict)
