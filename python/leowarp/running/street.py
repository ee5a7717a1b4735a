# SPDX-License-Identifier: Apache-2.0
"""The street in two halves, on either side of the guest: a plan implies an ephemeris, that implies routes, those imply
a timeline; and what the guest made of it, a trace, has metrics. Every run comes this way, alone or with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.layout import ROUTES, TIMELINE

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.guest import GuestResult
    from leowarp.metrics import Metrics, Tables
    from leowarp.scenario import Plan


@dataclass(frozen=True)
class Prepared:
    """Files to boot a guest on, and points to check before its results are trusted.

    routes, timeline: As in `10-routes.parquet` and `20-timeline.parquet`.
    warnings: Of both: what to know before trusting a run of them.
    """

    routes: pa.Table
    timeline: pa.Table
    warnings: list[str]


@dataclass(frozen=True)
class Judged:
    """Facts of a run's trace.

    warnings: Every one, of the kernel's build, routes, timeline, the kernel as it ran, agent and metrics, in this
        order.
    """

    metrics: Metrics
    warnings: list[str]


def prepared(plan: Plan, directory: Path | None = None) -> Prepared:
    """Routes and timeline of a plan.

    plan: Checked already (`media.check`).
    directory: A run directory that is being written. Each table is written there as soon as it is made, so that the
        routes of a timeline that cannot be made are there to be looked at.
    Returns: The same for the same plan, in memory and on disk: nothing here draws but by the plan's seed.
    Raises LeowarpError: Whatever the rooms say.
    """
    # Here and not above: whoever only looks at a plan must not wait for the rooms behind it.
    from leowarp import ephemeris, media, timeline
    from leowarp.running import netem_limit

    # Once for both: routes and timeline have to see the same sky.
    sky = ephemeris.ephemeris_of(plan)
    ways = media.routes_of(plan, sky)
    if directory is not None:
        # Written at once: if the next stage fails, what led to it can be looked at.
        timeline.write_table(ways.table, directory / ROUTES)
    events = media.timeline_of(plan, sky, ways)
    if directory is not None:
        timeline.write_table(events, directory / TIMELINE)
    warnings = [*ways.warnings, *timeline.warnings_of(events), *netem_limit.warnings_of(plan, events)]
    return Prepared(ways.table, events, warnings)


def judged(plan: Plan, tables: Tables, given: Prepared, made: GuestResult, kernel_facts: Mapping[str, Any]) -> Judged:
    """Metrics and warnings of a run that the guest has made.

    tables: Its trace with its routes and its timeline, read from a run directory or held in memory.
    kernel_facts: `GuestImage.kernel_facts` of the kernel that made it.
    Raises TraceError if packets or bytes do not add up.
    """
    from leowarp import metrics

    numbers = metrics.metrics(tables, plan)
    # In the order in which they came to be known, so that the first is that of the first cause.
    warnings = [
        *kernel_facts["warnings"], *given.warnings, *made.kernel_warnings, *made.end["warnings"], *numbers.warnings
    ]  # fmt: skip
    return Judged(numbers, warnings)
