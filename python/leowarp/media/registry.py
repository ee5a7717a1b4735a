# SPDX-License-Identifier: Apache-2.0
"""Finds the class that plans a medium, by the type of `plan.medium`. `scenario.media.medium` has the list of media."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pyarrow as pa

from leowarp.ephemeris import Ephemeris, ephemeris_of
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes
from leowarp.scenario.extent import check_extent
from leowarp.scenario.schema import Plan


def planned(plan: Plan) -> PlannedMedium[Any]:
    """Return the plan's medium. For ``[chain]`` with its class `Chain`, it is a `PlannedChain` of `media.chain`."""
    # A module is imported only when a plan uses its medium, because importing all six takes 0.2 s.
    module = import_module(f"leowarp.media.{plan.medium.NAME}")
    medium: type[PlannedMedium[Any]] = getattr(module, f"Planned{type(plan.medium).__name__}")
    return medium(plan, plan.medium)


def routes_of(plan: Plan, ephemeris: Ephemeris | None = None) -> Routes:
    """Return the routes for a plan's packets (`PlannedMedium.routes`).

    Raises ValueError if the plan has a constellation but no ephemeris is given.
    Raises ScenarioError if two communicating stations never have a path.
    """
    if ephemeris is None and plan.constellation is not None:
        raise ValueError("a plan with a constellation needs its ephemeris")
    return planned(plan).routes(ephemeris)


def timeline_of(plan: Plan, ephemeris: Ephemeris | None = None, routes: Routes | None = None) -> pa.Table:
    """Return all changes of a plan's network as events (`PlannedMedium.timeline`), sorted by time and by rank within an
    instant.

    ephemeris, routes: The ephemeris and routes of the same plan. They are computed if they are None.
    Raises ScenarioError if a file in the plan cannot be read or does not fit the run. Also raised if two communicating
        stations never have a path.
    """
    medium = planned(plan)
    if ephemeris is None:
        ephemeris = ephemeris_of(plan)
    if routes is None:
        routes = medium.routes(ephemeris)
    return medium.timeline(ephemeris, routes)


def check(plan: Plan) -> None:
    """Raise ScenarioError if the plan is too large, or if `timeline_of` would reject it."""
    check_extent(plan)
    planned(plan).check()
