# SPDX-License-Identifier: Apache-2.0
"""The scalars of a flow, for example round-trip times and packet counts.

The smoothed RTT comes from samples of both hosts' sockets (`tcp_info`, include/uapi/linux/tcp.h). The packet counts
come from the capture at both hosts. The ECN marks, recoveries and undos come from the kernel's counters of one host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.series import holding_ns, weighted_quantile, whole
from leowarp.metrics.inputs.tables import ACK, DATA, Tables, floats, in_order, truths
from leowarp.metrics.network.queues import flow_drops
from leowarp.metrics.per_flow.goodput import GOODPUT_SERIES, Life, payload_bytes

_ACK_GAP_NS = 1_000_000_000
"""Two stored ACKs belong to different windows of stored packets if at least this time lies between them. An ACK after
the gap gives no RTT for data sent before the gap."""


def srtt(tables: Tables, flow: int, end_ns: int) -> pd.DataFrame:
    """Return the smoothed RTT at each sample of the socket: `t_ns, srtt_us, held_ns`. `held_ns` is the time from a
    sample to the next one, or to `end_ns`. It is the weight of the sample in means and quantiles.

    The value is `tcpi_rtt`, the result of the sender's own filter (RFC 6298, section 2, with Linux's changes). The
    smoothed RTT follows the path with a lag, and includes the time for which the receiver delays ACKs. `round_trips`
    gives the unfiltered round trips of single packets.
    """
    samples = tables.of_flow("sockets", flow)
    when, value = samples["t_ns"].to_numpy(dtype="int64"), floats(samples["srtt_us"])
    # 0 means that the sender has no RTT sample yet.
    known = ~np.isnan(value) & (value > 0)
    when, value = when[known], value[known]
    return pd.DataFrame({"t_ns": when, "srtt_us": value, "held_ns": holding_ns(when, end_ns)})


def packet_rtt(tables: Tables, flow: int, *, from_ns: float = 0, until_ns: float = np.inf) -> pd.DataFrame:
    """Return `sent_ns, rtt_ns` of each stored data packet. The packet's RTT ends when the first ACK that covers the
    packet arrives.

    A retransmission that arrived is excluded. The original packet that begins with the same byte is excluded too
    (Karn's algorithm, RFC 6298, section 3). A packet is also excluded if its ACK is not in the stored table. An
    original packet is included if its retransmission was lost, or if the two begin with different bytes.
    """
    packets = tables.of_flow("packets", flow)
    back = (packets["direction"] == ACK) & packets["received_ns"].notna() & packets["ack"].notna()
    back = packets[["received_ns", "ack"]][back]
    data = (packets["direction"] == DATA) & packets["received_ns"].notna() & (packets["len_bytes"] > 0)
    # If two copies of some bytes were sent, it is unknown which of the two copies an ACK answers.
    again = truths(packets["is_retransmission"])
    data &= ~again & ~packets["seq"].isin(packets["seq"][data & again]) & packets["sent_ns"].between(from_ns, until_ns)
    data = packets[["sent_ns", "seq", "len_bytes"]][data]
    empty = pd.DataFrame({"sent_ns": pd.Series(dtype="int64"), "rtt_ns": pd.Series(dtype="int64")})
    if len(back) == 0 or len(data) == 0:
        return empty
    back = in_order(back, "received_ns")
    arrived = floats(back["received_ns"])
    # ACKs may arrive out of order, but data stay covered once an ACK has covered them.
    covered = np.maximum.accumulate(floats(back["ack"]))
    first = np.searchsorted(covered, floats(data["seq"]) + floats(data["len_bytes"]), side="left")
    is_answered = (first > 0) & (first < len(arrived))
    index = np.clip(first, 1, len(arrived) - 1)
    sent = data["sent_ns"].to_numpy(dtype="int64")
    # A packet gets an RTT only if the ACK before the packet's ACK is stored in the same window. Otherwise, an ACK that
    # is not stored may have covered the packet earlier.
    is_answered &= (arrived[index] - arrived[index - 1] <= _ACK_GAP_NS) & (arrived[index] > sent)
    sent, arrived = sent[is_answered], arrived[index][is_answered]
    return pd.DataFrame({"sent_ns": sent, "rtt_ns": (arrived - sent).astype("int64")})


def identity(number: int, flow: Any) -> dict[str, Any]:
    """Return the scalars of `scalars.of_flows.IDENTITY`, taken from the plan."""
    return {
        "flow": number,
        "name": flow.name,
        "kind": flow.kind,
        "source": flow.source,
        "destination": flow.destination,
        "congestion_control": flow.congestion_control if flow.kind == "tcp" else None,
    }


def flow_summary(
    tables: Tables, number: int, flow: Any, lived: Life, end_ns: int, *, is_only_sender: bool, is_only_receiver: bool
) -> dict[str, Any]:
    """Return the scalars of a flow. A value that the run did not record is None. The scalars' names stay the same in
    all versions of leowarp.

    is_only_sender, is_only_receiver: True if no other TCP flow starts at the source, or ends at the destination. The
        counters of this host then belong to this flow.
    Returns: dict of scalar to plain Python number or text. `scalars/of_flows.py` declares the scalars.
    """
    row = identity(number, flow)
    ending = tables.of_flow("flows", number)
    ends = {
        name: whole(floats(ending[name])[0]) if len(ending) else None
        for name in ("bytes", "completion_ns", "connect_ns", "error")
    }
    row |= _packet_scalars(tables, number)
    row |= _tcp_scalars(tables, number, lived, end_ns) if flow.kind == "tcp" else _echo_scalars(tables, number)
    row |= {"start_ns": lived.start_ns, "stop_ns": lived.stop_ns} | ends
    if flow.kind == "tcp":
        # The kernel counts per network namespace, and each host has its own namespace. If several flows start at a
        # host, its counts cannot be attributed to one of them.
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
"""The counters of the sender's socket from its start. These counters exist even in a run without packet truth."""


_HOST_COUNTS = {
    "sender_recoveries": ("TCPSackRecovery", "TCPRenoRecovery"),
    "sender_undos": ("TCPDSACKUndo", "TCPFullUndo", "TCPPartialUndo", "TCPLossUndo"),
    "sender_tail_loss_probes": ("TCPLossProbes",),
}
"""The kernel's counters of a host that are summed for each scalar. A tail loss probe is sent by tcp_send_loss_probe
(net/ipv4/tcp_output.c; RFC 8985, section 7).

Recoveries with and without SACK have separate counters (tcp_enter_recovery, net/ipv4/tcp_input.c). The kernel can
detect in several ways that a window reduction was wrong. Each way has its own counter of undone reductions
(tcp_try_undo_recovery and others, net/ipv4/tcp_input.c)."""


def host_scalars(tables: Tables, source: str) -> dict[str, int | None]:
    """Return the sums of counters in `_HOST_COUNTS` at the sender's host over the whole run. A sum is None if one of
    its counters was not recorded."""
    last = host_counters(tables, source)
    row: dict[str, int | None] = {}
    for name, counters in _HOST_COUNTS.items():
        values = [last.get(f"TcpExt.{counter}") for counter in counters]
        row[name] = None if None in values else sum(int(value) for value in values if value is not None)
    return row


def received_ce_pkts(tables: Tables) -> int | None:
    """Return how many packets arrived at any host with a congestion mark. None means that no host reported them."""
    told = [host_counters(tables, host).get("IpExt.InCEPkts") for host in tables.hosts]
    known = [int(value) for value in told if value is not None]
    return sum(known) if known else None


def host_counters(tables: Tables, station: str) -> dict[str, float]:
    """Return the last value of each counter of a station's host, for example `TcpExt.TCPTimeouts`. The names are the
    same as in /proc/net/netstat and /proc/net/snmp."""
    host = tables.host_number(station)
    return {} if host is None else tables.last_counters.get(host, {})


def _connection_bytes(tables: Tables, number: int) -> int | None:
    """Return the payload that a Multipath TCP connection delivered in order. None means a flow without Multipath TCP, a
    subflow, or an older run."""
    ending = tables.of_flow("flows", number)
    return whole(floats(ending["connection_bytes"])[0]) if len(ending) and "connection_bytes" in ending else None


def _tcp_scalars(tables: Tables, number: int, lived: Life, end_ns: int) -> dict[str, Any]:
    samples = tables.of_flow("sockets", number)
    row: dict[str, Any] = {}
    for series in GOODPUT_SERIES:
        row[f"goodput_{series}_mean_bps"] = lived.rate_bps(payload_bytes(tables, number, lived, series))
    # The name without a suffix means the in-order goodput, because only in-order data reach the receiving application.
    row["goodput_mean_bps"] = row["goodput_in_order_mean_bps"]
    row["connection_goodput_mean_bps"] = lived.rate_bps(_connection_bytes(tables, number))
    rtt = srtt(tables, number, end_ns)
    for name, q in (("p50", 0.5), ("p99", 0.99)):
        row[f"srtt_{name}_us"] = weighted_quantile(rtt["srtt_us"].to_numpy(), rtt["held_ns"].to_numpy(), q)
    for name, column in _SENDER_COUNTS.items():
        counts = floats(samples[column]) if column in samples else np.zeros(0)
        # The largest value is used, not the last one, because the sender resets `reordering_pkts` after a timeout
        # (tcp_enter_loss, net/ipv4/tcp_input.c). The other counters never decrease.
        row[name] = int(np.nanmax(counts)) if np.isfinite(counts).any() else None
    cwnd = floats(samples["cwnd_pkts"])
    # Samples are weighted by time, because their intervals are shorter where a flow starts or ends.
    weights = holding_ns(samples["t_ns"].to_numpy(dtype="int64"), end_ns) if len(samples) else np.zeros(0)
    row["cwnd_p50_pkts"] = weighted_quantile(cwnd, weights, 0.5)
    for name in ("rttvar", "rto"):
        row[f"{name}_p50_us"] = weighted_quantile(floats(samples[f"{name}_us"]), weights, 0.5)
    return row


def _packet_scalars(tables: Tables, number: int) -> dict[str, Any]:
    """Return how many packets of a flow were lost, late or retransmitted, from the complete tables `drops` and
    `bins`."""
    names = {"sent_pkts": "sent_pkts", "delivered_pkts": "delivered_pkts", "lost_pkts": "lost_pkts",
             "retransmissions_pkts": "retrans_pkts", "spurious_retransmissions_pkts": "spurious_pkts",
             "late_pkts": "late_pkts"}  # fmt: skip
    # Without packet truth, the numbers of packets are unknown, so the counts are null and not 0.
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
    """Return the sent and lost probes of a ping or UDP flow, and their one-way delays in ns."""
    echoes = tables.of_flow("echoes", number)
    there = floats(echoes["received_ns"]) - floats(echoes["sent_ns"])
    known = tables.has("echoes")
    row: dict[str, Any] = {
        "probes_pkts": len(echoes) if known else None,
        "probes_lost_pkts": int(np.isnan(there).sum()) if known else None,
    }
    # This function counts a probe that is in flight at the end as lost. `probes.probes` excludes such probes.
    given = there[~np.isnan(there)]
    row["owd_min_ns"] = int(given.min()) if len(given) else None
    for name, q in (("owd_p50_ns", 0.5), ("owd_p99_ns", 0.99)):
        row[name] = weighted_quantile(given, np.ones(len(given)), q)
    row["owd_max_ns"] = int(given.max()) if len(given) else None
    return row
