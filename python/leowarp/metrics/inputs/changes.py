# SPDX-License-Identifier: Apache-2.0
"""The path delay over time, and the table of route changes. In the table of route changes, each row has the old and the
new path, their queues, and the effects on flows.

A delay is computed from the links' delays at the same time (the timeline's `delay` events and `channel` rows). Links
may be updated more often than routes. The delays then differ from the delays of the route computation.

The route changes and their numbers come from the routes (`leowarp.routes.path_numbers`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.base.instants import distinct
from leowarp.base.nodes import host_node
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import link_values
from leowarp.metrics.inputs.series import step_at
from leowarp.metrics.inputs.tables import DATA, Tables, floats, integers, kept, truths, typed_frame

ATTRIBUTION_NS = 5_000_000_000
"""If a retransmission, loss or DSACK lies in the window after a change, it is attributed to the change. The window
after a change has this length by default. If the next route change comes before the window's end, the window ends at
that change. The default is well above the longest transient that `frederiksen2024` reports (a few seconds)."""

ARROW = " > "
"""The separator between the nodes of a path in text. A space alone would not separate names, because a name may contain
a space ("Cape Town")."""


def flow_pairs(flows: Sequence[Any]) -> dict[Pair, list[int]]:
    """Return the flow numbers by (source, destination), in the order of the plan's flows."""
    pairs: dict[Pair, list[int]] = {}
    for number, flow in enumerate(flows):
        pairs.setdefault((flow.source, flow.destination), []).append(number)
    return pairs


@kept
def pair_routes(tables: Tables, pair: Pair) -> pd.DataFrame:
    """Return the route updates from one station to another, in chronological order.

    Returns: DataFrame with `t_ns` (int64), `path` (tuple of node names from the source on, None = no path), `path_id`,
        and `change_id`. Each update is valid until the next one. `change_id` is missing if the update keeps the path.
        The result is shared, and must not be modified.
    """
    if len(tables.routes) == 0:
        return _no_routes()
    at = tables.rows_of_pairs.get(pair, np.empty(0, dtype=np.intp))
    t_ns = integers(tables.routes["t_ns"].iloc[at])
    order = np.argsort(t_ns, kind="stable")
    mine = {name: tables.routes[name].array.take(at[order]) for name in ("path", "path_id", "change_id")}
    # Paths are tuples, so that one comparison compares all nodes. Parquet returns arrays, which would be compared
    # element by element.
    paths = [None if path is None or len(path) == 0 else tuple(path) for path in mine["path"]]
    numbers = {name: mine[name].to_numpy() for name in ("path_id", "change_id")}
    return pd.DataFrame({"t_ns": t_ns[order], "path": pd.Series(paths, dtype=object), **numbers})


@functools.cache
def _no_routes() -> pd.DataFrame:
    """Return a table without routes. The table is cached, because a study may have thousands of small runs without
    routes."""
    return pd.DataFrame({"t_ns": [], "path": [], "path_id": [], "change_id": []})


@kept
def path_delay(tables: Tables, pair: Pair, end_ns: int) -> pd.DataFrame:
    """Return the propagation delay of the current path as a step function. Callers share it, and must not modify it.

    Returns: DataFrame with `t_ns` (start), `delay_ns` (nan = no path), `hops`, `path_id`. A row begins where the route
        or a delay of the path changes. Each row is valid until the next row. The last row is valid until `end_ns`.
    """
    links = link_values(tables)
    routes = pair_routes(tables, pair)
    # Each entry has instants, delays at these instants, number of hops, and number of the path.
    pieces: list[tuple[np.ndarray, np.ndarray, int, int | None]] = []
    starts = [*(int(t_ns) for t_ns in routes["t_ns"]), end_ns]
    for index, row in enumerate(routes.itertuples(index=False)):
        until_ns = starts[index + 1]
        if row.path is None:
            # The path's delay is nan, not the last delay, because packets have no delay while there is no path.
            pieces.append((np.array([row.t_ns], dtype="int64"), np.array([np.nan]), 0, None))
            continue
        taken = tables.links_of(row.path)
        instants = [np.array([row.t_ns], dtype="int64")]
        for a, b in taken:
            when = links.delay_instants_ns(a, b)
            # If a delay and the route are set at the same instant, the first piece already has the new delay.
            low, high = np.searchsorted(when, row.t_ns, side="right"), np.searchsorted(when, until_ns, side="left")
            instants.append(when[low:high].astype("int64"))
        t_ns = distinct(instants)
        delay = sum((links.delay_ns(a, b, t_ns) for a, b in taken), np.zeros(len(t_ns)))
        pieces.append((t_ns, delay, len(row.path) - 1, row.path_id))
    instants_ns, delays, hops, path_ids = zip(*pieces, strict=True) if pieces else ((), (), (), ())
    lengths = [len(t_ns) for t_ns in instants_ns]
    return pd.DataFrame({
        "t_ns": np.concatenate([np.empty(0, dtype="int64"), *instants_ns]),
        "delay_ns": np.concatenate([np.empty(0), *delays]),
        "hops": np.repeat(np.array(hops, dtype="int64"), lengths),
        "path_id": pd.Series(np.repeat(np.array(path_ids, dtype=object), lengths), dtype=object),
    })  # fmt: skip


