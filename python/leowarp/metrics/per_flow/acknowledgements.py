# SPDX-License-Identifier: Apache-2.0
"""How a TCP flow was acknowledged, and what its sender made of it: ACKs per segment, how long segments waited for
their ACK, duplicate ACKs, timeouts, and which retransmissions were spurious or a timeout's.

An ACK answers the data segments that arrived since the one before it, in order or not, as the receiver's rule for
delaying counts them (RFC 5681, 4.2); the first of them waited longest. All of this but the timeouts is known from what
passed the hosts (`observe.truth`), the timeouts from the kernel's counters of the sender's host (None if another TCP
flow starts there).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import weighted_quantile
from leowarp.metrics.inputs.tables import DATA, Tables, floats
from leowarp.metrics.per_flow.flows import host_counters
from leowarp.metrics.per_flow.reordering import SCOPES
from leowarp.scalars import names
from leowarp.scalars.of_flows import ACKNOWLEDGEMENTS

LONG_WAIT_NS = 10_000_000
"""Threshold of a long wait in `ack_waits_long_ratio`: tauran2018 found a tenth of its waits longer."""

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def acknowledgement_scalars(
    tables: Tables, number: int, source: str, *, is_only_sender: bool
) -> dict[str, float | int | None]:
    """The scalars `scalars.of_flows.ACKNOWLEDGEMENTS` of one TCP flow; what the run did not record is None.

    is_only_sender: No other TCP flow has this source: the host's counters are this flow's.
    Returns: dict of scalar to int, float or None. Waits in whole ns, ratios from 0 on (more than one ACK a segment is
        possible).
    """
    row: dict[str, float | int | None] = dict.fromkeys(names(ACKNOWLEDGEMENTS))
    if tables.has("acks"):
        row |= _waits(tables.of_flow("acks", number))
    ending = tables.of_flow("flows", number)
    if len(ending) and "duplicate_acks_pkts" in ending:
        row["duplicate_acks_pkts"] = _whole(floats(ending["duplicate_acks_pkts"])[0])
    # Linux counts timeouts by network namespace, so by host: of two flows nobody knows whose they are.
    if is_only_sender:
        row |= _timeouts(host_counters(tables, source))
    sent_pkts, spurious_pkts = _data_sent(tables, number)
    for name, pkts in (("duplicate_acks", row["duplicate_acks_pkts"]), ("spurious_retransmissions", spurious_pkts),
                       ("timeout_retransmissions", row["timeout_retransmissions_pkts"])):  # fmt: skip
        row[f"{name}_ratio"] = pkts / sent_pkts if pkts is not None and sent_pkts else None
    return row


def ack_waits(tables: Tables, number: int) -> pd.DataFrame:
    """The ACKs of a flow that answer segments; empty: none, or not recorded.

    Returns: DataFrame with `segments_pkts` (answered at once), `wait_ns` (of the first of them, in steps of 0.1 ms),
        `acks_pkts` (how many ACKs did so after so long).

    Examples
    --------
    Linux, which acknowledges every second segment, has most of its ACKs in rows with `segments_pkts` = 2:

    >>> ack_waits(tables, 0).groupby("segments_pkts")["acks_pkts"].sum()      # doctest: +SKIP
    """
    acks = tables.of_flow("acks", number)
    return acks.loc[floats(acks["segments_pkts"]) > 0, ["segments_pkts", "wait_ns", "acks_pkts"]].reset_index(drop=True)


def _waits(acks: pd.DataFrame) -> dict[str, float | int | None]:
    """ACKs per segment, and quantiles over ACKs of how long the first segment of each waited, ns; nothing of no ACK."""
    segments, count, wait = (floats(acks[name]) for name in ("segments_pkts", "acks_pkts", "wait_ns"))
    # A row stands for many ACKs alike: sums and quantiles are weighted by how many.
    answered = float((segments * count).sum())
    if not answered:
        return {}
    # ACKs that answer no segment (window updates, repeated ones) count as ACKs, and waited for nothing.
    answers = segments > 0
    wait, weight = wait[answers], count[answers]
    quantiles = {f"ack_wait_{name}_ns": _whole(weighted_quantile(wait, weight, q)) for name, q in _QUANTILES.items()}
    return {
        "acks_per_segment_ratio": float(count.sum()) / answered,
        **quantiles,
        "ack_waits_long_ratio": float(weight[wait >= LONG_WAIT_NS].sum() / weight.sum()),
    }


def _timeouts(counters: dict[str, float]) -> dict[str, int | None]:
    """Timeouts of a host, and the retransmissions that they led to; nothing if a counter is missing.

    At each timeout the timer itself sends one packet (tcp_retransmit_timer, net/ipv4/tcp_timer.c). The others that it
    marks lost go in the slow start after it, which has a counter of its own (tcp_xmit_retransmit_queue,
    net/ipv4/tcp_output.c). SYNs are no data.
    """
    names = ("TcpExt.TCPTimeouts", "TcpExt.TCPSlowStartRetrans", "TcpExt.TCPSynRetrans")
    if any(name not in counters for name in names):
        return {}
    timeouts, slow_start, syns = (int(counters[name]) for name in names)
    # A SYN that is sent again is a timeout too, of a handshake that carries no data.
    return {"timeouts": timeouts, "timeout_retransmissions_pkts": timeouts - syns + slow_start}


def _data_sent(tables: Tables, number: int) -> tuple[int | None, int | None]:
    """Packets with payload that a flow sent, and how many were spurious retransmissions."""
    if not tables.has("bins") or not tables.has("reordering"):
        return None, None
    bins = tables.of_flow("bins", number)
    is_data = bins["direction"].to_numpy() == DATA
    again, spurious = (int(floats(bins[name])[is_data].sum()) for name in ("retrans_pkts", "spurious_pkts"))
    # The ratios of tauran2018 are per data packet sent, so handshakes and bare ACKs must not dilute them.
    # The table counts first transmissions with payload; the bins of this direction also SYN, FIN and bare ACKs.
    scopes = tables.of_flow("reordering", number)
    first = floats(scopes["sent_pkts"])[scopes["scope"].to_numpy() == SCOPES.index("run")]
    return int(np.nansum(first)) + again, spurious


def _whole(value: float | None) -> int | None:
    """As int; None of None or nan."""
    return None if value is None or np.isnan(value) else int(value)
