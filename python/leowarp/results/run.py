# SPDX-License-Identifier: Apache-2.0
"""`Run`: a run directory as an object. All code that reads a run directory uses this class. It also draws the figures
of a run, and displays the run in a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.flownames import which_flows
from leowarp.base.layout import METRICS, PLAN, REPORT, ROUTES, SUMMARY, TIMELINE, TRACE
from leowarp.base.metadata import decode_metadata
from leowarp.base.recorded import read_manifest, read_summary, refuse_changed, refuse_incomplete, refuse_strange
from leowarp.base.spelling import one_of
from leowarp.results.framed import FramedPage

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

    from leowarp.metrics import Metrics, Tables
    from leowarp.scenario import Plan


class Run:
    """A complete run, with `plan`, `summary`, `manifest`, `warnings`, tables as data frames, figures, and the path of
    the report.

    Parameters
    ----------
    path : path
        The run directory.
    complete : bool
        True: an error is raised if the run is not complete. False is for a run that is being written, which has a plan
        and a trace, but neither summary nor manifest.

    Raises
    ------
    TraceError
        If the directory is not a run, or if the run is marked as incomplete; the message gives the reason.
    """

    drawing: ClassVar[Callable[..., Figure]]
    """Function that returns a figure of a run by its name. The modules with figures import `Run`, so this module cannot
    import them. leowarp's top module, which imports both, sets this variable (`leowarp/__init__.py`)."""

    moving: ClassVar[Callable[[Sequence[Run]], str]]
    """Function that returns the animated page of runs as HTML text; it is set in `leowarp/__init__.py`."""

    inline: ClassVar[Callable[[Sequence[Run]], str]]
    """Function that returns the notebook display of a run, or of the runs of a group, as HTML; it is set in
    `leowarp/__init__.py`."""

    def __init__(self, path: Path | str, *, complete: bool = True) -> None:
        self.path = Path(path)
        refuse_strange(self.path)
        if complete:
            refuse_incomplete(self.path)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The plan as TOML values with units, for display; use `plan` for computations."""
        from leowarp import metrics

        refuse_changed(self.path, PLAN)
        return metrics.plan_document(self.path)

    @cached_property
    def tables(self) -> Tables:
        """All tables in the form that metrics read, with checked columns. The tables contain the numbers of the files;
        `table` returns the same tables with words."""
        from leowarp import metrics

        return metrics.read_tables(self.path)

    @cached_property
    def numbers(self) -> Metrics:
        """Metrics that are computed from the tables when they are first needed. `summary` and `metrics()` return the
        stored metrics instead, which were computed when the run was executed."""
        from leowarp import metrics

        return metrics.metrics(self.tables, self.plan)

    @cached_property
    def plan(self) -> Plan:
        """The plan: the scenario with every default written out."""
        from leowarp import scenario

        refuse_changed(self.path, PLAN)
        return scenario.resolve(scenario.load(self.path / PLAN))

    @cached_property
    def observed_plan(self) -> Plan:
        """The plan with an additional flow for each connection of its programs, so that flows have the numbers of the
        trace."""
        from leowarp import metrics

        return metrics.with_connections(self.plan, self._connections)

    @cached_property
    def _connections(self) -> list[dict[str, Any]]:
        # The table may be missing, if the run is being written or if a user made it by hand.
        if not (self.path / TRACE / "flows.parquet").exists():
            return []
        return decode_metadata(self.table("flows").schema, "connections") or []

    @property
    def summary(self) -> dict[str, Any]:
        """The run's scalars (`summary.json`); their names contain the units."""
        return read_summary(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, seed, warnings, costs and the sha256 of each file (`manifest.json`)."""
        return read_manifest(self.path)

    @property
    def warnings(self) -> list[str]:
        """Points to check before the results are trusted."""
        return list(self.manifest["warnings"])

    @property
    def end_ns(self) -> int:
        """End of the run on its own clock, in ns: the planned end, or the end of its last flow (`run.ends`)."""
        return self.plan.run.duration_ns if self.tables.virtual_ns is None else self.tables.virtual_ns

    def table(self, name: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """A table as Arrow: a trace table, `routes`, `timeline` or `metrics`.

        The table has words instead of the numbers in the files: `direction` is "data" or "back", and `host` is a name.

        Parameters
        ----------
        name : str
        columns, filters
            As in `pyarrow.parquet.read_table`: columns to read, and conditions on rows. Filters use words as well:
            ``filters=[("direction", "==", "data")]``.

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
        """The result of `table`; `categories` is as in `trace.read_in_words`."""
        own = {"routes": ROUTES, "timeline": TIMELINE, "metrics": METRICS}
        if name not in own:
            from leowarp import trace

            if name not in trace.TABLES:
                raise TraceError(f"there is no table {name!r:.60}", hint=one_of(name, [*trace.TABLES, *own]))
            return trace.read_in_words(self.path / TRACE, name, columns=columns, filters=filters, categories=categories)
        from leowarp.base import runtables

        path = self.path / own[name]
        if not path.exists():
            raise TraceError(
                f"cannot read {name}: there is no {path}", hint="this scenario has none, or the run is older"
            )
        return runtables.read(self.path, own[name], columns=columns, filters=filters)

    def _frame(self, name: str, flow: int | str | None = None) -> pd.DataFrame:
        from leowarp.trace.frames import counted_frame

        # The filter is applied while the file is read: the packets of one of 90 flows then take a ninetieth of the
        # memory.
        filters = None if flow is None else [("flow", "==", self.flow_number(flow))]
        return counted_frame(self._table(name, filters=filters, categories=True))

    def flow_number(self, flow: int | str) -> int:
        """Number of a flow; `flow` is this number, or the flow's name in the scenario.

        Raises
        ------
        ScenarioError
            If the run has no such flow. An empty table would look as if this flow had sent nothing.
        """
        # Names are read from the text of the plan, so that a flow is found even if nothing of it was recorded.
        names = [planned.get("name") for planned in self.document.get("flows", ())]
        count = len(names) + len(self._connections)
        if isinstance(flow, str) and flow in names:
            return names.index(flow)
        # In Python, True equals 1, so without the check for bool, `flow=True` would mean flow 1.
        if isinstance(flow, bool) or flow not in range(count):
            raise ScenarioError(f"there is no flow {flow!r} in {self.path}", hint=which_flows(flow, names, count))
        return int(flow)

    def flow(self, which: int | str) -> dict[str, Any]:
        """The scalars of one flow, by its number or name; the names of scalars contain the units.

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
        """TCP_INFO over time, with BBR's mode (`bbr_mode`), for one flow or all."""
        return self._frame("sockets", flow)

    def packets(self, flow: int | str | None = None) -> pd.DataFrame:
        """The stored packets (packet truth), each with its arrival, or with the place and cause of its loss.

        `observe.packets` selects which packets are stored; late, lost and retransmitted packets are always stored
        (docs/concepts/truth.md).
        """
        return self._frame("packets", flow)

    def bins(self, flow: int | str | None = None) -> pd.DataFrame:
        """Number of packets per 50 ms of sending time. All packets are counted, even those that are not stored."""
        return self._frame("bins", flow)

    def delays(self, flow: int | str | None = None) -> pd.DataFrame:
        """One-way delays and round trips of all packets, as the number of packets in narrow bins of delay."""
        return self._frame("delays", flow)

    def flows(self) -> pd.DataFrame:
        """One row per flow: connection setup, first and last byte, completion, bytes."""
        return self._frame("flows")

    def echoes(self, flow: int | str | None = None) -> pd.DataFrame:
        """The probe packets of ping and UDP flows."""
        return self._frame("echoes", flow)

    def measures(self, flow: int | str | None = None, kind: str | None = None) -> pd.DataFrame:
        """Measurements that programs reported (docs/guides/measures.md): transactions, page loads, segments, frames.

        Parameters
        ----------
        flow : int or str, optional
            A program flow, by number or name; by default all.
        kind : str, optional
            If given, only lines of this kind, such as "page".
        """
        frame = self._frame("measures", flow)
        return frame if kind is None else frame[frame["kind"] == kind].reset_index(drop=True)

    def acks(self, flow: int | str | None = None) -> pd.DataFrame:
        """ACKs of the receivers: number of ACKs by the number of segments that an ACK answers, and by the waiting time
        of the first of these segments."""
        return self._frame("acks", flow)

    def switches(self) -> pd.DataFrame:
        """Actions of `[cures]` at route changes (`move_queue`, `hold` and `duplicate`), with one row per route of a
        node that changed."""
        return self._frame("switches")

    def merges(self) -> pd.DataFrame:
        """Packets that waited at a node for the end marker of an old path, one row per route change and node; only with
        `cures.end_marker`."""
        return self._frame("merges")

    def notices(self) -> pd.DataFrame:
        """Notices of route changes to hosts, including lost and false ones; only with `cures.notify`."""
        return self._frame("notices")

    def nodetotals(self) -> pd.DataFrame:
        """Largest number of packets that each node buffered, and number of packets that the node itself created; only
        with `[cures]`."""
        return self._frame("nodetotals")

    def orders(self) -> pd.DataFrame:
        """Number of packets that were put into order or discarded, one row per stream between two stations; only with
        `resequence` or `duplicate`."""
        return self._frame("orders")

    def drops(self) -> pd.DataFrame:
        """Every lost packet, including ACKs and probes, with the place and cause of its loss. `direction` is null if
        the packet was not lost on a link."""
        return self._frame("drops")

    def counters(self) -> pd.DataFrame:
        """The kernel's counters since the run's start, by time, host (name) and counter; one row per change of a
        counter."""
        return self._frame("counters")

    def links(self) -> pd.DataFrame:
        """Utilisation, drops by cause and longest queues of links. There is one row per direction to which a packet was
        offered.

        Columns are `leowarp.metrics.LINK_COLUMNS`. The longest queues are exact, in packets and in bytes, each with the
        instant at which the queue first had this length. Samples of queues over time are in `queues()`.
        """
        # A copy is returned, because `satellites` uses the same frame, and the caller may change it.
        return self._links.copy()

    def satellites(self) -> pd.DataFrame:
        """The numbers of `links()`, combined over the outgoing links of each satellite. The table is empty if the
        satellites are not nodes of this run's network.

        Columns are `leowarp.metrics.SATELLITE_COLUMNS`.
        """
        from leowarp import metrics

        stations = {station.name for station in self.plan.stations}
        moving = self.plan.constellation is not None and self.plan.medium is self.plan.constellation
        # A wire connects a station with its host, so neither of its two nodes is a satellite.
        nodes = {end for a, b, kind in self.tables.directions for end in (a, b) if kind != "wire"} if moving else set()
        return metrics.satellite_use(self.tables, self._links, nodes - stations, self.end_ns)

    @cached_property
    def _links(self) -> pd.DataFrame:
        from leowarp import metrics

        return metrics.link_use(self.tables, self.end_ns)

    def pairs(self) -> pd.DataFrame:
        """Goodput, round trip and loss of TCP, one row per ordered pair of stations.

        Columns are `leowarp.metrics.PAIR_COLUMNS`. `run.pairs().pivot(index="source", columns="destination",
        values="goodput_mean_bps")` is a matrix.
        """
        from leowarp import metrics

        return metrics.pairs(self.summary["flows"])

    def queues(self) -> pd.DataFrame:
        """Queue of each direction of a link over time, with the names of the nodes at its ends."""
        return self._with_ends("links")

    def linktotals(self) -> pd.DataFrame:
        """Balance of each direction of a link at the end of the run, with the names of the nodes at its ends."""
        return self._with_ends("linktotals")

    def routes(self) -> pd.DataFrame:
        """Paths between stations that communicate, one row per route update and pair."""
        return self._frame("routes")

    def timeline(self) -> pd.DataFrame:
        """The timeline: all events of the emulated network."""
        return self._frame("timeline")

    def metrics(self) -> pd.DataFrame:
        """All metrics that were computed from the trace and stored with the run, one number per row."""
        return self._frame("metrics")

    @property
    def report(self) -> Path | None:
        """Path of the report's page. None if the run was executed without a report (`leowarp report RUN` creates
        it)."""
        page = self.path / REPORT / "index.html"
        return page if page.exists() else None

    def reordering(self, flow: int | str | None = None, scope: str | None = None) -> pd.DataFrame:
        """Reordering of each flow, one row per scope: the whole "run", each "window" of sending time, and the time
        around each "change" of the path.

        Columns are `leowarp.metrics.REORDERING_COLUMNS`. `table("reordering")` is the table that the guest wrote, with
        other columns.

        Raises
        ------
        ScenarioError
            If there is no such flow or scope.
        """
        from leowarp import metrics

        metrics.refuse_unknown(scope)
        return self._of(metrics.reordering(*self._reordering()), flow=flow, scope=scope)

    def densities(
        self, flow: int | str | None = None, scope: str | None = None, kind: str | None = None
    ) -> pd.DataFrame:
        """Histograms of reordering, one row per bar of a histogram. The kinds are "density" (RD), "buffer_density"
        (RBD), "n_reordering" and "extent".

        Columns are `leowarp.metrics.DENSITY_COLUMNS`.

        Raises
        ------
        ScenarioError
            If there is no such flow, scope or kind.
        """
        from leowarp import metrics

        metrics.refuse_unknown(scope, kind)
        return self._of(metrics.densities(*self._reordering()), flow=flow, scope=scope, kind=kind)

    def causes(self, flow: int | str | None = None) -> pd.DataFrame:
        """Number of packets that each route change made late, lost or retransmitted, and number of late, lost and
        retransmitted packets without such a cause. There is one row per flow and change, and one row per flow for
        packets without a change as their cause.

        Columns are `leowarp.metrics.CAUSE_COLUMNS`. The numbers are computed from packet truth when the method is
        called, which takes a moment.
        """
        from leowarp import metrics

        return self._of(metrics.causes(self.tables, metrics.flow_pairs(self.observed_plan.flows)), flow=flow)

    def route_changes(self) -> pd.DataFrame:
        """Changes of paths, one row per change and pair of stations: number of hops and delay before and after, and
        effects.

        Columns are `leowarp.metrics.CHANGE_COLUMNS`. The table is computed on the first call, which takes about a
            second for a run of a minute.
        """
        # A copy is returned: the frame is cached, and a caller's changes must not affect other callers.
        return self.numbers.route_changes.copy()

    def recovery(self, flow: int | str | None = None) -> pd.DataFrame:
        """How TCP flows recovered from changes of their paths, one row per flow and change: dip, time to recover,
        window, smoothed RTT, retransmissions, and losses near the change.

        Columns are `leowarp.metrics.RECOVERY_COLUMNS`. The table is computed on the first call.
        """
        return self._of(self.numbers.recoveries, flow=flow)

    def series(self, name: str, flow: int | str | None = None) -> pd.DataFrame:
        """A quantity, or a state in words, over time. Columns are `t_ns`, `flow` and the name of the series.

        Parameters
        ----------
        name : str
            One of `leowarp.metrics.SERIES`, for instance "cwnd_pkts", "srtt_us", "goodput_in_order_bps",
            "path_delay_ns", "bbr_mode". The unit may be left out.
        flow : int or str, optional
            Flow by number or name. By default, all flows that have the series; the rows of one flow follow those of
            another.

        Raises
        ------
        ScenarioError
            If there is no such series or flow; the message suggests the most similar name.
        TraceError
            If the run did not record the data of this series.
        """
        import pandas as pd

        from leowarp import metrics

        series = metrics.series_of(name)
        flows = range(len(self.observed_plan.flows)) if flow is None else [self.flow_number(flow)]
        pieces = []
        for number in flows:
            t_ns, value = series.of_flow(self.numbers, number)
            pieces.append(pd.DataFrame({"t_ns": t_ns, "flow": number, series.name: value}))
        frame = pd.concat(pieces, ignore_index=True)
        if series.words:
            words = [None if math.isnan(value) else series.word(int(value)) for value in frame[series.name]]
            # If a newer version wrote a state that has no word in this version, the state's number is used as the word.
            every = dict.fromkeys([*series.words.values(), *(word for word in words if word is not None)])
            frame[series.name] = pd.Categorical(words, categories=list(every))
        frame.attrs["units"] = {"t_ns": "ns", "flow": "", series.name: series.unit}
        return frame

    def _reordering(self) -> tuple[Tables, dict[tuple[str, str], list[int]]]:
        from leowarp import metrics, trace

        measured = {name: trace.read(self.path / TRACE, name) for name in ("reordering", "densities")}
        # Routes are needed because scopes of reordering contain only the numbers of route changes.
        planned = {name: self.table(name) for name in ("routes", "timeline")}
        return metrics.tables_of(measured, **planned, where=self.path), metrics.flow_pairs(self.observed_plan.flows)

    def figure(self, name: str, *, flow: int | str | Sequence[int | str] | None = None, **options: Any) -> Figure:
        """A figure of the report by its name, for instance "goodput", as a matplotlib Figure.

        Parameters
        ----------
        flow : int or str, or a sequence of them, optional
            Flows by number or name; by default all flows that the figure can show.
        options
            Options of `leowarp.report.figure`.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        return Run.drawing(self, name, flow=flow, **options)

    def _of(self, frame: pd.DataFrame, flow: int | str | None, **wanted: Any) -> pd.DataFrame:
        """Rows of a flow in which the columns in `wanted` have the given values. A column whose wanted value is None
        may have any value."""
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

    def view(self, *others: Run, out: Path | str | None = None) -> FramedPage:
        """The run as an animated page that a notebook displays. Other runs may be shown next to it, on the same clock.

        Parameters
        ----------
        others : Run
        out : path, optional
            Path of a file into which the page is written as well.
        """
        found = FramedPage(Run.moving((self, *others)))
        if out is not None:
            plainfiles.refuse_link(Path(out))
            plainfiles.write(Path(out), found.text.encode())
        return found

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return Run.inline((self,))
