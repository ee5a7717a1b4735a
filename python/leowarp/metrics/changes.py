# SPDX-License-Identifier: Apache-2.0
"""Path delay over time, and the table of route changes: what changed, what was left behind, what it cost.

Delays are those that were in force on the links (the timeline's `delay` events), not those that the route
computation saw: the two differ when links are refreshed more often than routes.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.series import step_at
from leowarp.metrics.tables import DATA, Tables, floats, integers, truths, typed_frame

ATTRIBUTION_NS = 5_000_000_000
"""Default window after a change in which retransmissions, losses and DSACKs are put down to it (shorter if the next
change comes sooner). 5 s is well above the longest transient that `frederiksen2024` reports (a couple of seconds)."""

ARROW = " > "
"""Between the nodes of a path in text; names may hold blanks ("Cape Town")."""

Pair = tuple[str, str]


def flow_pairs(flows: Sequence[Any]) -> dict[Pair, list[int]]:
    """Flow numbers by (source, destination), from the plan's flows."""
    pairs: dict[Pair, list[int]] = {}
    for number, flow in enumerate(flows):
        pairs.setdefault((flow.source, flow.destination), []).append(number)
    return pairs


def pair_routes(tables: Tables, pair: Pair) -> pd.DataFrame:
    """Route updates of one ordered pair by time: `t_ns, path` (tuple of node names, None = no path), `path_id`."""
    routes = tables.routes
    if len(routes) == 0:
        return _no_routes()
    mine = routes[(routes["source"] == pair[0]) & (routes["destination"] == pair[1])].sort_values("t_ns", kind="stable")
    paths = [None if path is None or len(path) == 0 else tuple(path) for path in mine["path"]]
    ids = mine["path_id"].to_numpy() if "path_id" in mine else np.full(len(mine), None)
    return pd.DataFrame({"t_ns": integers(mine["t_ns"]), "path": pd.Series(paths, dtype=object), "path_id": ids})


@functools.cache
def _no_routes() -> pd.DataFrame:
    return pd.DataFrame({"t_ns": [], "path": [], "path_id": []})


def hops(path: Sequence[str]) -> list[tuple[str, str]]:
    """Directed links of a path, source first."""
    return list(itertools.pairwise(path))


class LinkValues:
    """Delay and rate of every direction as step functions of time, from the timeline."""

    def __init__(self, timeline: pd.DataFrame) -> None:
        self._delay = _steps(timeline, "delay", "delay_ns")
        self._rate = _steps(timeline, "rate", "rate_bps")

    def delay_ns(self, a: str, b: str, at_ns: np.ndarray | int) -> np.ndarray:
        """Propagation delay in force; 0 before the first `delay` event, which is how the guest builds a link."""
        t_ns, value = self._delay.get((a, b), (np.zeros(0), np.zeros(0)))
        return step_at(t_ns, value, at_ns, before=0.0)

    def rate_bps(self, a: str, b: str, at_ns: np.ndarray | int) -> np.ndarray:
        """Rate in force; nan = unshaped."""
        t_ns, value = self._rate.get((a, b), (np.zeros(0), np.zeros(0)))
        return step_at(t_ns, value, at_ns, before=np.nan)

    def delay_instants_ns(self, a: str, b: str) -> np.ndarray:
        """When the delay of a direction was set."""
        return self._delay.get((a, b), (np.zeros(0, dtype="int64"),))[0]

    def rate_instants_ns(self, a: str, b: str) -> np.ndarray:
        """When the rate of a direction was set."""
        return self._rate.get((a, b), (np.zeros(0, dtype="int64"),))[0]

    def path_delay_ns(self, path: Sequence[str], at_ns: int) -> int:
        """Propagation delay along a whole path at one instant, with the delays in force."""
        return int(sum(float(self.delay_ns(a, b, at_ns)) for a, b in hops(path)))


