# SPDX-License-Identifier: Apache-2.0
"""The points to check before the numbers of a run are trusted. Each warning is a sentence in the manifest and at the
top of the report.

A warning does not mean that a number is wrong. If a number is known to be wrong, the run fails
(`metrics/conservation.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from leowarp.base.flownames import FlowKey, named
from leowarp.metrics.conservation import late_outside_changes
from leowarp.metrics.inputs.changes import both_ways_ns
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.tables import Tables, floats
from leowarp.metrics.per_flow import iperf3
from leowarp.trace.schema.hosts import CA_OPEN

LATE_WITHIN_NS = 2_000_000_000
"""A late packet is attributed to a route change only if it arrives within this time after the change. For comparison, a
queue of 500 packets at 100 Mbit/s delays packets by 60 ms per hop."""

SYNS = 2
"""An unconnected flow is reported if it sent at least this many SYNs. A single SYN may still be in flight at the end of
the run. If the first SYN gets no answer, TCP sends the second SYN 1 s later (RFC 6298, 2.1)."""

# A flow is reported only if both `HELD_RATIO` and `HELD_US` are exceeded. A growing receive window limits slow start
# for a while, even if nothing is wrong. With packets of 1,115 bytes over a path of 180 ms, the window limits slow start
# for 0.6 to 0.8 s. In one case, the window did not grow and limited a flow with packets of 800 bytes permanently. The
# flow got 2.9 of 40 Mbit/s (docs/changes/0.2.0.md, "Receivers read as their windows grow").
HELD_RATIO, HELD_US = 0.5, 5_000_000
"""A receiver's window may limit a flow for a share of the sampled time, and for a time in us. These are the limits for
both. If a flow is above both limits, it is reported."""

FULL_RATIO = 0.9
"""If a flow reaches this share of its path's capacity, it is not reported. The window of such a flow only limits the
queue."""


def late_away_from_changes(tables: Tables, pairs: Iterable[Pair]) -> pd.DataFrame:
    """Return the rows of late packets that arrived without a recent path change in either direction."""
    instants = [np.empty(0, dtype="int64"), *(both_ways_ns(tables, pair) for pair in pairs)]
    return late_outside_changes(tables, np.concatenate(instants), LATE_WITHIN_NS)


def warnings_of(tables: Tables, summary: dict[str, Any], late: pd.DataFrame) -> list[str]:
    """Return one sentence per warning: late packets, times without a path, flows, links without counters. `late` is the
    result of `late_outside_changes`."""
    sentences = []
    # On a link with jitter or without order, packets may be late at any time, so late packets are no reason for a
    # warning.
    if len(late) and not tables.reorders:
        first = late.iloc[0]
        of_number = {flow["flow"]: flow for flow in summary["flows"]}
        sentences.append(
            f"{len(late)} packets were late outside the {LATE_WITHIN_NS / 1e9:g} s after a route change "
            f"(the first: {_named(of_number[first['flow']])}, sent at {first['sent_ns'] / 1e9:.6f} s): "
            "check before you trust a number on reordering"
        )
    if summary["no_path_s"]:
        sentences.append(f"there was no path for {summary['no_path_s']:g} s of {summary['virtual_s']:g} s")
    for flow in summary["flows"]:
        if flow["kind"] == "program":
            # The program's connections are separate flows, and warnings for these connections follow separately.
            if (unread := (iperf3.said(tables, flow["flow"]) or {}).get("unreadable")) is not None:
                sentences.append(f"what iperf3 printed as the client of {_named(flow)} was not read: {unread}")
            continue
        if flow.get("error"):
            sentences.append(f"{_named(flow)} ended with error {flow['error']} (errno)")
        # At most one of the next two warnings applies: if none of a flow's packets arrived, its SYN did not arrive
        # either.
        if (silent := nothing_arrived(flow)) is not None:
            sentences.append(silent)
        elif (alone := never_connected(flow)) is not None:
            sentences.append(alone)
        if (held := held_by_receiver(flow, tables.of_flow("sockets", flow["flow"]))) is not None:
            sentences.append(held)
    uncounted = int(tables.linktotals["offered_pkts"].isna().sum())
    # If all packets arrived, or if packets were not recorded, missing drop counters are no reason for a warning.
    if uncounted and tables.bins["lost_pkts"].sum():
        sentences.append(
            f"the queueing discipline of {uncounted} directions of links (netem) does not tell what it was offered and "
            "dropped: their packets are not known to add up, and causes and places of loss are unknown"
        )
    return sentences


def _named(flow: dict[str, Any]) -> str:
    return named(FlowKey.of_summary(flow))


def never_connected(flow: dict[str, Any]) -> str | None:
    """Return a warning if a TCP flow's SYN was retransmitted and never answered, and None otherwise. `flow` is an entry
    of `summary["flows"]`.

    The SYNs arrived, and a receiver answers every SYN, so the answers were lost on the way back. `nothing_arrived`
    handles flows whose packets never arrive.
    """
    if flow["kind"] != "tcp" or flow["connect_ns"] is not None or flow["bytes"] != 0:
        return None
    sent_pkts = flow["sent_pkts"]
    if sent_pkts is None or sent_pkts < SYNS:
        return None
    return f"{_named(flow)} never connected: it sent {sent_pkts} packets, and no answer to any arrived"


def held_by_receiver(flow: dict[str, Any], samples: pd.DataFrame) -> str | None:
    """Return a warning if the receiver's window limited a flow for most of its time, and None otherwise. If the receive
    buffer is too small, goodput measures the receiver instead of the path.

    flow, samples: The entry of `summary["flows"]`, and the rows of this flow in `sockets`, in chronological order.
    """
    if not len(samples) or (flow.get("capacity_used_ratio") or 0.0) >= FULL_RATIO:
        return None
    # During loss recovery, the receive window is full of data that arrived after a missing packet. The flow is then
    # limited by the path, and not by the receiver.
    is_open = samples["ca_state"].to_numpy() == CA_OPEN
    grown_us = np.diff(floats(samples["rwnd_limited_us"]))
    # The kernel's counter is cumulative.
    held_us = np.nansum(grown_us[is_open[1:] & is_open[:-1]])
    if held_us <= max(HELD_US, HELD_RATIO * np.ptp(samples["t_ns"].to_numpy(dtype="int64")) / 1e3):
        return None
    return (
        f"the receiver's window held {_named(flow)} for {held_us / 1e6:.1f} s, so its goodput is not what the path "
        "could carry: raise tcp.buffer_max"
    )


def nothing_arrived(flow: dict[str, Any]) -> str | None:
    """Return a warning if a flow (an entry of `summary["flows"]`) lost packets and delivered none."""
    if flow["delivered_pkts"] != 0 or not flow["lost_pkts"]:
        return None
    return f"nothing arrived of {_named(flow)}: {flow['lost_pkts']} of its {flow['sent_pkts']} packets were lost"