@kept
def both_ways_ns(tables: Tables, pair: Pair) -> np.ndarray:
    """Return the instants at which a pair's path changed in either direction: sorted int64 array without duplicates, in
    ns. Changes in the return direction are included, because they affect probes and ACKs.

    The result is shared, and must not be modified.
    """
    both = (pair, (pair[1], pair[0]))
    return np.array(sorted({change.t_ns for each in both for change in path_changes(tables, each)}), dtype="int64")


@dataclass(frozen=True)
class PathChange:
    """A route change that affects the packets of a flow.

    number: The number of the change, counted from 0 for each pair. The timeline's events and the trace's table
        `reordering` contain this number.
    t_ns: The time of the change on the run's clock.
    before, after: The nodes of the path before and after the change. None means no path.
    settled_ns: The time at which the last node in either direction had its new route. If all nodes switch at once, this
        is `t_ns`.
    """

    number: int
    t_ns: int
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None
    settled_ns: int


@kept
def path_changes(tables: Tables, pair: Pair) -> list[PathChange]:
    """Return the route changes from one station to another in chronological order. The changes have the same numbers as
    in the routes table.

    The first path of the run is not a change. It is also a change if the stations lose their path, or have a path again
    after a gap. The list is shared, and must not be modified.
    """
    routes = pair_routes(tables, pair)
    paths = list(routes["path"])
    # After the last route update, the period has no end, so the largest int64 is used.
    until_ns = np.append(routes["t_ns"].to_numpy(dtype="int64")[1:], np.iinfo(np.int64).max)
    return [
        PathChange(
            int(number),
            int(t_ns),
            paths[row - 1],
            paths[row],
            _settled_ns(tables, pair, int(t_ns), int(until_ns[row])),
        )
        for row, (number, t_ns) in enumerate(zip(floats(routes["change_id"]), routes["t_ns"], strict=True))
        if not np.isnan(number)
    ]


def _settled_ns(tables: Tables, pair: Pair, t_ns: int, until_ns: int) -> int:
    """Return the time at which the last node got its new route to one of the pair's hosts. `t_ns` is the time of this
    route update, and `until_ns` that of the next. The result is `t_ns` if no node got a new route."""
    last_ns = int(t_ns)
    for station in pair:
        own_ns = tables.entries_ns.get(host_node(station), np.empty(0, dtype=np.int64))
        place = int(np.searchsorted(own_ns, until_ns, side="left")) - 1
        if place >= 0:
            last_ns = max(last_ns, int(own_ns[place]))
    return last_ns