def path_delay(tables: Tables, pair: Pair, end_ns: int, links: LinkValues | None = None) -> pd.DataFrame:
    """Propagation delay of the path in force, as a step function.

    Returns
    -------
    DataFrame with `t_ns` (from when), `delay_ns` (nan = no path), `hops`, `path_id`; it changes where the route or one
    of the path's delays changed, and holds until the next row, the last until `end_ns`.
    """
    links = links or LinkValues(tables.timeline)
    routes = pair_routes(tables, pair)
    pieces = []
    for index, row in enumerate(routes.itertuples(index=False)):
        until_ns = int(routes["t_ns"].iloc[index + 1]) if index + 1 < len(routes) else end_ns
        if row.path is None:
            pieces.append(pd.DataFrame({"t_ns": [row.t_ns], "delay_ns": [np.nan], "hops": [0], "path_id": [None]}))
            continue
        instants = [np.array([row.t_ns], dtype="int64")]
        for a, b in hops(row.path):
            when = links.delay_instants_ns(a, b)
            instants.append(when[(when > row.t_ns) & (when < until_ns)].astype("int64"))
        t_ns = np.unique(np.concatenate(instants))
        delay = sum(links.delay_ns(a, b, t_ns) for a, b in hops(row.path))
        pieces.append(
            pd.DataFrame({"t_ns": t_ns, "delay_ns": delay, "hops": len(row.path) - 1, "path_id": row.path_id})
        )
    if not pieces:
        return pd.DataFrame({"t_ns": pd.Series(dtype="int64"), "delay_ns": pd.Series(dtype="float64"),
                             "hops": pd.Series(dtype="int64"), "path_id": pd.Series(dtype=object)})  # fmt: skip
    return pd.concat([piece.astype({"path_id": object}) for piece in pieces], ignore_index=True)


def change_instants(tables: Tables, pair: Pair) -> list[tuple[int, tuple[str, ...] | None, tuple[str, ...] | None]]:
    """(instant, path before, path after) wherever the path of a pair differs from the update before."""
    routes = pair_routes(tables, pair)
    paths, t_ns = list(routes["path"]), list(routes["t_ns"])
    return [(int(t_ns[i]), paths[i - 1], paths[i]) for i in range(1, len(paths)) if paths[i] != paths[i - 1]]


@dataclass(frozen=True)
class PathChange:
    """A change of the path on which a flow's packets leave; `before`, `after`: its nodes, None = there is no path."""

    t_ns: int
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None


def path_changes(tables: Tables, pair: Pair) -> list[PathChange]:
    """Changes of the path from one station to another, by time: their place in the list is the change's number.

    The guest numbers them likewise: a `path` event at t > 0 with another path id than the one before. A timeline that
    has no such events (a capture of somebody else's, say) leaves the route updates.
    """
    routes = pair_routes(tables, pair)
    timeline = tables.timeline
    events = timeline[
        (timeline["event"] == "path") & (timeline["a"] == f"host:{pair[0]}") & (timeline["b"] == f"host:{pair[1]}")
    ]
    if len(events) == 0 or "path_id" not in events:
        return [PathChange(*change) for change in change_instants(tables, pair)]
    update_ns, paths = routes["t_ns"].to_numpy(dtype="int64"), list(routes["path"])

    def nodes(number: float, at_ns: int) -> tuple[str, ...] | None:
        place = int(np.searchsorted(update_ns, at_ns, side="right")) - 1
        return None if np.isnan(number) or place < 0 else paths[place]

    changes, before, since_ns = [], np.nan, 0
    for t_ns, number in zip(integers(events["t_ns"]), floats(events["path_id"]), strict=True):
        same = number == before or (np.isnan(number) and np.isnan(before))
        if t_ns > 0 and not same:
            changes.append(PathChange(int(t_ns), nodes(before, since_ns), nodes(number, int(t_ns))))
        if not same:
            before, since_ns = float(number), int(t_ns)
    return changes


def route_changes(
    tables: Tables, pairs: Mapping[Pair, Sequence[int]], end_ns: int, attribution_ns: int = ATTRIBUTION_NS,
    links: LinkValues | None = None,
) -> pd.DataFrame:  # fmt: skip
    """One row for each change of the path that data of some flow takes; columns as in `CHANGE_COLUMNS`.

    Parameters
    ----------
    pairs : mapping of (source, destination) to flow numbers
        `flow_pairs(plan.flows)`.
    end_ns : int
        End of the run.
    attribution_ns : int
        Packets, retransmissions and losses are put down to a change until the next one, at most this long.
    links : LinkValues, optional
        Of the tables' timeline, if the caller has them already.
    """
    links = links or LinkValues(tables.timeline)
    rows: list[dict[str, Any]] = []
    for pair, flows in pairs.items():
        changes = change_instants(tables, pair)
        for index, (t_ns, before, after) in enumerate(changes):
            next_ns = changes[index + 1][0] if index + 1 < len(changes) else end_ns
            until_ns = min(next_ns, t_ns + attribution_ns)
            row = {"t_ns": t_ns, "source": pair[0], "destination": pair[1], "until_ns": until_ns}
            row |= _what_changed(before, after, t_ns, links)
            row |= _left_behind(tables, links, before, after, t_ns)
            row |= _consequences(tables, flows, t_ns, until_ns)
            rows.append(row)
    rows.sort(key=lambda row: (row["t_ns"], row["source"], row["destination"]))
    return typed_frame(rows, CHANGE_COLUMNS)


