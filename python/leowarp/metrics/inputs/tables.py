# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of a run into data frames, from any source.

Metrics depend only on the columns of `leowarp.trace.TABLES`, whichever program recorded the trace. A table that the
trace lacks is an empty frame with the columns of `TABLES`. If drops were not recorded, `Tables.has` is false for the
table `drops`. If drops were recorded but no drop occurred, `Tables.has` is true.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from leowarp.base import layout, plainfiles, tomltext
from leowarp.base.errors import TraceError
from leowarp.base.nodes import dish_node, host_node
from leowarp.metrics.inputs.channels import Channels
from leowarp.metrics.inputs.large import LargeTable
from leowarp.routes.schema import ROUTES
from leowarp.timeline.schema import TIMELINE

# Numbers and words in the records that the guest writes (design/interfaces.md, section 6).
DATA, ACK = 0, 1
"""The values of the column `direction` of packets and bins. Data go to the flow's destination, and acknowledgements
come back."""

NEEDED: dict[str, tuple[str, ...]] = {
    "sockets": ("t_ns", "flow", "ca_state", "cwnd_pkts", "srtt_us", "bytes_acked", "bytes_received", "sacked_pkts",
                "dsack_pkts", "snd_mss_bytes"),
    "packets": ("flow", "direction", "sent_ns", "received_ns", "seq", "len_bytes", "ack", "is_retransmission",
                "is_spurious", "is_late", "drop_direction", "drop_cause"),
    "bins": ("t_ns", "flow", "direction", "sent_pkts", "delivered_pkts", "lost_pkts", "late_pkts", "retrans_pkts",
             "spurious_pkts", "owd_sum_ns", "owd_max_ns"),
    "delays": ("flow", "quantity", "lower_ns", "upper_ns", "pkts"),
    "links": ("t_ns", "direction", "queue_pkts", "queue_bytes", "queue_max_pkts"),
    "linktotals": ("direction", "offered_pkts", "offered_bytes", "delivered_pkts", "delivered_bytes", "held_pkts",
                   "held_bytes", "queue_max_pkts"),
    "counters": ("t_ns", "host", "counter", "value"),
    "drops": ("t_ns", "direction", "cause", "flow", "flow_direction"),
    "flows": ("flow", "bytes", "completion_ns", "connect_ns", "error"),
    "acks": ("flow", "segments_pkts", "wait_ns", "acks_pkts"),
    "echoes": ("flow", "sent_ns", "received_ns", "reply_ns"),
    "reordering": ("flow", "scope", "number", "t_ns", "end_ns", "sent_pkts", "received_pkts", "lost_pkts",
                   "reordered_pkts", "density_pkts", "mean_displacement_pkts", "entropy_nats", "buffer_mean_pkts"),
    "densities": ("flow", "scope", "number", "kind", "index", "pkts"),
    "merges": ("longest_ns",),
    "nodetotals": ("held_max_bytes", "signals_pkts", "signals_bytes"),
    "orders": ("longest_ns", "waiting_max_bytes"),
    "switches": ("moved_pkts", "held_back_pkts", "held_back_max_bytes", "held_back_longest_ns", "full_pkts"),
    "measures": ("flow", "kind", "name", "number", "start_ns", "request_ns", "first_byte_ns", "end_ns", "bytes",
                 "bitrate_bps", "media_ns", "buffer_ns", "latency_ns"),
}  # fmt: skip
"""The columns of trace tables that metrics need. In an older run, the tables may lack any column that is not listed
here."""

MANY_ROWS = 1 << 18
"""The maximum number of rows of a table that is read as a whole. A larger table is a `LargeTable`, which is read column
by column."""

FLOW_BY_FLOW = ("sockets", "bins")
"""The tables whose rows are grouped by flow, if a table has more than `MANY_ROWS` rows. Within a flow, the order of
rows does not change. The rows of one flow are then one slice of each column, so selecting a flow copies nothing. The
metrics do not depend on the order of the flows."""

