# SPDX-License-Identifier: Apache-2.0
"""The packets around route changes, for the animated page. Sending and arrival times are those in the trace.

The trace contains the packets of some seconds before and after each change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.base.instants import distinct
from leowarp.metrics import both_ways_ns
from leowarp.metrics.inputs.tables import floats, truths
from leowarp.results.run import Run
from leowarp.view.clock import tick_ns, ticks
from leowarp.view.container import MISSING, Arrays, compressed_bytes

BUDGET_BYTES = 2_000_000
SPANS_S = ((1.0, 3.0), (0.5, 2.0), (0.3, 1.2), (0.2, 0.8), (0.15, 0.5), (0.1, 0.3), (0.05, 0.2), (0.02, 0.1))
"""Each pair contains a time before and a time after a change, in s. The page shows the first pair whose packets fit
`budget_bytes` (see `packets_of`)."""
IN_WINDOW = 1
"""The bit of `stored_because` that is set if all packets were stored when the packet was sent."""
LATE, AGAIN, VAIN, LOST, BACK = 1, 2, 4, 8, 16


def packets_of(run: Run, arrays: Arrays, budget_bytes: int = BUDGET_BYTES) -> dict[str, Any] | None:
    """Return the packets around route changes, sorted by sending time. The result is None if the run stored no packets.

    Within each of the `windows` (intervals in s), all packets in flight are included.

    budget_bytes: The maximum size of the columns, compressed and as base64.
    Returns: The `windows`, a list of [from, until] in s. All other entries are columns with one value per packet.
        `sent` (sending time) and `took` (time until arrival, missing for a lost packet) are in ticks. `flags` is the
        sum of 1 for late, 2 for a retransmission, 4 for spurious, 8 for lost, 16 for a return packet. `flow` and
        `path_id` are numbers. `dropped` is the number of the direction that dropped the packet (-1: none).
    """
    tables = run.tables
    because = floats(tables.packets["stored_because"])
    inside = because % 2 == IN_WINDOW  # a missing value gives False, because nan % 2 is nan
    if not inside.any():
        return None
    del because
    pairs = {(flow.source, flow.destination) for flow in run.observed_plan.flows}
    changes_ns = distinct([both_ways_ns(tables, pair) for pair in sorted(pairs)])
    # A run that ends when its flows are complete may end before the first change.
    changes_ns = changes_ns[changes_ns < run.end_ns]
    # If a run has no changes, all packets are stored only if the user requests it. For a run without changes, the page
    # shows the run's first packets.
    sent_ns = tables.packets["sent_ns"].to_numpy(dtype="int64")
    centres_ns = changes_ns if len(changes_ns) else sent_ns.min(where=inside, initial=run.end_ns, keepdims=True)
    # These are the row numbers of the packets within the longest span, in order of sending time. All shorter spans lie
    # within the longest span.
    borders_ns = np.column_stack(_windows(centres_ns, *SPANS_S[0], run.end_ns)).ravel()
    rows = np.flatnonzero(inside & (np.searchsorted(borders_ns, sent_ns, side="right") % 2 == 1))
    rows = rows[np.argsort(sent_ns[rows], kind="stable")]
    sent_ns = sent_ns[rows]
    # Candidates are tried from the longest to the shortest. If even the packets of the shortest span do not fit, the
    # page shows no packets, because any part of them would be arbitrary.
    for before_s, after_s in SPANS_S:
        begins, ends = _windows(centres_ns, before_s, after_s, run.end_ns)
        # The time that is shown before and after a change is the same for all changes, so that a reader can compare
        # them.
        kept, begins, ends = _within(tables.packets, rows, sent_ns, begins, ends)
        table = _columns(run, kept)
        # Only the size of times and flags is computed, because the other columns are long sequences of equal values and
        # take little space. The columns are compressed for each candidate, because the compression of times differs
        # between runs.
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
    return arrays.shorts(values) if values.max() < 1 << 15 else arrays.integers(values)


def _windows(centres_ns: np.ndarray, before_s: float, after_s: float, end_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the begins and ends of the spans of time around the ascending `centres_ns`. Overlapping spans are joined,
    and no span leaves the run."""
    begins = np.maximum(centres_ns - round(before_s * 1e9), 0)
    ends = np.minimum(centres_ns + round(after_s * 1e9), end_ns)
    first = np.append(True, begins[1:] > np.maximum.accumulate(ends)[:-1])
    # A span may end earlier than a span before it. Each span is therefore compared with the latest end of all earlier
    # spans.
    last = np.append(np.flatnonzero(first)[1:] - 1, len(begins) - 1)
    return begins[first], np.maximum.accumulate(ends)[last]


def _within(
    packets: pd.DataFrame, rows: np.ndarray, sent_ns: np.ndarray, begins: np.ndarray, ends: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return the packets that were sent within the spans. For each span, also return the interval in which no packet in
    flight is missing.

    Packets that were sent before a span and arrive within it are not included. The interval begins later than its span.
    The difference is the largest delay. When the interval begins, all packets sent before the span have arrived.

    rows, sent_ns: int arrays of shape (n,). The rows of `packets` that may be selected, sorted by sending time, and the
        sending time of each row.
    begins, ends: The spans, in ascending order and without overlap.
    """
    spans = [slice(*span) for span in zip(*np.searchsorted(sent_ns, [begins, ends]).tolist(), strict=True)]
    kept = packets.iloc[np.concatenate([rows[span] for span in spans])]
    place = np.repeat(np.arange(len(spans)), [span.stop - span.start for span in spans])
    delay_ns = floats(kept["received_ns"]) - kept["sent_ns"].to_numpy(dtype="float64")
    # The largest delay of all spans is used, because a packet that was sent before a span may have a larger delay than
    # the packets in it.
    longest_ns = float(np.nanmax(delay_ns)) if np.isfinite(delay_ns).any() else 0.0
    has = np.isin(np.arange(len(begins)), place)
    # A span that begins at the run's start is complete from its first instant, because no packet was sent earlier.
    full = np.where(begins == 0, 0, begins + longest_ns)
    some = has & (full < ends)
    return kept, full[some].astype("int64"), ends[some]


def _columns(run: Run, packets: pd.DataFrame) -> dict[str, np.ndarray]:
    sent_ns = packets["sent_ns"].to_numpy(dtype="int64")
    sent = ticks(run, sent_ns)
    received = floats(packets["received_ns"]) // tick_ns(run)
    # `took` is computed from two times in ticks. It is not a difference in ns that is then converted to ticks. The sum
    # of `sent` and `took` is therefore exactly the packet's arrival in ticks.
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