def _what_changed(
    before: tuple[str, ...] | None, after: tuple[str, ...] | None, t_ns: int, links: LinkValues
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path_before": None if before is None else ARROW.join(before),
        "path_after": None if after is None else ARROW.join(after),
        "hops_before": None if before is None else len(before) - 1,
        "hops_after": None if after is None else len(after) - 1,
        "delay_before_ns": None if before is None else links.path_delay_ns(before, t_ns),
        "delay_after_ns": None if after is None else links.path_delay_ns(after, t_ns),
    }
    if before is None or after is None:
        names = ("first_hop_changed", "middle_hops_changed", "last_hop_changed", "shared_hops", "is_shorter",
                 "delay_step_ns")  # fmt: skip
        return row | dict.fromkeys(names)
    shared = 0
    while shared < min(len(before), len(after)) - 1 and before[: shared + 2] == after[: shared + 2]:
        shared += 1
    return row | {
        "first_hop_changed": before[:2] != after[:2],
        "middle_hops_changed": before[1:-1] != after[1:-1] and before[2:-2] != after[2:-2],
        "last_hop_changed": before[-2:] != after[-2:],
        "shared_hops": shared,
        "delay_step_ns": row["delay_after_ns"] - row["delay_before_ns"],
        "is_shorter": row["delay_after_ns"] < row["delay_before_ns"],
    }


def _left_behind(
    tables: Tables, links: LinkValues, before: tuple[str, ...] | None, after: tuple[str, ...] | None, t_ns: int
) -> dict[str, Any]:
    """Queues at the change: on the links that the path leaves, and on those that it newly takes."""
    if not tables.has("links"):
        return dict.fromkeys(
            ("queue_left_pkts", "queue_left_link", "queue_left_wait_ns", "queue_met_pkts", "queue_met_wait_ns")
        )
    old, new = set(hops(before or ())), set(hops(after or ()))
    left = [(link, *_queue_at(tables, links, link, t_ns)) for link in hops(before or ()) if link not in new]
    met = [(link, *_queue_at(tables, links, link, t_ns)) for link in hops(after or ()) if link not in old]
    longest = max(left, key=lambda entry: entry[1], default=None)
    return {
        "queue_left_pkts": sum(entry[1] for entry in left),
        "queue_left_link": None if longest is None or longest[1] == 0 else ">".join(longest[0]),
        "queue_left_wait_ns": sum(entry[2] for entry in left),
        "queue_met_pkts": sum(entry[1] for entry in met),
        "queue_met_wait_ns": sum(entry[2] for entry in met),
    }


def _queue_at(tables: Tables, links: LinkValues, link: tuple[str, str], t_ns: int) -> tuple[int, int]:
    """Waiting packets of a direction just before an instant (last sample), and how long the link needs for them."""
    direction = tables.direction_of(*link)
    if direction is None:
        return 0, 0
    samples = tables.links[tables.links["direction"] == direction]
    samples = samples[samples["t_ns"] < t_ns]
    if len(samples) == 0:
        return 0, 0
    last = samples.iloc[-1]
    rate_bps = float(links.rate_bps(*link, t_ns - 1))
    wait_ns = 0 if np.isnan(rate_bps) else round(int(last["queue_bytes"]) * 8e9 / rate_bps)
    return int(last["queue_pkts"]), wait_ns


def _consequences(tables: Tables, flows: Sequence[int], t_ns: int, until_ns: int) -> dict[str, Any]:
    packets, drops, sockets = tables.packets, tables.drops, tables.sockets
    row: dict[str, Any] = dict.fromkeys(
        ("late_pkts", "overtaken_pkts", "extent_max_pkts", "retransmissions_pkts", "spurious_retransmissions_pkts",
         "lost_pkts", "dsacks_pkts")
    )  # fmt: skip
    if tables.has("packets"):
        mine = packets[packets["flow"].isin(flows) & (packets["direction"] == DATA)]
        late = mine[truths(mine["is_late"])]
        received = floats(late["received_ns"])
        late = late[(received >= t_ns) & (received < until_ns)]
        again = mine[truths(mine["is_retransmission"])]
        again = again[(again["sent_ns"] >= t_ns) & (again["sent_ns"] < until_ns)]
        extents = floats(late["extent_pkts"])
        row |= {
            "late_pkts": len(late),
            "overtaken_pkts": int((late["sent_ns"] < t_ns).sum()),
            "extent_max_pkts": int(np.nanmax(extents)) if len(extents) and not np.isnan(extents).all() else None,
            "retransmissions_pkts": len(again),
            "spurious_retransmissions_pkts": int(truths(again["is_spurious"]).sum()),
        }
    if tables.has("drops"):
        inside = (drops["t_ns"] >= t_ns) & (drops["t_ns"] < until_ns)
        row["lost_pkts"] = int((inside & drops["flow"].isin(flows) & (drops["flow_direction"] == DATA)).sum())
    if tables.has("sockets") and flows:
        row["dsacks_pkts"] = sum(_growth(sockets, flow, "dsack_pkts", t_ns, until_ns) for flow in flows)
    return row


