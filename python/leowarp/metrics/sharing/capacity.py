# SPDX-License-Identifier: Apache-2.0
"""The capacity of a pair's path over time. A link may have a constant rate, rate events or a capacity table.

The capacity is the rate of the slowest link. It does not depend on delay, loss or other flows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.base.instants import distinct
from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import link_values
from leowarp.metrics.inputs.series import bin_edges
from leowarp.metrics.inputs.tables import Tables, floats
from leowarp.metrics.per_flow.goodput import Life, received_since

IPV4_HEADER_BYTES = 20
IP_BYTES = 1500
"""The length of a full packet including the IP header. Ethernet's largest payload and the largest `network.mtu` are
both 1,500 bytes."""

ETHERNET_BYTES = 14
"""The length of the Ethernet header. The kernel's queueing disciplines count this header (docs/concepts/links.md)."""

BELOW_RATIO = 0.9
"""A flow's goodput counts as low if it is below this share of the path's capacity. `recovery.RecoveryRule` uses the
same share of a different rate: the rate before a route change."""

BELOW_BIN_NS = 1_000_000_000
"""The length of the bins in which goodput and capacity are compared. Bins must be longer than a few round trips. With
shorter bins, a lost packet would look like a dip, and its retransmission like a burst."""


def path_capacity(tables: Tables, pair: Pair, edges_ns: np.ndarray) -> np.ndarray:
    """Return the mean rate in each bin of the slowest link on the current path. nan means no rate limit or no path.

    For each bin, the path is the one at the bin's start, even if the route changes within the bin. The slowest link is
    the one with the smallest mean rate in the bin.

    edges_ns: int64 array of shape (n + 1,), strictly increasing. The edges of the bins.
    Returns: float64 array of shape (n,), in bit/s. A packet counts with its IP length and the overhead that the link
        counts.
    """
    edges_ns = np.asarray(edges_ns, dtype="int64")
    routes = pair_routes(tables, pair)
    place = np.searchsorted(routes["t_ns"].to_numpy(dtype="int64"), edges_ns[:-1], side="right") - 1
    capacity_bps = np.full(max(len(edges_ns) - 1, 0), np.nan)
    taken = [tuple(tables.links_of(path)) for path in routes["path"]]
    rates: dict[Pair, np.ndarray] = {}
    for path in dict.fromkeys(taken):
        here = np.array([number >= 0 and taken[number] == path for number in place], dtype=bool)
        for link in path:
            if link not in rates:
                rates[link] = link_values(tables).capacity_bits(*link, edges_ns) * 1e9 / np.diff(edges_ns)
            # The rate of a link without a limit is nan, which fmin ignores.
            capacity_bps[here] = np.fmin(capacity_bps[here], rates[link][here])
    return capacity_bps


def mean_path_capacity(tables: Tables, pair: Pair, start_ns: int, end_ns: int) -> float | None:
    """Return the mean rate of the path's slowest link from `start_ns` to `end_ns`, in bit/s, as `mean_in_bins` does.
    None means an empty time span, no routes, or a path without a rate limit for a part of the time."""
    if end_ns <= start_ns or len(pair_routes(tables, pair)) == 0:
        return None
    mean = float(mean_in_bins(tables, pair, np.array([start_ns, end_ns]))[0])
    return None if np.isnan(mean) else mean


def mean_in_bins(tables: Tables, pair: Pair, edges_ns: np.ndarray) -> np.ndarray:
    """Return the mean rate of the slowest link in each bin. nan means that no link has a rate limit. If the route
    changes within a bin, the bin is divided at the change.

    edges_ns: int64 array of shape (n + 1,), strictly increasing
    Returns: float64 array of shape (n,), bit/s. The value of a bin without a path is 0.
    """
    routes = pair_routes(tables, pair)
    t_ns, paths = routes["t_ns"].to_numpy(dtype="int64"), list(routes["path"])
    # `path_capacity` uses the path at the start of a bin for the whole bin.
    cuts_ns = distinct([edges_ns, t_ns[(t_ns > edges_ns[0]) & (t_ns < edges_ns[-1])]])
    rate_bps = path_capacity(tables, pair, cuts_ns)
    place = np.searchsorted(t_ns, cuts_ns[:-1], side="right") - 1
    # Before the first route, and while there is no route, no data can be carried. The rate is therefore 0: nan would
    # mean that the rate has no limit.
    rate_bps[np.array([number < 0 or paths[number] is None for number in place], dtype=bool)] = 0.0
    first = np.searchsorted(cuts_ns, edges_ns[:-1])
    return np.add.reduceat(rate_bps * np.diff(cuts_ns), first) / np.diff(edges_ns)


