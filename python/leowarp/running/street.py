# SPDX-License-Identifier: Apache-2.0
"""The steps of a run before the guest boots (plan, ephemeris, routes and timeline) and after it has ended (trace and
metrics)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.layout import ROUTES, TIMELINE
from leowarp.base.progress import OnProgress, building

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.guest import GuestImage, GuestResult
    from leowarp.metrics import Metrics, Tables
    from leowarp.scenario import Plan
    from leowarp.scenario.schema import Guest


@dataclass(frozen=True)
class Prepared:
    """The tables from which a guest is booted, and warnings about its results.

    routes, timeline: The tables in the form of `10-routes.parquet` and `20-timeline.parquet`.
    warnings: The warnings about routes and timeline, which apply to every run with these tables.
    """

    routes: pa.Table
    timeline: pa.Table
    warnings: list[str]


def built_image(choice: str | Path | Guest, progress: bool | OnProgress = True) -> GuestImage:
    """Return the kernel and the agent, as `guest.guest_image` does. A missing one is built, and its progress shown."""
    from leowarp.guest import guest_image

    with building(progress) as built:
        return guest_image(choice, on_message=built.message, on_progress=built.steps)


def prepared(plan: Plan, directory: Path | None = None) -> Prepared:
    """Compute the routes and the timeline of a plan.

    plan: A plan that has been checked (`media.check`).
    directory: The run directory to which the tables are written. None means that the tables are only returned. Each
        table is written as soon as it is computed. Thus, the routes can be inspected if the timeline fails.
    """
    # Imported here, so that commands that only read a plan do not import the packages of media.
    from leowarp import ephemeris, media, timeline
    from leowarp.running import netem_limit

    # The ephemeris is computed once, because routes and timeline must use the same satellite positions.
    sky = ephemeris.ephemeris_of(plan)
    ways = media.routes_of(plan, sky)
    if directory is not None:
        timeline.write_table(ways.table, directory / ROUTES)
    events = media.timeline_of(plan, sky, ways)
    if directory is not None:
        timeline.write_table(events, directory / TIMELINE)
    warnings = [*ways.warnings, *timeline.warnings_of(events), *netem_limit.warnings_of(plan, events)]
    return Prepared(ways.table, events, warnings)


def judged(
    plan: Plan, tables: Tables, given: Prepared, made: GuestResult, kernel_facts: Mapping[str, Any]
) -> tuple[Metrics, list[str]]:
    """Compute the metrics and collect the warnings of a run after its guest has ended.

    tables: The run's trace, with routes and timeline, from a run directory or from memory.
    Raises TraceError if sums of packets or bytes do not add up.
    """
    from leowarp import metrics

    numbers = metrics.metrics(tables, plan)
    # Warnings are in the order of the run's steps, because an early problem may cause later problems.
    warnings = [
        *kernel_facts["warnings"], *given.warnings, *made.kernel_warnings, *made.end["warnings"], *numbers.warnings
    ]  # fmt: skip
    return numbers, warnings
