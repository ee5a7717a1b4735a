# SPDX-License-Identifier: Apache-2.0
"""Check for each node how many packets enter and leave it. If more packets leave than enter, the node itself must have
sent the additional packets, for example as copies."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd

from leowarp.base.nodes import host_node
from leowarp.crosscheck.findings import Findings
from leowarp.trace.schema.packets import LINK_DOWN, QUEUE

if TYPE_CHECKING:
    from leowarp.results.run import Run

# Sizes of Ethernet frames in bytes, from design/cures.md: Ethernet header, followed by IPv4, ICMP and content.
_MARKER_BYTES, _NOTICE_BYTES = 14 + 32, 14 + 60


def nodes(run: Run) -> Findings:
    found = Findings()
    tables = run.tables
    totals = run.nodetotals().set_index("node")
    markers, ended = _markers(run)
    notices, to_own_host = _notices(run)
    signals = markers + notices
    for node, row in totals.iterrows():
        found.compare(f"node {node}", "signals_pkts", int(row["signals_pkts"]), signals[node])
        signals_bytes = markers[node] * _MARKER_BYTES + notices[node] * _NOTICE_BYTES
        found.compare(f"node {node}", "signals_bytes", int(row["signals_bytes"]), signals_bytes)
    for node in sorted(signals.keys() - set(totals.index)):
        found.wrong.append(f"node {node}: it sent packets of its own, and nodetotals has no such node")
    lines = tables.linktotals
    ends = [tables.directions[number] for number in lines["direction"]]
    known = lines["offered_pkts"].notna().to_numpy()
    if not known.all() or not tables.knows_drops:
        found.unknown.append("balances of nodes: some links do not count")
        return found
    into, out = Counter[str](), Counter[str]()
    for (a, b, _), delivered, offered in zip(ends, lines["delivered_pkts"], lines["offered_pkts"], strict=True):
        into[b] += int(delivered)
        out[a] += int(offered)
    own = signals + _copied(run)
    held = {str(node): int(row["held_pkts"]) for node, row in totals.iterrows()}
    # No table records the node at which packets without a route were lost, so these losses only widen the bounds.
    lost_pkts = int((tables.drops["direction"].isna()).sum())
    # Packets over the wires between hosts and stations are not counted here.
    wired = {end for a, b, kind in tables.directions if kind == "wire" for end in (a, b)}
    for node in sorted((into.keys() | out.keys()) - wired):
        expected = into[node] + own[node] - ended[node]
        found.within(f"node {node}", "packets passed on", out[node], expected - lost_pkts - held.get(node, 0), expected)
    if tables.has("orders"):
        _stations(run, out, own, to_own_host, found)
    return found


def _stations(run: Run, out: Counter[str], own: Counter[str], to_own_host: Counter[str], found: Findings) -> None:
    """Check that a station gives a number to each packet that its queue accepts."""
    tables = run.tables
    numbered = Counter[str]()
    for row in run.orders().itertuples(index=False):
        numbered[row.source_host] += int(row.numbered_pkts)
    refused = Counter[str]()
    drops = tables.drops[tables.drops["direction"].notna() & tables.drops["flow"].notna()]
    for direction, cause in zip(drops["direction"], drops["cause"], strict=True):
        if cause in (QUEUE, LINK_DOWN):
            refused[tables.directions[int(direction)][0]] += 1
    for station in sorted(station.name for station in run.plan.stations):
        passed = out[station] - own[station] + to_own_host[station]
        # With move_queue, or on a link that goes down, packets that already have a number can be lost.
        slack = refused[station] if run.plan.cures.move_queue != "off" or run.plan.routing.in_flight == "drop" else 0
        high = passed - refused[station] + slack
        found.within(f"station {station}", "packets numbered", numbered[host_node(station)], high - slack, high)


def _copied(run: Run) -> Counter[str]:
    copied = Counter[str]()
    if run.tables.has("switches"):
        for row in run.switches().itertuples(index=False):
            if not pd.isna(row.copied_pkts):
                copied[run.tables.directions[row.from_direction][0]] += int(row.copied_pkts)
    return copied


def _markers(run: Run) -> tuple[Counter[str], Counter[str]]:
    """Return the markers that each node sent, and those that arrived at it as the end of their path."""
    sent, ended = Counter[str](), Counter[str]()
    if run.tables.has("merges"):
        for row in run.merges().itertuples(index=False):
            if not pd.isna(row.marker):
                sent[run.tables.directions[row.from_direction][0]] += 1
            if not pd.isna(row.marker_ns):
                ended[run.tables.directions[int(row.old_direction)][1]] += 1
    return sent, ended


def _notices(run: Run) -> tuple[Counter[str], Counter[str]]:
    """Return the notices that each node sent over links, and those that each station sent to its own host."""
    sent, to_own_host = Counter[str](), Counter[str]()
    if run.plan.cures.notify:
        for row in run.notices().itertuples(index=False):
            if not pd.isna(row.sent_ns):
                node = run.tables.directions[row.to_direction][0]
                sent[node] += 1
                to_own_host[node] += row.told_host == host_node(node)
    return sent, to_own_host
