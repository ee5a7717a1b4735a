# SPDX-License-Identifier: Apache-2.0
"""The queues, utilisation and drops of links.

Each link has two directions. Each direction has its own queue, rate and delay. The direction numbers are the numbers in
the trace. Packets in transmission or in flight are not part of a queue (design/leolink.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.changes import pair_routes
from leowarp.metrics.inputs.channels import Pair
from leowarp.metrics.inputs.link_values import LinkValues, link_values
from leowarp.metrics.inputs.series import holding_ns, step_at, weighted_quantile
from leowarp.metrics.inputs.tables import ACK, DATA, Tables, floats, kept, truths, typed_frame
from leowarp.trace.schema.packets import CAUSES

DROP_STEMS = ("queue", "loss", "down")
"""The causes of drops that a link itself counts (`linktotals.dropped_*`)."""


@kept
def queue_series(tables: Tables, direction: int, end_ns: int) -> pd.DataFrame:
    """Return the queue length of a direction as a step function of time, from 0 to `end_ns`. The columns are `t_ns,
    queue_pkts, queue_bytes, queue_max_pkts`. The frame is shared, and must not be modified.

    The trace has a row only when a value changes. A value is valid until the next row. The queue is empty at time 0.

    Raises TraceError if a row has no time.
    """
    # The rows are selected from arrays of whole columns. Making a frame per direction would take ten times as long.
    at = tables.rows_of_directions.get(direction, np.empty(0, dtype=np.intp))
    columns = {name: values[at] for name, values in tables.sampled_queues.items()}
    # The table has rows only where the queue changed, so a queue is empty until its first row.
    if len(at) == 0 or columns["t_ns"][0] > 0:
        columns = {name: np.insert(values, 0, 0) for name, values in columns.items()}
    inside = columns["t_ns"] <= end_ns
    return pd.DataFrame({name: values[inside] for name, values in columns.items()})


def path_queues(
    tables: Tables, pair: Pair, end_ns: int, grid_ns: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each link of each path of a pair, yield when the path was in force, and how many packets waited at the link.

    grid_ns: int64 array. The instants at which queues are evaluated, ascending.
    Yields in_force: bool array of the grid's shape
    Yields waiting_pkts: float array of the grid's shape
    """
    routes = pair_routes(tables, pair)
    # Each queue is evaluated on the grid only once, even if several paths share its link.
    known: dict[int, np.ndarray] = {}
    for index, (t_ns, path) in enumerate(zip(routes["t_ns"], routes["path"], strict=True)):
        until_ns = routes["t_ns"].iloc[index + 1] if index + 1 < len(routes) else end_ns
        in_force = (grid_ns >= t_ns) & (grid_ns < until_ns)
        for link in tables.links_of(path):
            direction = tables.direction_of(*link)
            if direction is None:
                continue
            if direction not in known:
                series = queue_series(tables, direction, end_ns)
                known[direction] = step_at(series["t_ns"].to_numpy(), series["queue_pkts"].to_numpy(), grid_ns, 0.0)
            yield in_force, known[direction]


