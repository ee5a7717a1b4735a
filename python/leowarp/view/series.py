# SPDX-License-Identifier: Apache-2.0
"""The time series of a page. The series are the values of each flow on a common time grid, and the queues and drops of
links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.media.mobile import realisation_of
from leowarp.metrics import DATA, flow_bbr_modes, goodput, path_queues
from leowarp.metrics.inputs.tables import floats
from leowarp.results.run import Run
from leowarp.scenario.schema import Mobile
from leowarp.view.clock import Names, ticks
from leowarp.view.container import Arrays

# Length in ns of the trace's bins. A grid finer than the trace's bins would show no more detail.
STEP_NS = 50_000_000
MOST_VALUES = 1_500_000
"""The maximum total number of values of all flows. A run with more values gets a coarser grid."""
# Maximum number of grid steps; a screen has fewer pixels.
MOST_STEPS = 20_000
MOST_QUEUE_ROWS = 400_000
MOST_DROPS = 200_000


def step_ns_of(run: Run) -> int:
    """Return the step of the time grid in ns. It is a multiple of 50 ms, the length of the trace's bins."""
    # The number of steps is limited so that all flows, with at most 8 rows each (`flow_rows`), have at most
    # `MOST_VALUES` values.
    steps = min(MOST_STEPS, MOST_VALUES // (8 * max(len(run.observed_plan.flows), 1)))
    return STEP_NS * max(1, -(-run.end_ns // (STEP_NS * steps)))


def flow_rows(run: Run, number: int, step_ns: int, arrays: Arrays) -> dict[str, Any]:
    """Return the time series of one flow. For a TCP flow, these are goodput, RTT, window and the queue of its path. For
    every flow, there are also series of late, lost and retransmitted packets.

    Returns: The reference to the array of each series in the container. An array has one value per step of the grid. A
        TCP flow has `goodput_kbps` (in order at the receiver), `srtt_us`, `cwnd_pkts` (missing if there is no sample),
        `bbr_mode` (a key of `BBR_MODES`, only for BBR) and `queue_pkts` (packets in the queues of the path). Every flow
        has `late_pkts`, `lost_pkts` and `again_pkts`. They count data packets. Each packet counts in the step in which
        it was sent. If the run did not record a series, it is left out.
    """
    grid_ns = np.arange(0, run.end_ns, step_ns, dtype="int64")
    flow, tables = run.observed_plan.flows[number], run.tables
    rows: dict[str, np.ndarray] = {}
    if flow.kind == "tcp" and tables.has("sockets"):
        samples = tables.of_flow("sockets", number)
        t_ns = samples["t_ns"].to_numpy(dtype="int64")
        rate = goodput(tables, number, "in_order", step_ns)
        rate_ns, rate_kbps = rate["t_ns"].to_numpy(dtype="int64"), rate["goodput_bps"].to_numpy() / 1e3
        rows["goodput_kbps"] = _last(rate_ns, rate_kbps, step_ns, len(grid_ns))
        rows["srtt_us"] = _last(t_ns, floats(samples["srtt_us"]), step_ns, len(grid_ns))
        rows["cwnd_pkts"] = _last(t_ns, floats(samples["cwnd_pkts"]), step_ns, len(grid_ns))
        mode = flow_bbr_modes(flow, samples)
        if np.isfinite(mode).any():
            rows["bbr_mode"] = _last(t_ns, mode, step_ns, len(grid_ns))
    if tables.has("links") and run.plan.observe.queues_ns is not None:
        waiting = np.zeros(len(grid_ns))
        for in_force, pkts in path_queues(tables, (flow.source, flow.destination), run.end_ns, grid_ns):
            waiting[in_force] += pkts[in_force]
        rows["queue_pkts"] = waiting
    if tables.has("bins"):
        bins = tables.of_flow("bins", number)
        bins = bins[bins["direction"].to_numpy() == DATA]
        place = bins["t_ns"].to_numpy(dtype="int64") // step_ns
        # Each packet, even a late one, counts in the step in which it was sent, as in the trace's bins.
        for name, column in (("late_pkts", "late_pkts"), ("lost_pkts", "lost_pkts"), ("again_pkts", "retrans_pkts")):
            rows[name] = np.bincount(place, weights=floats(bins[column]), minlength=len(grid_ns))[: len(grid_ns)]
    return {name: arrays.integers(values) for name, values in rows.items()}


def probe_rows(run: Run, number: int, arrays: Arrays) -> dict[str, Any]:
    """Return the probes of a ping or UDP flow. Each probe has a sending time and a one-way or round-trip time, which is
    missing if the probe was lost.

    Returns: A dict with `sent` (sending times in ticks), `took_us` and `is_round_trip`. `took_us` is a one-way time for
        UDP flows. It is also a one-way time for ping flows without any reply. If there are more than `MOST_STEPS`
        probes, only every n-th probe is included.
    """
    echoes = run.tables.of_flow("echoes", number).sort_values("sent_ns", kind="stable")
    # Only every n-th probe is used. Means over several probes would hide the spikes that pings are meant to show.
    if len(echoes) > MOST_STEPS:
        echoes = echoes.iloc[:: -(-len(echoes) // MOST_STEPS)]
    sent_ns = echoes["sent_ns"].to_numpy(dtype="int64")
    back = floats(echoes["reply_ns"])
    # If probes have replies, the times are round trips. UDP probes have no replies.
    arrived = back if np.isfinite(back).any() else floats(echoes["received_ns"])
    return {
        "sent": arrays.instants(ticks(run, sent_ns)),
        "took_us": arrays.integers((arrived - sent_ns) / 1e3),
        "is_round_trip": bool(np.isfinite(back).any()),
    }


def _last(t_ns: np.ndarray, given: np.ndarray, step_ns: int, steps: int) -> np.ndarray:
    """Return the last sample in each step, with nan for a step without samples."""
    values = np.full(steps, np.nan)
    place = t_ns // step_ns
    kept = place < steps
    # If a step has several samples, numpy assigns them in order, so the last one remains.
    values[place[kept]] = given[kept]
    return values


def queues_of(run: Run, arrays: Arrays) -> dict[str, Any]:
    """Return the number of packets in the queue of each link direction over time. If there are more than
    `MOST_QUEUE_ROWS` samples, each time step has only its maximum.

    In `steps` and `pkts`, the values of the first direction come first, then those of the second, and so on. `rows` has
    each direction's number of values.
    """
    links = run.tables.links
    step_ns = 1
    if len(links) > MOST_QUEUE_ROWS:
        step_ns = STEP_NS * (1 + len(links) // MOST_QUEUE_ROWS)
    directions, counts, t_ns, pkts = [], [], [], []
    for direction, rows in links.groupby("direction", sort=True):
        frame = pd.DataFrame({"t": rows["t_ns"].to_numpy(dtype="int64"), "pkts": floats(rows["queue_pkts"])})
        if step_ns > 1:
            # The maximum is included, because a queue that fills and drains within one step delays packets.
            frame = frame.groupby(frame["t"] // step_ns * step_ns)["pkts"].max().rename_axis("t").reset_index()
        directions.append(int(direction))
        counts.append(len(frame))
        t_ns.append(np.diff(ticks(run, frame["t"]), prepend=0))
        pkts.append(frame["pkts"].to_numpy())
    return {
        "directions": arrays.integers(np.array(directions, dtype="int64")),
        "rows": arrays.integers(np.array(counts, dtype="int64")),
        # Times are stored as differences; the first difference of each direction starts from 0.
        "steps": arrays.integers(np.concatenate([np.zeros(0, dtype="int64"), *t_ns])),
        "pkts": arrays.integers(np.concatenate([np.zeros(0), *pkts])),
    }


def links_of(run: Run, names: Names) -> list[dict[str, Any]]:
    """Return the ends of each direction of a link, the limit of its queue, and its totals over the run.

    Returns: An entry per direction, in the order of their numbers: `a`, `b` (numbers of nodes), `kind`, `limit_pkts`,
        and the run's totals in packets. A value is null if it is unknown, for instance on a netem link.
    """
    tables = run.tables
    totals = {int(row.direction): row for row in tables.linktotals.itertuples(index=False)}
    limits = _limits(run)
    found = []
    for number, (a, b, kind) in enumerate(tables.directions):
        row = totals.get(number)
        told = {}
        if row is not None:
            for name in ("offered_pkts", "delivered_pkts", "dropped_queue_pkts", "dropped_loss_pkts",
                         "dropped_down_pkts", "queue_max_pkts"):  # fmt: skip
                value = getattr(row, name)
                told[name] = None if value != value or value is None else int(value)
        found.append({"a": names(a), "b": names(b), "kind": kind, "limit_pkts": limits.get((a, b)), **told})
    return found


def _limits(run: Run) -> dict[tuple[str, str], int | None]:
    """For each direction, return the maximum queue in packets. None means that the queue has no limit."""
    timeline = run.tables.timeline
    limits: dict[tuple[str, str], int | None] = {}
    if "limit_pkts" not in timeline:
        return limits
    for event in ("link", "queue"):
        rows = timeline[(timeline["event"] == event).to_numpy(dtype=bool)]
        for a, b, limit in zip(rows["a"], rows["b"], floats(rows["limit_pkts"]), strict=True):
            # The limit in a link's event holds for both directions; the limit in a queue's event holds for one
            # direction. Events of queues are processed after events of links, so that the queue's limit replaces the
            # link's limit.
            for ends in ((a, b), (b, a)) if event == "link" else ((a, b),):
                if limit == limit:
                    limits[ends] = int(limit)
    return limits


def drops_of(run: Run, arrays: Arrays) -> dict[str, Any]:
    """Return the packets that links dropped: time, link direction and cause. If there are very many, only the first
    drops are included.

    Packets that were dropped elsewhere (no route, unknown) are left out. The page cannot show them on a link.
    """
    drops = run.tables.drops
    kept = drops[drops["direction"].notna().to_numpy()].sort_values("t_ns", kind="stable").iloc[:MOST_DROPS]
    return {
        "t": arrays.instants(ticks(run, kept["t_ns"])),
        "direction": arrays.integers(floats(kept["direction"])),
        "cause": arrays.small(floats(kept["cause"])),
        "of": len(drops),
    }


def fading_of_run(run: Run, step_ns: int, arrays: Arrays) -> dict[str, Any] | None:
    """Return the minimum and mean received Es/N0 in each step, in 0.01 dB."""
    mobile = run.plan.medium
    if not isinstance(mobile, Mobile):
        return None
    # A run does not store the series of received power, but its plan and seed reproduce the series exactly.
    power = realisation_of(run.plan, mobile).until(run.end_ns).power
    steps = -(-run.end_ns // step_ns)
    place = np.arange(len(power.level_db)) * power.spacing_ns // step_ns
    # The last step ends with the run, and may be shorter. Samples after the end of the run are left out.
    place, level_db = place[place < steps], power.level_db[: int((place < steps).sum())] + mobile.snr_db
    begins = np.searchsorted(place, np.arange(steps))
    known = begins < len(place)
    smallest, mean = np.full(steps, np.nan), np.full(steps, np.nan)
    if known.any():
        smallest[known] = np.minimum.reduceat(level_db, begins[known])
        sums = np.add.reduceat(level_db, begins[known])
        mean[known] = sums / np.diff(np.append(begins[known], len(place)))
    return {
        "snr_db": mobile.snr_db,
        "smallest_cdb": arrays.integers(smallest * 100),
        "mean_cdb": arrays.integers(mean * 100),
    }
