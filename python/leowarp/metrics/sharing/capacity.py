# SPDX-License-Identifier: Apache-2.0
"""Capacity of the path of a pair of stations over time, for links with rates and with capacity tables.

Capacity is the rate of the narrowest link alone: delay, loss and other flows do not reduce it.
"""

from __future__ import annotations

import numpy as np

from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import LinkValues, link_values
from leowarp.metrics.inputs.series import bin_edges
from leowarp.metrics.inputs.tables import Tables, floats
from leowarp.metrics.per_flow.goodput import Life, counter

IPV4_HEADER_BYTES = 20
IP_BYTES = 1500
"""Length of a full packet, IP header included: Ethernet's largest payload, and the largest `network.mtu`."""

ETHERNET_BYTES = 14
"""The Ethernet header, which the kernel's queueing disciplines count (docs/concepts/links.md)."""

BELOW_RATIO = 0.9
"""Share of the capacity; the same share as in the definition of recovered goodput (`recovery.RecoveryRule`)."""

BELOW_BIN_NS = 1_000_000_000
"""If bins were shorter than a few round trips, a hole in the sequence and its filling would count as a dip and a
burst."""


def path_capacity(tables: Tables, pair: Pair, edges_ns: np.ndarray, links: LinkValues | None = None) -> np.ndarray:
    """Mean rate of the narrowest link of the path in force, in bins; nan if no link is shaped or there is no path.

    A bin has the path in force at its start. The narrowest link is the one with the smallest mean over the bin.

    pair: (str, str). Source and destination station.
    edges_ns: int64 array of shape (n + 1,), strictly increasing. Borders of the bins.
    links: Link values of the tables' timeline, if the caller has them already.
    Returns: float64 array of shape (n,), in bits that the link counts: IP packet and overhead
    """
    links = links or link_values(tables)
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
                rates[link] = links.capacity_bits(*link, edges_ns) * 1e9 / np.diff(edges_ns)
            # fmin ignores nan: a link without a rate limits nothing.
            capacity_bps[here] = np.fmin(capacity_bps[here], rates[link][here])
    return capacity_bps


def mean_path_capacity(
    tables: Tables, pair: Pair, start_ns: int, end_ns: int, links: LinkValues | None = None
) -> float | None:
    """Mean rate of the narrowest link over a time, bit/s, weighted by time; it counts as 0 while there is no path.

    Between two route changes the narrowest link is the one with the smallest mean.

    Returns: None if the time is empty, there are no routes, or at some time no link of the path is shaped.
    """
    if end_ns <= start_ns or len(pair_routes(tables, pair)) == 0:
        return None
    mean = float(mean_in_bins(tables, pair, np.array([start_ns, end_ns]), links)[0])
    return None if np.isnan(mean) else mean


def mean_in_bins(tables: Tables, pair: Pair, edges_ns: np.ndarray, links: LinkValues | None = None) -> np.ndarray:
    """Mean rate of the narrowest link in each bin, cut where the route changes; nan where no link is shaped.

    Parameters
    ----------
    edges_ns : int64 array of shape (n + 1,), strictly increasing

    Returns
    -------
    float64 array of shape (n,), bit/s; 0 where there is no path
    """
    routes = pair_routes(tables, pair)
    t_ns, paths = routes["t_ns"].to_numpy(dtype="int64"), list(routes["path"])
    # Bins are cut where the route changes, since `path_capacity` uses the path at the start of a bin for all of it.
    cuts_ns = np.unique(np.concatenate([edges_ns, t_ns[(t_ns > edges_ns[0]) & (t_ns < edges_ns[-1])]]))
    rate_bps = path_capacity(tables, pair, cuts_ns, links)
    place = np.searchsorted(t_ns, cuts_ns[:-1], side="right") - 1
    # Before the first route, and while there is none, no data can be carried: 0, whereas nan means "not shaped".
    rate_bps[np.array([number < 0 or paths[number] is None for number in place], dtype=bool)] = 0.0
    first = np.searchsorted(cuts_ns, edges_ns[:-1])
    return np.add.reduceat(rate_bps * np.diff(cuts_ns), first) / np.diff(edges_ns)