def link_use(tables: Tables, end_ns: int) -> pd.DataFrame:
    """Return one row per link direction to which a packet was offered, with the columns of `LINK_COLUMNS`.

    `utilisation_ratio` is the delivered bits divided by the bits that the rate allowed while the link was up.
    `use_on_path_ratio` is the delivered bits divided by the bits that the rate allowed while a flow's path used the
    direction. Both ratios use the kernel's count of delivered bytes, and are null for links without a rate limit. The
    ratios differ if a link stays up while no path uses it. `use_on_path_ratio` can exceed 1, because a link still
    empties its queue after a path has left it.

    Returns: DataFrame, sorted by the number of the direction.
    """
    links = link_values(tables)
    up = _up_spans(tables, end_ns)
    on_path = on_path_spans(tables, end_ns)
    queues = _queues(tables)
    # In runs of an older version, the maxima are given only in packets. They also include packets that links sent after
    # the run's end.
    maxima = {name: f"run_{name}" for name in _MAXIMA if f"run_{name}" in tables.linktotals}
    rows = []
    for row in tables.linktotals.sort_values("direction").itertuples(index=False):
        # netem does not report offered packets, so a netem link is included if it delivered a packet.
        if row.offered_pkts == 0 or (pd.isna(row.offered_pkts) and row.delivered_pkts == 0):
            continue
        direction = int(row.direction)
        a, b, kind = tables.directions[direction]
        # A link without any `link` event was up during the whole run.
        up_spans = up.get(frozenset((a, b)), [(0, end_ns)])
        path_spans = on_path.get((a, b), [])
        capacity_bits = _capacity_bits(links, (a, b), up_spans)
        path_bits = _capacity_bits(links, (a, b), path_spans)
        queue = queue_series(tables, direction, end_ns)
        # If a run sampled no queues, the weights are 0. The mean and the percentile are then unknown instead of 0.
        weights = holding_ns(queue["t_ns"].to_numpy(), end_ns) * tables.has("links")
        # A direction without a `queue` event has a FIFO with the limits of the link.
        discipline, ecn = queues.get((a, b), ("fifo", False))
        rows.append({
            "direction": direction, "a": a, "b": b, "kind": kind, "queue": discipline, "ecn": ecn,
            "offered_pkts": row.offered_pkts, "delivered_pkts": row.delivered_pkts,
            "delivered_bytes": row.delivered_bytes, "held_pkts": row.held_pkts,
            **{f"dropped_{stem}_pkts": getattr(row, f"dropped_{stem}_pkts") for stem in DROP_STEMS},
            "utilisation_ratio": row.delivered_bytes * 8 / capacity_bits if capacity_bits else None,
            "up_ns": length_ns(up_spans), "on_path_ns": length_ns(path_spans) if on_path else None,
            "use_on_path_ratio": row.delivered_bytes * 8 / path_bits if path_bits else None,
            "queue_max_pkts": row.queue_max_pkts,
            **{name: getattr(row, recorded) for name, recorded in maxima.items()},
            "queue_mean_pkts": float(np.average(queue["queue_pkts"], weights=weights)) if weights.sum() else None,
            "queue_p99_pkts": weighted_quantile(queue["queue_pkts"].to_numpy(), weights, 0.99),
        })  # fmt: skip
    return typed_frame(rows, LINK_COLUMNS)


def drops_by_cause(tables: Tables) -> dict[str, int]:
    """Return the number of dropped packets for each word of `CAUSES`. Packets that belong to no flow (resets, neighbour
    discovery) are included."""
    causes = floats(tables.drops["cause"])
    return {name: int((causes == number).sum()) for number, name in CAUSES.items()}


def flow_drops(tables: Tables, flow: int) -> tuple[int, int]:
    """Return the numbers (data, ACK) of a flow's dropped packets, including retransmissions."""
    directions = floats(tables.of_flow("drops", flow)["flow_direction"])
    return int((directions == DATA).sum()), int((directions == ACK).sum())


def _queues(tables: Tables) -> dict[Pair, tuple[str, bool]]:
    """Return the queueing discipline of each direction with a `queue` event, and whether it marks packets (ECN)."""
    timeline = tables.timeline
    if "queue" not in timeline.columns:
        return {}
    made = timeline[(timeline["event"] == "queue").to_numpy(dtype=bool)]
    marks = truths(made["ecn"]) if "ecn" in made else np.zeros(len(made), dtype=bool)
    return {
        (a, b): (kind, bool(ecn)) for a, b, kind, ecn in zip(made["a"], made["b"], made["queue"], marks, strict=True)
    }


def _up_spans(tables: Tables, end_ns: int) -> dict[frozenset[str], list[tuple[int, int]]]:
    """Return the spans of time, as (from, until) in ns, in which each link was up in both directions."""
    spans: dict[frozenset[str], list[tuple[int, int]]] = {}
    timeline = tables.timeline
    if "up" not in timeline.columns:
        return spans
    since: dict[frozenset[str], int] = {}
    for t_ns, a, b, up in timeline.loc[timeline["event"] == "link", ["t_ns", "a", "b", "up"]].itertuples(index=False):
        link = frozenset((a, b))
        # A link may have two up events without a down event between them.
        if up and link not in since:
            since[link] = int(t_ns)
        elif not up and link in since:
            spans.setdefault(link, []).append((since.pop(link), int(t_ns)))
    for link, start_ns in since.items():
        spans.setdefault(link, []).append((start_ns, end_ns))
    return spans


