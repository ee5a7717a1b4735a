# SPDX-License-Identifier: Apache-2.0
"""The scalars of a run, in the order of `summary.json`.

A dot in a name precedes the key of a nested object (`fairness.jain_index`). In `40-metrics.parquet`, the dot becomes
`_`.

>>> [scalar.name for scalar in COSTS]
['cpu_s', 'wall_s']
"""

from __future__ import annotations

from leowarp.scalars.scalar import BYTES, COUNT, NS, PKTS, TEXT, Group, S, Scalar, Section

_CHANGES, _COST, _PACKETS = Group.CHANGES, Group.COST, Group.PACKETS

# Unit of scalars that count changes, not packets, so pages show no unit. The names of these scalars still end in
# `pkts`, because `40-metrics.parquet` has had these names from the start.
_CHANGES_NAMED_PKTS = PKTS.in_("", 1)

# fmt: off
# Simultaneous changes of both directions count as one, because `routing.reverse = "mirror"` always changes both.
ROUTE_CHANGES: Section = (
    Scalar("route_changes", COUNT, _CHANGES,
           "changes of the path between stations that talk, in either direction; changes of one instant between the "
           "same two stations are one", "route changes", "path changes (to a shorter)"),
    Scalar("route_changes_shorter", COUNT, _CHANGES,
           "route changes to a path with less propagation delay at that instant", "route changes to a shorter path"),
    Scalar("route_changes_with_late_pkts", _CHANGES_NAMED_PKTS, _CHANGES,
           "route changes that were followed within 5 s (and before the next) by late data packets",
           "route changes with late packets"),
)

# The path delay is pure propagation delay, from `20-timeline.parquet`. Queues and jitter do not affect it.
PATH_DELAY: Section = (
    Scalar("path_delay_min_ns", NS, _CHANGES,
           "smallest propagation delay of the path in force, one way, over the paths of all flows' data",
           "path delay, smallest", "path delay, one way"),
    Scalar("path_delay_mean_ns", NS, _CHANGES, "mean propagation delay of the path in force, weighted by time",
           "path delay, mean"),
    Scalar("path_delay_max_ns", NS, _CHANGES, "largest propagation delay of the path in force", "path delay, largest"),
)

# The causes that links report (docs/concepts/links.md).
DROPS: Section = (
    Scalar("drops_by_cause_pkts.queue", PKTS, _PACKETS, "packets dropped at full queues"),
    Scalar("drops_by_cause_pkts.loss", PKTS, _PACKETS, "packets dropped by links' own loss"),
    Scalar("drops_by_cause_pkts.link_down", PKTS, _PACKETS, "packets lost with a link that went down"),
    Scalar("drops_by_cause_pkts.no_route", PKTS, _PACKETS, "packets dropped for want of a route"),
    Scalar("drops_by_cause_pkts.unknown", PKTS, _PACKETS, "packets dropped, place unknown"),
)

# These scalars come from the tables `switches`, `nodetotals`, `merges` and `orders`. The scalars are null if their
# table is missing.
CURES: Section = (
    Scalar("moved_pkts", PKTS, _CHANGES,
           "packets that waited at a link when its node abandoned it for their host, and were handed to the new one; "
           "null: without `cures.move_queue`, `hold` and `duplicate`, as of the next five",
           "packets moved to the new link", "packets moved to the new link"),
    Scalar("held_back_pkts", PKTS, _CHANGES, "packets that were held back at a route change",
           "packets held back", "packets held back"),
    Scalar("held_back_max_bytes", BYTES, _CHANGES, "most bytes held back at one link at once",
           "bytes held back, most at one link", "  most bytes at one link"),
    Scalar("held_back_longest_ns", NS, _CHANGES, "longest time that a packet was held back; null also: none was",
           "longest time held back", "  longest time"),
    Scalar("hold_full_pkts", PKTS, _CHANGES, "packets that came when the hold buffer was full",
           "came to a full hold buffer", "  came to a full buffer"),
    Scalar("copied_bytes", BYTES, _CHANGES, "copies that went over old links (`cures.duplicate`), with their overhead",
           "bytes of copies over old links"),
    Scalar("node_held_max_bytes", BYTES, _CHANGES,
           "most bytes that one node held back at once, before its links and behind them; null: without `[cures]`",
           "bytes held back, most at one node"),
    Scalar("signals_pkts", PKTS, _CHANGES, "end markers and notices that nodes sent; null: without `[cures]`",
           "end markers and notices"),
    Scalar("signals_bytes", BYTES, _CHANGES, "the same in bytes, as Ethernet frames", "  in bytes"),
    Scalar("merge_longest_ns", NS, _CHANGES,
           "longest time that a packet waited for an end marker; null: without `cures.end_marker`, or none did",
           "longest wait for an end marker"),
    Scalar("order_longest_ns", NS, _CHANGES,
           "longest time that a packet waited for its turn; null: without `cures.resequence`, or none did",
           "longest wait for its turn"),
    Scalar("order_waiting_max_bytes", BYTES, _CHANGES,
           "most bytes of one stream that waited for their turn at once; null: without `cures.resequence`",
           "bytes that waited for their turn, most of one stream"),
)

COSTS: Section = (
    Scalar("cpu_s", S, _COST, "processor seconds of guest and host together", "processor time", "CPU time"),
    Scalar("wall_s", S, _COST, "seconds that it took by the clock on the wall", "wall-clock time"),
)
"""These scalars differ between machines, and the trace does not contain them."""

# Jain's index, (sum x)^2 / (n sum x^2) (R. Jain et al., DEC-TR-301, 1984), over the goodput of n competing flows.
FAIRNESS: Section = (
    Scalar("fairness.jain_index", COUNT, Group.GOODPUT,
           "Jain's index over the goodput (in order at the receiver) of the TCP flows that compete (see share_ratio), "
           "while all did: 1 if all got the same, 1/n if one got everything; null: fewer than two, or several groups",
           "Jain's index of competing flows", "Jain's index"),
    Scalar("fairness.from_s", S, Group.GOODPUT, "when these began to compete, all of them"),
    Scalar("fairness.until_s", S, Group.GOODPUT, "when they ceased to"),
    Scalar("fairness.reason", TEXT, Group.GOODPUT, "why there is no index; null: there is, or no two TCP flows"),
)

# Costs depend on the machine. All other scalars are the same wherever the plan is run.
RUN: Section = (
    Scalar("name", TEXT, Group.WHAT, "the scenario's name"),
    *ROUTE_CHANGES,
    *PATH_DELAY,
    Scalar("no_path_s", S, _CHANGES, "time without a path; of the pair for which it is longest", "time without a path",
           "time without a path"),
    Scalar("drops_pkts", PKTS, _PACKETS,
           "packets dropped on links, of every kind; null: not recorded, or packets were not followed",
           "packets dropped on links"),
    *DROPS,
    *CURES,
    Scalar("received_ce_pkts", PKTS, _PACKETS, "packets that arrived at any host with a mark of congestion (CE)",
           "arrived with a mark of congestion (CE)"),
    Scalar("late_outside_changes_pkts", PKTS, _CHANGES,
           "packets that arrived late more than 2 s after any route change; not 0 is a warning, unless a link jitters "
           "or keeps no order", "late packets outside route changes"),
    Scalar("virtual_s", S, _COST,
           "length of the run on its own clock; with `run.ends = \"flows\"` when it was over, not what was planned",
           "virtual time", "virtual time"),
    *COSTS,
    *FAIRNESS,
)
# fmt: on
