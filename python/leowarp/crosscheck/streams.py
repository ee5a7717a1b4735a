# SPDX-License-Identifier: Apache-2.0
"""Check the table `orders` about numbered packets. The check uses the departures and arrivals of stored packets.

If packet A waits for packet B, A leaves when B arrives. On a link with a rate, two packets never arrive at the same
instant. If n packets arrive at the same instant, at least n - 1 of them waited. This bounds the number of waiting
packets and the longest wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from leowarp.crosscheck.changes import Changes
from leowarp.crosscheck.findings import Findings
from leowarp.crosscheck.records import CARRIED_OUT_WITHIN_NS
from leowarp.crosscheck.stations import Stations
from leowarp.metrics.inputs.tables import Tables
from leowarp.trace.schema.packets import QUEUE

if TYPE_CHECKING:
    from leowarp.results.run import Run

_PROTOCOLS = {"ping": 1, "tcp": 6, "udp": 17}


@dataclass(frozen=True)
class Waits:
    """The late, lost and waiting packets of one stream.

    late_pkts, lost_pkts: Late packets arrived after a packet with a larger number. Lost packets never arrived, although
        a packet with a larger number arrived.
    together: For each instant with several arrivals, the numbers of the packets that arrive.
    """

    late_pkts: int
    lost_pkts: int
    together: list[np.ndarray]


_ANY = 1 << 62
"""The upper bound of values of which only the lower bound is checked."""


def waits_of(received_ns: np.ndarray) -> Waits:
    """Find late, lost and waiting packets. Element n is the arrival time of packet n. NaN means that it never
    arrived."""
    arrived = np.flatnonzero(~np.isnan(received_ns))
    by_arrival = arrived[np.lexsort((arrived, received_ns[arrived]))]
    late_pkts = int((np.maximum.accumulate(by_arrival) > by_arrival).sum()) if len(by_arrival) else 0
    last = int(arrived[-1]) if len(arrived) else -1
    _, first, counts = np.unique(received_ns[by_arrival], return_index=True, return_counts=True)
    together = [by_arrival[at : at + count] for at, count in zip(first, counts, strict=True) if count > 1]
    return Waits(late_pkts, int(np.isnan(received_ns[: last + 1]).sum()), together)


def orders(run: Run, changes: Changes, stations: Stations | None) -> Findings:
    """Check the table `orders`. Each row is a stream of packets that were numbered, resequenced, or sent twice."""
    found = Findings()
    frame = run.orders()
    for row in frame.itertuples(index=False):
        where = f"stream from {row.source_host} to {row.destination_host}"
        found.within(where, "longest_ns", row.longest_ns, 0, run.plan.cures.resequence_delay_ns)
        if run.plan.cures.resequence == "off":
            for name in ("waited_pkts", "given_up_pkts", "late_pkts"):
                found.compare(where, name, int(getattr(row, name)), 0)
    _copies(run, frame, found)
    keys = ["source_host", "destination_host", "protocol"]
    for _, rows in frame.groupby(keys, dropna=False):
        _stream(run, changes, stations, rows, found)
    return found


def _copies(run: Run, frame: pd.DataFrame, found: Findings) -> None:
    """Check that one copy of each duplicated packet was discarded, unless the other copy was lost."""
    tables = run.tables
    if run.plan.cures.duplicate_ns is None or not tables.linktotals["held_pkts"].eq(0).all():
        return
    copied_pkts = int(run.switches()["copied_pkts"].sum())
    unnamed_pkts = int(tables.drops["flow"].isna().sum())
    signals_pkts = int(tables.nodetotals["signals_pkts"].sum())
    # A dropped packet without a flow is a copy or a notice.
    least = copied_pkts - unnamed_pkts
    most = least + min(signals_pkts, unnamed_pkts)
    found.within("copies", "eliminated_pkts", frame["eliminated_pkts"].sum(), least, most)


def _stream(run: Run, changes: Changes, stations: Stations | None, rows: pd.DataFrame, found: Findings) -> None:
    tables, cures = run.tables, run.plan.cures
    first = rows.iloc[0]
    source, target = first["source_host"], first["destination_host"]
    where = f"streams from {source} to {target}"
    if stations is None:
        found.unknown.append(f"{where}: not all packets are stored")
        return
    packets = stations.packets
    mine = packets[(packets["source"] == source).to_numpy() & (packets["target"] == target).to_numpy()]
    if not pd.isna(first["protocol"]):
        kinds = [_PROTOCOLS.get(run.observed_plan.flows[int(flow)].kind) for flow in mine["flow"]]
        mine = mine[np.array(kinds, dtype=object) == int(first["protocol"])]
    mine = mine[~_refused_at_first(tables, mine)]
    numbered_pkts = int(rows["numbered_pkts"].sum())
    # Packets are still sent after the run's end. With move_queue, a queue can also refuse packets that have numbers.
    is_all = len(mine) == numbered_pkts and cures.move_queue == "off"
    found.within(where, "numbered_pkts", numbered_pkts, len(mine), _ANY)
    if not is_all:
        found.unknown.append(f"{where}: only {len(mine)} of {numbered_pkts} packets are in the trace")
    if cures.resequence == "off":
        return
    parts = [mine] if cures.resequence == "aggregate" else [part for _, part in mine.groupby("flow")]
    waits = [waits_of(part["received_ns"].to_numpy()) for part in parts]
    late_pkts = sum(each.late_pkts for each in waits)
    given_up_pkts = late_pkts + sum(each.lost_pkts for each in waits)
    found.within(where, "late_pkts", rows["late_pkts"].sum(), late_pkts, late_pkts if is_all else _ANY)
    found.within(where, "given_up_pkts", rows["given_up_pkts"].sum(), given_up_pkts, given_up_pkts if is_all else _ANY)
    # If the waiting time for a packet expires, all packets that arrive together may have waited.
    least_pkts = sum(len(group) - 1 for each in waits for group in each.together)
    most_pkts = least_pkts + given_up_pkts if is_all else _ANY
    found.within(where, "waited_pkts", rows["waited_pkts"].sum(), least_pkts, most_pkts)
    owd_ns = (mine["received_ns"] - mine["sent_ns"]).dropna()
    if len(owd_ns):
        longest_ns = int(owd_ns.max()) if most_pkts else 0
        found.within(where, "longest_ns", rows["longest_ns"].max(), min(least_pkts, 1), longest_ns)
    _bytes(stations, parts, waits, rows, where, found, is_all=is_all and given_up_pkts == 0)
    if cures.resequence_kind == "advanced":
        _only_of_a_new_way(run, changes, target, parts, waits, where, found)


def _bytes(
    stations: Stations, parts: list[pd.DataFrame], waits: list[Waits], rows: pd.DataFrame, where: str,
    found: Findings, *, is_all: bool,
) -> None:  # fmt: skip
    sizes = [stations.on_link(part) for part in parts]
    if any(each is None for each in sizes):
        return
    together = [
        each["link_bytes"].to_numpy()[group]
        for each, wait in zip(sizes, waits, strict=True)
        if each is not None
        for group in wait.together
    ]
    most_bytes = sum(int(group.sum()) for group in together) if is_all else _ANY
    least_bytes = max((int(group.sum() - group.max()) for group in together), default=0)
    found.within(where, "waiting_max_bytes", rows["waiting_max_bytes"].max(), least_bytes, most_bytes)


def _only_of_a_new_way(
    run: Run, changes: Changes, target: str, parts: list[pd.DataFrame], waits: list[Waits], where: str,
    found: Findings,
) -> None:  # fmt: skip
    """Check that each packet that waited was sent on a new path, at most a limited time after the change."""
    delay_ns = run.plan.cures.resequence_delay_ns
    switched_ns = [switch.t_ns for switch in changes.switches if switch.host == target]
    for part, each in zip(parts, waits, strict=True):
        sent_ns, received_ns = part["sent_ns"].to_numpy(), part["received_ns"].to_numpy()
        for group in each.together:
            found.checked += 1
            new = [
                sum(t_ns <= received_ns[place] and sent_ns[place] < t_ns + delay_ns + CARRIED_OUT_WITHIN_NS
                    for t_ns in switched_ns) > 0
                for place in group
            ]  # fmt: skip
            if sum(new) < len(group) - 1:
                at_ns = int(received_ns[group[0]])
                found.wrong.append(f"{where}: packets that go on at {at_ns} ns waited, and went no new way")


def _refused_at_first(tables: Tables, packets: pd.DataFrame) -> np.ndarray:
    """Return a mask of the packets that the queue at their first station refused, and so gave no number."""
    at_ns = packets["drop_direction"]
    senders = {number: direction[0] for number, direction in enumerate(tables.directions)}
    station = packets["source"].str.removeprefix("host:")
    return (at_ns.map(senders) == station).to_numpy() & (packets["drop_cause"] == QUEUE).to_numpy()