def on_path_spans(tables: Tables, end_ns: int) -> dict[Pair, list[tuple[int, int]]]:
    """Return the spans of time in which the path of some pair of stations used each link direction."""
    found: dict[Pair, list[tuple[int, int]]] = {}
    pairs = dict.fromkeys(zip(tables.routes["source"], tables.routes["destination"], strict=True))
    for pair in pairs:
        routes = pair_routes(tables, pair)
        for t_ns, until_ns, path in zip(routes["t_ns"], [*routes["t_ns"][1:], end_ns], routes["path"], strict=True):
            for link in tables.links_of(path):
                found.setdefault(link, []).append((int(t_ns), int(until_ns)))
    return {link: joined(spans) for link, spans in found.items()}


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of spans in chronological order. Adjacent spans are merged."""
    union: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        elif end > start:
            union.append((start, end))
    return union


def length_ns(spans: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)


def _capacity_bits(links: LinkValues, link: tuple[str, str], spans: list[tuple[int, int]]) -> float | None:
    """Return the number of bits that the direction could have carried in the spans. The result is None if the direction
    has no rate limit during some part of them."""
    total = sum(float(links.capacity_bits(*link, np.array(span))[0]) for span in spans)
    return None if np.isnan(total) else total or None


_MAXIMA = ("queue_max_pkts", "queue_max_pkts_at_ns", "queue_max_bytes", "queue_max_bytes_at_ns")

LINK_COLUMNS: dict[str, tuple[str, str | None, str]] = {
    "direction": ("int64", None, "number of the direction of the link"),
    "a": ("object", None, "node that sends"),
    "b": ("object", None, "node that receives"),
    "kind": ("object", None, "isl, gsl or wire"),
    "queue": ("object", None, "kind of queue: fifo, codel, fq_codel, pie, fq_pie, cake or red"),
    "ecn": ("bool", None, "whether the queue marks packets (ECN)"),
    "offered_pkts": ("Int64", "pkts", "packets handed to the link; null: netem does not report them"),
    "delivered_pkts": ("Int64", "pkts", "packets that arrived at the other end of the link"),
    "delivered_bytes": ("Int64", "bytes", "bytes of these packets, as the kernel counts them"),
    "held_pkts": ("Int64", "pkts", "packets in the queue or in flight at the end"),
    "dropped_queue_pkts": ("Int64", "pkts", "packets dropped because the queue was full"),
    "dropped_loss_pkts": ("Int64", "pkts", "packets dropped by the link's loss ratio"),
    "dropped_down_pkts": ("Int64", "pkts", "packets lost when the link went down"),
    "utilisation_ratio": ("Float64", None, "delivered bits divided by (rate x time up); null: no rate limit"),
    "up_ns": ("Int64", "ns", "time during which the link was up"),
    "on_path_ns": (
        "Int64",
        "ns",
        "time during which a path between stations with a flow led over the direction; null: the run has no routes",
    ),
    "use_on_path_ratio": (
        "Float64",
        None,
        "delivered bits divided by (rate x `on_path_ns`); can exceed 1, because a link still delivers packets after a "
        "path has left it; null: no rate limit, or never on a path",
    ),
    "queue_max_pkts": ("Int64", "pkts", "most packets that waited at once in the run, exact; null: netem"),
    "queue_max_pkts_at_ns": (
        "Int64",
        "ns",
        "first time at which `queue_max_pkts` waited; null: no packet ever waited, netem, or an older run",
    ),
    "queue_max_bytes": (
        "Int64",
        "bytes",
        "most bytes that waited at once in the run, exact, with the link's overhead; null: netem, or an older run",
    ),
    "queue_max_bytes_at_ns": (
        "Int64",
        "ns",
        "first time at which `queue_max_bytes` waited; null: no packet ever waited, netem, or an older run",
    ),
    "queue_mean_pkts": ("Float64", "pkts", "mean over time of the number of waiting packets, from samples"),
    "queue_p99_pkts": ("Float64", "pkts", "99th percentile over time of the number of waiting packets, from samples"),
}
"""The columns of the link table, each with its type, unit and meaning."""
