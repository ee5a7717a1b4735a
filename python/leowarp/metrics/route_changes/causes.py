# SPDX-License-Identifier: Apache-2.0
"""Late, lost and retransmitted packets by the route change that caused them, from the truth of each packet.

An effect that none of these rules attributes to a change is attributed to none, and counted as such. For data packets:

late
    A packet on links that keep their order can only be overtaken where two paths meet. So a route change came
    while it was under way: it was sent before all nodes had switched, and arrived after the change began. If that was
    one change, it is the cause. If there were several changes, it is the one between the path on which the packet left
    and the path of the first packet that overtook it. Only one may lie between, and that packet must be stored. On a
    link that jitters or keeps no order packets overtake each other on the same path: there the second rule alone
    decides.
lost
    `link_down`: the last change before the drop, if the link that went down was on its old path and is not on its new
    one. `no_route`: the change that took the path away, for packets sent after it; the one change in the 2 s after it
    was sent, or that was not over then, for others. A full queue, the link's own loss and unknown causes are no
    change's doing.
needed retransmission
    The cause of the loss of the first transmission of its bytes.
spurious retransmission
    The cause of the lateness of the first transmission of its bytes.

A retransmission whose bytes were first sent in several packets has a cause if all of these have the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.changes import PathChange, path_changes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.tables import CAUSES, DATA, Tables, floats, truths, typed_frame

NONE = -1
"""Number of the change that stands for no change, while they are counted; null in the table."""

UNDER_WAY_NS = 2_000_000_000
"""No packet is under way longer: 500 packets of queue at 100 Mbit/s are 60 ms a hop, so 2 s are 33 full queues."""

_QUEUE, _LOSS, _LINK_DOWN, _NO_ROUTE, _UNKNOWN = CAUSES


def causes(tables: Tables, pairs: Mapping[Pair, Sequence[int]]) -> pd.DataFrame:
    """One row a flow and route change, and one a flow for what no change caused; columns as in `CAUSE_COLUMNS`.

    Each column adds up to the flow's total. No rows: packets were not recorded.

    tables: With `packets`, `bins`, `drops`, routes and timeline.
    pairs: mapping of (source, destination) to flow numbers. `flow_pairs(plan.flows)`.
    Returns: DataFrame, ordered by flow; within a flow by change, the row of no change last.
    """
    # `packets` alone would not do: without the hosts' capture there is nothing in it that could be late or lost.
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
    """The summary's scalars by flow: totals by cause of loss, and what route changes caused, in packets.

    caused: `causes(...)` of the run.
    Returns: dict of flow to dict of name to packets. Without the flows that have no row, as their packets were not
        recorded: they have `NO_CAUSE_SCALARS`.
    """
    if len(caused) == 0:
        return {}
    of_all = caused.groupby("flow")[_TOTALS].sum()
    of_changes = caused[caused["change"].notna()].groupby("flow")[list(CAUSED)].sum().rename(columns=CAUSED)
    rows = of_all.join(of_changes.reindex(of_all.index, fill_value=0))
    return dict(zip(rows.index.tolist(), rows.to_dict("records"), strict=True))


def _counts(tables: Tables, flow: int, changes: Sequence[PathChange]) -> dict[str, np.ndarray]:
    """Packets of each column by change; the last place is for those of no change.

    Returns: dict of column to int64 array of shape (len(changes) + 1,)
    """
    packets = tables.of_flow("packets", flow)
    data = packets[packets["direction"].to_numpy() == DATA].sort_values("sent_ns", kind="stable")
    again, late = truths(data["is_retransmission"]), truths(data["is_late"])
    drop = floats(data["drop_cause"])
    lost, spurious = ~np.isnan(drop), again & truths(data["is_spurious"])
    late_by = np.full(len(data), NONE)
    lost_by = np.full(len(data), NONE)
    if changes:
        instants = np.array([change.t_ns for change in changes], dtype="int64")
        settled = np.array([change.settled_ns for change in changes], dtype="int64")
        late_by[late] = _of_late(data, late, instants, settled, tables.reorders)
        lost_by[lost] = _of_lost(tables, flow, data[lost], changes, instants)
    # A spurious retransmission repeats what was merely late, a needed one what was lost. The cause is that of the first
    # transmission: of a retransmission of a retransmission, too, the change is to blame that began it.
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


def _of_late(
    data: pd.DataFrame, late: np.ndarray, instants: np.ndarray, settled: np.ndarray, reorders: bool
) -> np.ndarray:
    """Change of each late packet, NONE if no rule decides (the rules: top of the file).

    data: Data packets of one flow, sorted by `sent_ns`.
    late: bool array of shape (len(data),)
    instants: int64 array, sorted. Instants of the changes, ns.
    settled: int64 array, sorted. When the last node had switched, ns; the same where all switch at once.
    reorders: Whether packets may overtake each other on a link of the path: a change under way then proves nothing.
    Returns: int array of shape (late.sum(),). Places in `instants`.
    """
    sent = data["sent_ns"].to_numpy(dtype="int64")
    received = floats(data["received_ns"])
    # Number of the first change that was not over when a packet was sent. One that ended at its very instant has taken
    # effect: events of an instant come before what is sent in it.
    before = np.searchsorted(settled, sent[late], side="right")
    under_way = np.searchsorted(instants, received[late], side="right") - before
    # The first to arrive of those sent later: the running minimum from the end, one place on.
    arrival = np.where(np.isnan(received), np.inf, received)
    first = np.append(np.minimum.accumulate(arrival[::-1])[::-1], np.inf)
    # side="right": packets of the very instant left in one burst, and which of them was first the instant does not
    # tell.
    overtaken_at = first[np.searchsorted(sent, sent[late], side="right")]
    by_arrival = np.argsort(arrival, kind="stable")
    place = np.searchsorted(arrival[by_arrival], overtaken_at, side="left")
    overtaker = by_arrival[np.minimum(place, len(by_arrival) - 1)]
    between = np.searchsorted(instants, sent[overtaker], side="right") - before
    of_overtaker = (overtaken_at < received[late]) & (between == 1)
    # A change that came under way proves it only where nothing else lets packets overtake; the two paths prove it
    # always.
    certain = of_overtaker if reorders else (under_way == 1) | ((under_way > 1) & of_overtaker)
    return np.where(certain, before, NONE)


def _of_lost(
    tables: Tables, flow: int, lost: pd.DataFrame, changes: Sequence[PathChange], instants: np.ndarray
) -> np.ndarray:
    """Change of each lost packet, NONE if no rule decides (the rules: top of the file).

    lost: Rows of lost data packets of the flow, sorted by `sent_ns`.
    instants: int64 array, sorted. Instants of the changes, ns.
    Returns: int array of shape (len(lost),). Places in `changes`.
    """
    cause, sent = floats(lost["drop_cause"]), lost["sent_ns"].to_numpy(dtype="int64")
    change_numbers = np.full(len(lost), NONE)
    last = np.searchsorted(instants, sent, side="right") - 1
    coming = np.searchsorted(instants, sent + UNDER_WAY_NS, side="right") - 1 - last
    # A node without an entry drops: after the change that took the path away, or, under way, at a node that lost its
    # entry meanwhile; which of two changes did that is not known.
    for index in np.flatnonzero(cause == _NO_ROUTE):
        if last[index] >= 0 and changes[last[index]].after is None:
            change_numbers[index] = last[index]
        elif coming[index] == 1:
            change_numbers[index] = last[index] + 1
        elif last[index] >= 0 and sent[index] < changes[last[index]].settled_ns:
            # Nodes switched one by one, and this packet met one that had no entry yet, or went in a circle.
            change_numbers[index] = last[index]
    # Within an instant paths change before links go down (timeline/schema.py), so the change is never later than the
    # drop.
    down = np.flatnonzero(cause == _LINK_DOWN)
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
    """When each packet that went with its link was dropped, ns: float64 array of shape (len(lost),), nan = not found.

    `packets` knows by which link a packet was dropped and not when, `drops` knows when. The two are matched by
    direction and first byte; of packets with equal bytes (retransmissions) the n-th sent is taken to be the n-th
    dropped.
    """
    drops = tables.of_flow("drops", flow)
    drops = drops[(floats(drops["flow_direction"]) == DATA) & (floats(drops["cause"]) == _LINK_DOWN)]
    drops = drops.sort_values("t_ns", kind="stable")
    ours = pd.DataFrame({"direction": floats(lost["drop_direction"]), "seq": floats(lost["seq"])})
    theirs = pd.DataFrame({name: floats(drops[name]) for name in ("direction", "seq", "t_ns")})
    ours, theirs = (frame.assign(turn=frame.groupby(["direction", "seq"]).cumcount()) for frame in (ours, theirs))
    return floats(ours.merge(theirs, on=["direction", "seq", "turn"], how="left")["t_ns"])


def _inherited(data: pd.DataFrame, again: np.ndarray, candidates: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Change of each retransmission: that of the first transmissions, among the candidates, that its bytes were in.

    data: Data packets of one flow.
    again, candidates: bool arrays of shape (len(data),). The retransmissions that are asked about, and the first
        transmissions that may be their origin.
    by: int array of shape (len(data),). Change of each candidate.
    Returns: int array of shape (again.sum(),). NONE where no candidate overlaps, or several do that have different
        changes.
    """
    if not again.any() or not candidates.any():
        return np.full(int(again.sum()), NONE)
    seq, end = floats(data["seq"]), floats(data["seq"]) + floats(data["len_bytes"])
    order = np.flatnonzero(candidates)
    # First transmissions do not overlap, so they are sorted by their ends too.
    order = order[np.argsort(seq[order], kind="stable")]
    # The first candidate that ends beyond the first byte, up to those that begin before the last one: all that overlap.
    low = np.searchsorted(end[order], seq[again], side="right")
    high = np.searchsorted(seq[order], end[again], side="left")
    change_numbers = np.full(int(again.sum()), NONE)
    some = high > low
    origin = by[order]
    # How often the cause has changed up to each candidate: from low to high it must not.
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
"""Columns of the table of causes, and what the summary calls their sum over all changes."""

