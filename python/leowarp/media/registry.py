# SPDX-License-Identifier: Apache-2.0
"""The class that plans each type of `plan.medium`: the only list of media outside the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pyarrow as pa

from leowarp.ephemeris import Ephemeris, ephemeris_of
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes
from leowarp.scenario.extent import check_extent
from leowarp.scenario.schema import Access, Chain, Constellation, Jittered, Measured, Mobile, Plan

_PLANNED: Mapping[type, tuple[str, str]] = {
    Constellation: ("leowarp.media.constellation", "PlannedConstellation"),
    Measured: ("leowarp.media.measured", "PlannedMeasured"),
    Chain: ("leowarp.media.chain", "PlannedChain"),
    Jittered: ("leowarp.media.jittered", "PlannedJittered"),
    Access: ("leowarp.media.access", "PlannedAccess"),
    Mobile: ("leowarp.media.mobile", "PlannedMobile"),
}
"""Module and class by the section's type. A module is imported only when a plan has its medium: all six take 0.2 s."""


def planned(plan: Plan) -> PlannedMedium[Any]:
    """The medium of a plan.

    The section's own type is the key, so a medium that is added to the union of `scenario.medium` and not here fails
    with a KeyError at its first plan.
    """
    package, name = _PLANNED[type(plan.medium)]
    medium: type[PlannedMedium[Any]] = getattr(import_module(package), name)
    return medium(plan, plan.medium)


def routes_of(plan: Plan, ephemeris: Ephemeris | None = None) -> Routes:
    """Routes of a plan's packets; see `PlannedMedium.routes`.

    ephemeris: Ephemeris of the same plan; None for a plan without a constellation.
    Raises ValueError if the plan has a constellation and no ephemeris is given.
    Raises ScenarioError if two stations that communicate never have a path.
    """
    if ephemeris is None and plan.constellation is not None:
        raise ValueError("a plan with a constellation needs its ephemeris")
    return planned(plan).routes(ephemeris)


def timeline_of(plan: Plan, ephemeris: Ephemeris | None = None, routes: Routes | None = None) -> pa.Table:
    """All events of a plan's network; see `PlannedMedium.timeline`.

    ephemeris, routes: Those of the same plan, if they exist already; computed otherwise.
    Returns: Columns as in `timeline.schema`, sorted by time and by rank within an instant.
    Raises ScenarioError if a file that the plan names cannot be read or does not fit the run, or two stations never
        have a path.
    """
    medium = planned(plan)
    if ephemeris is None:
        ephemeris = ephemeris_of(plan)
    if routes is None:
        routes = medium.routes(ephemeris)
    return medium.timeline(ephemeris, routes)


def check(plan: Plan) -> None:
    """Refuse a plan that is too large, or whose timeline would be refused; see `check_extent`, `PlannedMedium.check`.

    Raises ScenarioError: As in these and `timeline_of`.
    """
    check_extent(plan)
    planned(plan).check()
