# SPDX-License-Identifier: Apache-2.0
"""Packets of a page: those around route changes, with their sending and arrival times from packet truth.

The trace stores the packets of some seconds around each change. For a run of 1000 s these are millions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics import both_ways_ns
from leowarp.metrics.inputs.tables import floats, truths
from leowarp.view.container import MISSING, Arrays, compressed_bytes
from leowarp.view.source import Source

BUDGET_BYTES = 2_000_000
SPANS_S = ((1.0, 3.0), (0.5, 2.0), (0.3, 1.2), (0.2, 0.8), (0.15, 0.5), (0.1, 0.3), (0.05, 0.2), (0.02, 0.1))
"""Candidates for the time before and after a change that is shown, in s. The first one that fits is used."""
IN_WINDOW = 1
"""Bit of `stored_because` which says that the packet was sent while every packet was stored."""
LATE, AGAIN, VAIN, LOST, BACK = 1, 2, 4, 8, 16


def packets_of(source: Source, arrays: Arrays, budget_bytes: int = BUDGET_BYTES) -> dict[str, Any] | None:
    """Packets around changes, sorted by sending time. None: the run stored no packets there.

    `windows` are the intervals (in s) in which every packet in flight is included.

    arrays: Collector to which the arrays are added.
    budget_bytes: Largest size of the compressed columns as base64.
    Returns: `windows`, a list of [from, until] in s. There are also columns with one value per packet, sorted by
        sending time. `sent` and `took` are in ticks (missing: never arrived). `flags` is a sum of 1 late, 2
        retransmission, 4 spurious, 8 lost, 16 back. `flow` and `path_id` are numbers, and `dropped` is the direction of
        the link (-1: none).
    """
    tables = source.tables
    because = floats(tables.packets["stored_because"])
    inside = because % 2 == IN_WINDOW  # false of nan
    if not inside.any():
        return None
    del because
    pairs = {(flow.source, flow.destination) for flow in source.plan.flows}
    changes_ns = np.unique(np.concatenate([both_ways_ns(tables, pair) for pair in sorted(pairs)]))
    # If a run ends with its flows, it may end before its first change.
    changes_ns = changes_ns[changes_ns < source.end_ns]
    # A run without changes stores all packets only if the user requests it. The beginning of such a run is then shown.
    sent_ns = tables.packets["sent_ns"].to_numpy(dtype="int64")
    centres_ns = changes_ns if len(changes_ns) else sent_ns.min(where=inside, initial=source.end_ns, keepdims=True)
    # Numbers of rows, by sending time, within the longest span, which contains all others.
    borders_ns = np.column_stack(_windows(centres_ns, *SPANS_S[0], source.end_ns)).ravel()
    rows = np.flatnonzero(inside & (np.searchsorted(borders_ns, sent_ns, side="right") % 2 == 1))
    rows = rows[np.argsort(sent_ns[rows], kind="stable")]
    sent_ns = sent_ns[rows]
    # The search starts with the longest span. If even the shortest does not fit, the page has no packets; some of them
    # would be an arbitrary selection.
    for before_s, after_s in SPANS_S:
        begins, ends = _windows(centres_ns, before_s, after_s, source.end_ns)
        # The windows of all changes are equally long, so that changes can be compared by eye.
        kept, begins, ends = _within(tables.packets, rows, sent_ns, begins, ends)
        table = _columns(source, kept)
        # Only the times are measured, because the other columns consist of long sequences of equal values. The span is
        # found by trying, because the compression of times depends on the run.
        if sum(compressed_bytes(np.diff(table[name], prepend=0)) for name in ("sent", "took", "flags")) <= budget_bytes:
            break
    else:
        return None
    if len(kept) == 0:
        return None
    return {
        "windows": [[round(float(a) / 1e9, 6), round(float(b) / 1e9, 6)] for a, b in zip(begins, ends, strict=True)],
        "sent": arrays.instants(table["sent"]),
        "took": arrays.integers(table["took"]),
        "flags": arrays.small(table["flags"]),
        **{name: _narrow(table[name], arrays) for name in ("flow", "path_id", "dropped")},
    }


def _narrow(values: np.ndarray, arrays: Arrays) -> dict[str, int]:
    """The values as int16 if they fit, else as int32. The values are numbers of flows, paths and directions of up to a
    million packets."""
    return arrays.shorts(values) if values.max() < 1 << 15 else arrays.integers(values)


def _windows(centres_ns: np.ndarray, before_s: float, after_s: float, end_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """Spans around instants; spans that overlap are joined.

    centres_ns: int array of shape (n,). Ascending.
    Returns: int arrays of shape (k,). The spans are ascending and disjoint, and lie within the run.
    """
    begins = np.maximum(centres_ns - round(before_s * 1e9), 0)
    ends = np.minimum(centres_ns + round(after_s * 1e9), end_ns)
    first = np.append(True, begins[1:] > np.maximum.accumulate(ends)[:-1])
    # The largest end so far is used: if several pairs have changes, a later span may end earlier.
    last = np.append(np.flatnonzero(first)[1:] - 1, len(begins) - 1)
    return begins[first], np.maximum.accumulate(ends)[last]


def _within(
    packets: pd.DataFrame, rows: np.ndarray, sent_ns: np.ndarray, begins: np.ndarray, ends: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Packets sent in the spans, and the intervals in which all packets in flight are included.

    At the beginning of a span, packets that were sent earlier are missing. The interval begins when all packets sent
    before the span must have arrived, given the largest delay.

    rows, sent_ns: int arrays of shape (n,). Those of `packets` that may be chosen, by sending time; and these times.
    begins, ends: Ascending and disjoint.
    """
    spans = [slice(*span) for span in zip(*np.searchsorted(sent_ns, [begins, ends]).tolist(), strict=True)]
    kept = packets.iloc[np.concatenate([rows[span] for span in spans])]
    place = np.repeat(np.arange(len(spans)), [span.stop - span.start for span in spans])
    delay_ns = floats(kept["received_ns"]) - kept["sent_ns"].to_numpy(dtype="float64")
    # The largest delay of all windows is used, because the largest of one window may belong to a packet sent before it.
    longest_ns = float(np.nanmax(delay_ns)) if np.isfinite(delay_ns).any() else 0.0
    has = np.isin(np.arange(len(begins)), place)
    # Before the run began, nothing was sent.
    full = np.where(begins == 0, 0, begins + longest_ns)
    some = has & (full < ends)
    return kept, full[some].astype("int64"), ends[some]


def _columns(source: Source, packets: pd.DataFrame) -> dict[str, np.ndarray]:
    """Columns of the packets as whole numbers, with times in ticks."""
    sent_ns = packets["sent_ns"].to_numpy(dtype="int64")
    sent = source.ticks(sent_ns)
    received = floats(packets["received_ns"]) // source.tick_ns
    # This is the difference of two ticks, not a converted difference. The sum of sent and took is therefore the tick of
    # the arrival.
    took = np.where(np.isfinite(received), received - sent, MISSING)
    flags = (
        LATE * truths(packets["is_late"])
        + AGAIN * truths(packets["is_retransmission"])
        + VAIN * truths(packets["is_spurious"])
        + LOST * packets["drop_cause"].notna().to_numpy()
        + BACK * (packets["direction"].to_numpy() == 1)
    )
    number = np.nan_to_num(floats(packets["path_id"]), nan=-1)
    dropped = np.nan_to_num(floats(packets["drop_direction"]), nan=-1)
    return {
        "sent": sent,
        "took": took.astype("int64"),
        "flow": packets["flow"].to_numpy(dtype="int64"),
        "flags": flags.astype("int64"),
        "path_id": number.astype("int64"),
        "dropped": dropped.astype("int64"),
    }
