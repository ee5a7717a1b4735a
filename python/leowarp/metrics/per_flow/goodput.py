# SPDX-License-Identifier: Apache-2.0
"""The goodput of flows: payload over time, over a flow's life or in bins. All goodputs of a run are computed here.

A flow lives from its first SYN or datagram until it is complete, until it is stopped, or until the run ends. A flow
with a size is complete when its last payload byte has arrived. A connection of a program lives until its last packet.
Over the time from its first socket sample, a short flow may seem faster than its link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import bin_edges, rate_in_bins
from leowarp.metrics.inputs.tables import Tables, floats, kept
from leowarp.metrics.per_flow.round_trips import BIN_NS

GOODPUT_SERIES = {
    "in_order": "bytes that the receiver got in order; they stop at a missing segment, and its arrival gives a burst",
    "acked": "bytes cumulatively acknowledged at the sender",
    "sacked": "bytes acknowledged cumulatively or selectively at the sender; they do not stop at a missing segment",
}
"""The three definitions of goodput. Around route changes, the three goodputs of a flow differ. The name of each number
therefore says which definition it uses."""

_COUNTER = {"in_order": "bytes_received", "acked": "bytes_acked"}
_SYN_BYTES = {"in_order": 0, "acked": 1, "sacked": 1}
"""The SYN bytes in each counter. The kernel counts an acknowledged SYN as one byte (tcp_snd_una_update,
net/ipv4/tcp_input.c)."""


def counter(tables: Tables, flow: int, series: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulative bytes of a flow at each of its socket samples, as `series` defines them (`GOODPUT_SERIES`).

    Returns t_ns: int64 array of shape (n,). The instants of the samples that have the counter.
    Returns delivered: float64 array of shape (n,), in bytes. For "sacked", the values may decrease, because an
        incomplete SACKed segment is counted as a full one.
    """
    samples = tables.of_flow("sockets", flow)
    if series == "sacked":
        # The kernel counts SACKed data in segments (tcpi_sacked). Every SACKed segment is therefore treated as a full
        # segment.
        delivered = floats(samples["bytes_acked"]) + floats(samples["sacked_pkts"]) * floats(samples["snd_mss_bytes"])
    else:
        delivered = floats(samples[_COUNTER[series]])
    known = ~np.isnan(delivered)
    return samples["t_ns"].to_numpy(dtype="int64")[known], delivered[known]


