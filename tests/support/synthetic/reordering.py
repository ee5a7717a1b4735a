# SPDX-License-Identifier: Apache-2.0
"""The reordering of the synthetic run's packets, computed from the definitions in RFC 4737 and RFC 5236.

The module shares no code with the guest's crate, so that the two can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

THRESHOLD_PKTS = 1000
RUN, WINDOW, CHANGE = 0, 1, 2
DENSITY, BUFFER_DENSITY, N_REORDERING, EXTENT = 0, 1, 2, 3


def reordering_tables(
    data: pd.DataFrame, scopes: Iterable[tuple[int, int, int, int]], payload_bytes: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables `reordering` and `densities` of flow 0.

    data: `number`, `sent_ns`, `received_ns` (missing if the packet never arrived), `is_retransmission`.
    scopes: iterable of (scope, number, t_ns, end_ns). A scope contains the packets that were sent at or after t_ns and
        before end_ns.
    """
    first = data[~data["is_retransmission"].astype(bool)].sort_values("sent_ns", kind="stable")
    rows, bars = [], []
    for scope, number, t_ns, end_ns in scopes:
        mine = first[first["sent_ns"].between(t_ns, end_ns, inclusive="left")]
        row, histograms = measured(
            mine["sent_ns"].to_numpy(), mine["received_ns"].to_numpy("float64", na_value=np.nan), payload_bytes
        )
        rows.append({"flow": 0, "scope": scope, "number": number, "t_ns": t_ns, "end_ns": end_ns, **row})
        bars += [
            {"flow": 0, "scope": scope, "number": number, "kind": kind, "index": index, "pkts": pkts}
            for kind, histogram in histograms.items()
            for index, pkts in sorted(histogram.items())
        ]
    return pd.DataFrame(rows), pd.DataFrame(bars)


def measured(
    sent_ns: np.ndarray, received_ns: np.ndarray, payload_bytes: int, threshold_pkts: int = THRESHOLD_PKTS
) -> tuple[dict[str, Any], dict[int, Counter[int]]]:
    """Return scalars and histograms of one sequence of packets. The packets are numbered in order of sending.
    `received_ns` is nan for lost packets.

    The results are valid only if no packet is displaced by more than the threshold. A packet that is displaced further
    counts as lost. This changes the displacements of all other packets. Such a sequence needs the algorithm of the RFC.
    """
    arrived = np.flatnonzero(~np.isnan(received_ns))
    arrivals = arrived[np.argsort(received_ns[arrived], kind="stable")]
    when_ns = received_ns[arrivals].astype("int64")
    late = _late(arrivals)
    extents = {place: place - first for place, first in late.items()}
    # Each late packet ends a run of packets that are in order. No late packet ends the last run. This run counts only
    # in `a`, the number of packets in order (RFC 4737, 4.6).
    runs, in_order = np.diff([-1, *sorted(late)]) - 1, len(arrivals) - len(late)
    breaks = sorted(set(late.values()))
    ns = [int(when_ns[place]) for place in breaks]
    # The receive indices are the numbers that arrived, sorted; the displacement is the receive index minus the number
    # (RFC 5236, 3.3).
    displaced = np.sort(arrivals) - arrivals
    counted = displaced[np.abs(displaced) <= threshold_pkts]
    density = Counter(int(d) for d in counted)
    occupancy = Counter(buffer_occupancy(arrivals, threshold_pkts))
    shares = np.array(list(density.values())) / max(len(counted), 1)
    times = [int(when_ns[place] - when_ns[first]) for place, first in late.items()]
    offsets = [payload_bytes * int((arrivals[:place] > arrivals[place]).sum()) for place in late]
    n_reordered = Counter(n for place in late for n in range(1, _n_of(arrivals, place) + 1))
    row = {
        "sent_pkts": len(sent_ns), "received_pkts": len(arrivals), "lost_pkts": len(sent_ns) - len(arrivals),
        "reordered_pkts": len(late), "discontinuities": len(breaks), "runs": len(runs),
        "density_pkts": len(counted), "density_beyond_pkts": len(arrivals) - len(counted),
        "reordered3_pkts": n_reordered[3],
        "extent_mean_pkts": _mean(list(extents.values())), "extent_max_pkts": max(extents.values(), default=None),
        "late_time_mean_ns": _mean(times), "late_time_max_ns": max(times, default=None),
        "byte_offset_mean_bytes": _mean(offsets), "byte_offset_max_bytes": max(offsets, default=None),
        "gap_mean_pkts": _mean(np.diff(breaks)), "gap_mean_ns": _mean(np.diff(ns)),
        "run_mean_pkts": in_order / len(runs) if len(runs) else None,
        "run_variability_ratio": float((runs**2).sum() / in_order**2 * len(runs)) if len(runs) and in_order else None,
        "mean_displacement_pkts": _mean(np.abs(counted)),
        "entropy_nats": float(-(shares * np.log(shares)).sum()) + 0.0 if len(counted) else None,
        "buffer_mean_pkts": _mean(list(occupancy.elements())),
    }  # fmt: skip
    return row, {DENSITY: density, BUFFER_DENSITY: occupancy, N_REORDERING: n_reordered,
                 EXTENT: Counter(int(e) for e in extents.values())}  # fmt: skip


def run_scalars(answer: dict[str, Any]) -> dict[str, float | None]:
    """Convert the output of `leowarp reorder --json` to the names of a run's scalars."""
    extent, gaps, runs = answer["extent"], answer["gaps"], answer["runs"]
    same = ("reordered_ratio", "mean_displacement_pkts", "entropy_nats", "buffer_mean_pkts")
    return {
        **{name: answer[name] for name in same},
        **{name: extent[name] for name in ("late_time_mean_ns", "late_time_max_ns", "byte_offset_max_bytes")},
        "reordered3_ratio": answer["n_reordering"]["3"],
        "reordering_extent_mean_pkts": extent["mean_pkts"],
        "reordering_extent_max_pkts": extent["max_pkts"],
        "reordering_discontinuities": gaps["reordering_discontinuities"],
        "reordering_free_run_mean_pkts": runs["mean_pkts"],
        "density_beyond_pkts": answer["density_early_beyond_pkts"] + answer["density_late_beyond_pkts"],
    }


def buffer_occupancy(arrivals: Iterable[int], threshold_pkts: int) -> list[int]:
    """Return the number of packets in the buffer after each arrival that counts (RFC 5236, 7.2)."""
    expected, occupancy = 0, []
    held: set[int] = set()
    for number in arrivals:
        if number < expected:
            # If the buffer gave up a packet before it arrived, the packet is ignored.
            continue
        if number > expected and len(held) == threshold_pkts:
            # The buffer is full, so packets are given up until the first packet that has arrived.
            expected = min(*held, number)
        held.add(number)
        while expected in held:
            held.discard(expected)
            expected += 1
        occupancy.append(len(held))
    return occupancy


def _late(arrivals: np.ndarray) -> dict[int, int]:
    """Return a dict from the position of a late packet to the position of the first packet that overtook it. Positions
    are in the order of arrival."""
    highest = np.maximum.accumulate(arrivals) if len(arrivals) else arrivals
    places = np.flatnonzero(arrivals < highest)
    return {int(place): int(np.searchsorted(highest, arrivals[place], side="right")) for place in places}


def _n_of(arrivals: np.ndarray, place: int) -> int:
    """Return how many successive packets arrived directly before this packet although they were sent later (RFC 4737,
    5.3)."""
    n = 0
    while n < place and arrivals[place - 1 - n] > arrivals[place]:
        n += 1
    return n


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None
