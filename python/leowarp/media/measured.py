# SPDX-License-Identifier: Apache-2.0
"""The measured path: one link that follows a measurement.

The direction from A to B is the downlink, and the direction from B to A the uplink. With leolink, the guest gets a
table for each direction before the run starts. The events `capacity` and `channel` contain these tables, exact to the
nanosecond. With netem, the guest gets an event for each change, at the time of the change.

- A row of a table is valid from its time to the time of the next row. The last row is valid until the end of the run.
  Each probe gives the delay for the times that are nearer to it than to any other probe.
- A round trip has two parts, one per direction. The table has the delay of the answer at the time at which the answer
  passes the link (`timeline/recordings/rows.py`).
- `run.start` is the time in the measurement at which the run begins.
- While there is no connection, every packet is lost.

`timeline.recordings` reads the files, with their formats and gaps. This module converts their rows to events.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from leowarp.base.errors import ScenarioError
from leowarp.base.flownames import FlowKey, named
from leowarp.ephemeris import Ephemeris
from leowarp.media.protocol import PlannedMedium
from leowarp.routes import Routes
from leowarp.scenario.schema import Measured, Plan
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.recordings.measurement import UNSHAPED, Capacity, Measurement, Times
from leowarp.timeline.recordings.planned import constant, measurement_of, probe_bytes_of
from leowarp.timeline.recordings.rows import Rows, channel_rows
from leowarp.timeline.rounding import rounded_ns
from leowarp.timeline.row_of_routers import row_events, row_routes


class PlannedMeasured(PlannedMedium[Measured]):
    """A measured path: hosts A and B, joined by one link."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        # The delay changes with each row of the measurement, so the path has no single delay.
        return row_routes(1, None)

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return the measurement as a table for each direction. With netem links, the rows are events.

        Raises ScenarioError if a file cannot be read or violates its format, or the run extends beyond the measurement.
        """
        plan, keys = self.plan, self.section
        begin_ns = plan.run.start_ns
        end_ns = begin_ns + plan.run.duration_ns
        measured = measurement_of(keys, end_ns, begin_ns)
        begins_at = plan.flows[0].source if keys.rtt_from == "auto" else keys.rtt_from
        channels = channel_rows(measured, keys, begin_ns, end_ns, down_first=begins_at == "A")
        capacities = [
            # A direction for which no capacity was measured has no rate limit.
            constant(UNSHAPED) if capacity is None else capacity
            for capacity in (measured.capacity_down, measured.capacity_up or _same_way_back(measured, keys))
        ]
        for rows in channels:
            _check_begin(measured.source, rows.t_ns, begin_ns)
        for file, capacity in zip((keys.capacity, keys.capacity_up or keys.capacity), capacities, strict=True):
            _check_begin(measured.source if file is None else str(file.path), capacity.t_ns, begin_ns)
            if file is not None:
                _check_end(str(file.path), capacity, end_ns)
        probe_bytes = probe_bytes_of(measured, keys)
        # The link never goes down. Where the measurement has no connection, the rows have a loss of 100 %.
        link = LinkKind.queued(plan, "isl", keys, "drain")
        tables = link.discipline == "leolink"
        # The probe's transmission time is computed from its length on the link with overhead, as for every packet.
        link = replace(link, probe_bytes=probe_bytes + keys.overhead_bytes if probe_bytes and tables else 0)
        events = row_events(plan, routes, link)
        channels_in_run = [_rows_in_run(plan, rows, begin_ns, end_ns) for rows in channels]
        capacities_in_run = [_capacity_in_run(capacity, begin_ns, end_ns) for capacity in capacities]
        for sender, (rows, capacity) in enumerate(zip(channels_in_run, capacities_in_run, strict=True)):
            if tables:
                # A masked value becomes null in the timeline, which means no limit. At rate 0, the link sends nothing.
                rates = np.ma.masked_equal(capacity.rate_bps, UNSHAPED)
                events.capacity(sender, 1 - sender, capacity.t_ns, rates)
                events.channel(sender, 1 - sender, rows.t_ns, rows.delay_ns, rows.loss_ratio)
            else:
                _play(events, sender, rows, capacity)
        if link.limit_counts_flying:
            longest_ns = max(int(rows.delay_ns.max()) for rows in channels_in_run)
            # netem has one limit for the whole run. It must be enough for the longest delay at the highest rate.
            highest_bps = max(int(capacity.rate_bps.max()) for capacity in capacities_in_run)
            events.make_room_for_flying({(0, 1): longest_ns}, None if highest_bps == UNSHAPED else highest_bps)
        warnings = [f"{measured.source}: {note}" for note in measured.notes]
        warnings += _warnings(measured, keys, capacities, end_ns)
        if measured.round_trip is not None and keys.rtt == "halves":
            warnings += _pings_from_the_other_end(plan, measured, begins_at)
        if probe_bytes and not tables:
            warnings.append(
                f"{measured.source}: netem adds the time that a packet takes on the link to what the probes of "
                f"{probe_bytes} B measured, and their own time is in that already"
            )
        return events.table(TimelineMetadata(warnings=warnings))

    def likely_rate_bps(self) -> float | None:
        """Return the mean downlink capacity, or None if the capacity is unlimited at some time."""
        end_ns = self.plan.run.start_ns + self.plan.run.duration_ns
        capacity = measurement_of(self.section, end_ns, self.plan.run.start_ns).capacity_down
        if capacity is None or UNSHAPED in capacity.rate_bps:
            return None
        # The rows are not weighted by their length, because most files have rows of equal length and this is only an
        # estimate.
        return float(capacity.rate_bps.mean())


def _same_way_back(measured: Measurement, keys: Measured) -> Capacity | None:
    """Return the downlink's capacity if it is also used for the uplink, because the table has no column for the uplink.
    None means that the measurement is no CSV table. None is also returned if a key sets a capacity, a rate, or a file
    for the uplink."""
    table = measured.format == "csv" and keys.capacity is None and keys.rate_bps is None and keys.file_up is None
    return measured.capacity_down if table and keys.rate_up_bps is None else None


def _check_begin(source: str, t_ns: Times, begin_ns: int) -> None:
    """Reject a table whose first row is later than the run's start. Before the first row, the path is unknown. `t_ns`
    are the times of the table's rows, on the clock of the table."""
    if t_ns[0] > begin_ns:
        raise ScenarioError(
            f"{source}: it begins at {t_ns[0] / 1e9:g} s, the run at {begin_ns / 1e9:g} s of its clock: the path is "
            "unknown before",
            f'begin the table at 0, or set run.start = "{t_ns[0] / 1e9:g} s"',
        )


