# SPDX-License-Identifier: Apache-2.0
"""Compute metrics from a trace: goodput, round-trip times, route changes and recovery, queues, conservation.

This package does not depend on how a run was executed. The package reads the tables of a run directory, or the same
tables in memory, and the plan's flows. A value that a run did not record is null in every result, and never 0.

>>> tables = read_tables("runs/madrid-tokyo")           # doctest: +SKIP
>>> result = metrics(tables, plan)                      # doctest: +SKIP
>>> result.summary["flows"][0]["goodput_mean_bps"]      # doctest: +SKIP
"""

from leowarp.metrics.compute import Metrics, metrics
from leowarp.metrics.conservation import Balance, check_conservation, late_outside_changes
from leowarp.metrics.inputs.changes import (
    ARROW,
    CHANGE_COLUMNS,
    PathChange,
    both_ways_ns,
    flow_pairs,
    pair_routes,
    path_changes,
    path_delay,
    route_changes,
)
from leowarp.metrics.inputs.channels import Channels
from leowarp.metrics.inputs.link_values import LinkValues, link_values
from leowarp.metrics.inputs.series import bin_edges, ccdf, cdf, holding_ns, rate_in_bins, step_at, weighted_quantile
from leowarp.metrics.inputs.stored import read_tables, tables_of
from leowarp.metrics.inputs.tables import ACK, CAUSES, DATA, Tables, plan_document
from leowarp.metrics.long_form import LONG_COLUMNS, numbers_of
from leowarp.metrics.network.link_loads import link_loads
from leowarp.metrics.network.queues import LINK_COLUMNS, drops_by_cause, link_use, path_queues, queue_series
from leowarp.metrics.network.satellites import SATELLITE_COLUMNS, satellite_use
from leowarp.metrics.over_time import SERIES, Series, flow_bbr_modes, series_of
from leowarp.metrics.per_flow.acknowledgements import LONG_WAIT_NS, ack_waits
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.per_flow.delays import ROUND_TRIP, Delays, delays
from leowarp.metrics.per_flow.flows import packet_rtt, srtt
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, counter, goodput
from leowarp.metrics.per_flow.pairs import PAIR_COLUMNS, pairs
from leowarp.metrics.per_flow.probes import NEAR_NS, SLOT_COLUMNS, Probes, near, probes, quantile, slots
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
from leowarp.metrics.sharing.shares import SHARE_BIN_NS, jain_index, share_series, shares

__all__ = [
    "ACK",
    "ARROW",
    "CAUSES",
    "CAUSE_COLUMNS",
    "CHANGE_COLUMNS",
    "DATA",
    "DENSITY_COLUMNS",
    "GOODPUT_SERIES",
    "LINK_COLUMNS",
    "LONG_COLUMNS",
    "LONG_WAIT_NS",
    "NEAR_NS",
    "PAIR_COLUMNS",
    "RECOVERY_COLUMNS",
    "REORDERING_COLUMNS",
    "ROUND_TRIP",
    "SATELLITE_COLUMNS",
    "SERIES",
    "SHARE_BIN_NS",
    "SLOT_COLUMNS",
    "Balance",
    "Channels",
    "Delays",
    "LinkValues",
    "Metrics",
    "PathChange",
    "Probes",
    "RecoveryRule",
    "Series",
    "Tables",
    "ack_waits",
    "bin_edges",
    "both_ways_ns",
    "causes",
    "ccdf",
    "cdf",
    "check_conservation",
    "counter",
    "delays",
    "densities",
    "dip",
    "drops_by_cause",
    "flow_bbr_modes",
    "flow_pairs",
    "goodput",
    "histogram",
    "holding_ns",
    "jain_index",
    "late_outside_changes",
    "link_loads",
    "link_use",
    "link_values",
    "metrics",
    "near",
    "numbers_of",
    "overhead_bytes",
    "packet_rtt",
    "pair_routes",
    "pairs",
    "path_capacity",
    "path_changes",
    "path_delay",
    "path_queues",
    "payload_ratio",
    "plan_document",
    "probes",
    "quantile",
    "queue_series",
    "rate_in_bins",
    "read_tables",
    "recoveries",
    "refuse_unknown",
    "reordering",
    "round_trips",
    "route_changes",
    "satellite_use",
    "series_of",
    "share_series",
    "shares",
    "slots",
    "srtt",
    "step_at",
    "tables_of",
    "weighted_quantile",
    "with_connections",
]
