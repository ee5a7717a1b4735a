# SPDX-License-Identifier: Apache-2.0
"""The section of a run's page that compares iperf3's own results with the trace's results."""

from __future__ import annotations

from leowarp.metrics.per_flow.iperf3 import in_the_trace
from leowarp.report import html
from leowarp.results.run import Run

_ROWS = (
    ("iperf3_sent_bytes", "written by the sender, bytes", 1),
    ("iperf3_received_bytes", "arrived, bytes", 1),
    ("iperf3_sent_bps", "written, Mbit/s", 1e6),
    ("iperf3_received_bps", "goodput, Mbit/s", 1e6),
    ("iperf3_retransmissions_pkts", "retransmissions", 1),
    ("iperf3_datagrams_pkts", "datagrams", 1),
    ("iperf3_lost_pkts", "of these lost", 1),
    ("iperf3_jitter_ns", "jitter (RFC 3550), ms", 1e6),
)


def iperf3_section(view: Run) -> str:
    """Return HTML with one table per flow whose client was `iperf3 -J`. If there is no such flow, return ""."""
    flows = view.numbers.summary["flows"]
    parts = []
    for flow in flows:
        if flow["kind"] != "program" or all(flow[name] is None for name, _, _ in _ROWS):
            continue
        truth = in_the_trace(view.tables, flow["flow"], flows)
        rows = [
            [label, html.number(flow[name], scale), html.number(truth.get(name), scale)]
            for name, label, scale in _ROWS
            if flow[name] is not None
        ]
        caption = (
            f"Flow {flow['flow']}: what iperf3 prints, and the packets of its connections. Its test begins with a "
            "cookie of 37 bytes (TCP) or a datagram of 4 (UDP), which it does not count; of TCP it ends by a message "
            "over another connection, before all that was written has arrived, and all that arrived was read"
        )
        parts.append(html.table(caption, ["", "iperf3", "trace"], rows))
    return "".join(parts)