def _check_end(source: str, capacity: Capacity, end_ns: int) -> None:
    """Reject a trace of transmission opportunities that ends before the run. The last row of a trace of opportunities
    must not be extended to the run's end."""
    # Only a Mahimahi trace of opportunities has an end. In a table of rates, the last row is extended to the run's end,
    # with a warning.
    if capacity.t_ns[-1] < capacity.end_ns < end_ns:
        raise ScenarioError(
            f"{source}: the trace ends at {capacity.end_ns / 1e9:g} s, the run at {end_ns / 1e9:g} s of its clock",
            f'write measured.repeat = true, or a run.duration that ends at "{capacity.end_ns / 1e9:g} s"',
        )


def _in_run(t_ns: Times, begin_ns: int, end_ns: int) -> tuple[Times, slice]:
    """Return the times of the table's rows that apply during the run, and the slice that selects these rows. The times
    are on the run's clock, and the first is 0."""
    # The last row before the run's start still applies; earlier rows do not.
    first = int(np.searchsorted(t_ns, begin_ns, side="right")) - 1
    # The slice always has at least one row: the last row of a table may be long before the run's start and still apply.
    after = max(int(np.searchsorted(t_ns, end_ns, side="left")), first + 1)
    return np.maximum(t_ns[first:after] - begin_ns, 0), slice(first, after)


