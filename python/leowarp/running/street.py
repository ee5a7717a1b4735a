# SPDX-License-Identifier: Apache-2.0
"""The steps of a run before and after the guest: plan, ephemeris, routes and timeline before it; trace and metrics
after it. Every run uses these functions, whether it is made alone or together with others."""

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
    """Files for booting a guest, and warnings about its results.

    routes, timeline: Tables in the form of `10-routes.parquet` and `20-timeline.parquet`.
    warnings: Warnings about routes and timeline, which concern every run that uses them.
    """

    routes: pa.Table
    timeline: pa.Table
    warnings: list[str]


@dataclass(frozen=True)
class Judged:
    """Results computed from a run's trace.

    warnings: All warnings, in this order: kernel build, routes, timeline, running kernel, agent, metrics.
    """

    metrics: Metrics
    warnings: list[str]


def prepared(plan: Plan, directory: Path | None = None) -> Prepared:
    """Routes and timeline of a plan.

    plan: A plan that has been checked (`media.check`).
    directory: Run directory that is being written, or None. Each table is written as soon as it is made, so that the
        routes can be inspected if the timeline fails.
    Returns: Tables that are always the same for the same plan, in memory and on disk, because all randomness comes from
        the plan's seed.
    Raises any LeowarpError of the stages.
    """
    # Imported late, so that commands that only read a plan do not import the packages of media.
    from leowarp import ephemeris, media, timeline
    from leowarp.running import netem_limit

    # The ephemeris is computed once, because routes and timeline must use the same satellite positions.
    sky = ephemeris.ephemeris_of(plan)
    ways = media.routes_of(plan, sky)
    if directory is not None:
        # Routes are written at once, so that they can be inspected if the next stage fails.
        timeline.write_table(ways.table, directory / ROUTES)
    events = media.timeline_of(plan, sky, ways)
    if directory is not None:
        timeline.write_table(events, directory / TIMELINE)
    warnings = [*ways.warnings, *timeline.warnings_of(events), *netem_limit.warnings_of(plan, events)]
    return Prepared(ways.table, events, warnings)


def judged(plan: Plan, tables: Tables, given: Prepared, made: GuestResult, kernel_facts: Mapping[str, Any]) -> Judged:
    """Metrics and warnings of a run that the guest has completed.

    tables: Trace with its routes and timeline, read from a run directory or held in memory.
    kernel_facts: `GuestImage.kernel_facts` of the kernel that ran.
    Raises TraceError if sums of packets or bytes do not add up.
    """
    from leowarp import metrics

    numbers = metrics.metrics(tables, plan)
    # Warnings are in the order of the steps, so that the first warning belongs to the first cause.
    warnings = [
        *kernel_facts["warnings"], *given.warnings, *made.kernel_warnings, *made.end["warnings"], *numbers.warnings
    ]  # fmt: skip
    return Judged(numbers, warnings)