ROUTE_COLUMNS = ("t_ns", "source", "destination", "path_id", "path", "change_id")
TIMELINE_COLUMNS = ("t_ns", "event", "a", "b", "rate_bps", "delay_ns")
PLANNED = {"routes": pa.schema(ROUTES), "timeline": pa.schema(TIMELINE)}


@dataclass(frozen=True)
class Tables:
    """All data of a run, with checked columns.

    flows, acks, echoes, reordering, densities, merges, nodetotals, orders, switches, measures: The tables
        `30-trace/*.parquet`. `leowarp.trace.TABLES` has their columns and units.
    routes, timeline: The tables `10-routes.parquet` and `20-timeline.parquet`. Rows after the end of the run are left
        out. The tables of directions are not in `timeline`, but in `channels`.
    channels: The timeline's capacity, delay and loss tables for link directions. They cover the whole planned duration.
    directions: tuple of (a, b, kind). The entry at index n describes direction n. Packets go from node `a` to node `b`
        over a link of this kind.
    hosts: The host name for each host number in `counters`.
    missing: frozenset of str. The tables that the run does not have.
    virtual_ns: The end of the run on its own clock, as the guest reports it. None means that the run is from an older
        leowarp. Such a run always lasted as long as planned.
    programs, connections: How each program ended, and the flows of the programs' connections. Flows of connections are
        numbered after the planned flows, as in `end.json` (design/interfaces.md, section 19). Both are empty for a run
        without programs.
    """

    sockets: pd.DataFrame
    packets: pd.DataFrame
    bins: pd.DataFrame
    delays: pd.DataFrame
    links: pd.DataFrame
    linktotals: pd.DataFrame
    counters: pd.DataFrame
    drops: pd.DataFrame
    flows: pd.DataFrame
    acks: pd.DataFrame
    echoes: pd.DataFrame
    reordering: pd.DataFrame
    densities: pd.DataFrame
    merges: pd.DataFrame
    nodetotals: pd.DataFrame
    orders: pd.DataFrame
    switches: pd.DataFrame
    measures: pd.DataFrame
    routes: pd.DataFrame
    timeline: pd.DataFrame
    directions: tuple[tuple[str, str, str], ...] = ()
    hosts: tuple[str, ...] = ()
    missing: frozenset[str] = field(default_factory=frozenset)
    virtual_ns: int | None = None
    programs: tuple[dict[str, Any], ...] = ()
    connections: tuple[dict[str, Any], ...] = ()
    channels: Channels = field(default_factory=Channels)

    def has(self, table: str) -> bool:
        """Return whether the run recorded a table, even if the table is empty. The names are the keys of
        `leowarp.trace.TABLES`, "routes" and "timeline"."""
        return table not in self.missing

    def of_flow(self, table: str, flow: int) -> pd.DataFrame:
        """Return the rows of one flow, in the order of the table. The frame is shared and must not be modified.

        The rows are cached, because many metrics read them. A large table caches only the rows of the last requested
        flow.
        """
        selected = self._selected.setdefault(table, {})
        if flow not in selected:
            frame = getattr(self, table)
            if table not in self._rows:
                flows = frame["flow"]
                self._rows[table] = places_by(flows.to_numpy() if flows.dtype.kind in "iu" else floats(flows))
            mine = self._rows[table].get(flow, slice(0, 0))
            if len(frame) > MANY_ROWS:
                # If the rows of all flows were cached, they would take as much memory as the table itself.
                selected.clear()
            selected[flow] = frame.iloc[mine]
        return selected[flow]

    def release_large(self, *names: str) -> None:
        """Drop large tables from memory if they can be read again."""
        for name in names:
            if isinstance(vars(self).get(name), LargeTable):
                self.release(name)

    def release(self, name: str) -> None:
        """Remove a table from memory. It is read again when it is next needed."""
        vars(self).pop(name, None)
        self._rows.pop(name, None)
        self._selected.pop(name, None)

    @property
    def knows_drops(self) -> bool:
        """Return whether the table `drops` contains every loss. netem does not report drops. A packet that it drops is
        in `drops` only because the receiving host's capture (`bins`) lacks the packet."""
        return self.has("drops") and self.has("bins")

    def direction_of(self, a: str, b: str) -> int | None:
        """Return the number of the direction from node `a` to node `b`, or None if this link never existed."""
        return self._numbers.get((a, b))

    def direction_name(self, direction: int) -> str:
        """Return a name like `a>b` for a direction number."""
        a, b, _ = self.directions[int(direction)]
        return f"{a}>{b}"

    def host_number(self, station: str) -> int | None:
        """Return the number of a station's host in `counters`. None means that the trace contains neither the name of
        the station's node nor the name of the station."""
        names = (host_node(station), station)
        return next((number for number, name in enumerate(self.hosts) if name in names), None)

    @cached_property
    def reorders(self) -> bool:
        """Whether packets may overtake each other on a single link, because it has jitter or does not keep the
        order."""
        events = self.timeline["event"]
        if bool((events == "jitter").any()):
            return True
        # A null means that the event does not set the value `in_order`, so `not` would be wrong in the next line.
        return "in_order" in self.timeline and bool((self.timeline["in_order"] == False).any())  # noqa: E712

    def links_of(self, path: tuple[str, ...] | None) -> list[tuple[str, str]]:
        """Return the directed links of a path between two stations, from the source on.

        The result includes the access links at both ends, although the path does not name the routers behind the
        stations. The routing tables determine which directed links belong to an access link. The satellite that the
        path names is not a node of the network.
        """
        if path is None:
            return []
        dishes = [[dish_node(end)] if (end, dish_node(end)) in self._numbers else [] for end in (path[0], path[-1])]
        named = list(itertools.pairwise([*dishes[0], *path, *dishes[1]]))
        if not self._next_hops or all(link in self._numbers for link in named):
            return named
        node, target = host_node(path[0]), host_node(path[-1])
        nodes = [node]
        # The routing tables at the end of the timeline are used. An access link leads through the same nodes during the
        # whole run, and only the name of the satellite in its path changes. A user's own routing table may contain a
        # loop, so the number of steps is limited to the number of routes.
        while node != target and len(nodes) <= len(self._next_hops):
            node = self._next_hops.get((node, target), target)
            nodes.append(node)
        return list(itertools.pairwise(nodes[1:-1]))

    @cached_property
    def _next_hops(self) -> Mapping[tuple[str, str], str]:
        """A dict from (node, destination host) to the next node, at the end of the timeline."""
        if "next_hop" not in self.timeline:
            return {}
        nodes, destinations, afters = rows_of_event(self.timeline, "route", "node", "destination", "next_hop")
        names = zip(nodes, destinations, afters, strict=True)
        return {(node, destination): after for node, destination, after in names if isinstance(after, str)}

    @cached_property
    def results(self) -> dict[Any, Any]:
        """The results of the functions with the decorator `kept`."""
        return {}

    @cached_property
    def _selected(self) -> dict[str, dict[int, pd.DataFrame]]:
        """A dict from table and flow to the result of `of_flow`."""
        return {}

    @cached_property
    def _rows(self) -> dict[str, dict[Any, np.ndarray | slice]]:
        """For each table with a column `flow`, a dict from flow to row indexes, in the order of the table."""
        return {}

    @cached_property
    def rows_of_pairs(self) -> dict[tuple[str, str], np.ndarray]:
        """A dict from ordered pair of stations to the row indexes in `routes`, in ascending order."""
        ends = [self.routes[name].to_numpy(dtype=object) for name in ("source", "destination")]
        numbers, names = pd.factorize(np.concatenate(ends))
        sources, destinations = np.split(numbers, 2)
        codes = sources * len(names) + destinations
        return {(names[code // len(names)], names[code % len(names)]): at for code, at in rows_by(codes).items()}

    @cached_property
    def rows_of_directions(self) -> dict[Any, np.ndarray]:
        """A dict from each direction to the indexes of its rows in `links`, in the order of the table."""
        return rows_by(floats(self.links["direction"]))

    @cached_property
    def sampled_queues(self) -> dict[str, np.ndarray]:
        """The queue columns of `links` as arrays: `t_ns` is int64, the others are float64."""
        names = ("queue_pkts", "queue_bytes", "queue_max_pkts")
        return {"t_ns": integers(self.links["t_ns"])} | {name: floats(self.links[name]) for name in names}

    @cached_property
    def longest_queues_pkts(self) -> dict[Any, float]:
        """For each direction, the largest number of queued packets in any sample."""
        waiting = floats(self.links["queue_pkts"])
        return {
            direction: float(np.nanmax(waiting[at], initial=0.0)) for direction, at in self.rows_of_directions.items()
        }

    @cached_property
    def entries_ns(self) -> dict[str, np.ndarray]:
        """For each host, the times in ns at which nodes got new routes to the host, in ascending order. The key is the
        name of the host's node.

        Withdrawals of routes are left out, because they belong to a link that goes down.
        """
        # A hand-made timeline without routes lacks the columns of routes.
        rows = self.timeline.reindex(columns=["t_ns", "event", "destination", "next_hop"])
        rows = rows[(rows["event"] == "route") & rows["next_hop"].notna()]
        by_host = rows.groupby("destination", observed=True)["t_ns"]
        return {str(host): np.sort(integers(t_ns)) for host, t_ns in by_host}

    @cached_property
    def link_overheads_bytes(self) -> dict[frozenset[str], float]:
        """For each link, the bytes per packet that it counts in addition to the IP length. nan means unknown."""
        if "overhead_bytes" not in self.timeline:
            return {}
        a, b, values = rows_of_event(self.timeline, "link", "a", "b", "overhead_bytes")
        return {frozenset(ends): value for *ends, value in zip(a, b, floats(values), strict=True)}

    @cached_property
    def last_counters(self) -> dict[int, dict[str, float]]:
        """For each host number, a dict from the name of a counter to the counter's last value."""
        names = self.counters["counter"].to_numpy(dtype=object)
        values = self.counters["value"].to_numpy()
        # Rows are in chronological order, so the last row of a counter has its value at the end.
        return {
            host: dict(zip(names[at].tolist(), values[at].tolist(), strict=True))
            for host, at in rows_by(self.counters["host"].to_numpy()).items()
        }

    @cached_property
    def _numbers(self) -> Mapping[tuple[str, str], int]:
        return {(a, b): number for number, (a, b, _) in enumerate(self.directions)}


_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


def kept(function: Callable[Concatenate[Tables, _Given], _Made]) -> Callable[Concatenate[Tables, _Given], _Made]:
    """Make a function compute its result once for the same tables and arguments. Callers share the result, and must not
    modify it."""

    @functools.wraps(function)
    def of_tables(tables: Tables, *given: _Given.args, **named: _Given.kwargs) -> _Made:
        key = (function, *given, *named.items())
        if key not in tables.results:
            tables.results[key] = function(tables, *given, **named)
        made: _Made = tables.results[key]
        return made

    return of_tables


def rows_of_event(timeline: pd.DataFrame, event: str, *columns: str) -> list[pd.api.extensions.ExtensionArray]:
    """Return `columns` of the timeline for one kind of event. The rows keep the timeline's order."""
    mine = np.flatnonzero((timeline["event"] == event).to_numpy(dtype=bool))
    return [timeline[column].array.take(mine) for column in columns]


def rows_by(keys: np.ndarray) -> dict[Any, np.ndarray]:
    """Return the ascending row indexes of each key. Rows with a missing key (nan) are left out. Sorting once is faster
    than searching the array for each key."""
    if keys.dtype.kind == "f":
        order = np.flatnonzero(~np.isnan(keys))
        order = order[np.argsort(keys[order], kind="stable")]
    else:
        order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    # `np.unique` would sort the keys a second time, and would take three times the memory.
    starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    values = ordered[np.append(0, starts)[: len(ordered)]]
    return dict(zip(values.tolist(), np.split(order, starts), strict=False))


def places_by(keys: np.ndarray) -> dict[Any, np.ndarray | slice]:
    """Like `rows_by`, but the value of a key is a slice if the rows of this key are consecutive. Selecting a slice
    copies nothing."""
    if keys.dtype.kind in "iu" and len(keys) and not (keys[1:] < keys[:-1]).any():
        starts = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
        places = itertools.starmap(slice, itertools.pairwise(starts))
        return dict(zip(keys[starts[:-1]].tolist(), places, strict=True))
    return {
        key: slice(int(at[0]), int(at[-1]) + 1) if at[-1] - at[0] + 1 == len(at) else at
        for key, at in rows_by(keys).items()
    }


def plan_document(run_dir: str | Path) -> dict[str, Any]:
    """Read `00-plan.toml` of a run as text values with units, for printing only.

    Raises TraceError if the file is missing, unreadable, or not TOML.
    """
    path = Path(run_dir) / layout.PLAN
    try:
        return tomltext.loads(plainfiles.read(path, plainfiles.MOST_TOML_BYTES).decode("utf-8"))
    except FileNotFoundError:
        raise TraceError(f"cannot read {path}: a run directory begins with its plan, and there is none") from None
    except (OSError, ValueError, RecursionError) as error:
        raise TraceError(f"cannot read {path}: {error}", hint="no leowarp wrote it so; make the run again") from error


def in_order(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows sorted by a column. Rows with equal values stay in their order."""
    # The check saves time, because millions of packets are usually already sorted by sending time.
    return frame if frame[column].is_monotonic_increasing else frame.sort_values(column, kind="stable")


def integers(series: pd.Series) -> np.ndarray:
    """Return a column without missing values as an int64 array of shape (rows,).

    Raises TraceError if a value is missing.
    """
    if series.isna().any():
        raise TraceError(f"column {series.name} misses {int(series.isna().sum())} values where none may be missing")
    return series.to_numpy(dtype="int64")


def floats(series: pd.Series) -> np.ndarray:
    """Return a column as a float64 array of shape (rows,), with missing values as nan.

    Instants stay exact, because a float64 represents every whole ns up to 2^53, which is 104 days.
    """
    return series.to_numpy(dtype="float64", na_value=np.nan)


def truths(series: pd.Series) -> np.ndarray:
    """Return a column of truth values as a bool array of shape (rows,). Missing values become False.

    For example, `is_late` is missing if a packet never arrived, and `is_spurious` is missing for a first transmission.
    """
    return series.fillna(False).to_numpy(dtype=bool)


def typed_frame(rows: list[dict[str, Any]], columns: Mapping[str, tuple[str, str | None, str]]) -> pd.DataFrame:
    """Return the rows as a frame with exactly these columns. Missing text is None, and a missing number is pandas' NA.

    rows: Dicts from column name to value. If a dict lacks a column, the value is missing in the result.
    columns: mapping of str to (type, unit, meaning). Only pandas' types "Int64" and "Float64" may have missing values.
    """
    if not rows:
        return _typed_empty(tuple((name, kind) for name, (kind, _, _) in columns.items())).copy()
    frame = pd.DataFrame(rows, columns=list(columns)).astype({name: kind for name, (kind, _, _) in columns.items()})
    for name, (kind, _, _) in columns.items():
        if kind == "object":
            frame[name] = frame[name].where(frame[name].notna(), None)
    return frame


@functools.cache
def _typed_empty(columns: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    """Return a frame without rows. The result is cached, because a study with thousands of small runs needs the same
    empty frames for each run."""
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns})