def below_capacity_ratio(tables: Tables, number: int, pair: Pair, lived: Life, share: float) -> float | None:
    """Return the share of a flow's life in which its goodput was low: below `BELOW_RATIO` times the capacity of its
    path. `share` is the `payload_ratio` of the flow.

    Only complete seconds of the run's clock count. Each second must lie within the flow's life, and end no later than
    the flow's last sample. The capacity in a second is the mean rate of the slowest link on the current path. If the
    path changes during a second, each path's rate is weighted by its time in force. Seconds in which the capacity is 0
    are left out. The result is None if no link has a rate limit, or if no complete second was sampled.
    """
    start_ns = lived.start_ns
    t_ns, received = received_since(tables, number, start_ns)
    # If the only sample after the start was taken when the socket closed, only the mean rate over the life is known.
    if len(t_ns) < 3 or len(pair_routes(tables, pair)) == 0:
        return None
    edges_ns = bin_edges(-(-start_ns // BELOW_BIN_NS) * BELOW_BIN_NS, min(lived.stop_ns, int(t_ns[-1])), BELOW_BIN_NS)
    if len(edges_ns) < 2:
        return None
    goodput_bps = np.diff(np.interp(edges_ns, t_ns, received)) * 8e9 / BELOW_BIN_NS
    carries_bps = mean_in_bins(tables, pair, edges_ns) * share
    known = carries_bps > 0
    return float((goodput_bps[known] < BELOW_RATIO * carries_bps[known]).mean()) if known.any() else None


def capacity_scalars(
    tables: Tables, number: int, pair: Pair, lived: Life, goodput_bps: float | None, network: Any
) -> dict[str, float | None]:
    """Return the payload rate at which full segments would fill the path during a flow's life, and the shares of it
    that the flow used. The capacity is that of the whole path, even if other flows use a part of it.

    goodput_bps: The mean goodput of the flow during its life, counted in order at the receiver.
    network: The plan's `network`, with the length of full packets and of their IP header.
    """
    mean_bps = mean_path_capacity(tables, pair, lived.start_ns, lived.stop_ns)
    # Goodput counts payload, while the rate of a link counts whole packets. Without the factor `share`, a flow that
    # fills the link with full segments would have a ratio of goodput to rate of 0.956, not 1.
    share = payload_ratio(tables, number, overhead_bytes(tables, pair), network.mtu_bytes, network.ip_header_bytes)
    carries = mean_bps * share if mean_bps is not None else None
    used = goodput_bps / carries if carries and goodput_bps is not None else None
    return {
        "path_capacity_mean_bps": carries,
        "capacity_used_ratio": used,
        "below_capacity_ratio": below_capacity_ratio(tables, number, pair, lived, share),
    }


def payload_ratio(
    tables: Tables, flow: int, overhead_bytes: int, ip_bytes: int = IP_BYTES, ip_header_bytes: int = IPV4_HEADER_BYTES
) -> float:
    """Return the payload of a full segment, divided by the bytes that a link counts for the segment. With timestamps
    and an overhead of 14 bytes, 1448 of 1514 bytes are payload.

    The segment size is the largest value of `snd_mss_bytes` in the sender's socket samples (the kernel's
    `tcpi_snd_mss`).

    ip_bytes, ip_header_bytes: The length of a full IP packet, and of its IP header.
    """
    segments = floats(tables.of_flow("sockets", flow)["snd_mss_bytes"])
    known = segments[~np.isnan(segments)]
    # These header bytes are used if the segment size of a flow was not sampled. They are the IP header, 20 bytes of TCP
    # header, and 12 bytes of timestamps (RFC 7323, appendix A).
    headers_bytes = ip_header_bytes + 32
    segment_bytes = float(known.max()) if len(known) else float(ip_bytes - headers_bytes)
    # The segment size may be smaller than usual, because a program requested it (TCP_MAXSEG). It is unknown whether
    # these smaller segments have timestamps. The formula assumes that small segments have no timestamps, so that the
    # share of the capacity is never too high.
    is_full = ip_bytes - segment_bytes <= headers_bytes
    packet_bytes = ip_bytes if is_full else segment_bytes + ip_header_bytes + 20
    return segment_bytes / (packet_bytes + overhead_bytes)


def overhead_bytes(tables: Tables, pair: Pair) -> int:
    """Return the number of bytes per packet that the links of a pair's first path add to the IP length. The default is
    14 if the timeline gives no number.

    If links have different overheads, the largest overhead is used. The computed share of payload may therefore be too
    low, but never too high.
    """
    told = tables.link_overheads_bytes
    # The links of one path are enough, because all links of a medium have the same overhead.
    first = next((path for path in pair_routes(tables, pair)["path"] if path is not None), None)
    values = [told[frozenset(link)] for link in tables.links_of(first) if frozenset(link) in told]
    known = [value for value in values if not np.isnan(value)]
    return int(max(known)) if known else ETHERNET_BYTES