def route_changes(
    tables: Tables, pairs: Mapping[Pair, Sequence[int]], end_ns: int, attribution_ns: int = ATTRIBUTION_NS
) -> pd.DataFrame:
    """Return one row per route change that affects data of a flow, with the columns of `CHANGE_COLUMNS`.

    After each change, the packets of all flows between the two stations of the change are counted in time windows. Late
    and lost packets are counted whatever the cause is. `metrics/route_changes/causes.py` attributes each packet to a
    cause. A column is null if the tables that it needs (packets, drops, sockets or queues) are missing.

    pairs: mapping of (source, destination) to flow numbers. Pass the result of `flow_pairs(plan.flows)`.
    attribution_ns: Packets, retransmissions and losses are attributed to a change if they occur at most this time after
        it. If the next change follows earlier, the attribution to this change ends at the next change.
    Returns: DataFrame, ordered by time, then source, then destination.
    """
    rows: list[dict[str, Any]] = []
    for pair, flows in pairs.items():
        changes = path_changes(tables, pair)
        if not changes:
            continue
        consequences = _Consequences(tables, flows)
        instants = [0, *(change.t_ns for change in changes), end_ns]
        for since_ns, change, next_ns in zip(instants[:-2], changes, instants[2:], strict=True):
            t_ns, before, after = change.t_ns, change.before, change.after
            # Windows never overlap, so no retransmission is attributed to two changes.
            until_ns = min(next_ns, t_ns + attribution_ns)
            row = {"t_ns": t_ns, "source": pair[0], "destination": pair[1], "until_ns": until_ns}
            # The old and the new path may consist of the same links, as with a mobile channel. At the change, the links
            # already have the delays of the new path, so the delay before the change is read 1 ns earlier.
            old, new = tables.links_of(before), tables.links_of(after)
            held_ns = t_ns - (old == new)
            # If an access link is on both paths, it stays in use. A step of its delay is then not a part of the change.
            stay = {} if old == new else dict.fromkeys(set(old) & set(new), (since_ns, next_ns))
            row |= _what_changed(
                before, after, _base_delay_ns(tables, before, (held_ns, since_ns, t_ns), stay),
                _base_delay_ns(tables, after, (t_ns, t_ns, next_ns), stay),
            )  # fmt: skip
            row |= _left_behind(tables, before, after, t_ns)
            rows.append(row | consequences.within(t_ns, until_ns))
    rows.sort(key=lambda row: (row["t_ns"], row["source"], row["destination"]))
    return typed_frame(rows, CHANGE_COLUMNS)


def _base_delay_ns(
    tables: Tables, path: tuple[str, ...] | None, span_ns: tuple[int, int, int], stay: Mapping[Pair, tuple[int, int]]
) -> int | None:
    """Return the sum of the link delays along a path, in ns. None means that there is no path. `span_ns` is (instant,
    start, end). A link's delay is that at the instant. With a channel, it varies within a slot, so its minimum from
    start to end is used. For a link in `stay`, this dict gives the start and end instead."""
    if path is None:
        return None
    links, (at_ns, from_ns, until_ns) = link_values(tables), span_ns
    return int(sum(
        links.base_delay_ns(a, b, *stay.get((a, b), (from_ns, until_ns))) if links.has_channel(a, b)
        else float(links.delay_ns(a, b, at_ns))
        for a, b in tables.links_of(path)
    ))  # fmt: skip


