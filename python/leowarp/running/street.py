# SPDX-License-Identifier: Apache-2.0
"""The stages of a run before and after the guest: from a plan to its ephemeris, routes and timeline, and from the
guest's trace to metrics. Every run passes through this module, alone or with others."""

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
    """Tables from which a guest is booted, and points to check before its results are trusted.

    routes, timeline: As in `10-routes.parquet` and `20-timeline.parquet`.
    warnings: Warnings of both, for readers of the results.
    """

    routes: pa.Table
    timeline: pa.Table
    warnings: list[str]


@dataclass(frozen=True)
class Judged:
    """Results from a run's trace.

    warnings: All warnings, in this order: kernel build, routes, timeline, the running kernel, agent, metrics.
    """

    metrics: Metrics
    warnings: list[str]


def prepared(plan: Plan, directory: Path | None = None) -> Prepared:
    """Routes and timeline of a plan.

    plan: A plan that `media.check` has checked.
    directory: A run directory that is being written. Each table is written there as soon as it is made, so that routes
        can be inspected even if the timeline fails.
    Returns: The same for the same plan, in memory and on disk: all draws here use the plan's seed.
    Raises LeowarpError: Any error of the stages.
    """
    # The import is not at the top: code that only shows a plan must not wait for these packages.
    from leowarp import ephemeris, media, timeline
    from leowarp.running import netem_limit

    # The ephemeris is computed once: routes and timeline must use the same positions.
    sky = ephemeris.ephemeris_of(plan)
    ways = media.routes_of(plan, sky)
    if directory is not None:
        # The table is written at once: if the next stage fails, its input can be inspected.
        timeline.write_table(ways.table, directory / ROUTES)
    events = media.timeline_of(plan, sky, ways)
    if directory is not None:
        timeline.write_table(events, directory / TIMELINE)
    warnings = [*ways.warnings, *timeline.warnings_of(events), *netem_limit.warnings_of(plan, events)]
    return Prepared(ways.table, events, warnings)


def judged(plan: Plan, tables: Tables, given: Prepared, made: GuestResult, kernel_facts: Mapping[str, Any]) -> Judged:
    """Metrics and warnings of a run that the guest has made.

    tables: The trace with its routes and its timeline, read from a run directory or held in memory.
    kernel_facts: `GuestImage.kernel_facts` of the run's kernel.
    Raises TraceError if packets or bytes do not add up.
    """
    from leowarp import metrics

    numbers = metrics.metrics(tables, plan)
    # The order is that of the stages, so that the first warning is that of the first cause.
    warnings = [
        *kernel_facts["warnings"], *given.warnings, *made.kernel_warnings, *made.end["warnings"], *numbers.warnings
    ]  # fmt: skip
    return Judged(numbers, warnings)
