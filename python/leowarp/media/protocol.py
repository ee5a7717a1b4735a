# SPDX-License-Identifier: Apache-2.0
"""The protocol of a medium: the network of a plan's packets, as stations, routes and a timeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.routes import Routes
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.schema import Plan


class SteadyLinks(Protocol):
    """Section of links with a single constant rate in both directions.

    The sections `[isl]`, `[ground]`, `[chain]` and `[jittered]` have these attributes; a measured, an access or a
    mobile link has not, since its rate comes from a table or differs by direction.
    """

    @property
    def left_bps(self) -> int | None:
        """Its rate without background traffic; None if unshaped."""

    @property
    def overhead_bytes(self) -> int:
        """Bytes of a packet in addition to its IP length."""


SectionT = TypeVar("SectionT", bound=MediumSection)


class PlannedMedium(ABC, Generic[SectionT]):
    """The medium of a plan. Each medium has its own subclass; `registry.planned` finds it by the section's type.

    section: `plan.medium`, with its own type.
    """

    def __init__(self, plan: Plan, section: SectionT) -> None:
        self.plan, self.section = plan, section

    def stations(self) -> tuple[str, ...]:
        """Names of the stations that communicate through it."""
        return self.section.STATIONS or tuple(station.name for station in self.plan.stations)

    @abstractmethod
    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Routes of packets.

        ephemeris: Ephemeris of the same plan; None if the plan has no constellation.
        Raises ScenarioError if two stations that communicate never have a path.
        """

    @abstractmethod
    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """All events of the network.

        routes: The result of `routes` for the same plan.
        Returns: Columns as in `timeline.schema`; metadata `warnings` (JSON list).
        Raises ScenarioError if a file that the plan names cannot be read, or does not fit the run.
        """

    def check(self) -> None:
        """Refuse early what `timeline` would refuse late: code that shows a plan or builds a kernel for it calls this
        first.

        Raises ScenarioError: As in `timeline`.
        """

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """The sections whose links have a single constant rate in both directions; empty if rates come from tables.

        The report reads them; the default of `likely_rate_bps` is the smallest of them.
        """
        return ()

    def likely_rate_bps(self) -> float | None:
        """Rough capacity towards the user, before any computation; None if it is unshaped or not known yet.

        The default is that of the slowest of several steady links. It serves to estimate the cost of a run (`leowarp
        study --dry-run`), never for a result.
        """
        return min((link.left_bps for link in self.steady_links() if link.left_bps is not None), default=None)

    def likely_hops(self) -> int:
        """Rough number of links on a packet's path."""
        return 1
