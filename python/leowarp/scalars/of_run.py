# SPDX-License-Identifier: Apache-2.0
"""The scalars of a run, in the order of `summary.json`.

If a scalar is in a nested object, its name has a dot between the object and the key (`fairness.jain_index`). The names
in `40-metrics.parquet` have `_` instead of the dot.

>>> [scalar.name for scalar in COSTS]
['cpu_s', 'wall_s']
"""

from __future__ import annotations

from dataclasses import replace

from leowarp.scalars.scalar import BYTES, COUNT, NS, PKTS, TEXT, Group, S, Scalar, Section

_CHANGES, _COST, _PACKETS = Group.CHANGES, Group.COST, Group.PACKETS

# Unit of scalars that count changes instead of packets; pages show no unit for them. The scalars' names end in `pkts`,
# because these names have been in `40-metrics.parquet` since the first version.
_CHANGES_NAMED_PKTS = replace(PKTS, shown="", size=1)

# fmt: off
# If both directions change at the same time, this counts as one change, because with `routing.reverse = "mirror"` both
# always change together.
ROUTE_CHANGES: Section = (
    Scalar("route_changes", COUNT, _CHANGES,
           "changes of the path between stations with a flow, in either direction; changes between the same two "
           "stations at the same instant count once", "route changes", "path changes (to a shorter)"),
    Scalar("route_changes_shorter", COUNT, _CHANGES,
           "route changes to a path with less propagation delay", "route changes to a shorter path"),
    Scalar("route_changes_with_late_pkts", _CHANGES_NAMED_PKTS, _CHANGES,
           "route changes after which late data packets arrived within 5 s, and before the next route change",
           "route changes with late packets"),
)

# The path delay is propagation delay from `20-timeline.parquet`. The path delay does not include queues or jitter.
PATH_DELAY: Section = (
    Scalar("path_delay_min_ns", NS, _CHANGES,
           "smallest one-way propagation delay of the current path, over the paths of all flows' data",
           "path delay, smallest", "path delay, one way"),
    Scalar("path_delay_mean_ns", NS, _CHANGES, "mean propagation delay of the current path, weighted by time",
           "path delay, mean"),
    Scalar("path_delay_max_ns", NS, _CHANGES, "largest propagation delay of the current path", "path delay, largest"),
)

# Lost packets by the cause that links report (docs/concepts/links.md).
DROPS: Section = (
    Scalar("drops_by_cause_pkts.queue", PKTS, _PACKETS, "packets dropped at full queues"),
    Scalar("drops_by_cause_pkts.loss", PKTS, _PACKETS, "packets dropped by the links' own loss"),
    Scalar("drops_by_cause_pkts.link_down", PKTS, _PACKETS, "packets lost because a link went down"),
    Scalar("drops_by_cause_pkts.no_route", PKTS, _PACKETS, "packets dropped because there was no route"),
    Scalar("drops_by_cause_pkts.unknown", PKTS, _PACKETS, "packets dropped at an unknown place"),
)

