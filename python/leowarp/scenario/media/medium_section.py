# SPDX-License-Identifier: Apache-2.0
"""Base of the media's sections: the values through which a medium affects the rest of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from leowarp.scenario.network.links import Station
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.problems import Problems

Idle = Mapping[str, tuple[str, ...] | None]
"""Section -> its keys that have no effect; None means the whole section."""


class MediumSection:
    """Base of the sections of which a scenario has exactly one: its medium.

    A medium is a frozen dataclass whose fields are its keys. These class attributes and methods are used by presets,
    defaults and checks of other sections. The behaviour of the medium is in `leowarp.media`, under the same name.

    NAME: Name of the section, ``[NAME]``.
    STATIONS: (str, str) or None. Names of the medium's two stations; None if it uses those of ``[[stations]]``.
    GOVERNS: Key -> neighbouring keys that are removed when a higher layer sets this key (see `scenario.document`).
    KEEPS: Governing key -> the value for which no keys are removed, if that value is not "none".
    """

    NAME: ClassVar[str]
    STATIONS: ClassVar[tuple[str, str] | None] = ("A", "B")
    GOVERNS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    KEEPS: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def idle(cls, *, follows: bool) -> Idle:
        """Keys of other sections that have no effect with this medium. `follows`: whether the medium follows a
        constellation.

        follows: Whether the medium's delays come from routes over a ``[constellation]`` in the same scenario.
        Returns: dict of str to (tuple of str or None). Section -> its keys without effect; None: the whole section.
            `completion` rejects these keys in a text, and `write` leaves them out of a plan.
        """
        return {"isl": None, "ground": None, "routing": None, "cures": None, "network": ("instantiate", "endpoints")}

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Fill in keys that follow from others, and check all keys; every broken rule goes to `problems`.

        section: The medium's own decoded section; changed in place.
        problems: Gathers the mistakes. This function raises nothing.
        """

    @classmethod
    def defaults(cls, sections: Mapping[str, Section]) -> Mapping[str, Mapping[str, object]]:
        """Section -> key -> default as a user would write it, for defaults of other sections that this medium changes.

        sections: All sections in the text; that of this medium is already complete.
        Returns: For example ``{"run": {"duration": "60 s"}}``. A key in the text keeps its value.
        """
        return {}

    def places(self, stations: Sequence[Station]) -> Sequence[Station]:
        """Places on the Earth for the ephemeris, from the plan's stations.

        stations: The plan's stations. If the medium defines them, they have no coordinates.
        Returns: Stations with latitude and longitude in degrees; by default the plan's own stations.
        """
        return stations
