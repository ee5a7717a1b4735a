# SPDX-License-Identifier: Apache-2.0
"""Scalars of one flow: round-trip times, packets and others.

Smoothed RTT comes from samples of the sender's and the receiver's socket (`tcp_info`, include/uapi/linux/tcp.h),
packets from the capture at both hosts, and ECN marks, recoveries and undos from the kernel's counters of a host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import holding_ns, optional, weighted_quantile
from leowarp.metrics.inputs.tables import ACK, DATA, Tables, floats, in_order, truths
from leowarp.metrics.network.queues import flow_drops
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, Life, payload_bytes

_ACK_GAP_NS = 1_000_000_000
"""Stored ACKs further apart than this belong to two windows; no RTT spans the gap."""


def srtt(tables: Tables, flow: int, end_ns: int) -> pd.DataFrame:
    """Smoothed RTT at the socket samples: `t_ns, srtt_us, held_ns` (how long the sample holds, its weight).

    It is the sender's own filter (`tcpi_rtt`, RFC 6298, section 2, with Linux's changes). The filter lags behind the
    path and includes the receiver's delay of ACKs. For round trips of packets see `round_trips`.
    """
    samples = tables.of_flow("sockets", flow)
    when, value = samples["t_ns"].to_numpy(dtype="int64"), floats(samples["srtt_us"])
    # 0: the sender has no RTT sample yet.
    known = ~np.isnan(value) & (value > 0)
    when, value = when[known], value[known]
    return pd.DataFrame({"t_ns": when, "srtt_us": value, "held_ns": holding_ns(when, end_ns)})


def packet_rtt(tables: Tables, flow: int, *, from_ns: float = 0, until_ns: float = np.inf) -> pd.DataFrame:
    """RTT of each stored data packet that was sent within a time span: `sent_ns, rtt_ns`, until the arrival of the
    first ACK that covers it.

    Excluded are retransmissions that arrived, originals that begin with the same byte as such a retransmission (Karn's
    algorithm, RFC 6298, section 3), and packets whose ACK was not stored. An original is still included if a
    retransmission repeats only a part of it, beginning with another byte, or if its retransmission was lost.
    """
    packets = tables.of_flow("packets", flow)
    back = (packets["direction"] == ACK) & packets["received_ns"].notna() & packets["ack"].notna()
    back = packets[["received_ns", "ack"]][back]
    data = (packets["direction"] == DATA) & packets["received_ns"].notna() & (packets["len_bytes"] > 0)
    # For bytes that were sent twice, it is unknown which copy an ACK answers.
    again = truths(packets["is_retransmission"])
    data &= ~again & ~packets["seq"].isin(packets["seq"][data & again]) & packets["sent_ns"].between(from_ns, until_ns)
    data = packets[["sent_ns", "seq", "len_bytes"]][data]
    empty = pd.DataFrame({"sent_ns": pd.Series(dtype="int64"), "rtt_ns": pd.Series(dtype="int64")})
    if len(back) == 0 or len(data) == 0:
        return empty
    back = in_order(back, "received_ns")
    arrived = floats(back["received_ns"])
    # ACKs may arrive out of order; covered data stay covered.
    covered = np.maximum.accumulate(floats(back["ack"]))
    first = np.searchsorted(covered, floats(data["seq"]) + floats(data["len_bytes"]), side="left")
    is_answered = (first > 0) & (first < len(arrived))
    index = np.clip(first, 1, len(arrived) - 1)
    sent = data["sent_ns"].to_numpy(dtype="int64")
    # The previous ACK must also be stored. Otherwise the first covering ACK may belong to the next window.
    is_answered &= (arrived[index] - arrived[index - 1] <= _ACK_GAP_NS) & (arrived[index] > sent)
    sent, arrived = sent[is_answered], arrived[index][is_answered]
    return pd.DataFrame({"sent_ns": sent, "rtt_ns": (arrived - sent).astype("int64")})


def identity(number: int, flow: Any) -> dict[str, Any]:
    """The scalars of `scalars.of_flows.IDENTITY`, from the plan."""
    return {
        "flow": number,
        "name": flow.name,
        "kind": flow.kind,
        "source": flow.source,
        "destination": flow.destination,
        "congestion_control": flow.congestion_control if flow.kind == "tcp" else None,
    }


def flow_summary(
    tables: Tables,
    number: int,
    flow: Any,
    lived: Life,
    end_ns: int,
    *,
    is_only_sender: bool = True,
    is_only_receiver: bool = True,
) -> dict[str, Any]:
    """Scalars of one flow with stable names; None for values that the run did not record.

    lived: `life(...)` of the flow.
    is_only_sender: Whether no other TCP flow starts at its source, so that the host's counters are this flow's.
    is_only_receiver: Whether no other TCP flow ends at its destination.
    Returns: dict of scalar to value. Names, units and definitions: `scalars/of_flows.py`. Values are plain Python
        numbers or text.
    """
    row = identity(number, flow)
    ending = tables.of_flow("flows", number)
    ends: dict[str, int | None] = {}
    for name in ("bytes", "completion_ns", "connect_ns", "error"):
        value = optional(floats(ending[name])[0]) if len(ending) else None
        ends[name] = None if value is None else int(value)
    # Packet counts come first, for every kind of flow; then values that only sockets or only probes have.
    row |= _packet_scalars(tables, number)
    row |= _tcp_scalars(tables, number, lived, end_ns) if flow.kind == "tcp" else _echo_scalars(tables, number)
    row |= {"start_ns": lived.start_ns, "stop_ns": lived.stop_ns} | ends
    if flow.kind == "tcp":
        # The kernel counts per network namespace, so per host. With several flows at a host, the counts cannot be
        # attributed.
        row |= host_scalars(tables, flow.source) if is_only_sender else dict.fromkeys(_HOST_COUNTS)
        marked = host_counters(tables, flow.destination).get("IpExt.InCEPkts") if is_only_receiver else None
        row["received_ce_pkts"] = None if marked is None else int(marked)
    return row


_SENDER_COUNTS = {
    "dsacks_pkts": "dsack_pkts",
    "sender_retransmissions_pkts": "retrans_pkts",
    "sender_timeouts": "rto_pkts",
    "sender_reordering_events": "reord_seen",
    "sender_reordering_pkts": "reordering_pkts",
    "delivered_ce_pkts": "delivered_ce_pkts",
}
"""Counts of the sender's socket from its start. They are also known for a run without packet truth."""