# The values in this section come from the tables `switches`, `nodetotals`, `merges` and `orders`. A scalar is null if
# its table is missing.
CURES: Section = (
    Scalar("moved_pkts", PKTS, _CHANGES,
           "packets that waited at the old link at a route change and moved to the new link; null: `cures.move_queue`, "
           "`hold` and `duplicate` are off (this also holds for the next five scalars)",
           "packets moved to the new link", "packets moved to the new link"),
    Scalar("held_back_pkts", PKTS, _CHANGES, "packets that were held at a route change before they were queued",
           "packets held back", "packets held back"),
    Scalar("held_back_max_bytes", BYTES, _CHANGES, "most bytes held at once for one change of a forwarding entry",
           "bytes delayed, most at one link", "  most bytes at one link"),
    Scalar("held_back_longest_ns", NS, _CHANGES, "longest hold of a packet; null also: no packet was held",
           "longest time held back", "  longest time"),
    Scalar("hold_full_pkts", PKTS, _CHANGES, "packets that arrived when the hold buffer was full",
           "came to a full hold buffer", "  came to a full buffer"),
    Scalar("copied_bytes", BYTES, _CHANGES, "bytes of the copies that went over old links (`cures.duplicate`), with "
    "the link's overhead",
           "bytes of copies over old links"),
    Scalar("node_held_max_bytes", BYTES, _CHANGES,
           "most bytes that one node held at once, before sending or after arrival; null: `[cures]` is off",
           "bytes delayed, most at one node"),
    Scalar("signals_pkts", PKTS, _CHANGES, "end markers and notices that nodes sent; null: `[cures]` is off",
           "end markers and notices"),
    Scalar("signals_bytes", BYTES, _CHANGES, "bytes of these packets, as Ethernet frames; null: `[cures]` is off",
           "  in bytes"),
    Scalar("merge_longest_ns", NS, _CHANGES,
           "longest wait of a packet for an end marker; null: `cures.end_marker` is off, or no packet waited",
           "longest wait for an end marker"),
    Scalar("order_longest_ns", NS, _CHANGES,
           "longest wait of a packet for its turn; null: no packet waited, or `cures.resequence` and `duplicate` off",
           "longest wait for its turn"),
    Scalar("order_waiting_max_bytes", BYTES, _CHANGES,
           "most bytes of one stream that waited for their turn at once; null: `cures.resequence` and `duplicate` off",
           "bytes that waited for their turn, most of one stream"),
)

COSTS: Section = (
    Scalar("cpu_s", S, _COST, "CPU time of guest and host, added up", "processor time", "CPU time"),
    Scalar("wall_s", S, _COST, "real time that the run took", "wall-clock time"),
)
"""The costs of the run, which differ between machines and are not in the trace."""

# Jain's index, (sum x)^2 / (n sum x^2) (R. Jain et al., DEC-TR-301, 1984), over the goodput of n competing flows.
FAIRNESS: Section = (
    Scalar("fairness.jain_index", COUNT, Group.GOODPUT,
           "Jain's index over the in-order goodput of the competing TCP flows (see `share_ratio`), while all of them "
           "competed. It is 1 if all n flows got the same, and 1/n if one flow got everything; null: see "
           "`fairness.reason`",
           "Jain's index of competing flows", "Jain's index"),
    Scalar("fairness.from_s", S, Group.GOODPUT, "time from which all of these flows competed"),
    Scalar("fairness.until_s", S, Group.GOODPUT, "time until which all of these flows competed"),
    Scalar("fairness.reason", TEXT, Group.GOODPUT,
           "reason why there is no index; null: there is one, or there are fewer than two TCP flows"),
)

# Costs depend on the machine that makes the run. Scalars other than costs are the same on every machine.
RUN: Section = (
    Scalar("name", TEXT, Group.WHAT, "the scenario's name"),
    *ROUTE_CHANGES,
    *PATH_DELAY,
    Scalar("no_path_s", S, _CHANGES, "time without a path, for the pair of stations with the longest such time",
    "time without a path",
           "time without a path"),
    Scalar("drops_pkts", PKTS, _PACKETS,
           "packets dropped on links, for all causes; null: drops were not recorded, or packets were not followed",
           "packets dropped on links"),
    *DROPS,
    *CURES,
    Scalar("received_ce_pkts", PKTS, _PACKETS, "packets that arrived at any host with a congestion mark (CE)",
           "arrived with a congestion mark (CE)"),
    Scalar("late_outside_changes_pkts", PKTS, _CHANGES,
           "late packets that arrived without a route change in the last 2 s. A value above 0 is a warning, unless a "
           "link has jitter or reorders packets", "late packets outside route changes"),
    Scalar("virtual_s", S, _COST,
           "length of the run on its own clock; if `run.ends` is `flows`, its actual length, not the planned one",
           "virtual time", "virtual time"),
    *COSTS,
    *FAIRNESS,
)
# fmt: on
