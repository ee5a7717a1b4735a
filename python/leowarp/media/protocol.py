# SPDX-License-Identifier: Apache-2.0
"""Interface of a medium: its stations, and the routes and timeline of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.routes import Routes
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.schema import Plan


class SteadyLinks(Protocol):
    """Section whose links have a single rate, which is constant and the same in both directions.

    The sections `[isl]`, `[ground]`, `[chain]` and `[jittered]` are of this kind. Measured, access and mobile links are
    excluded, because their rate comes from a table or differs between the directions.
    """

    @property
    def left_bps(self) -> int | None:
        """Rate without background traffic; None: unlimited."""

    @property
    def overhead_bytes(self) -> int:
        """Bytes added to a packet's IP length."""


SectionT = TypeVar("SectionT", bound=MediumSection)


class PlannedMedium(ABC, Generic[SectionT]):
    """The medium of a plan. Each medium has its own subclass, which `registry.planned` selects by the type of the
    section.

    section: `plan.medium`, with the type of its own section class.
    """

    def __init__(self, plan: Plan, section: SectionT) -> None:
        self.plan, self.section = plan, section

    def stations(self) -> tuple[str, ...]:
        """Names of the stations that communicate through the medium."""
        return self.section.STATIONS or tuple(station.name for station in self.plan.stations)

    @abstractmethod
    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Routes of packets.

        ephemeris: Ephemeris of the same plan; None without a constellation.
        Raises ScenarioError if two communicating stations never have a path.
        """

    @abstractmethod
    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """All changes of the network, as events.

        routes: Result of `routes` for the same plan.
        Returns: Columns as in `timeline.schema`; metadata `warnings` (JSON list).
        Raises ScenarioError if a file named in the plan cannot be read, or does not fit the run.
        """

    def check(self) -> None:
        """Raise the errors that `timeline` would raise, but earlier. Commands that show a plan or build its kernel call
        this method first.

        Raises ScenarioError for the same reasons as `timeline`.
        """

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """Sections whose links have a single constant rate, the same in both directions; empty if rates come from
        tables.

        The report uses the result. By default, `likely_rate_bps` returns the lowest rate of these links.
        """
        return ()

    def likely_rate_bps(self) -> float | None:
        """Approximate rate towards the user, before the timeline is computed; None: unlimited or unknown.

        If there are several steady links, the result is the lowest of their rates. The value only serves to estimate
        the cost of a run (`leowarp study --dry-run`), never to compute a result.
        """
        return min((link.left_bps for link in self.steady_links() if link.left_bps is not None), default=None)

    def likely_hops(self) -> int:
        """Approximate number of links on a packet's path."""
        return 1
