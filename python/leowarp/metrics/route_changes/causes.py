# SPDX-License-Identifier: Apache-2.0
"""Determines from packet truth which route change made a packet late, or caused its loss or retransmission.

Every effect (late packet, loss or retransmission) has at most one route change as its cause. Effects without a route
change as their cause count under "no change". The rules for data packets are:

late
    If links keep their order, a packet can be overtaken only where two paths meet. A late packet was therefore in
    flight while a route change was under way. In other words, the packet was sent before the last node switched, and it
    arrived after the change began. If only one change was under way, that change is the cause. If several changes were
    under way, the first packet that overtook this packet decides. The cause is the change from this packet's path to
    the overtaking packet's path. This rule requires that a single change replaced one of the two paths by the other.
    The packet that overtook it must be stored. If a link has jitter or does not keep the order, packets overtake each
    other even on one path. On such a link, only the rule of two paths applies.
lost
    If the packet was dropped because of `link_down`, the cause is the last route change before the drop. The link that
    went down must be on the old path of this change, and not on the new path. With the drop cause `no_route`, a change
    may have removed the path before the packet was sent. That change is then the cause. For every other packet with
    `no_route`, the cause is the only change within 2 s after its sending. If none or several changes are within the 2
    s, the cause is the last change before the sending. In this case, the last change must still be incomplete when the
    packet is sent. Losses at a full queue, random losses of a link, and losses without a known cause count under "no
    change".
needed retransmission
    The cause is the route change that made the network lose the first transmission of the same bytes.
spurious retransmission
    The cause is the change that made the first transmission of the same bytes late.

The bytes of a retransmission may first have been sent in several packets. Then, all of these packets must have the same
cause. If their causes differ, the retransmission is counted as "no change".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.changes import PathChange, path_changes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.tables import DATA, Tables, floats, in_order, truths, typed_frame
from leowarp.trace.schema.packets import CAUSES, LINK_DOWN, NO_ROUTE

NONE = -1
"""The value that means "no change" during the computation. The table of causes has null instead."""

UNDER_WAY_NS = 2_000_000_000
"""The longest time that a packet is in flight. A full queue of 500 packets at 100 Mbit/s takes 60 ms per hop, so 2 s is
the time of 33 full queues."""


def causes(tables: Tables, pairs: Mapping[Pair, Sequence[int]]) -> pd.DataFrame:
    """Return the packets that each route change affected, one row per flow and change, with the columns of
    `CAUSE_COLUMNS`. A further row per flow has the effects that no change caused.

    In each column, the rows of a flow add up to the flow's total. The frame is empty if packets were not recorded.

    pairs: The result of `flow_pairs(plan.flows)`.
    Returns: DataFrame, sorted by flow, then by change. The row of "no change" is last.
    """
    # The table `bins` is needed in addition to `packets`: without the hosts' capture, `packets` does not show which
    # packets were late or lost.
    if not (tables.has("packets") and tables.has("bins")):
        return typed_frame([], CAUSE_COLUMNS)
    rows = []
    for pair, flows in pairs.items():
        changes = path_changes(tables, pair)
        for flow in flows:
            counted = _counts(tables, flow, changes)
            for place in range(len(changes) + 1):
                which = {"change": changes[place].number, "t_ns": changes[place].t_ns} if place < len(changes) else {}
                rows.append({"flow": flow} | which | {name: int(count[place]) for name, count in counted.items()})
    rows.sort(key=lambda row: row["flow"])
    return typed_frame(rows, CAUSE_COLUMNS)


def cause_scalars(caused: pd.DataFrame) -> dict[int, dict[str, int]]:
    """Return scalars of the summary for each flow: the packets lost for each cause, and those that route changes
    affected. Flows of which no packets were recorded are left out. Their values are in `NO_CAUSE_SCALARS`.

    caused: The result of `causes(...)` for the run.
    """
    if len(caused) == 0:
        return {}
    of_all = caused.groupby("flow")[_TOTALS].sum()
    of_changes = caused[caused["change"].notna()].groupby("flow")[list(CAUSED)].sum().rename(columns=CAUSED)
    rows = of_all.join(of_changes.reindex(of_all.index, fill_value=0))
    return dict(zip(rows.index.tolist(), rows.to_dict("records"), strict=True))


def _counts(tables: Tables, flow: int, changes: Sequence[PathChange]) -> dict[str, np.ndarray]:
    """Count the packets in each column, separately for each route change that caused the effect. The last entry is for
    effects that no change caused."""
    packets = tables.of_flow("packets", flow)
    mine = packets["direction"].to_numpy() == DATA
    lost = packets["drop_cause"].notna().to_numpy()
    counts = lost | truths(packets["is_retransmission"]) | truths(packets["is_late"])
    # There may be millions of other packets, so only their times are selected.
    times = in_order(packets[["sent_ns", "received_ns"]][mine], "sent_ns")
    data = in_order(packets[_COLUMNS][mine & counts], "sent_ns")
    again, late = truths(data["is_retransmission"]), truths(data["is_late"])
    drop = floats(data["drop_cause"])
    lost, spurious = ~np.isnan(drop), again & truths(data["is_spurious"])
    late_by = np.full(len(data), NONE)
    lost_by = np.full(len(data), NONE)
    if changes:
        instants = np.array([change.t_ns for change in changes], dtype="int64")
        settled = np.array([change.settled_ns for change in changes], dtype="int64")
        late_by[late] = _of_late(times, data[late], instants, settled, tables.reorders)
        lost_by[lost] = _of_lost(tables, flow, data[lost], changes, instants)
    # Causes are taken from the first transmission, even if the packet was retransmitted several times.
    spurious_by = _inherited(data, spurious, late & ~again, late_by)
    needed_by = _inherited(data, again & ~spurious, lost & ~again, lost_by)
    places = len(changes) + 1

    def count(by: np.ndarray) -> np.ndarray:
        return np.bincount(np.where(by == NONE, len(changes), by), minlength=places)

    return {
        "late_pkts": count(late_by[late]),
        "lost_pkts": count(lost_by[lost]),
        **{f"lost_{name}_pkts": count(lost_by[drop == number]) for number, name in CAUSES.items()},
        "needed_retransmissions_pkts": count(needed_by),
        "spurious_retransmissions_pkts": count(spurious_by),
    }


_COLUMNS = ["sent_ns", "received_ns", "seq", "len_bytes", "is_retransmission", "is_spurious", "is_late",
            "drop_direction", "drop_cause"]  # fmt: skip


def _of_late(
    times: pd.DataFrame, late: pd.DataFrame, instants: np.ndarray, settled: np.ndarray, reorders: bool
) -> np.ndarray:
    """Return, for each late packet, the index of the route change that made it late. NONE means that the rules in the
    module's docstring find no change.

    times: The `sent_ns` and `received_ns` of all data packets of one flow, sorted by `sent_ns`.
    late: The rows of `times` for the late packets, in the order of `times`.
    instants, settled: int64 arrays, sorted. The instants in ns at which each change began, and at which the last node
        switched.
    reorders: True if packets may overtake each other on a single link of the path. A route change during the packet's
        flight then does not prove that it made the packet late.
    """
    sent, arrival = times["sent_ns"].to_numpy(dtype="int64"), floats(times["received_ns"])
    late_sent, late_received = late["sent_ns"].to_numpy(dtype="int64"), floats(late["received_ns"])
    # `before` is the number of the first change that was not complete when a packet was sent. The events of an instant
    # are processed before the packets sent at this instant.
    before = np.searchsorted(settled, late_sent, side="right")
    under_way = np.searchsorted(instants, late_received, side="right") - before
    # side="right": packets sent at the same instant are not compared, because their order is unknown.
    overtaken_at = _earliest_from(arrival, np.searchsorted(sent, late_sent, side="right"))
    between = np.searchsorted(instants, sent[_first_of(arrival, overtaken_at)], side="right") - before
    of_overtaker = (overtaken_at < late_received) & (between == 1)
    # A single change between the sending times of the late packet and its overtaker always proves the cause.
    certain = of_overtaker if reorders else (under_way == 1) | ((under_way > 1) & of_overtaker)
    return np.where(certain, before, NONE)


def _earliest_from(arrival: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return, for each of the ascending indexes `places`, the earliest arrival of the packets from this index on. inf
    means that none of them arrived."""
    found = np.full(len(places), np.inf)
    inside = places < len(arrival)
    if inside.any():
        starts, which = np.unique(places[inside], return_inverse=True)
        # fmin ignores nan unless all values are nan.
        least = np.fmin.accumulate(np.fmin.reduceat(arrival, starts)[::-1])[::-1]
        found[inside] = np.where(np.isnan(least), np.inf, least)[which]
    return found


