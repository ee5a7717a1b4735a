# SPDX-License-Identifier: Apache-2.0
"""The ACKs of a TCP flow and their effects at the sender: ACKs per segment, waits for an ACK, duplicate ACKs and
timeouts. The module also counts spurious retransmissions, and retransmissions sent after a timeout.

An ACK answers the data segments that arrived since the previous ACK, whether in order or not. When the receiver delays
ACKs, it counts the same segments (RFC 5681, 4.2). The segment that arrived first waits longest of all answered
segments. All numbers except the timeouts come from packets that the hosts capture (`observe.truth`). Timeouts come from
the kernel's counters at the sender's host. The values from these counters are None if another TCP flow starts at the
sender's host.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import weighted_quantile, whole
from leowarp.metrics.inputs.tables import DATA, Tables, floats
from leowarp.metrics.per_flow.flows import host_counters
from leowarp.metrics.per_flow.reordering import SCOPES
from leowarp.scalars import names
from leowarp.scalars.of_flows import ACKNOWLEDGEMENTS

LONG_WAIT_NS = 10_000_000
"""`ack_waits_long_ratio` is the share of ACKs whose first segment waited at least this long. In the study tauran2018, a
tenth of the ACKs waited longer than 10 ms."""

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def acknowledgement_scalars(
    tables: Tables, number: int, source: str, *, is_only_sender: bool
) -> dict[str, float | int | None]:
    """Return the scalars `scalars.of_flows.ACKNOWLEDGEMENTS` of a TCP flow. A scalar is None if the run did not record
    it.

    is_only_sender: True if no other TCP flow has this source, so that the host's counters belong to this flow.
    """
    row: dict[str, float | int | None] = dict.fromkeys(names(ACKNOWLEDGEMENTS))
    row |= _waits(tables.of_flow("acks", number))
    ending = tables.of_flow("flows", number)
    if len(ending) and "duplicate_acks_pkts" in ending:
        row["duplicate_acks_pkts"] = whole(floats(ending["duplicate_acks_pkts"])[0])
    # Linux counts timeouts per network namespace, so two flows of a host share its counters.
    if is_only_sender:
        row |= _timeouts(host_counters(tables, source))
    sent_pkts, spurious_pkts = _data_sent(tables, number)
    for name, pkts in (("duplicate_acks", row["duplicate_acks_pkts"]), ("spurious_retransmissions", spurious_pkts),
                       ("timeout_retransmissions", row["timeout_retransmissions_pkts"])):  # fmt: skip
        row[f"{name}_ratio"] = pkts / sent_pkts if pkts is not None and sent_pkts else None
    return row


def ack_waits(tables: Tables, number: int) -> pd.DataFrame:
    """Return those ACKs of a flow that answer segments. The frame is empty if no ACK answers a segment, or if ACKs were
    not recorded.

    Returns: DataFrame with `segments_pkts` (the number of answered segments), `wait_ns` (the waiting time of the first
        answered segment, in steps of 0.1 ms), and `acks_pkts` (how many ACKs have these two values).

    Linux acknowledges every second segment, so most of its ACKs are in rows with `segments_pkts` = 2:

    >>> ack_waits(tables, 0).groupby("segments_pkts")["acks_pkts"].sum()      # doctest: +SKIP
    """
    acks = tables.of_flow("acks", number)
    return acks.loc[floats(acks["segments_pkts"]) > 0, ["segments_pkts", "wait_ns", "acks_pkts"]].reset_index(drop=True)


def _waits(acks: pd.DataFrame) -> dict[str, float | int | None]:
    """Return the number of ACKs per segment, and the quantiles of the waiting time of first segments in ns. The result
    is empty if no ACK answers a segment."""
    segments, count, wait = (floats(acks[name]) for name in ("segments_pkts", "acks_pkts", "wait_ns"))
    # A row represents many ACKs with equal values, so sums and quantiles are weighted by the number of ACKs.
    answered = float((segments * count).sum())
    if not answered:
        return {}
    # ACKs that answer no segment (window updates, repeated ACKs) are counted as ACKs, but have no waiting time.
    answers = segments > 0
    wait, weight = wait[answers], count[answers]
    quantiles = {f"ack_wait_{name}_ns": whole(weighted_quantile(wait, weight, q)) for name, q in _QUANTILES.items()}
    return {
        "acks_per_segment_ratio": float(count.sum()) / answered,
        **quantiles,
        "ack_waits_long_ratio": float(weight[wait >= LONG_WAIT_NS].sum() / weight.sum()),
    }


def _timeouts(counters: dict[str, float]) -> dict[str, int | None]:
    """Return the number of timeouts of a host, and the retransmissions that they cause.

    At each timeout, the timer itself sends one packet (tcp_retransmit_timer, net/ipv4/tcp_timer.c). Slow start after
    the timeout sends the other packets that the timer marks as lost. Linux counts these packets separately
    (tcp_xmit_retransmit_queue, net/ipv4/tcp_output.c). Retransmitted SYNs are not data and are subtracted.
    """
    names = ("TcpExt.TCPTimeouts", "TcpExt.TCPSlowStartRetrans", "TcpExt.TCPSynRetrans")
    if any(name not in counters for name in names):
        return {}
    timeouts, slow_start, syns = (int(counters[name]) for name in names)
    # `timeouts` contains one timeout for each retransmitted SYN, and this timeout retransmits no data.
    return {"timeouts": timeouts, "timeout_retransmissions_pkts": timeouts - syns + slow_start}


def _data_sent(tables: Tables, number: int) -> tuple[int | None, int | None]:
    """Return the number of packets with payload that a flow sent, and of spurious retransmissions among them."""
    if not tables.has("bins") or not tables.has("reordering"):
        return None, None
    bins = tables.of_flow("bins", number)
    is_data = bins["direction"].to_numpy() == DATA
    again, spurious = (int(floats(bins[name])[is_data].sum()) for name in ("retrans_pkts", "spurious_pkts"))
    # As in tauran2018, ratios are per data packet sent, so handshakes and bare ACKs do not count. The table
    # `reordering` counts first transmissions with payload. The bins of the data direction cannot be used, because they
    # also contain SYN, FIN and bare ACKs.
    scopes = tables.of_flow("reordering", number)
    first = floats(scopes["sent_pkts"])[scopes["scope"].to_numpy() == SCOPES.index("run")]
    return int(np.nansum(first)) + again, spurious