def received_since(tables: Tables, number: int, start_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes received in order at each sample. The first sample is at the flow's start, and has 0 bytes.
    The time up to the first sample of the socket is then included."""
    t_ns, received = counter(tables, number, "in_order")
    later = t_ns > start_ns
    return np.append(start_ns, t_ns[later]), np.append(0.0, received[later])


def goodput(tables: Tables, flow: int, series: str = "in_order", bin_ns: int | None = None) -> pd.DataFrame:
    """Return the goodput of a flow in bins: `t_ns` (start of the bin) and `goodput_bps`. If there are fewer than two
    samples, the frame has no rows.

    series: The definition of the bytes that count, from `GOODPUT_SERIES`.
    bin_ns: The length of a bin. The default is the interval of the socket samples, which needs no interpolation. Bins
        that the samples do not cover are left out.
    Raises TraceError if the length of a bin is not positive.
    """
    t_ns, delivered = counter(tables, flow, series)
    if len(t_ns) < 2:
        return pd.DataFrame({"t_ns": pd.Series(dtype="int64"), "goodput_bps": pd.Series(dtype="float64")})
    if bin_ns is None:
        edges = t_ns
    else:
        # Bins begin at whole multiples of their length on the run's clock, so that bins of different flows and runs
        # coincide.
        first = -(-int(t_ns[0]) // bin_ns) * bin_ns
        edges = bin_edges(first, int(t_ns[-1]), bin_ns)
    return pd.DataFrame({"t_ns": edges[:-1], "goodput_bps": rate_in_bins(t_ns, delivered, edges)})


@dataclass(frozen=True)
class Life:
    """The lifetime of a flow on the run's clock, and its payload.

    start_ns, stop_ns: The flow lives from `start_ns` (inclusive) to `stop_ns` (exclusive). `start_ns` equals `stop_ns`
        if the run ended before the flow began.
    payload_bytes: The flow's total payload, if all of it arrived while the flow lived. The total is known for complete
        flows, and for connections that ended before the run's end. None means that the flow was cut off. In this case,
        its payload is read from counters.
    """

    start_ns: int
    stop_ns: int
    payload_bytes: int | None = None

    def rate_bps(self, payload_bytes: float | None) -> float | None:
        """Return payload divided by duration. None means that the payload is unknown or the duration is 0."""
        length_ns = self.stop_ns - self.start_ns
        return None if payload_bytes is None or length_ns <= 0 else payload_bytes * 8e9 / length_ns


def life(tables: Tables, number: int, flow: Any, end_ns: int) -> Life:
    """Return when a flow started and stopped. `flow` is its entry in the plan."""
    return _life(tables, number, flow.start_ns, flow.stop_ns, flow.size_bytes, end_ns)


@kept
def _life(tables: Tables, number: int, start_ns: int, planned_ns: int, size_bytes: int | None, end_ns: int) -> Life:
    start_ns, stop_ns = int(start_ns), min(int(planned_ns), end_ns)
    ending = tables.of_flow("flows", number)
    took_ns, carried = (floats(ending[name])[0] if len(ending) else np.nan for name in ("completion_ns", "bytes"))
    complete_ns = start_ns + took_ns
    if np.isnan(took_ns) and size_bytes is not None and not tables.has("bins"):
        complete_ns, carried = _seen_complete_ns(tables, number, size_bytes), float(size_bytes)
    all_bytes = None if np.isnan(carried) else int(carried)
    if complete_ns <= stop_ns:
        return Life(start_ns, int(complete_ns), all_bytes)
    # A connection stops at its last packet, so no byte of the connection arrives later.
    is_closed = bool(tables.connections) and number >= tables.connections[0]["flow"] and stop_ns < end_ns
    return Life(start_ns, max(start_ns, stop_ns), all_bytes if is_closed else None)


def _seen_complete_ns(tables: Tables, number: int, size_bytes: int) -> float:
    """Return the time of the first sample at which all data of a flow had arrived, or nan.

    If the hosts did not capture packets, the time of the last arrival is unknown. This sample is later than the last
    arrival. The computed goodput may therefore be too low, but never too high.
    """
    t_ns, received = counter(tables, number, "in_order")
    done = np.flatnonzero(received >= size_bytes)
    return float(t_ns[done[0]]) if len(done) else np.nan


def payload_bytes(tables: Tables, number: int, lived: Life, series: str = "in_order") -> float | None:
    """Return the payload in bytes that a TCP flow transferred during its life. None means that the flow's sockets were
    not sampled.

    If all payload arrived during the flow's life, the result is exact and does not depend on `series`. If the flow was
    cut off, the result is the counter at the last sample of its life. The last sample is taken when the flow stops.
    """
    if lived.payload_bytes is not None:
        return float(lived.payload_bytes)
    t_ns, counted = counter(tables, number, series)
    samples = int(np.searchsorted(t_ns, lived.stop_ns, side="right"))
    return max(float(counted[samples - 1]) - _SYN_BYTES[series], 0.0) if samples else None


@dataclass(frozen=True)
class Arrived:
    """The packets in one direction of a flow that arrived during the flow's life. Retransmissions are included."""

    payload_bytes: float
    pkts: float


def arrived(tables: Tables, number: int, direction: int, lived: Life) -> Arrived | None:
    """Return the packets of a flow that arrived during its life. None means no packet truth.

    Packets are counted in bins of 50 ms by their sending time. If a flow was cut off, its last bins are left out. Some
    packets in these bins may have arrived after the flow's life.
    """
    bins = tables.of_flow("bins", number)
    if not tables.has("bins") or "delivered_bytes" not in bins:
        return None
    mine = bins[bins["direction"].to_numpy() == direction]
    latest_ns = mine["t_ns"].to_numpy(dtype="int64") + BIN_NS + floats(mine["owd_max_ns"])
    inside = (latest_ns <= lived.stop_ns) | (lived.payload_bytes is not None)
    return Arrived(*(float(np.nansum(floats(mine[name])[inside])) for name in ("delivered_bytes", "delivered_pkts")))
