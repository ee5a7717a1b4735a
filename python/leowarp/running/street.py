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
    """The tables from which a guest is booted, in the form of `10-routes.parquet` and `20-timeline.parquet`, and
    warnings about them, which apply to every run with these tables."""

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
    Returns: The tables. All calls for the same plan return equal tables, because all random values come from the plan's
        seed.
    """
    # Imported here, so that commands that only read a plan do not import the packages of media.
    from leowarp import ephemeris, media, timeline

    # The ephemeris is computed once, because routes and timeline must use the same satellite positions.
    sky = ephemeris.ephemeris_of(plan)
    ways = media.routes_of(plan, sky)
    if directory is not None:
        timeline.write_table(ways.table, directory / ROUTES)
    events = media.timeline_of(plan, sky, ways)
    if directory is not None:
        timeline.write_table(events, directory / TIMELINE)
    warnings = [*ways.warnings, *timeline.warnings_of(events), *netem_warnings(plan, events)]
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


def netem_warnings(plan: Plan, events: pa.Table) -> list[str]:
    """Return a warning if the small packets of UDP and ping flows may exceed netem's limit, and otherwise nothing.

    The limit counts both waiting packets and packets in the delay line. The timeline sets it to the link's queue plus
    the number of full packets that fit into its delay line. Smaller packets at the same rate mean more packets in the
    delay line. netem drops packets above the limit.

    events: The timeline of the plan.
    """
    import pyarrow.compute as pc

    from leowarp.guest.setup.input import ETHERNET_BYTES
    from leowarp.scenario.workload.flows import PROBE_HEADER_BYTES

    if plan.network.link_model != "netem":
        return []
    links = events.filter((pc.field("event") == "link") & pc.field("limit_pkts").is_valid())
    rate_bps, delay_ns = pc.max(events["rate_bps"]).as_py(), pc.max(events["delay_ns"]).as_py()
    if not links.num_rows or not rate_bps or not delay_ns:
        return []
    limit_pkts = pc.min(links["limit_pkts"]).as_py()
    full_bytes = plan.network.mtu_bytes + ETHERNET_BYTES
    # The sum assumes the worst case that all flows share one link. The link's rate limits the sum.
    pkts_per_s, bits_per_s = 0.0, 0.0
    for flow in plan.flows:
        size_bytes = (flow.payload_bytes or 0) + plan.network.ip_header_bytes + PROBE_HEADER_BYTES + ETHERNET_BYTES
        if flow.kind not in ("udp", "ping") or size_bytes >= full_bytes:
            continue
        pkts_per_s += flow.paced_pkts_per_s
        bits_per_s += flow.paced_pkts_per_s * 8 * size_bytes
    if bits_per_s > rate_bps:
        pkts_per_s *= rate_bps / bits_per_s
    flying_pkts = round(pkts_per_s * delay_ns / 1e9)
    if flying_pkts <= limit_pkts:
        return []
    return [
        f"netem's limit on a link is {limit_pkts:,} packets, those in its delay line included: {flying_pkts:,} small "
        "packets of UDP and ping may be in flight, and those beyond the limit are dropped "
        '(network.link_model = "leolink" counts waiting packets alone; or a longer queue)'
    ]
