# SPDX-License-Identifier: Apache-2.0
"""The results that iperf3 reports, as scalars of its flow. The results can be compared with sums of packets in the
trace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from leowarp.metrics.inputs.tables import Tables
from leowarp.metrics.per_flow.pairs import sum_of
from leowarp.scalars.overview import total_goodput_bps
from leowarp.trace.iperf3 import KIND


def said(tables: Tables, number: int) -> dict[str, Any] | None:
    """Return the results of a program flow's iperf3 client (`trace.iperf3.line_of`). None means that the program was
    not iperf3, or did not have the option -J."""
    mine = tables.of_flow("measures", number)
    rows = mine[mine["kind"] == KIND]
    return None if rows.empty else json.loads(rows["other"].iloc[0])


def iperf3_scalars(tables: Tables, number: int) -> dict[str, Any]:
    """Return the results of a program flow's iperf3 client (`scalars.of_programs.IPERF3`). A value is None if iperf3
    does not report it, or if the program was not iperf3 with the option -J."""
    given = said(tables, number) or {}
    jitter_ms = given.get("jitter_ms")
    return {
        "iperf3_sent_bytes": given.get("sent_bytes"),
        "iperf3_received_bytes": given.get("received_bytes"),
        "iperf3_sent_bps": given.get("sent_bps"),
        "iperf3_received_bps": given.get("received_bps"),
        "iperf3_retransmissions_pkts": given.get("retransmits"),
        "iperf3_jitter_ns": None if jitter_ms is None else jitter_ms * 1e6,
        "iperf3_datagrams_pkts": given.get("packets"),
        "iperf3_lost_pkts": given.get("lost_packets"),
    }


def in_the_trace(tables: Tables, number: int, flows: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Compute the quantities of `iperf3_scalars` from the packets in the trace. They are summed over the test's
    connections to the destination.

    flows: The flows in `summary.json`.
    Returns: The values that the trace contains. For TCP, the first connection is excluded, because it only negotiates
        the test.
    """
    mine = [connection["flow"] for connection in tables.connections if connection["program"] == number]
    udp = [flows[flow] for flow in mine if flows[flow]["kind"] == "udp"]
    if udp:
        return {
            "iperf3_received_bytes": sum_of(udp, "bytes"),
            "iperf3_received_bps": total_goodput_bps(udp, "payload_mean_bps"),
            "iperf3_datagrams_pkts": sum_of(udp, "probes_pkts"),
            "iperf3_lost_pkts": sum_of(udp, "probes_lost_pkts"),
        }
    tcp = [flows[flow] for flow in mine[1:] if flows[flow]["kind"] == "tcp"]
    return {
        "iperf3_received_bytes": sum_of(tcp, "bytes"),
        "iperf3_received_bps": total_goodput_bps(tcp),
        "iperf3_retransmissions_pkts": sum_of(tcp, "retransmissions_pkts"),
    }