_TOTALS = [*(f"lost_{cause}_pkts" for cause in CAUSES.values()), "needed_retransmissions_pkts"]
"""Columns of the table of causes whose sum over all rows of a flow is a scalar of the same name."""

NO_CAUSE_SCALARS = dict.fromkeys([*_TOTALS, *CAUSED.values()])
"""Values of `cause_scalars` for a flow whose packets were not recorded."""

CAUSE_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "flow": ("int64", None, "flow number"),
    "change": ("Int64", None, "number of the change of the flow's path, from 0; null: no change's doing, or not known"),
    "t_ns": ("Int64", "ns", "instant of the change; null likewise"),
    "late_pkts": ("int64", "pkts", "data packets that were late because of it"),
    "lost_pkts": ("int64", "pkts", "data packets, retransmissions too, that were lost because of it"),
    "lost_queue_pkts": ("int64", "pkts", "of those, at a full queue (never put down to a change)"),
    "lost_loss_pkts": ("int64", "pkts", "of those, by a link's loss ratio (never put down to a change)"),
    "lost_link_down_pkts": ("int64", "pkts", "of those, with a link that went down"),
    "lost_no_route_pkts": ("int64", "pkts", "of those, for want of a route"),
    "lost_unknown_pkts": ("int64", "pkts", "of those, place unknown (never put down to a change)"),
    "needed_retransmissions_pkts": ("int64", "pkts", "retransmissions of bytes that were lost because of it"),
    "spurious_retransmissions_pkts": ("int64", "pkts", "spurious retransmissions, of bytes that it made late"),
}
"""Columns of the table of causes: type, unit, meaning."""
