# SPDX-License-Identifier: Apache-2.0
"""From the type of `plan.medium` to the class that plans it: the one list of media outside the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pyarrow as pa

from leowarp.ephemeris import Ephemeris, ephemeris_of
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes
from leowarp.scenario.schema import Access, Chain, Constellation, Jittered, Measured, Mobile, Plan

_PLANNED: Mapping[type, tuple[str, str]] = {
    Constellation: ("leowarp.media.constellation", "PlannedConstellation"),
    Measured: ("leowarp.media.measured", "PlannedMeasured"),
    Chain: ("leowarp.media.chain", "PlannedChain"),
    Jittered: ("leowarp.media.jittered", "PlannedJittered"),
    Access: ("leowarp.media.access", "PlannedAccess"),
    Mobile: ("leowarp.media.mobile", "PlannedMobile"),
}
"""Module and class by the section's type. A module is imported when a plan has its medium: all six take 0.2 s."""


def planned(plan: Plan) -> PlannedMedium[Any]:
    """The medium of a plan.

    The section's own type is the key, so that a medium that is added to the union of `scenario.medium` and not here
    fails with a KeyError at its first plan.
    """
    package, name = _PLANNED[type(plan.medium)]
    medium: type[PlannedMedium[Any]] = getattr(import_module(package), name)
    return medium(plan, plan.medium)


def routes_of(plan: Plan, ephemeris: Ephemeris | None = None) -> Routes:
    """Routes of a plan's packets; see `PlannedMedium.routes`.

    ephemeris: Of the same plan; None for a plan without a constellation.
    Raises ValueError if the plan has a constellation and no ephemeris is given.
    Raises ScenarioError if two stations that talk never have a path.
    """
    if ephemeris is None and plan.constellation is not None:
        raise ValueError("a plan with a constellation needs its ephemeris")
    return planned(plan).routes(ephemeris)


def timeline_of(plan: Plan, ephemeris: Ephemeris | None = None, routes: Routes | None = None) -> pa.Table:
    """Everything that happens to a plan's network, as events; see `PlannedMedium.timeline`.

    ephemeris, routes: Of the same plan, if there are already; computed otherwise.
    Returns: Columns as in `timeline.schema`, sorted by time and by rank within an instant.
    Raises ScenarioError if a file that the plan names cannot be read or does not fit the run, or two that talk never
        have a path.
    """
    medium = planned(plan)
    if ephemeris is None:
        ephemeris = ephemeris_of(plan)
    if routes is None:
        routes = medium.routes(ephemeris)
    return medium.timeline(ephemeris, routes)


def check(plan: Plan) -> None:
    """Refuse a plan whose timeline would be refused for the content of a file; see `PlannedMedium.check`.

    Raises ScenarioError: As `timeline_of`.
    """
    planned(plan).check()