def _growth(sockets: pd.DataFrame, flow: int, column: str, from_ns: int, until_ns: int) -> int:
    """How much a cumulative column grew between two instants, by the last samples at or before them."""
    mine = sockets[sockets["flow"] == flow]
    values = step_at(mine["t_ns"].to_numpy(), np.nan_to_num(floats(mine[column])), np.array([from_ns, until_ns]), 0.0)
    return int(values[1] - values[0])


def _steps(timeline: pd.DataFrame, event: str, column: str) -> dict[Pair, tuple[np.ndarray, np.ndarray]]:
    if len(timeline) == 0:
        return {}
    mine = timeline[(timeline["event"] == event).to_numpy(dtype=bool)]
    t_ns, values = mine["t_ns"].to_numpy(dtype="int64"), floats(mine[column])
    places: dict[Pair, list[int]] = {}
    for place, pair in enumerate(zip(mine["a"], mine["b"], strict=True)):
        places.setdefault(pair, []).append(place)
    steps = {}
    for pair, rows in places.items():
        order = np.array(rows)[np.argsort(t_ns[rows], kind="stable")]
        steps[pair] = (t_ns[order], values[order])
    return steps


CHANGE_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "t_ns": ("int64", "ns", "instant of the change"),
    "source": ("object", None, "station that data comes from"),
    "destination": ("object", None, "station that data goes to"),
    "until_ns": ("int64", "ns", "end of the window of attribution: the next change, at most 5 s on"),
    "path_before": ("object", None, "nodes of the old path, ' > ' between; null = there was none"),
    "path_after": ("object", None, "nodes of the new path; null = there is none"),
    "hops_before": ("Int64", None, "links of the old path"),
    "hops_after": ("Int64", None, "links of the new path"),
    "delay_before_ns": ("Int64", "ns", "propagation along the old path, with the delays in force at the change"),
    "delay_after_ns": ("Int64", "ns", "propagation along the new path, likewise"),
    "delay_step_ns": ("Int64", "ns", "new minus old; negative = the new path is shorter"),
    "is_shorter": ("boolean", None, "the new path's propagation is shorter"),
    "first_hop_changed": ("boolean", None, "the station sends to another satellite"),
    "middle_hops_changed": ("boolean", None, "the satellites between the first and the last are others"),
    "last_hop_changed": ("boolean", None, "another satellite delivers to the destination"),
    "shared_hops": ("Int64", None, "links from the source on that both paths share"),
    "queue_left_pkts": ("Int64", "pkts", "packets waiting on the abandoned links at the last sample before the change"),
    "queue_left_link": ("object", None, "the abandoned link with the longest of these queues"),
    "queue_left_wait_ns": ("Int64", "ns", "time that the abandoned links need to send those packets"),
    "queue_met_pkts": ("Int64", "pkts", "packets that were waiting on the links newly taken"),
    "queue_met_wait_ns": ("Int64", "ns", "time that those links need to send them"),
    "late_pkts": ("Int64", "pkts", "late packets that arrived within the window"),
    "overtaken_pkts": ("Int64", "pkts", "those of them that were sent before the change: overtaken by newer ones"),
    "extent_max_pkts": ("Int64", "pkts", "largest reordering extent among them (RFC 4737, 4.2)"),
    "retransmissions_pkts": ("Int64", "pkts", "retransmissions sent within the window"),
    "spurious_retransmissions_pkts": ("Int64", "pkts", "those of them whose original arrived too: in vain"),
    "lost_pkts": ("Int64", "pkts", "data packets dropped within the window"),
    "dsacks_pkts": ("Int64", "pkts", "duplicate segments that the receiver reported within the window (DSACK)"),
}
"""Columns of the route-change table: type, unit, meaning."""
