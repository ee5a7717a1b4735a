# SPDX-License-Identifier: Apache-2.0
"""`Run`: a run directory as an object, the only code that reads one; with its figures and its display in a notebook."""

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
    """A complete run: `plan`, `summary`, `manifest`, `warnings`, tables as data frames, figures, the report's path.

    Parameters
    ----------
    path : path
        The run directory.
    complete : bool
        Whether the run must be complete. A run that is being written has a plan and a trace, but no summary or manifest
        yet.

    Raises
    ------
    TraceError
        If the directory is no run, or the run is marked incomplete; the message says why.
    """

    drawing: ClassVar[Callable[..., Figure]]
    """Returns a figure of a run by its name. Figures depend on runs, because they read them; so the top module of the
    package, which knows both, sets this (`leowarp/__init__.py`)."""

    moving: ClassVar[Callable[[Sequence[Run]], str]]
    """Returns the animated page of runs, as text; set there, too."""

    inline: ClassVar[Callable[[Sequence[Run]], str]]
    """Returns the display of a run, or of the runs of a group, in a notebook, as HTML; set there, too."""

    def __init__(self, path: Path | str, *, complete: bool = True) -> None:
        self.path = Path(path)
        refuse_strange(self.path)
        if complete:
            refuse_incomplete(self.path)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The plan as TOML values, with units: for display, not for computation."""
        from leowarp import metrics

        refuse_changed(self.path, PLAN)
        return metrics.plan_document(self.path)

    @cached_property
    def tables(self) -> Tables:
        """All tables in the form that metrics read, with checked columns. They contain the files' numbers instead of
        words."""
        from leowarp import metrics

        return metrics.read_tables(self.path)

    @cached_property
    def numbers(self) -> Metrics:
        """Metrics, computed again from the tables. `summary` and `metrics()` return the metrics that were written when
        the run was made."""
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
        """The plan with a flow for each connection of its programs: flows have the numbers of the trace."""
        from leowarp import metrics

        return metrics.with_connections(self.plan, self._connections)

    @cached_property
    def _connections(self) -> list[dict[str, Any]]:
        # A run that is being written, or was made by hand, may lack this table.
        if not (self.path / TRACE / "flows.parquet").exists():
            return []
        return decode_metadata(self.table("flows").schema, "connections") or []

    @property
    def summary(self) -> dict[str, Any]:
        """The run's scalars (`summary.json`), with units in the names."""
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
        """End of the run on its own clock: as planned, or with its last flow (`run.ends`)."""
        return self.plan.run.duration_ns if self.tables.virtual_ns is None else self.tables.virtual_ns

    def table(self, name: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """A table as Arrow: a trace table, `routes`, `timeline` or `metrics`.

        It has words in place of the files' numbers, as data frames do: `direction` is "data" or "back", `host` a name.

        Parameters
        ----------
        name : str
        columns, filters
            As in `pyarrow.parquet.read_table`: columns to read, and conditions on rows. Filters use words, too:
            ``filters=[("direction", "==", "data")]``.

        Raises
        ------
        TraceError
            If the run has no such table, or its file is damaged.
        ScenarioError
            If a filter uses a word that its column cannot have.
        """
        return self._table(name, columns=columns, filters=filters)

    def _table(
        self, name: str, *, columns: list[str] | None = None, filters: Any = None, categories: bool = False
    ) -> pa.Table:
        """The same as `table`; `categories` as in `trace.read_in_words`."""
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

        # The filter is applied while reading: of 90 flows, the packets of one take a ninetieth of the memory.
        filters = None if flow is None else [("flow", "==", self.flow_number(flow))]
        return counted_frame(self._table(name, filters=filters, categories=True))

    def flow_number(self, flow: int | str) -> int:
        """The number of a flow, from its number or its name in the scenario.

        Raises
        ------
        ScenarioError
            If the run has no such flow: an empty table would look like a flow that sent nothing.
        """
        # Names are read from the plan's text, so that a flow of which nothing was recorded is still known.
        names = [planned.get("name") for planned in self.document.get("flows", ())]
        count = len(names) + len(self._connections)
        if isinstance(flow, str) and flow in names:
            return names.index(flow)
        # True equals 1 in Python, so `flow=True` would wrongly show flow 1.
        if isinstance(flow, bool) or flow not in range(count):
            raise ScenarioError(f"there is no flow {flow!r} in {self.path}", hint=which_flows(flow, names, count))
        return int(flow)

    def flow(self, which: int | str) -> dict[str, Any]:
        """The scalars of one flow, by its number or name, with units in the names.

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
        """TCP_INFO over time, and BBR's mode (`bbr_mode`), of one flow or of all."""
        return self._frame("sockets", flow)

    def packets(self, flow: int | str | None = None) -> pd.DataFrame:
        """Packet truth: the stored packets, each with its arrival, or with the place and cause of its loss.

        `observe.packets` determines which are stored; late, lost and repeated ones always are (docs/concepts/truth.md).
        """
        return self._frame("packets", flow)

    def bins(self, flow: int | str | None = None) -> pd.DataFrame:
        """Packets per 50 ms of sending time; complete, whichever packets are stored."""
        return self._frame("bins", flow)

    def delays(self, flow: int | str | None = None) -> pd.DataFrame:
        """One-way delays and round trips of all packets, counted in narrow bins."""
        return self._frame("delays", flow)

    def flows(self) -> pd.DataFrame:
        """One row per flow: connection setup, first and last byte, completion, bytes."""
        return self._frame("flows")

    def echoes(self, flow: int | str | None = None) -> pd.DataFrame:
        """Probe packets of ping and udp flows."""
        return self._frame("echoes", flow)

    def measures(self, flow: int | str | None = None, kind: str | None = None) -> pd.DataFrame:
        """Measurements that programs reported (docs/guides/measures.md): transactions, page loads, segments, frames.

        Parameters
        ----------
        flow : int or str, optional
            A flow of kind program, by number or name; by default all.
        kind : str, optional
            Only lines of this kind, such as "page".
        """
        frame = self._frame("measures", flow)
        return frame if kind is None else frame[frame["kind"] == kind].reset_index(drop=True)

    def acks(self, flow: int | str | None = None) -> pd.DataFrame:
        """Acknowledgements of the receivers: ACKs by the number of segments that they answer and the wait of the first
        of these."""
        return self._frame("acks", flow)

    def switches(self) -> pd.DataFrame:
        """Actions of `[cures]` at route changes, one row per entry of a node: `move_queue`, `hold` and `duplicate`."""
        return self._frame("switches")

    def merges(self) -> pd.DataFrame:
        """Packets that waited for the end of an old path, one row per route change and node; only with
        `cures.end_marker`."""
        return self._frame("merges")

    def notices(self) -> pd.DataFrame:
        """Notices of route changes to hosts, including lost and false ones; only with `cures.notify`."""
        return self._frame("notices")

    def nodetotals(self) -> pd.DataFrame:
        """Largest number of packets that each node held back, and packets that it sent itself; only with `[cures]`; by
        name."""
        return self._frame("nodetotals")

    def orders(self) -> pd.DataFrame:
        """Packets put in order or discarded, per stream between two stations; with `resequence` or `duplicate`."""
        return self._frame("orders")

    def drops(self) -> pd.DataFrame:
        """Every lost packet, including ACKs and probes, with place and cause; `direction` is null between links."""
        return self._frame("drops")

    def counters(self) -> pd.DataFrame:
        """The kernel's counters since the run's start, by time, host (by name) and counter; one row per change."""
        return self._frame("counters")

    def links(self) -> pd.DataFrame:
        """Use, drops by cause and longest queues, one row per direction of a link that was offered a packet.

        Columns: `leowarp.metrics.LINK_COLUMNS`. Longest queues are exact, in packets and in bytes, each with the
        instant at which it first occurred; `queues()` has samples over time.
        """
        # A copy is returned, because `satellites` uses the same frame, and a caller may change its copy.
        return self._links.copy()

    def satellites(self) -> pd.DataFrame:
        """The same numbers summed over the sending links of each satellite; empty for a run whose satellites are no
        nodes.

        Columns: `leowarp.metrics.SATELLITE_COLUMNS`.
        """
        from leowarp import metrics

        stations = {station.name for station in self.plan.stations}
        moving = self.plan.constellation is not None and self.plan.medium is self.plan.constellation
        # A wire connects a station and its host, neither of which is a satellite.
        nodes = {end for a, b, kind in self.tables.directions for end in (a, b) if kind != "wire"} if moving else set()
        return metrics.satellite_use(self.tables, self._links, nodes - stations, self.end_ns)

    @cached_property
    def _links(self) -> pd.DataFrame:
        from leowarp import metrics

        return metrics.link_use(self.tables, self.end_ns)

    def pairs(self) -> pd.DataFrame:
        """TCP by source and destination, one row per ordered pair of stations: goodput, round trip, loss.

        Columns: `leowarp.metrics.PAIR_COLUMNS`. `run.pairs().pivot(index="source", columns="destination",
        values="goodput_mean_bps")` is a matrix.
        """
        from leowarp import metrics

        return metrics.pairs(self.summary["flows"])

    def queues(self) -> pd.DataFrame:
        """Queue of each direction of a link over time, with the names of its ends."""
        return self._with_ends("links")

    def linktotals(self) -> pd.DataFrame:
        """Balance of each direction of a link at the end, with the names of its ends."""
        return self._with_ends("linktotals")

    def routes(self) -> pd.DataFrame:
        """Paths between the stations that communicate, one row per route update and pair."""
        return self._frame("routes")

    def timeline(self) -> pd.DataFrame:
        """Events of the emulated network."""
        return self._frame("timeline")

    def metrics(self) -> pd.DataFrame:
        """Results computed from the trace."""
        return self._frame("metrics")

    @property
    def report(self) -> Path | None:
        """The report's page, or None if the run was made without one (`leowarp report RUN` makes it)."""
        page = self.path / REPORT / "index.html"
        return page if page.exists() else None

    def reordering(self, flow: int | str | None = None, scope: str | None = None) -> pd.DataFrame:
        """Reordering of each flow, one row per scope: the whole "run", each "window" of it, around each "change" of the
        path.

        Columns: `leowarp.metrics.REORDERING_COLUMNS`; `table("reordering")` has the columns that the guest wrote.

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
        """Histograms of reordering, one row per bar; kinds: "density" (RD), "buffer_density" (RBD), "n_reordering",
        "extent".

        Columns: `leowarp.metrics.DENSITY_COLUMNS`.

        Raises
        ------
        ScenarioError
            If there is no such flow, scope or kind.
        """
        from leowarp import metrics

        metrics.refuse_unknown(scope, kind)
        return self._of(metrics.densities(*self._reordering()), flow=flow, scope=scope, kind=kind)

    def causes(self, flow: int | str | None = None) -> pd.DataFrame:
        """Packets that each route change made late, lost or sent again, and those without such a cause, one row per
        flow and change.

        Columns: `leowarp.metrics.CAUSE_COLUMNS`. It is computed from the truth of each packet, which takes a moment.
        """
        from leowarp import metrics

        return self._of(metrics.causes(self.tables, metrics.flow_pairs(self.observed_plan.flows)), flow=flow)

    def route_changes(self) -> pd.DataFrame:
        """The changes of paths, one row per change and pair of stations: hops, delay before and after, effects.

        Columns: `leowarp.metrics.CHANGE_COLUMNS`. It is computed on the first call, in about a second for a run of a
            minute.
        """
        # A copy is returned, because the frame is cached, and a notebook's changes must not reach the next caller.
        return self.numbers.route_changes.copy()

    def recovery(self, flow: int | str | None = None) -> pd.DataFrame:
        """Recovery of TCP flows from changes of their paths, one row per flow and change: dip and time to recover,
        window, smoothed RTT, retransmissions, losses near it.

        Columns: `leowarp.metrics.RECOVERY_COLUMNS`. It is computed on the first call, as `route_changes`.
        """
        return self._of(self.numbers.recoveries, flow=flow)

    def series(self, name: str, flow: int | str | None = None) -> pd.DataFrame:
        """A number, or a state in words, over time: columns `t_ns`, `flow` and the name of the series.

        Parameters
        ----------
        name : str
            One of `leowarp.metrics.SERIES`, for instance "cwnd_pkts", "srtt_us", "goodput_in_order_bps",
            "path_delay_ns", "bbr_mode"; the unit may be left out.
        flow : int or str, optional
            Flow by number or name; by default all that have the series, one below the other.

        Raises
        ------
        ScenarioError
            If there is no such series or flow; the message suggests the nearest name.
        TraceError
            If the run did not record the data of the series.
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
            # A state that a newer version wrote becomes its digits, so that no value is dropped.
            every = dict.fromkeys([*series.words.values(), *(word for word in words if word is not None)])
            frame[series.name] = pd.Categorical(words, categories=list(every))
        frame.attrs["units"] = {"t_ns": "ns", "flow": "", series.name: series.unit}
        return frame

    def _reordering(self) -> tuple[Tables, dict[tuple[str, str], list[int]]]:
        from leowarp import metrics, trace

        measured = {name: trace.read(self.path / TRACE, name) for name in ("reordering", "densities")}
        # Routes number the route changes to which the scopes of reordering refer.
        planned = {name: self.table(name) for name in ("routes", "timeline")}
        return metrics.tables_of(measured, **planned, where=self.path), metrics.flow_pairs(self.observed_plan.flows)

    def figure(self, name: str, *, flow: int | str | Sequence[int | str] | None = None, **options: Any) -> Figure:
        """A figure of the report by its name, for instance "goodput", as a matplotlib Figure.

        Parameters
        ----------
        flow : int or str, or a sequence of them, optional
            Flows by number or name; by default all that the figure is about.
        options
            Options of `leowarp.report.figure`.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        return Run.drawing(self, name, flow=flow, **options)

    def _of(self, frame: pd.DataFrame, flow: int | str | None, **wanted: Any) -> pd.DataFrame:
        """Rows of a flow with the wanted values; None matches any value."""
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
        """The run, and others beside it on the same clock, as one animated page, which a notebook displays.

        Parameters
        ----------
        others : Run
        out : path, optional
            A file to which the page is also written.
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