def _rows_in_run(plan: Plan, rows: Rows, begin_ns: int, end_ns: int) -> Rows:
    """Return the rows with times on the run's clock, and with delays rounded as the plan specifies."""
    t_ns, chosen = _in_run(rows.t_ns, begin_ns, end_ns)
    return Rows(t_ns, rounded_ns(plan, rows.delay_ns[chosen]), rows.loss_ratio[chosen])


def _capacity_in_run(capacity: Capacity, begin_ns: int, end_ns: int) -> Capacity:
    t_ns, chosen = _in_run(capacity.t_ns, begin_ns, end_ns)
    return Capacity(t_ns=t_ns, rate_bps=capacity.rate_bps[chosen], end_ns=capacity.end_ns - begin_ns)


def _play(events: Events, sender: int, rows: Rows, capacity: Capacity) -> None:
    """Add delay, loss and capacity as events. Each event has the time from which its value applies.

    Raises ScenarioError if a capacity is 0, because the kernel interprets netem's rate 0 as unlimited.
    """
    ends = np.array([sender]), np.array([1 - sender])
    for t_ns, rate_bps in zip(capacity.t_ns.tolist(), capacity.rate_bps.tolist(), strict=True):
        # In the guest, a rate of 0 means unlimited (`guest/setup/input.py`), but in the table it means that nothing is
        # sent.
        if rate_bps == 0:
            raise ScenarioError(
                f"netem cannot send nothing, and the capacity is 0 at {t_ns / 1e9:g} s of the run",
                'write network.link_model = "leolink"',
            )
        events.rate(t_ns, sender, 1 - sender, None if rate_bps == UNSHAPED else rate_bps)
    # -1 is not a valid delay, so the first row is always written as a change. For losses, the value before the first
    # row is 0, because a link without a loss event loses nothing.
    for place in np.flatnonzero(np.diff(rows.delay_ns, prepend=-1)):
        events.delays(int(rows.t_ns[place]), *ends, rows.delay_ns[place : place + 1], both_ways=False)
    for place in np.flatnonzero(np.diff(rows.loss_ratio, prepend=0.0)):
        events.loss(int(rows.t_ns[place]), sender, 1 - sender, float(rows.loss_ratio[place]))


def _pings_from_the_other_end(plan: Plan, measured: Measurement, begins_at: str) -> list[str]:
    """Return warnings for pings that do not begin at the host where the recorded round trips begin. Such pings pass the
    two directions in the opposite order."""
    return [
        f"{measured.source}: its round trips begin at {begins_at}, and {named(FlowKey.of_plan(number, flow))} meets "
        f'halves of two of them (for its round trips write measured.rtt_from = "{flow.source}")'
        for number, flow in enumerate(plan.flows)
        if flow.kind == "ping" and flow.replies and flow.source != begins_at
    ]


def _warnings(measured: Measurement, keys: Measured, capacities: list[Capacity], end_ns: int) -> list[str]:
    """For each table whose last row would have to last longer than any other row, return a warning. Tables of probes
    are left out, because missing probes at the end are a gap."""
    if keys.repeat:
        return []
    tables = {} if measured.probes else {measured.source: next(iter(measured.series.values())).t_ns}
    if keys.file_up is not None and measured.up is not None:
        tables[str(keys.file_up.path)] = measured.up.t_ns
    for file, capacity in zip((keys.capacity, keys.capacity_up), capacities, strict=True):
        if file is not None:
            tables[str(file.path)] = capacity.t_ns
    warnings = []
    for source, t_ns in tables.items():
        # A table with only one row describes a constant path, so its row may be extended without a warning.
        longest_ns = int(np.diff(t_ns).max()) if len(t_ns) > 1 else 0
        if source == measured.source and measured.longest_step_ns is not None:
            longest_ns = measured.longest_step_ns
        held_ns = end_ns - int(t_ns[-1])
        if longest_ns and held_ns > longest_ns:
            warnings.append(
                f"{source}: the table ends at {t_ns[-1] / 1e9:g} s and its last row is held for {held_ns / 1e9:g} s, "
                f"longer than any other ({longest_ns / 1e9:g} s)"
            )
    return warnings
