# SPDX-License-Identifier: Apache-2.0
"""A scenario while it is read: the content of each section so far, completed and checked in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from leowarp.scenario.text.decoding import Section


@dataclass(kw_only=True)
class Draft:
    """The mutable predecessor of a `Scenario`, whose docstring explains the attributes.

    Presets, defaults of a medium and implied stations are added to it after all sections are decoded.

    name: The run's name; "" if it is missing or wrong. A missing or wrong name is noted as a problem.
    sections: The tables of `loading.TABLES`. `sections` contains only the media that are given.
    stations, flows: Sections in the order of the file. `completion` replaces the stations by those that a medium
        implies.
    modules: Kernel module -> its parameters, as texts.
    hosts, pinned: Station name -> content of ``[hosts.NAME]``.
    dishes: Index of a station -> its ``[stations.access]``.
    """

    # A draft is mutable, unlike `Scenario`: completion changes it in place, and a Scenario is made from it only if
    # there is no mistake.
    name: str
    sections: dict[str, Section]
    stations: list[Section]
    flows: list[Section]
    modules: dict[str, Section]
    hosts: dict[str, Section] = field(default_factory=dict)
    pinned: dict[str, Section] = field(default_factory=dict)
    dishes: dict[int, Section] = field(default_factory=dict)
