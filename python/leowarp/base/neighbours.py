# SPDX-License-Identifier: Apache-2.0
"""Checks that the files of a run directory belong to the same run. The summary and the trace tables must have the flows
of the plan. The routes must have the pairs of stations that these flows connect. The timeline must have the stations of
the flows and the links of the trace.

The sha256 in the manifest is not enough, because somebody may have written a new manifest for changed files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leowarp.base import plainfiles, tomltext
from leowarp.base.errors import TraceError
from leowarp.base.layout import PLAN, ROUTES, SUMMARY, TIMELINE, TRACE
from leowarp.base.nodes import host_node, station_of

if TYPE_CHECKING:
    import pyarrow as pa


class Flow(NamedTuple):
    """The kind, source and destination of a flow. Each of the files contains them."""

    kind: str
    source: str
    destination: str

    def __str__(self) -> str:
        return f"{self.kind:.20} from {self.source:.60} to {self.destination:.60}"


def refuse_other_summary(run: Path, summary: Mapping[str, Any], hint: str) -> None:
    """Raise TraceError if a summary does not have the flows of the plan in the same directory.

    summary: A valid summary, checked by `recorded.why_no_summary`.
    """
    told = [
        Flow(flow.get("kind", "tcp"), str(flow["source"]), str(flow["destination"]))
        for flow in summary["flows"]
        if "source" in flow and "destination" in flow
    ]
    # A summary that was written by hand may lack the sources and destinations of flows. If any flow lacks its source or
    # destination, the summary is not compared.
    if len(told) == len(summary["flows"]):
        _refuse_other(run, SUMMARY, told, hint)


def refuse_other_table(run: Path, name: str, metadata: Mapping[bytes, bytes] | None, hint: str) -> None:
    """Raise TraceError if a trace table does not have the flows or hosts of the plan in the same directory.

    metadata: The metadata of the table. Without flows and hosts in the metadata, nothing is compared. Unreadable
        metadata are ignored. The function that reads the table reports them.
    """
    try:
        flows, hosts = (json.loads((metadata or {}).get(key, b"null")) for key in (b"flows", b"hosts"))
        told = None if flows is None else [_of_nodes(flow) for flow in flows]
        known = None if hosts is None else frozenset(hosts)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    if told is not None:
        _refuse_other(run, name, told, hint)
    elif known is not None:
        _refuse_other_hosts(run, name, known, hint)


def _refuse_other_hosts(run: Path, name: str, known: frozenset[str], hint: str) -> None:
    for flow in _planned(run) or ():
        for end in (flow.source, flow.destination):
            if known.isdisjoint((end, host_node(end))):
                raise TraceError(
                    f"cannot read {run / name}: it has no host of {end:.60}, which {PLAN} beside it has, so they "
                    "are of different runs",
                    hint=hint,
                )


def refuse_other_network(run: Path, name: str, table: pa.Table, hint: str) -> None:
    """Raise TraceError if routes or a timeline do not fit the plan's flows. The plan is in the same run directory.

    table: The routes with the columns `source` and `destination`, or a timeline with `event`, `a` and `b`. A table
        without rows is not checked.
    """
    planned = _planned(run)
    if planned is None or len(table) == 0:
        return
    if name == ROUTES:
        known = _rows_of(table, "source", "destination")
        for flow in planned:
            if (flow.source, flow.destination) not in known:
                raise TraceError(
                    f"cannot read {run / name}: it has no route from {flow.source:.60} to {flow.destination:.60}, "
                    f"between which {PLAN} beside it has a flow, so they are of different runs",
                    hint=hint,
                )
    elif name == TIMELINE:
        nodes = frozenset(node for event, node, _ in _rows_of(table, "event", "a", "b") if event == "node")
        # A timeline made by hand may leave out the nodes.
        if nodes:
            _refuse_other_hosts(run, name, nodes, hint)


def refuse_other_links(
    run: Path, name: str, table: pa.Table, directions: Sequence[tuple[str, str, str]], hint: str
) -> None:
    """Raise TraceError if a link of the trace is missing in the timeline of the same directory.

    table: A timeline with the columns `event`, `a` and `b`.
    directions: The entry `directions` of a trace table: two nodes and a kind for each.
    """
    known = {frozenset(ends) for event, *ends in _rows_of(table, "event", "a", "b") if event == "link"}
    for a, b, _ in directions:
        if known and frozenset((a, b)) not in known:
            raise TraceError(
                f"cannot read {run / name}: it has no link from {a:.60} to {b:.60}, which {TRACE} beside it has, so "
                "they are of different runs",
                hint=hint,
            )


def _rows_of(table: pa.Table, *columns: str) -> set[tuple[Any, ...]]:
    rows = table.select(list(columns)).group_by(list(columns)).aggregate([])
    return set(zip(*(rows.column(name).to_pylist() for name in columns), strict=True))


def _of_nodes(flow: Mapping[str, str]) -> Flow:
    return Flow(flow["kind"], station_of(flow["source"]), station_of(flow["destination"]))


def _refuse_other(run: Path, name: str, told: Sequence[Flow], hint: str) -> None:
    planned = _planned(run)
    # After the planned flows, a table lists the connections of programs.
    if planned is None or list(planned) == list(told[: len(planned)]):
        return
    number = next((n for n, pair in enumerate(zip(planned, told, strict=False)) if pair[0] != pair[1]), len(told))
    there = f"is {told[number]}" if number < len(told) else "is not there"
    raise TraceError(
        f"cannot read {run / name}: flow {number} {there}, and {planned[number]} in {PLAN} beside it, so they are of "
        "different runs",
        hint=hint,
    )


def _planned(run: Path) -> tuple[Flow, ...] | None:
    """Return the flows of the plan in a run directory, or None if there is no readable plan."""
    try:
        state = plainfiles.state(run / PLAN)
    except OSError:
        return None
    return _flows_of(run / PLAN, state)


@lru_cache(maxsize=16)
def _flows_of(path: Path, state: plainfiles.State) -> tuple[Flow, ...] | None:
    try:
        document = tomltext.loads(plainfiles.read(path, plainfiles.MOST_TOML_BYTES).decode())
        flows = document.get("flows", [])
        return tuple(Flow(flow.get("kind", "tcp"), flow["source"], flow["destination"]) for flow in flows)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