_HOST_COUNTS = {
    "sender_recoveries": ("TCPSackRecovery", "TCPRenoRecovery"),
    "sender_undos": ("TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo", "TCPLossUndo"),
    "sender_tail_loss_probes": ("TCPLossProbes",),
}
"""The kernel's counts per host: how often the sender marked packets lost, undid the reduction, and probed whether its
last packets arrived (tcp_send_loss_probe, net/ipv4/tcp_output.c; RFC 8985, section 7).

Recoveries have separate counters with and without SACK (tcp_enter_recovery, net/ipv4/tcp_input.c). Each method to
detect a spurious recovery also has its own counter (tcp_try_undo_recovery and others, the same file)."""


def host_scalars(tables: Tables, source: str) -> dict[str, int | None]:
    """Counts of the sender's host until the end; None if they were not recorded.

    source: Station that sends the flow's data.
    Returns: dict with the keys of `_HOST_COUNTS`, each the sum of its counters.
    """
    last = host_counters(tables, source)
    row: dict[str, int | None] = {}
    for name, counters in _HOST_COUNTS.items():
        values = [last.get(f"TcpExt.{counter}") for counter in counters]
        row[name] = None if None in values else sum(int(value) for value in values if value is not None)
    return row


def received_ce_pkts(tables: Tables) -> int | None:
    """Packets that arrived at any host with a congestion mark; None if no host reported them."""
    told = [host_counters(tables, host).get("IpExt.InCEPkts") for host in tables.hosts]
    known = [int(value) for value in told if value is not None]
    # 0 if a host counted marks and saw none; null if no host counted them.
    return sum(known) if known else None


def host_counters(tables: Tables, station: str) -> dict[str, float]:
    """Last value of each counter of a station's host, by name (`TcpExt.TCPTimeouts`).

    Names are those of /proc/net/netstat and /proc/net/snmp; empty: the trace does not contain the host, or no counters
    were read.
    """
    host = tables.host_number(station)
    return {} if host is None else tables.last_counters.get(host, {})


