# SPDX-License-Identifier: Apache-2.0
"""The files of a run directory: plan, summary, manifest, and each table as a data frame."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.flownames import which_flows
from leowarp.base.layout import MANIFEST, METRICS, PLAN, ROUTES, SUMMARY, TIMELINE, TRACE
from leowarp.base.recorded import read_manifest, read_summary, refuse_changed, refuse_incomplete, refuse_strange
from leowarp.base.spelling import one_of
from leowarp.base.tables import runtables
from leowarp.base.tables.metadata import decode_metadata

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from leowarp.metrics import Metrics, Tables
    from leowarp.scenario import Plan


MANY_FLOWS = 100
"""A run with more flows than this uses the stored scalars, because computing scalars takes 6 ms per flow."""


class RunTables:
    """The files of a run directory, each of which is read when it is first needed."""

    def __init__(self, path: Path | str, *, complete: bool = True) -> None:
        self.path = Path(path)
        self._complete = complete
        refuse_strange(self.path)
        if complete:
            refuse_incomplete(self.path)

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return str(self.document.get("name", self.path.name))

    @cached_property
    def document(self) -> dict[str, Any]:
        """The plan as TOML values with units, for display and not for computation."""
        from leowarp import metrics

        refuse_changed(self.path, PLAN)
        return metrics.plan_document(self.path)

    @cached_property
    def tables(self) -> Tables:
        """The tables with checked columns, in the form in which the package `metrics` reads them. As in the files, they
        contain numbers and not words."""
        from leowarp import metrics

        return metrics.read_tables(self.path)

    @cached_property
    def numbers(self) -> Metrics:
        """The metrics, computed again from the tables. A run of many flows takes the scalars from `summary` instead.

        To read the metrics that were written with the run, use `summary` or `metrics()`.
        """
        from leowarp import metrics

        # Stored scalars are those that would be computed only if the current sources and libraries wrote them.
        is_stored = len(self.document.get("flows", ())) > MANY_FLOWS and is_of_these_sources(self)
        return metrics.metrics(self.tables, self.plan, summary=self.summary if is_stored else None)

    @cached_property
    def plan(self) -> Plan:
        """The plan: the scenario with every default written out."""
        from leowarp import scenario

        refuse_changed(self.path, PLAN)
        return scenario.resolve(scenario.load(self.path / PLAN))

    @cached_property
    def observed_plan(self) -> Plan:
        """The plan with an additional flow for each connection of its programs, numbered as in the trace."""
        from leowarp import metrics

        return metrics.with_connections(self.plan, self._connections)

    @cached_property
    def _connections(self) -> list[dict[str, Any]]:
        # A run may lack the table `flows` if the run is being written, or if it was made by hand.
        if not (self.path / TRACE / "flows.parquet").exists():
            return []
        return decode_metadata(self.table("flows").schema, "connections") or []

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run's scalars (`summary.json`), whose names contain the units. If the file is missing in a run that may
        be incomplete, the scalars are computed. The cost of the run is then missing."""
        if not self._complete and not (self.path / SUMMARY).exists():
            return self.numbers.summary
        return read_summary(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """The versions, seed, warnings, costs and the sha256 of each file (`manifest.json`). The dict is empty if the
        run may be incomplete and the file is missing."""
        if not self._complete and not (self.path / MANIFEST).exists():
            return {}
        return read_manifest(self.path)

    @property
    def warnings(self) -> list[str]:
        """The points to check before the results are trusted."""
        return list(self.manifest["warnings"])

    @property
    def end_ns(self) -> int:
        """The end of the run on its own clock: the planned end, or the end of its last flow (`run.ends`)."""
        return self.plan.run.duration_ns if self.tables.virtual_ns is None else self.tables.virtual_ns

    def table(self, name: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """Return a table as Arrow: a trace table, `routes`, `timeline` or `metrics`.

        The table has words where the stored table has numbers, as in data frames. For example, `direction` is "data" or
        "back", and `host` is a name.

        Parameters
        ----------
        name : str
        columns, filters
            The columns to read, and conditions on rows, as in `pyarrow.parquet.read_table`. Conditions use words
            instead of
            numbers: ``filters=[("direction", "==", "data")]``.

        Raises
        ------
        TraceError
            If the run has no such table, or if its file is damaged.
        ScenarioError
            If a filter uses a word that its column cannot have.
        """
        return self._table(name, columns=columns, filters=filters)

    def _table(
        self, name: str, *, columns: list[str] | None = None, filters: Any = None, categories: bool = False
    ) -> pa.Table:
        """Read the table that `table` returns. `categories` is as in `trace.read_in_words`."""
        own = {"routes": ROUTES, "timeline": TIMELINE, "metrics": METRICS}
        if name not in own:
            from leowarp import trace

            if name not in trace.TABLES:
                raise TraceError(f"there is no table {name!r:.60}", hint=one_of(name, [*trace.TABLES, *own]))
            return trace.read_in_words(self.path / TRACE, name, columns=columns, filters=filters, categories=categories)
        path = self.path / own[name]
        if not path.exists():
            raise TraceError(
                f"cannot read {name}: there is no {path}", hint="this scenario has none, or the run is older"
            )
        return runtables.read(self.path, own[name], columns=columns, filters=filters)

    def _frame(self, name: str, flow: int | str | None = None) -> pd.DataFrame:
        from leowarp.trace.frames import counted_frame

        # The filter is applied while reading: the packets of one of 90 flows take a ninetieth of the memory.
        filters = None if flow is None else [("flow", "==", self.flow_number(flow))]
        return counted_frame(self._table(name, filters=filters, categories=True))

    def flow_number(self, flow: int | str) -> int:
        """Return the number of a flow from its number or its name in the scenario.

        Raises
        ------
        ScenarioError
            If the flow does not exist.
        """
        names = self._planned_names
        count = len(names) + len(self._connections)
        if isinstance(flow, str) and flow in names:
            return names.index(flow)
        # True equals 1 in Python, so without this check `flow=True` would show flow 1.
        if isinstance(flow, bool) or flow not in range(count):
            raise ScenarioError(f"there is no flow {flow!r} in {self.path}", hint=which_flows(flow, names, count))
        return int(flow)

    @cached_property
    def _planned_names(self) -> list[str | None]:
        # Names of flows are read from the text of the plan, so that a flow has its name even if nothing of it was
        # recorded.
        return [planned.get("name") for planned in self.document.get("flows", ())]

    def flow(self, which: int | str) -> dict[str, Any]:
        """Return the scalars of one flow, by its number or name. The scalars' names contain the units.

        >>> run.flow("upload")["goodput_mean_bps"]  # doctest: +SKIP
        """
        number = self.flow_number(which)
        for scalars in self.summary["flows"]:
            if scalars["flow"] == number:
                return dict(scalars)
        raise TraceError(
            f"{self.path / SUMMARY} has no flow {number}, and the plan has",
            hint=f"leowarp show {self.path} --again writes it anew",
        )

    def sockets(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return the samples of TCP_INFO and of BBR's mode (`bbr_mode`) over time, for one flow or for all flows."""
        return self._frame("sockets", flow)

    def packets(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return the stored packets. Each row has the packet's arrival, or the link and the cause of its loss.

        `observe.packets` determines which packets are stored. Late, lost and retransmitted packets are always stored
        (docs/concepts/truth.md).
        """
        return self._frame("packets", flow)

    def bins(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return the number of packets in bins of 50 ms. A packet is counted in the bin in which it was sent. The
        counts include packets that the trace does not store."""
        return self._frame("bins", flow)

    def delays(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return counts of one-way delays and round trips. Each count is for a narrow bin, and all packets are
        counted."""
        return self._frame("delays", flow)

    def flows(self) -> pd.DataFrame:
        """Return one row per flow. It contains the connection setup, the first and the last byte, the completion, and
        the bytes."""
        return self._frame("flows")

    def echoes(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return the probe packets of ping flows and UDP flows."""
        return self._frame("echoes", flow)

    def measures(self, flow: int | str | None = None, kind: str | None = None) -> pd.DataFrame:
        """Return the measurements that programs reported (docs/guides/measures.md): transactions, page loads, segments,
        frames.

        Parameters
        ----------
        flow : int or str, optional
            A program flow, by number or name. The default is all.
        kind : str, optional
            The kind of the lines, for example "page". The default is all.
        """
        frame = self._frame("measures", flow)
        return frame if kind is None else frame[frame["kind"] == kind].reset_index(drop=True)

    def acks(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return how many ACKs the receivers sent. They are grouped by the number of answered segments, and by the
        first segment's waiting time."""
        return self._frame("acks", flow)

    def switches(self) -> pd.DataFrame:
        """Return what `[cures]` did at route changes (`move_queue`, `hold` and `duplicate`). A row is one change of the
        route at one node."""
        return self._frame("switches")

    def merges(self) -> pd.DataFrame:
        """Return the packets that waited at a node for the end marker of an old path, one row per route change and
        node. Only runs with `cures.end_marker` have the table."""
        return self._frame("merges")

    def notices(self) -> pd.DataFrame:
        """Return the notices that tell hosts about route changes, including lost and false notices. Only runs with
        `cures.notify` have the table."""
        return self._frame("notices")

    def nodetotals(self) -> pd.DataFrame:
        """Return one row per node. Each row shows the most bytes that the node held at once. It also shows how many
        packets of its own the node sent. Only runs with `[cures]` have the table."""
        return self._frame("nodetotals")

    def orders(self) -> pd.DataFrame:
        """Return one row per stream between two stations. Each row is about the packets that were put into order or
        discarded. Only runs with `resequence` or `duplicate` have the table."""
        return self._frame("orders")

    def drops(self) -> pd.DataFrame:
        """Return every lost packet, including ACKs and probes, with the place where it was lost and the cause.
        `direction` is null if the packet was not lost on a link."""
        return self._frame("drops")

    def counters(self) -> pd.DataFrame:
        """Return the kernel's counters since the run's start. The table has a row for each change of a counter. The row
        has the time, the name of the host, and the counter."""
        return self._frame("counters")

    def queues(self) -> pd.DataFrame:
        """Return the queue of each link direction over time, with the names of the link's two nodes."""
        return self._with_ends("links")

    def linktotals(self) -> pd.DataFrame:
        """Return one row per link direction, with its balance at the end of the run and the names of its two nodes."""
        return self._with_ends("linktotals")

    def routes(self) -> pd.DataFrame:
        """Return the paths between stations that communicate, one row per route update and pair."""
        return self._frame("routes")

    def timeline(self) -> pd.DataFrame:
        """Return the events of the emulated network."""
        return self._frame("timeline")

    def metrics(self) -> pd.DataFrame:
        """Return the metrics computed from the trace."""
        return self._frame("metrics")

    def _of(self, frame: pd.DataFrame, flow: int | str | None, **wanted: Any) -> pd.DataFrame:
        """Return the rows of a flow with the wanted values. If a wanted value is None, every value matches."""
        if flow is not None:
            wanted["flow"] = self.flow_number(flow)
        for column, value in wanted.items():
            if value is not None:
                frame = frame[frame[column] == value]
        return frame.reset_index(drop=True)

    def _with_ends(self, name: str) -> pd.DataFrame:
        from leowarp.trace.frames import counted_frame

        table = self._table(name, categories=True)
        frame = counted_frame(table)
        directions = decode_metadata(table.schema, "directions")
        if directions is not None:
            for place, column in ((0, "from"), (1, "to"), (2, "kind")):
                frame[column] = frame["direction"].map({i: end[place] for i, end in enumerate(directions)})
        return frame


def is_of_these_sources(run: RunTables) -> bool:
    """Return True if the run is complete and its summary comes from the current sources and libraries."""
    from leowarp.trace.manifest import maker, maker_of

    if not ((run.path / MANIFEST).exists() and (run.path / SUMMARY).exists()):
        return False
    return maker_of(run.manifest, SUMMARY) == maker()
