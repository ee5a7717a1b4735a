# SPDX-License-Identifier: Apache-2.0
"""What a section that says what carries the packets tells the rest of a scenario about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from leowarp.scenario.network.links import Station
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.problems import Problems

Idle = Mapping[str, tuple[str, ...] | None]
"""Section -> its keys that mean nothing; None: the whole of it."""


class MediumSection:
    """Base of the sections of which a scenario has exactly one: its medium.

    A medium is a frozen dataclass whose fields are its keys; the class attributes and methods here are what presets,
    defaults and checks of other sections ask of it. What it does is in `leowarp.media`, under the same name.

    NAME: Of the section, ``[NAME]``.
    STATIONS: (str, str) or None. The two stations that it has; None: those of ``[[stations]]``.
    GOVERNS: Key -> keys beside it that a higher layer takes away by setting it (see `scenario.document`).
    KEEPS: Of such a key the value with which it takes nothing away, if that is not "none".
    """

    NAME: ClassVar[str]
    STATIONS: ClassVar[tuple[str, str] | None] = ("A", "B")
    GOVERNS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    KEEPS: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def idle(cls, *, follows: bool) -> Idle:
        """What of other sections means nothing with this medium; `follows`: it follows a constellation.

        follows: Whether its delays come from the routes over a ``[constellation]`` of the same scenario.
        Returns: dict of str to (tuple of str or None). Section to its keys without effect; None: the whole of it.
            `completion` refuses them in a text, `write` leaves them out of a plan.
        """
        return {"isl": None, "ground": None, "routing": None, "cures": None, "network": ("instantiate", "endpoints")}

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Fill in what its keys imply for each other and check them; every broken rule goes to `problems`.

        section: The medium's own, decoded; changed in place.
        problems: Gathers the mistakes. Nothing is raised here.
        """

    @classmethod
    def defaults(cls, sections: Mapping[str, Section]) -> Mapping[str, Mapping[str, object]]:
        """Section -> key -> default as a user would write it, where other sections' differ with this medium.

        sections: All that are given, this medium's already completed.
        Returns: ``{"run": {"duration": "60 s"}}``. A key that the text gives itself keeps what it says.
        """
        return {}

    def places(self, stations: Sequence[Station]) -> Sequence[Station]:
        """What has a place on the Earth in the ephemeris, given the plan's stations.

        stations: The plan's; those of a medium with stations of its own have no coordinates.
        Returns: With latitude and longitude in degrees; by default the plan's own.
        """
        return stations
