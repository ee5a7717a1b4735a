# SPDX-License-Identifier: Apache-2.0
"""What the path of a pair of stations could carry over time: rates and tables of capacity alike."""

from __future__ import annotations

import numpy as np

from leowarp.metrics.changes import pair_routes
from leowarp.metrics.channels import Pair
from leowarp.metrics.link_values import LinkValues, link_values
from leowarp.metrics.tables import Tables, floats

IP_BYTES = 1500
"""Length of a full packet."""


def path_capacity(tables: Tables, pair: Pair, edges_ns: np.ndarray, links: LinkValues | None = None) -> np.ndarray:
    """Mean rate of the narrowest link of the path in force, in bins; nan where none is shaped or there is no path.

    A bin belongs to the path at its start. The narrowest link is that of the smallest mean over the bin.

    Parameters
    ----------
    edges_ns : int64 array of shape (n + 1,), increasing

    Returns
    -------
    capacity_bps : float64 array of shape (n,), of what the link counts: IP packet and overhead
    """
    links = links or link_values(tables)
    edges_ns = np.asarray(edges_ns, dtype="int64")
    routes = pair_routes(tables, pair)
    place = np.searchsorted(routes["t_ns"].to_numpy(dtype="int64"), edges_ns[:-1], side="right") - 1
    found = np.full(max(len(edges_ns) - 1, 0), np.nan)
    taken = [tuple(tables.links_of(path)) for path in routes["path"]]
    rates: dict[Pair, np.ndarray] = {}
    for path in dict.fromkeys(taken):
        here = np.array([number >= 0 and taken[number] == path for number in place], dtype=bool)
        for link in path:
            if link not in rates:
                rates[link] = links.capacity_bits(*link, edges_ns) * 1e9 / np.diff(edges_ns)
            found[here] = np.fmin(found[here], rates[link][here])
    return found


def payload_ratio(tables: Tables, flow: int, overhead_bytes: int, ip_bytes: int = IP_BYTES) -> float:
    """Payload of a full segment over what a link counts of it: 1448 of 1514 bytes with timestamps, overhead 14."""
    segments = floats(tables.of_flow("sockets", flow)["snd_mss_bytes"])
    known = segments[~np.isnan(segments)]
    # Of a flow that never sampled its segments: IP, TCP and timestamps are 52 bytes.
    return (float(known.max()) if len(known) else ip_bytes - 52.0) / (ip_bytes + overhead_bytes)


def overhead_bytes(tables: Tables, pair: Pair) -> int:
    """Bytes a packet on top of its IP length, of the links of a pair's first path; 14 if the timeline does not say."""
    timeline = tables.timeline
    if "overhead_bytes" not in timeline:
        return 14
    made = timeline[(timeline["event"] == "link").to_numpy(dtype=bool)]
    told = {frozenset(ends): value for *ends, value in zip(made["a"], made["b"], floats(made["overhead_bytes"]),
                                                           strict=True)}  # fmt: skip
    first = next((path for path in pair_routes(tables, pair)["path"] if path is not None), None)
    values = [told[frozenset(link)] for link in tables.links_of(first) if frozenset(link) in told]
    known = [value for value in values if not np.isnan(value)]
    return int(max(known)) if known else 14
