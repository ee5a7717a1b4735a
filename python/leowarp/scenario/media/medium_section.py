# SPDX-License-Identifier: Apache-2.0
"""The base class of the media's sections. It declares how a medium affects the rest of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from leowarp.scenario.network.links import Station
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.problems import Problems

Idle = Mapping[str, tuple[str, ...] | None]
"""A dict from section to its keys that have no effect. None means that the whole section has no effect."""


class MediumSection:
    """The base class of the sections that describe a medium. A scenario has exactly one medium. If the medium follows a
    constellation, the scenario also has the section `[constellation]`.

    A medium is a frozen dataclass whose fields are its keys. The medium's class attributes and methods apply presets
    and check them, and set the defaults of other sections. The module or package of `leowarp.media` with the section's
    name implements the medium's behaviour.

    NAME: The name of the section, ``[NAME]``.
    STATIONS: The names of the medium's two stations. None means that the medium uses ``[[stations]]``.
    IDLE_NETWORK: The keys of ``[network]`` that have no effect with this medium.
    GOVERNS: A dict from a governing key to the keys that it governs. If a higher layer sets the governing key, these
        keys are removed (see `scenario.document`).
    """

    NAME: ClassVar[str]
    STATIONS: ClassVar[tuple[str, str] | None] = ("A", "B")
    IDLE_NETWORK: ClassVar[tuple[str, ...]] = ("instantiate", "endpoints")
    GOVERNS: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @classmethod
    def idle(cls, *, follows: bool) -> Idle:
        """Return the keys of other sections that have no effect if this medium is used.

        `completion` rejects these keys in a text, and `write` leaves them out of a plan.

        follows: Whether the medium's delays come from routes over a ``[constellation]`` in the same scenario.
        """
        return {"isl": None, "ground": None, "routing": None, "cures": None, "network": cls.IDLE_NETWORK}

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Fill in keys of the medium's section that follow from others, and check all keys. Add each mistake to
        `problems`, and raise nothing."""

    @classmethod
    def defaults(cls, sections: Mapping[str, Section]) -> Mapping[str, Mapping[str, object]]:
        """Return this medium's defaults for keys of other sections, for example ``{"run": {"duration": "60 s"}}``. They
        apply to keys that the text does not contain.

        sections: All sections of the text. The medium's own section is complete.
        """
        return {}

    def places(self, stations: Sequence[Station]) -> Sequence[Station]:
        """Return the places on the Earth for which the ephemeris computes positions.

        stations: The plan's stations. Stations that the medium defines have no coordinates.
        Returns: The stations with latitude and longitude in degrees, by default the plan's own.
        """
        return stations
