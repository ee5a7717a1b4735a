# SPDX-License-Identifier: Apache-2.0
"""Compute metrics from a trace: goodput, round-trip times, route changes and recovery, queues, conservation.

This package does not depend on how a run was executed. The package reads the plan's flows, and the trace tables of a
run from its directory or from memory. A value that a run did not record is null in every result, never 0.

>>> tables = read_tables("runs/madrid-tokyo")           # doctest: +SKIP
>>> result = metrics(tables, plan)                      # doctest: +SKIP
>>> result.summary["flows"][0]["goodput_mean_bps"]      # doctest: +SKIP
"""

from leowarp.metrics.compute import Metrics, metrics
from leowarp.metrics.conservation import check_conservation, late_outside_changes
from leowarp.metrics.inputs.changes import (
    ARROW,
    CHANGE_COLUMNS,
    both_ways_ns,
    flow_pairs,
    pair_routes,
    path_delay,
    route_changes,
)
from leowarp.metrics.inputs.link_values import LinkValues, link_values
from leowarp.metrics.inputs.series import ccdf, cdf, holding_ns, step_at, weighted_quantile
from leowarp.metrics.inputs.stored import read_tables, tables_of
from leowarp.metrics.inputs.tables import ACK, DATA, Tables, plan_document
from leowarp.metrics.long_form import LONG_COLUMNS, numbers_of
from leowarp.metrics.network.link_loads import link_loads
from leowarp.metrics.network.queues import LINK_COLUMNS, link_use, path_queues, queue_series
from leowarp.metrics.network.satellites import SATELLITE_COLUMNS, satellite_use
from leowarp.metrics.over_time import SERIES, Series, flow_bbr_modes, series_of
from leowarp.metrics.per_flow.acknowledgements import ack_waits
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.per_flow.delays import ROUND_TRIP, delays
from leowarp.metrics.per_flow.flows import packet_rtt
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, counter, goodput
from leowarp.metrics.per_flow.pairs import PAIR_COLUMNS, pairs
from leowarp.metrics.per_flow.probes import NEAR_NS, Probes, near, probes, quantile, slots
from leowarp.metrics.per_flow.reordering import (
    DENSITY_COLUMNS,
    REORDERING_COLUMNS,
    densities,
    histogram,
    refuse_unknown,
    reordering,
)
from leowarp.metrics.per_flow.round_trips import round_trips
from leowarp.metrics.route_changes.causes import CAUSE_COLUMNS, causes
from leowarp.metrics.route_changes.recovery import RECOVERY_COLUMNS, RecoveryRule, dip, recoveries
from leowarp.metrics.sharing.capacity import overhead_bytes, path_capacity, payload_ratio
from leowarp.metrics.sharing.shares import jain_index, share_series, shares
from leowarp.trace.schema.packets import CAUSES
