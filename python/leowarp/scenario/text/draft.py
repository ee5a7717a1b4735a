# SPDX-License-Identifier: Apache-2.0
"""The state of a scenario while its sections are decoded, completed and checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from leowarp.scenario.text.decoding import Section


@dataclass(kw_only=True)
class Draft:
    """A mutable scenario, from which the `Scenario` is made. The docstring of `Scenario` explains the attributes.

    First, all sections are decoded. Then, presets, the medium's defaults and the medium's stations are added.

    name: The run's name, or "" if it is missing or wrong.
    sections: The content of the tables of `loading.TABLES`. Only media that the text mentions are present.
    stations, flows: The sections in the order of the file. If the medium defines the stations, `completion` replaces
        them.
    modules: The parameters of each kernel module, as texts.
    hosts, pinned: For each station name, `hosts` has the content of ``[hosts.NAME.tcp]``, and `pinned` has the content
        of ``[hosts.NAME.sysctl]``.
    dishes: A dict from the index of a station to its ``[stations.access]``.
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
