# SPDX-License-Identifier: Apache-2.0
"""Packets on a page: those around route changes, with sending and arrival times from packet truth.

The trace stores the packets of some seconds around each change. In a run of 1000 s these are millions of packets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics import both_ways_ns
from leowarp.metrics.inputs.tables import floats, truths
from leowarp.results.run import Run
from leowarp.view.clock import tick_ns, ticks
from leowarp.view.container import MISSING, Arrays, compressed_bytes

BUDGET_BYTES = 2_000_000
SPANS_S = ((1.0, 3.0), (0.5, 2.0), (0.3, 1.2), (0.2, 0.8), (0.15, 0.5), (0.1, 0.3), (0.05, 0.2), (0.02, 0.1))
"""Candidates for the shown time before and after a change, in s. The first candidate that fits is used."""
IN_WINDOW = 1
"""Bit of `stored_because` that is set if the packet was sent while every packet was stored."""
LATE, AGAIN, VAIN, LOST, BACK = 1, 2, 4, 8, 16


def packets_of(run: Run, arrays: Arrays, budget_bytes: int = BUDGET_BYTES) -> dict[str, Any] | None:
    """Packets around changes, sorted by sending time. None if the run stored no packets around changes.

    `windows` are the intervals (in s) in which every packet in flight is included.

    arrays: Collector to which the arrays are added.
    budget_bytes: Maximum size of the compressed columns as base64.
    Returns: `windows`, a list of [from, until] in s. The other entries are columns with one value per packet, sorted by
        sending time. `sent` and `took` are in ticks (missing: never arrived). `flags` is a sum of 1 late, 2
        retransmission, 4 spurious, 8 lost, 16 back. `flow` and `path_id` are numbers, and `dropped` is the direction of
        the link (-1: none).
    """
    tables = run.tables
    because = floats(tables.on_request("packets", "stored_because")["stored_because"])
    inside = because % 2 == IN_WINDOW  # nan % 2 is not 1
    if not inside.any():
        return None
    del because
    pairs = {(flow.source, flow.destination) for flow in run.observed_plan.flows}
    changes_ns = np.unique(np.concatenate([both_ways_ns(tables, pair) for pair in sorted(pairs)]))
    # A run that ends with its flows may end before its first change.
    changes_ns = changes_ns[changes_ns < run.end_ns]
    # A run without changes stores all packets only if the user requests it. The page then shows the packets at the
    # beginning of the run.
    sent_ns = tables.packets["sent_ns"].to_numpy(dtype="int64")
    centres_ns = changes_ns if len(changes_ns) else sent_ns.min(where=inside, initial=run.end_ns, keepdims=True)
    # Row numbers, by sending time, within the longest candidate span, which contains all shorter ones.
    borders_ns = np.column_stack(_windows(centres_ns, *SPANS_S[0], run.end_ns)).ravel()
    rows = np.flatnonzero(inside & (np.searchsorted(borders_ns, sent_ns, side="right") % 2 == 1))
    rows = rows[np.argsort(sent_ns[rows], kind="stable")]
    sent_ns = sent_ns[rows]
    path_id = tables.on_request("packets", "path_id")["path_id"]
    # The search starts with the longest span. If even the shortest span does not fit, the page shows no packets,
    # because a part of them would be an arbitrary selection.
    for before_s, after_s in SPANS_S:
        begins, ends = _windows(centres_ns, before_s, after_s, run.end_ns)
        # The windows of all changes have the same length, so that a reader can compare changes.
        kept, begins, ends = _within(tables.packets, rows, sent_ns, begins, ends)
        table = _columns(run, kept.assign(path_id=path_id.iloc[kept.index]))
        # Only the size of the times and flags is measured, because the other columns consist of long sequences of equal
        # values. Each span is tried, because the run determines how well the times compress.
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
    """The values as int16 if they fit, otherwise as int32. The values are numbers of flows, paths and directions of up
    to a million packets."""
    return arrays.shorts(values) if values.max() < 1 << 15 else arrays.integers(values)


def _windows(centres_ns: np.ndarray, before_s: float, after_s: float, end_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """Spans around instants; spans that overlap are joined.

    centres_ns: int array of shape (n,). Instants in ascending order.
    Returns: int arrays of shape (k,). The spans are ascending and disjoint, and lie within the run.
    """
    begins = np.maximum(centres_ns - round(before_s * 1e9), 0)
    ends = np.minimum(centres_ns + round(after_s * 1e9), end_ns)
    first = np.append(True, begins[1:] > np.maximum.accumulate(ends)[:-1])
    # The largest end so far counts, because with changes of several pairs a later span may end earlier.
    last = np.append(np.flatnonzero(first)[1:] - 1, len(begins) - 1)
    return begins[first], np.maximum.accumulate(ends)[last]


def _within(
    packets: pd.DataFrame, rows: np.ndarray, sent_ns: np.ndarray, begins: np.ndarray, ends: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Packets sent in the spans, and the intervals in which all packets in flight are included.

    At the beginning of a span, packets that were sent earlier are missing. The interval therefore begins when all
    packets sent before the span must have arrived, given the largest delay.

    rows, sent_ns: int arrays of shape (n,). Rows of `packets` that may be selected, sorted by sending time; and their
        sending times.
    begins, ends: Ends of the spans, ascending and disjoint.
    """
    spans = [slice(*span) for span in zip(*np.searchsorted(sent_ns, [begins, ends]).tolist(), strict=True)]
    kept = packets.iloc[np.concatenate([rows[span] for span in spans])]
    place = np.repeat(np.arange(len(spans)), [span.stop - span.start for span in spans])
    delay_ns = floats(kept["received_ns"]) - kept["sent_ns"].to_numpy(dtype="float64")
    # The largest delay over all windows is used, because a packet that was sent before a window may have a larger delay
    # than those in it.
    longest_ns = float(np.nanmax(delay_ns)) if np.isfinite(delay_ns).any() else 0.0
    has = np.isin(np.arange(len(begins)), place)
    # No packet was sent before the run began.
    full = np.where(begins == 0, 0, begins + longest_ns)
    some = has & (full < ends)
    return kept, full[some].astype("int64"), ends[some]


def _columns(run: Run, packets: pd.DataFrame) -> dict[str, np.ndarray]:
    """Columns of the packets as whole numbers, with times in ticks."""
    sent_ns = packets["sent_ns"].to_numpy(dtype="int64")
    sent = ticks(run, sent_ns)
    received = floats(packets["received_ns"]) // tick_ns(run)
    # A difference of two ticks is used instead of a converted difference. The sum of `sent` and `took` is then exactly
    # the tick of the arrival.
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
