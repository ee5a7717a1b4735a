# SPDX-License-Identifier: Apache-2.0
"""The interface of a medium: its stations, and the routes and timeline of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from leowarp.ephemeris import Ephemeris
from leowarp.routes import Routes
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.schema import Plan


class SteadyLinks(Protocol):
    """A section whose links have one rate. The rate is constant, and the same in both directions.

    The sections are `[isl]`, `[ground]`, `[chain]` and `[jittered]`.
    """

    @property
    def left_bps(self) -> int | None:
        """The rate in bit/s that is left beside the background traffic. None means unlimited."""

    @property
    def overhead_bytes(self) -> int:
        """The bytes added to a packet's IP length."""


SectionT = TypeVar("SectionT", bound=MediumSection)


class PlannedMedium(ABC, Generic[SectionT]):
    """The medium of a plan. Each medium has its own subclass, which `registry.planned` selects by the type of the
    section.

    section: The value `plan.medium`. Its type is the medium's own section class.
    """

    def __init__(self, plan: Plan, section: SectionT) -> None:
        self.plan, self.section = plan, section

    def stations(self) -> tuple[str, ...]:
        """Return the names of the stations that communicate through the medium."""
        return self.section.STATIONS or tuple(station.name for station in self.plan.stations)

    @abstractmethod
    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Return the routes of packets.

        ephemeris: The ephemeris of the same plan, or None without a constellation.
        Raises ScenarioError if two communicating stations never have a path.
        """

    @abstractmethod
    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return all changes of the network as events.

        routes: The result of `routes` for the same plan.
        Returns: The columns as in `timeline.schema`, with the metadata `warnings` (JSON list).
        Raises ScenarioError if a file named in the plan cannot be read, or does not fit the run.
        """

    def check(self) -> None:
        """Raise the ScenarioError that `timeline` would raise later. Commands that show a plan or build its kernel call
        this method first."""

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """Return the sections whose links have one constant rate in both directions. The tuple is empty if rates come
        from tables."""
        return ()

    def likely_rate_bps(self) -> float | None:
        """Return an estimate of the rate towards the user, without a timeline. None means unlimited or unknown.

        The value is used only to estimate the cost of a run (`leowarp study --dry-run`).
        """
        return min((link.left_bps for link in self.steady_links() if link.left_bps is not None), default=None)

    def likely_hops(self) -> int:
        """Return the approximate number of links on a packet's path."""
        return 1
