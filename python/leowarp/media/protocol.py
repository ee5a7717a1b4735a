# SPDX-License-Identifier: Apache-2.0
"""The protocol of a medium: what a plan's packets go through, as stations, routes and a timeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.routes import Routes
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.schema import Plan


class SteadyLinks(Protocol):
    """Section of links whose rate is one number, both ways and all the time.

    The sections `[isl]`, `[ground]`, `[chain]` and `[jittered]` have these attributes; a measured, an access or a
    mobile link has not, for its rate is a table's or differs by direction.
    """

    @property
    def left_bps(self) -> int | None:
        """Its rate without background traffic; None: unshaped."""

    @property
    def overhead_bytes(self) -> int:
        """Bytes of a packet on top of its IP length."""


SectionT = TypeVar("SectionT", bound=MediumSection)


class PlannedMedium(ABC, Generic[SectionT]):
    """A medium as a plan has it. Each medium derives its own; `registry.planned` finds it by the section's type.

    section: `plan.medium`, by its own type.
    """

    def __init__(self, plan: Plan, section: SectionT) -> None:
        self.plan, self.section = plan, section

    def stations(self) -> tuple[str, ...]:
        """Names of the stations that talk through it."""
        return self.section.STATIONS or tuple(station.name for station in self.plan.stations)

    @abstractmethod
    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Routes of packets.

        ephemeris: Of the same plan; None if that has no constellation.
        Raises ScenarioError if two that talk never have a path.
        """

    @abstractmethod
    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Everything that happens to the network, as events.

        routes: What `routes` gave for the same plan.
        Returns: Columns as in `timeline.schema`; metadata `warnings` (JSON list).
        Raises ScenarioError if a file that the plan names cannot be read, or does not fit the run.
        """

    def check(self) -> None:
        """Refuse early what `timeline` would refuse late: whoever shows a plan or builds a kernel for it asks first.

        Raises ScenarioError: As `timeline` does.
        """

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """The sections whose links have one rate, both ways and all the time; none if rates come from tables.

        The report reads them; of `likely_rate_bps` the narrowest of them is the default.
        """
        return ()

    def likely_rate_bps(self) -> float | None:
        """Rough capacity towards the user, before anything is computed; None: it is unshaped, or not known yet.

        The narrowest of several steady links. Used to foresee what a run costs (`leowarp study --dry-run`), never for a
        result.
        """
        return min((link.left_bps for link in self.steady_links() if link.left_bps is not None), default=None)

    def likely_hops(self) -> int:
        """Rough number of links on a packet's path."""
        return 1