def below_capacity_ratio(
    tables: Tables,
    number: int,
    pair: Pair,
    lived: Life,
    links: LinkValues,
    ip_bytes: int = IP_BYTES,
    ip_header_bytes: int = IPV4_HEADER_BYTES,
) -> float | None:
    """Share of a flow's life in which its goodput was below `BELOW_RATIO` of its path's capacity.

    The unit is a whole second of the run's clock within the flow's life and its samples. The capacity of a second is
    the mean of the narrowest link of the path in force; the second is cut where the path changes, so two paths count in
    proportion. A second without any capacity is left out. The result is None if no link is shaped or no whole second
    was sampled.
    """
    t_ns, received = counter(tables, number, "in_order")
    start_ns = lived.start_ns
    later = t_ns > start_ns
    # A single sample at the socket's end describes only its whole life.
    if later.sum() < 2 or len(pair_routes(tables, pair)) == 0:
        return None
    # At its start a flow has received nothing; without that point the time up to the first sample would be left out.
    t_ns, received = np.append(start_ns, t_ns[later]), np.append(0.0, received[later])
    edges_ns = bin_edges(-(-start_ns // BELOW_BIN_NS) * BELOW_BIN_NS, min(lived.stop_ns, int(t_ns[-1])), BELOW_BIN_NS)
    if len(edges_ns) < 2:
        return None
    goodput_bps = np.diff(np.interp(edges_ns, t_ns, received)) * 8e9 / BELOW_BIN_NS
    share = payload_ratio(tables, number, overhead_bytes(tables, pair), ip_bytes, ip_header_bytes)
    carries_bps = mean_in_bins(tables, pair, edges_ns, links) * share
    known = carries_bps > 0
    return float((goodput_bps[known] < BELOW_RATIO * carries_bps[known]).mean()) if known.any() else None


def capacity_scalars(
    tables: Tables,
    number: int,
    pair: Pair,
    lived: Life,
    goodput_bps: float | None,
    links: LinkValues,
    ip_bytes: int = IP_BYTES,
    ip_header_bytes: int = IPV4_HEADER_BYTES,
) -> dict[str, float | None]:
    """Payload that the path could have carried for a flow in full segments during its life, and the flow's goodput as a
    share of it. Flows that share the path share the capacity.

    pair: (str, str). The flow's source and destination.
    lived: `life(...)` of the flow.
    goodput_bps: Mean goodput over that time, in order at the receiver.
    ip_bytes, ip_header_bytes: Length of its full packets, `network.mtu`, and of their IP headers.
    Returns: `path_capacity_mean_bps` (bit/s of payload) and `capacity_used_ratio`; unknown values are None.
    """
    mean_bps = mean_path_capacity(tables, pair, lived.start_ns, lived.stop_ns, links)
    # Goodput counts payload, and a link's rate counts whole packets: without this factor the ratio of a full link would
    # be 0.956.
    share = payload_ratio(tables, number, overhead_bytes(tables, pair), ip_bytes, ip_header_bytes)
    carries = mean_bps * share if mean_bps is not None else None
    used = goodput_bps / carries if carries and goodput_bps is not None else None
    return {
        "path_capacity_mean_bps": carries,
        "capacity_used_ratio": used,
        "below_capacity_ratio": below_capacity_ratio(tables, number, pair, lived, links, ip_bytes, ip_header_bytes),
    }


def payload_ratio(
    tables: Tables, flow: int, overhead_bytes: int, ip_bytes: int = IP_BYTES, ip_header_bytes: int = IPV4_HEADER_BYTES
) -> float:
    """Payload of a full segment as a share of the bytes that a link counts for it: 1448 of 1514 bytes with timestamps
    and an overhead of 14.

    The segment is the largest one in any sample of the sender's socket (`snd_mss_bytes`, the kernel's `tcpi_snd_mss`).

    overhead_bytes: Bytes that a link counts in addition to an IP packet.
    ip_bytes, ip_header_bytes: Length of a full IP packet, and of its IP header.
    """
    segments = floats(tables.of_flow("sockets", flow)["snd_mss_bytes"])
    known = segments[~np.isnan(segments)]
    # For a flow without a sample of its segment size: IP, TCP (20) and timestamps (12, RFC 7323, appendix A), in bytes.
    headers_bytes = ip_header_bytes + 32
    segment_bytes = float(known.max()) if len(known) else float(ip_bytes - headers_bytes)
    # A program may request smaller segments (TCP_MAXSEG). It is unknown whether these have timestamps: the formula
    # assumes none, so that the share of the capacity is never too high.
    is_full = ip_bytes - segment_bytes <= headers_bytes
    packet_bytes = ip_bytes if is_full else segment_bytes + ip_header_bytes + 20
    return segment_bytes / (packet_bytes + overhead_bytes)


def overhead_bytes(tables: Tables, pair: Pair) -> int:
    """Bytes per packet in addition to its IP length, on the links of a pair's first path; 14 if the timeline does not
    say.

    If links differ, the largest value counts: the share of payload may then be too low, but never too high.
    """
    told = tables.link_overheads_bytes
    # One path stands for all: all links of a medium have the same overhead, whichever path is used.
    first = next((path for path in pair_routes(tables, pair)["path"] if path is not None), None)
    values = [told[frozenset(link)] for link in tables.links_of(first) if frozenset(link) in told]
    known = [value for value in values if not np.isnan(value)]
    return int(max(known)) if known else ETHERNET_BYTES
