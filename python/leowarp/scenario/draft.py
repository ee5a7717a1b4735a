# SPDX-License-Identifier: Apache-2.0
"""A scenario while it is read: what each section says so far, filled in and checked in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from leowarp.scenario.decoding import Section


@dataclass(kw_only=True)
class Draft:
    """What a `Scenario` is made from; its attributes are explained there.

    Presets, defaults of a medium and implied stations are added to it after all sections are decoded.
    """

    name: str
    sections: dict[str, Section]
    stations: list[Section]
    flows: list[Section]
    modules: dict[str, Section]
    hosts: dict[str, Section] = field(default_factory=dict)
    pinned: dict[str, Section] = field(default_factory=dict)