def _first_of(arrival: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the index of the first packet that arrived at each instant. If an instant is inf, the index is 0."""
    instants = np.unique(wanted[np.isfinite(wanted)])
    if len(instants) == 0:
        return np.zeros(len(wanted), dtype=np.intp)
    # Each arrival is looked up in the short list of instants. Looking up instants in the arrivals would need a sorted
    # copy of all arrivals, which takes several times their memory.
    place = np.minimum(np.searchsorted(instants, arrival), len(instants) - 1)
    there = np.flatnonzero(instants[place] == arrival)
    _, first = np.unique(place[there], return_index=True)
    return np.append(there[first], 0)[np.searchsorted(instants, wanted)]


def _of_lost(
    tables: Tables, flow: int, lost: pd.DataFrame, changes: Sequence[PathChange], instants: np.ndarray
) -> np.ndarray:
    """Return the index of the change that caused each packet's loss. NONE means that the rules in the module's
    docstring find no change. `lost` has the flow's lost data packets, sorted by `sent_ns`."""
    cause, sent = floats(lost["drop_cause"]), lost["sent_ns"].to_numpy(dtype="int64")
    change_numbers = np.full(len(lost), NONE)
    last = np.searchsorted(instants, sent, side="right") - 1
    coming = np.searchsorted(instants, sent + UNDER_WAY_NS, side="right") - 1 - last
    # Either the packet was sent after the change that took the path away, or a node lost its route while the packet was
    # in flight. If two changes happened during the flight, it is unknown which of them removed the route.
    for index in np.flatnonzero(cause == NO_ROUTE):
        if last[index] >= 0 and changes[last[index]].after is None:
            change_numbers[index] = last[index]
        elif coming[index] == 1:
            change_numbers[index] = last[index] + 1
        elif last[index] >= 0 and sent[index] < changes[last[index]].settled_ns:
            # The packet was sent before the last node had switched. It reached a node that had no route yet, or looped.
            change_numbers[index] = last[index]
    # If a path changes and a link goes down at the same instant, the change comes first in the timeline
    # (timeline/schema.py). The change that caused the drop is therefore never later than the drop.
    down = np.flatnonzero(cause == LINK_DOWN)
    if len(down) == 0:
        return change_numbers
    dropped_ns = _dropped_ns(tables, flow, lost.iloc[down])
    for index, t_ns in zip(down, dropped_ns, strict=True):
        number = int(np.searchsorted(instants, t_ns, side="right")) - 1 if not np.isnan(t_ns) else NONE
        direction = lost["drop_direction"].iloc[index]
        if number < 0 or pd.isna(direction):
            continue
        link = tables.directions[int(direction)][:2]
        if link in tables.links_of(changes[number].before) and link not in tables.links_of(changes[number].after):
            change_numbers[index] = number
    return change_numbers


def _dropped_ns(tables: Tables, flow: int, lost: pd.DataFrame) -> np.ndarray:
    """Return the time in ns at which each packet in `lost` was dropped when a link went down. nan means not found.

    The time of a drop is only in the table `drops`. The rows of both tables are matched by direction and first byte.
    Several packets may begin with the same byte, because of retransmissions. The n-th lost packet of them is matched
    with the n-th row of `drops`.
    """
    drops = tables.of_flow("drops", flow)
    drops = drops[(floats(drops["flow_direction"]) == DATA) & (floats(drops["cause"]) == LINK_DOWN)]
    drops = drops.sort_values("t_ns", kind="stable")
    ours = pd.DataFrame({"direction": floats(lost["drop_direction"]), "seq": floats(lost["seq"])})
    theirs = pd.DataFrame({name: floats(drops[name]) for name in ("direction", "seq", "t_ns")})
    ours, theirs = (frame.assign(turn=frame.groupby(["direction", "seq"]).cumcount()) for frame in (ours, theirs))
    return floats(ours.merge(theirs, on=["direction", "seq", "turn"], how="left")["t_ns"])


def _inherited(data: pd.DataFrame, again: np.ndarray, candidates: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return, for each retransmission, the change that affected the first transmissions of the same bytes. NONE means
    that no candidate overlaps, or that different changes affected the overlapping candidates.

    again, candidates: bool arrays of shape (len(data),). `again` marks the retransmissions whose cause is wanted.
        `candidates` marks first transmissions. The retransmissions may repeat the bytes of these packets.
    by: int array of shape (len(data),). The route change that affected each candidate.
    """
    if not again.any() or not candidates.any():
        return np.full(int(again.sum()), NONE)
    seq, end = floats(data["seq"]), floats(data["seq"]) + floats(data["len_bytes"])
    order = np.flatnonzero(candidates)
    # First transmissions do not overlap, so sorting by the first byte also sorts by the last byte.
    order = order[np.argsort(seq[order], kind="stable")]
    low = np.searchsorted(end[order], seq[again], side="right")
    high = np.searchsorted(seq[order], end[again], side="left")
    change_numbers = np.full(int(again.sum()), NONE)
    some = high > low
    origin = by[order]
    # If `turns` is equal at the first and the last overlapping candidate, all of them have the same change.
    turns = np.append(0, np.cumsum(np.diff(origin) != 0))
    alike = turns[high[some] - 1] == turns[low[some]]
    change_numbers[some] = np.where(alike, origin[low[some]], NONE)
    return change_numbers


CAUSED = {
    "late_pkts": "late_by_changes_pkts",
    "lost_pkts": "lost_by_changes_pkts",
    "needed_retransmissions_pkts": "needed_by_changes_pkts",
    "spurious_retransmissions_pkts": "spurious_by_changes_pkts",
}
"""The scalars that are sums over all changes, by column of the table of causes."""

_TOTALS = [*(f"lost_{cause}_pkts" for cause in CAUSES.values()), "needed_retransmissions_pkts"]
"""The columns of the table of causes whose sums over all rows of a flow are scalars of the same name."""

NO_CAUSE_SCALARS = dict.fromkeys([*_TOTALS, *CAUSED.values()])
"""The values of `cause_scalars` for flows whose packets were not recorded."""

CAUSE_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "flow": ("int64", None, "flow number"),
    "change": (
        "Int64",
        None,
        "number of the change of the flow's path, from 0; null: effects that no change caused, or of unknown cause",
    ),
    "t_ns": ("Int64", "ns", "instant of the change; null if `change` is null"),
    "late_pkts": ("int64", "pkts", "data packets that were late because of the change"),
    "lost_pkts": ("int64", "pkts", "data packets, retransmissions included, that were lost because of the change"),
    "lost_queue_pkts": ("int64", "pkts", "of these, lost at a full queue (never attributed to a change)"),
    "lost_loss_pkts": ("int64", "pkts", "of these, lost by a link's loss ratio (never attributed to a change)"),
    "lost_link_down_pkts": ("int64", "pkts", "of these, lost when a link went down"),
    "lost_no_route_pkts": ("int64", "pkts", "of these, lost because there was no route"),
    "lost_unknown_pkts": ("int64", "pkts", "of these, lost at an unknown place (never attributed to a change)"),
    "needed_retransmissions_pkts": ("int64", "pkts", "retransmissions of bytes that were lost because of the change"),
    "spurious_retransmissions_pkts": (
        "int64",
        "pkts",
        "spurious retransmissions of bytes that were late because of the change",
    ),
}
"""The columns of the table of causes. Each has a type, a unit, and a description."""