def _tcp_scalars(tables: Tables, number: int, lived: Life, end_ns: int) -> dict[str, Any]:
    """Goodput of a TCP flow, and scalars from its socket samples; None if not sampled."""
    samples = tables.of_flow("sockets", number)
    row: dict[str, Any] = {}
    for series in GOODPUT_SERIES:
        row[f"goodput_{series}_mean_bps"] = lived.rate_bps(payload_bytes(tables, number, lived, series))
    # The name without a suffix means the in-order goodput, which is the data that an application at the receiver gets.
    row["goodput_mean_bps"] = row["goodput_in_order_mean_bps"]
    rtt = srtt(tables, number, end_ns)
    for name, q in (("p50", 0.5), ("p99", 0.99)):
        row[f"srtt_{name}_us"] = weighted_quantile(rtt["srtt_us"].to_numpy(), rtt["held_ns"].to_numpy(), q)
    for name, column in _SENDER_COUNTS.items():
        counts = floats(samples[column]) if column in samples else np.zeros(0)
        # The maximum is used instead of the last value. This matters for `reordering_pkts`, which the sender resets
        # after a timeout (tcp_enter_loss, net/ipv4/tcp_input.c); the others only grow.
        row[name] = int(np.nanmax(counts)) if np.isfinite(counts).any() else None
    cwnd = floats(samples["cwnd_pkts"])
    # Weighted by time, because samples are not evenly spaced where a flow starts, ends or is cut off.
    weights = holding_ns(samples["t_ns"].to_numpy(dtype="int64"), end_ns) if len(samples) else np.zeros(0)
    row["cwnd_p50_pkts"] = weighted_quantile(cwnd, weights, 0.5)
    for name in ("rttvar", "rto"):
        row[f"{name}_p50_us"] = weighted_quantile(floats(samples[f"{name}_us"]), weights, 0.5)
    return row


def _packet_scalars(tables: Tables, number: int) -> dict[str, Any]:
    """Packets by outcome, from `drops` and from the counts of `bins`, which are complete.

    All None without packet truth.
    """
    names = {"sent_pkts": "sent_pkts", "delivered_pkts": "delivered_pkts", "lost_pkts": "lost_pkts",
             "retransmissions_pkts": "retrans_pkts", "spurious_retransmissions_pkts": "spurious_pkts",
             "late_pkts": "late_pkts"}  # fmt: skip
    # Null is not 0: without packet truth, the number of lost packets is unknown.
    row: dict[str, Any] = dict.fromkeys(
        [*names, "acks_late_pkts", "acks_lost_pkts", "data_drops_pkts", "ack_drops_pkts"]
    )
    if tables.has("bins"):
        mine = tables.of_flow("bins", number)
        is_data = mine["direction"].to_numpy() == DATA
        for name, column in names.items():
            row[name] = int(floats(mine[column])[is_data].sum())
        for name, column in (("acks_late_pkts", "late_pkts"), ("acks_lost_pkts", "lost_pkts")):
            row[name] = int(floats(mine[column])[~is_data].sum())
    if tables.knows_drops:
        row["data_drops_pkts"], row["ack_drops_pkts"] = flow_drops(tables, number)
    return row


def _echo_scalars(tables: Tables, number: int) -> dict[str, Any]:
    """Probes of a ping or UDP flow, and their forward one-way delays, ns; for replies see `probes.probe_scalars`."""
    echoes = tables.of_flow("echoes", number)
    there = floats(echoes["received_ns"]) - floats(echoes["sent_ns"])
    known = tables.has("echoes")
    row: dict[str, Any] = {
        "probes_pkts": len(echoes) if known else None,
        "probes_lost_pkts": int(np.isnan(there).sum()) if known else None,
    }
    # As documented, a probe in flight at the end counts as lost here. `probes.probes` leaves such probes out.
    given = there[~np.isnan(there)]
    row["owd_min_ns"] = int(given.min()) if len(given) else None
    for name, q in (("owd_p50_ns", 0.5), ("owd_p99_ns", 0.99)):
        row[name] = optional(weighted_quantile(given, np.ones(len(given)), q))
    row["owd_max_ns"] = int(given.max()) if len(given) else None
    return row