def _what_changed(
    before: tuple[str, ...] | None, after: tuple[str, ...] | None, delay_before_ns: int | None,
    delay_after_ns: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the columns of a row that compare two paths. Some columns need both paths. They are left out if one of the
    paths does not exist."""
    row: dict[str, Any] = {
        "path_before": None if before is None else ARROW.join(before),
        "path_after": None if after is None else ARROW.join(after),
        "hops_before": None if before is None else len(before) - 1,
        "hops_after": None if after is None else len(after) - 1,
        "delay_before_ns": delay_before_ns,
        "delay_after_ns": delay_after_ns,
    }
    if before is None or after is None or delay_before_ns is None or delay_after_ns is None:
        return row
    # The last link is left out: two paths that differ only in the last link count as the same path.
    shared = 0
    while shared < min(len(before), len(after)) - 1 and before[: shared + 2] == after[: shared + 2]:
        shared += 1
    return row | {
        "first_hop_changed": before[:2] != after[:2],
        # The first and the last satellite are left out, because `first_hop_changed` and `last_hop_changed` cover them.
        "middle_hops_changed": before[2:-2] != after[2:-2],
        "last_hop_changed": before[-2:] != after[-2:],
        "shared_hops": shared,
        "delay_step_ns": delay_after_ns - delay_before_ns,
        "is_shorter": delay_after_ns < delay_before_ns,
    }


def _left_behind(
    tables: Tables, before: tuple[str, ...] | None, after: tuple[str, ...] | None, t_ns: int
) -> dict[str, Any]:
    """Return the queues at the time of the change, of links that are on only one of the two paths.

    With the in-flight rule `drain`, packets on the new path may overtake packets that wait in queues of the old links.
    A packet can be late by at most the time that it waits in these queues (docs/concepts/in-flight-rules.md).
    """
    if not tables.has("links"):
        return {}
    # If a link is on both paths, its queue remains, and the packets in the queue keep their order.
    old, new = tables.links_of(before), tables.links_of(after)
    left = [(link, *_queue_at(tables, link, t_ns)) for link in old if link not in new]
    met = [(link, *_queue_at(tables, link, t_ns)) for link in new if link not in old]
    longest = max(left, key=lambda entry: entry[1], default=None)
    return {
        "queue_left_pkts": sum(entry[1] for entry in left),
        "queue_left_link": None if longest is None or longest[1] == 0 else ">".join(longest[0]),
        "queue_left_wait_ns": sum(entry[2] for entry in left),
        "queue_met_pkts": sum(entry[1] for entry in met),
        "queue_met_wait_ns": sum(entry[2] for entry in met),
    }


def _queue_at(tables: Tables, link: Pair, t_ns: int) -> tuple[int, int]:
    """Return the number of queued packets of a direction, and the time in ns to send them. The last sample before
    `t_ns` gives both values."""
    direction = tables.direction_of(*link)
    if direction is None:
        return 0, 0
    samples = tables.links[tables.links["direction"] == direction]
    # Queues are sampled only when something changed, so the last sample is still valid. If there is no sample before
    # the instant, no packet has waited yet. A sample at exactly the instant of the change may be from before or after
    # the change.
    samples = samples[samples["t_ns"] < t_ns]
    if len(samples) == 0:
        return 0, 0
    last = samples.iloc[-1]
    # The waiting time is computed with the rate before the change. A link without a rate limit sends waiting packets at
    # once.
    rate_bps = float(link_values(tables).rate_bps(*link, t_ns - 1))
    wait_ns = 0 if np.isnan(rate_bps) else round(int(last["queue_bytes"]) * 8e9 / rate_bps)
    return int(last["queue_pkts"]), wait_ns


class _Consequences:
    """The late packets, retransmissions and drops of some flows. They are sorted only once, because a run has about a
    hundred changes and millions of packets."""

    def __init__(self, tables: Tables, flows: Sequence[int]) -> None:
        self._tables, self._flows = tables, flows
        packets, drops = tables.packets, tables.drops
        mine = (packets["flow"].isin(flows) & (packets["direction"] == DATA)).to_numpy(dtype=bool)
        # Columns are selected before rows. If rows were selected first, the unused columns of millions of packets would
        # be copied.
        late = packets[["sent_ns", "received_ns"]][mine & truths(packets["is_late"])]
        late = late.sort_values("received_ns", kind="stable")
        self._received, self._sent = floats(late["received_ns"]), late["sent_ns"].to_numpy(dtype="int64")
        again = packets[["sent_ns", "is_spurious"]][mine & truths(packets["is_retransmission"])]
        again = again.sort_values("sent_ns", kind="stable")
        self._again, self._spurious = again["sent_ns"].to_numpy(dtype="int64"), truths(again["is_spurious"])
        lost = drops["flow"].isin(flows) & (drops["flow_direction"] == DATA)
        self._lost = np.sort(drops["t_ns"].to_numpy(dtype="int64")[lost.to_numpy(dtype=bool)])

    def within(self, t_ns: int, until_ns: int) -> dict[str, Any]:
        """Return the counts from one instant (inclusive) to another (exclusive). Quantities that the run did not record
        are left out.

        A late packet is counted when it arrives, a retransmission when sent, and a lost packet when dropped.
        """
        row: dict[str, Any] = {}
        if self._tables.has("packets"):
            late = slice(*np.searchsorted(self._received, [t_ns, until_ns]))
            again = slice(*np.searchsorted(self._again, [t_ns, until_ns]))
            row |= {
                "late_pkts": len(self._sent[late]),
                # Only packets sent before the change can be overtaken because of this change. Late packets that were
                # sent after the change have another cause, for instance the previous change.
                "overtaken_pkts": int((self._sent[late] < t_ns).sum()),
                "retransmissions_pkts": len(self._again[again]),
                "spurious_retransmissions_pkts": int(self._spurious[again].sum()),
            }
        if self._tables.has("drops"):
            row["lost_pkts"] = int(np.diff(np.searchsorted(self._lost, [t_ns, until_ns]))[0])
        if self._tables.has("sockets") and self._flows:
            row["dsacks_pkts"] = sum(_growth(self._tables, flow, "dsack_pkts", t_ns, until_ns) for flow in self._flows)
        return row


def _growth(tables: Tables, flow: int, column: str, from_ns: int, until_ns: int) -> int:
    """Return by how much a cumulative column of `sockets` grows between two instants."""
    mine = tables.of_flow("sockets", flow)
    # Cumulative counters of a socket start at 0. A counter is therefore 0 before the socket's first sample, and in
    # samples in which it is missing.
    values = step_at(mine["t_ns"].to_numpy(), np.nan_to_num(floats(mine[column])), np.array([from_ns, until_ns]), 0.0)
    return int(values[1] - values[0])


CHANGE_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "t_ns": ("int64", "ns", "instant of the change"),
    "source": ("object", None, "station that data comes from"),
    "destination": ("object", None, "station that data goes to"),
    "until_ns": ("int64", "ns", "end of the window: next change or end of the run, at most 5 s after the change"),
    "path_before": ("object", None, "nodes of the old path, separated by ' > '; null: no path"),
    "path_after": ("object", None, "nodes of the new path, separated by ' > '; null: no path"),
    "hops_before": ("Int64", None, "number of links of the old path"),
    "hops_after": ("Int64", None, "number of links of the new path"),
    "delay_before_ns": (
        "Int64",
        "ns",
        "propagation delay of the old path at the change. A link with a channel, whose delay always varies, counts "
        "with its smallest delay since the previous change",
    ),
    "delay_after_ns": (
        "Int64",
        "ns",
        "propagation delay of the new path at the change. A link with a channel counts with its smallest delay until "
        "the next change",
    ),
    "delay_step_ns": (
        "Int64",
        "ns",
        "delay of the new path minus that of the old one; negative: the new one is shorter",
    ),
    "is_shorter": ("boolean", None, "whether the new path has less propagation delay than the old one"),
    "first_hop_changed": ("boolean", None, "whether the source sends to another satellite"),
    "middle_hops_changed": ("boolean", None, "whether the satellites between the first and the last one differ"),
    "last_hop_changed": ("boolean", None, "whether another satellite delivers to the destination"),
    "shared_hops": ("Int64", None, "number of first links, counted from the source, that both paths have in common"),
    "queue_left_pkts": ("Int64", "pkts", "packets waiting on the abandoned links at the last sample before the change"),
    "queue_left_link": ("object", None, "abandoned link with the longest of these queues; null: no packet was waiting"),
    "queue_left_wait_ns": ("Int64", "ns", "time that the abandoned links need to send `queue_left_pkts`"),
    "queue_met_pkts": ("Int64", "pkts", "packets waiting on the newly used links at the last sample before the change"),
    "queue_met_wait_ns": ("Int64", "ns", "time that the newly used links need to send `queue_met_pkts`"),
    "late_pkts": ("Int64", "pkts", "late data packets that arrived within the window"),
    "overtaken_pkts": ("Int64", "pkts", "of these, sent before the change and overtaken by newer packets"),
    "retransmissions_pkts": ("Int64", "pkts", "retransmissions sent within the window"),
    "spurious_retransmissions_pkts": ("Int64", "pkts", "of these, spurious (all bytes arrived in earlier packets)"),
    "lost_pkts": ("Int64", "pkts", "data packets dropped within the window"),
    "dsacks_pkts": ("Int64", "pkts", "duplicate segments that the receiver reported within the window (DSACK)"),
}
"""The columns of the route-change table, each with its type, unit and meaning."""
