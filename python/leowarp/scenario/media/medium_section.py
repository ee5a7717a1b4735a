# SPDX-License-Identifier: Apache-2.0
"""Base class of the media's sections: it declares how a medium affects the rest of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from leowarp.scenario.network.links import Station
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.problems import Problems

Idle = Mapping[str, tuple[str, ...] | None]
"""Section -> its keys that have no effect; None means the whole section."""


class MediumSection:
    """Base class of the sections that describe a medium; a scenario has exactly one of them, apart from a constellation
    that it follows.

    A medium is a frozen dataclass whose fields are its keys. leowarp uses the class attributes and methods to fill in
    and check the presets and defaults of other sections. The module or package of `leowarp.media` with the section's
    name implements the medium's behaviour.

    NAME: Name of the section, ``[NAME]``.
    STATIONS: (str, str) or None. Names of the medium's two stations; None if the medium uses those of ``[[stations]]``.
    GOVERNS: Governing key -> its neighbouring keys that are removed when a higher layer sets the governing key (see
        `scenario.document`).
    KEEPS: Governing key -> the value of this key that leaves the neighbouring keys in place when it is set; "none" if
        `KEEPS` lacks the key.
    """

    NAME: ClassVar[str]
    STATIONS: ClassVar[tuple[str, str] | None] = ("A", "B")
    GOVERNS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    KEEPS: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def idle(cls, *, follows: bool) -> Idle:
        """Keys of other sections that have no effect with this medium.

        follows: Whether the medium's delays come from routes over a ``[constellation]`` in the same scenario.
        Returns: dict of str to (tuple of str or None). Section -> its keys without effect; None: the whole section.
            `completion` rejects keys without effect in a text, and `write` leaves them out of a plan.
        """
        return {"isl": None, "ground": None, "routing": None, "cures": None, "network": ("instantiate", "endpoints")}

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Fill in keys that follow from others, and check all keys; every broken rule goes to `problems`.

        section: The medium's own decoded section; changed in place.
        problems: Collects the mistakes. This function raises nothing.
        """

    @classmethod
    def defaults(cls, sections: Mapping[str, Section]) -> Mapping[str, Mapping[str, object]]:
        """Defaults of other sections that differ with this medium: section -> key -> value as a user would write it.

        sections: All sections of the text; the medium's own section is already complete.
        Returns: For example ``{"run": {"duration": "60 s"}}``. A key that the text gives is not changed.
        """
        return {}

    def places(self, stations: Sequence[Station]) -> Sequence[Station]:
        """Places on the Earth for which the ephemeris computes positions.

        stations: The plan's stations. Stations that the medium defines have no coordinates.
        Returns: Stations with latitude and longitude in degrees; by default the plan's own stations.
        """
        return stations
