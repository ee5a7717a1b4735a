# SPDX-License-Identifier: Apache-2.0
"""A scenario under construction: sections that are decoded, then completed and checked in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from leowarp.scenario.text.decoding import Section


@dataclass(kw_only=True)
class Draft:
    """The mutable predecessor of a `Scenario`; the docstring of `Scenario` explains the attributes.

    After all sections are decoded, presets, a medium's defaults and the medium's stations are added.

    name: The run's name. If the name is missing or wrong, it is "", and the mistake has been reported.
    sections: Content of the tables of `loading.TABLES`. Only media that the text mentions are present.
    stations, flows: Sections in the order of the file. If the medium defines the stations, `completion` replaces the
        list of stations.
    modules: Kernel module -> its parameters; the values are texts.
    hosts, pinned: Station name -> content of ``[hosts.NAME.tcp]`` and of ``[hosts.NAME.sysctl]``.
    dishes: Index of a station -> its ``[stations.access]``.
    """

    # Unlike a `Scenario`, a draft is changed in place; a `Scenario` is made from it only if there is no mistake.
    name: str
    sections: dict[str, Section]
    stations: list[Section]
    flows: list[Section]
    modules: dict[str, Section]
    hosts: dict[str, Section] = field(default_factory=dict)
    pinned: dict[str, Section] = field(default_factory=dict)
    dishes: dict[int, Section] = field(default_factory=dict)
