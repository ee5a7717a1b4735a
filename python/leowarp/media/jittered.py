# SPDX-License-Identifier: Apache-2.0
"""A jittered path consists of host A, router s1 and host B. Each packet to B has a random delay.

In the guest, the kernel's netem delays the packets, and a token bucket filter sends them, as in emulation studies
(docs/concepts/links.md, "Jittered links"). This module computes netem's parameters and its table of delays.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.base.nodes import host_node
from leowarp.base.units import TIME
from leowarp.ephemeris import Ephemeris
from leowarp.media.protocol import PlannedMedium, SteadyLinks
from leowarp.routes import Routes, fixed_routes
from leowarp.scenario.schema import Jittered
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.jitter_tables import (
    ENTRIES,
    JITTER_MAX_NS,
    JitterTable,
    named_table,
    quantiles_of,
    standardised,
    table_of,
)
from leowarp.timeline.metadata import TimelineMetadata

ENDS = ("A", "B")
NODES = ("s1", *(host_node(station) for station in ENDS))
ROUTER, A, B = range(3)


class PlannedJittered(PlannedMedium[Jittered]):
    """A jittered path: hosts A and B with one router between them."""

    def routes(self, ephemeris: Ephemeris | None) -> Routes:
        """Return one path per direction, from the router to a host. Its delay is the mean of the packets' random
        delays."""
        # Only the links from the router to the hosts have a delay.
        return fixed_routes(NODES, ENDS, ((ROUTER, B), (ROUTER, A)), (self.section.delay_ns, self.section.delay_up_ns))

    def timeline(self, ephemeris: Ephemeris | None, routes: Routes) -> pa.Table:
        """Return the timeline, in which all events are at time 0.

        With the distribution ``table``, the metadata `jitter_table` contains the samples in ascending order, with mean
        0 and standard deviation 1.

        Raises ScenarioError if the table cannot be read, the jitter exceeds netem's limit, or a delay could be below 0.
        """
        plan, path = self.plan, self.section
        events = Events(NODES)
        events.node(ROUTER, "router")
        for host in (A, B):
            events.node(host, "host")
        # The delay and rate towards A are applied by s1, not by host B. If host B delayed its own packets, its capture
        # would record a late sending time, and TCP small queues would treat the delayed packets as backlog.
        modelled_up = path.delay_up_ns > 0 or path.rate_up_bps is not None
        events.link_up(0, A, ROUTER, _link(path) if modelled_up else LinkKind.ideal(plan, "wire"))
        events.link_up(0, ROUTER, B, _link(path))
        metadata = TimelineMetadata(warnings=[])
        _shape(events, B, path.delay_ns, path.rate_bps, path.loss_ratio)
        if path.jitter_ns > 0:
            table, values = _jitter_table(path)
            _check_draws(path, table)
            events.jitter(0, ROUTER, B, path.jitter_ns, path.distribution)
            if values is not None:
                metadata = replace(metadata, jitter_table=values.tolist())
        if modelled_up:
            _shape(events, A, path.delay_up_ns, path.rate_up_bps, 0.0)
        for pair, (source, destination) in enumerate(((A, B), (B, A))):
            # With one router and two hosts, each direction needs two routing entries, which never change.
            events.route(0, source, destination, ROUTER, None)
            events.route(0, ROUTER, destination, destination, None)
            events.paths(routes, pair, source, destination)
        return events.table(metadata)

    def steady_links(self) -> tuple[SteadyLinks, ...]:
        """Return the section. Its rate is the rate towards B."""
        return (self.section,)


def _link(path: Jittered) -> LinkKind:
    """Return a link with discipline `jitter`. Each direction has netem for delay and loss, and a token bucket filter
    for the rate."""
    return LinkKind(
        kind="wire",
        discipline="jitter",
        on_down="drain",
        overhead_bytes=path.overhead_bytes,
        limit_pkts=path.queue_pkts,
        # Rate and loss are set only for the direction from the router to the host.
        has_own_rate=False,
    )


def _shape(events: Events, to: int, delay_ns: int, rate_bps: int | None, loss_ratio: float) -> None:
    events.rate(0, ROUTER, to, rate_bps)
    events.delays(0, np.array([ROUTER]), np.array([to]), np.array([delay_ns]), both_ways=False)
    if loss_ratio:
        events.loss(0, ROUTER, to, loss_ratio)


def _jitter_table(path: Jittered) -> tuple[JitterTable, NDArray[np.float64] | None]:
    """Return two results: netem's table for the plan's distribution, and the user's samples if there are any. The
    samples are ascending float64 values with mean 0 and standard deviation 1. The samples reach the guest in the
    timeline's metadata.

    Raises ScenarioError if the file has fewer than two samples, or if all quantiles are equal.
    """
    if path.distribution != "table":
        return named_table(path.distribution), None
    if path.table is None:
        raise ValueError("a table's distribution without a table: not a resolved plan")
    given = samples(path.table.path)
    quantiles = quantiles_of(given) if len(given) else given
    # Equal samples have the standard deviation 0, which cannot be scaled to 1.
    if len(given) < 2 or quantiles[0] == quantiles[-1]:
        raise ScenarioError(
            f"{path.table.path}: {len(given)} samples, and their {ENTRIES} quantiles are all the same: that is no "
            "distribution",
            f'{_HINT}; for a delay without jitter write jitter = "0 s"',
        )
    values = standardised(quantiles)
    return table_of("table", values), values


def _check_draws(path: Jittered, table: JitterTable) -> None:
    """Reject values that netem would change. netem silently limits its jitter, and sends a packet with a negative delay
    at once.

    `least` is the smallest value of netem's table, in standard deviations. The minimum of the ideal distribution may be
    different.
    """
    if path.jitter_ns * table.multiplier > JITTER_MAX_NS:
        most_ns = int(JITTER_MAX_NS / table.multiplier)
        raise ScenarioError(
            f"jittered.jitter = {TIME.format(path.jitter_ns)}: netem's jitter, which is {table.multiplier:g} times the "
            f"standard deviation of the distribution {path.distribution}, ends at 2^31 ns",
            f"at most {most_ns / 1e6:.0f} ms of {path.distribution}",
        )
    # If the delays of some packets were below 0, netem would send these packets immediately. The mean delay would then
    # be above `delay`.
    least_ns = path.delay_ns + table.least * path.jitter_ns
    if least_ns < 0:
        enough_ms = math.ceil(-table.least * path.jitter_ns / 1e6)
        raise ScenarioError(
            f"jittered.delay = {TIME.format(path.delay_ns)} with jitter = {TIME.format(path.jitter_ns)}: the "
            f"distribution {path.distribution} reaches {-table.least:.4g} standard deviations below its mean, so some "
            f"delays would be below 0 (down to {least_ns / 1e6:.4g} ms)",
            f'write delay = "{enough_ms} ms" or more, or less jitter',
        )


def samples(path: Path) -> NDArray[np.float64]:
    """Read the samples in a file: one number per line. Empty lines and lines that begin with # are ignored.

    Raises ScenarioError if the file cannot be read, or if a line is no finite number (with file and line).
    Returns: A float64 array of shape (n,). The samples are in the order and unit of the file. Only the shape of their
        distribution is used (`jitter_tables.standardised`).
    """
    try:
        text = plainfiles.read(path, plainfiles.MOST_INPUT_BYTES, links=True).decode("utf-8-sig")
    except OSError as error:
        raise ScenarioError(f"reading jittered.table: {path}: {error.strerror}", _HINT) from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"reading jittered.table: {path} is not a text file (byte {error.start})", _HINT) from error
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        cell = line.strip()
        if not cell or cell.startswith("#"):
            continue
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        # float() accepts "nan" and "inf", which are no delays and are rejected like other invalid text.
        if not math.isfinite(value):
            raise ScenarioError(f"{path}:{number}: {cell[:60]!r} is not a number", _HINT)
        values.append(value)
    return np.array(values, dtype=np.float64)


_HINT = "jittered.table: one number a line, samples of the delay in any unit"
