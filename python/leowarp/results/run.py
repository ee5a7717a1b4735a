# SPDX-License-Identifier: Apache-2.0
"""`Run`: a run directory as a value, the only one that reads it; with its figures, and how a notebook shows it."""

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
        Whether it must be complete. One that is being written has a plan and a trace, and no summary or manifest yet.

    Raises
    ------
    TraceError
        If it is none, or is marked incomplete; the message says why.
    """

    drawing: ClassVar[Callable[..., Figure]]
    """Gives a figure of a run by its name. Figures stand above runs, because they read them; so the top of the package,
    which knows both, sets this (`leowarp/__init__.py`)."""

    moving: ClassVar[Callable[[Sequence[Run]], str]]
    """Gives the page on which runs move, as text; set there, too."""

    inline: ClassVar[Callable[[Sequence[Run]], str]]
    """Gives what a notebook shows of a run, or of the runs of a group, as HTML; set there, too."""

    def __init__(self, path: Path | str, *, complete: bool = True) -> None:
        self.path = Path(path)
        refuse_strange(self.path)
        if complete:
            refuse_incomplete(self.path)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The plan as its text has it, units and all: for printing, not for computing."""
        from leowarp import metrics

        refuse_changed(self.path, PLAN)
        return metrics.plan_document(self.path)

    @cached_property
    def tables(self) -> Tables:
        """All tables as metrics read them, checked for their columns: with the files' numbers in place of words."""
        from leowarp import metrics

        return metrics.read_tables(self.path)

    @cached_property
    def numbers(self) -> Metrics:
        """What the tables say, computed anew; `summary` and `metrics()` are what was written when the run was made."""
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
        """The plan with a flow for each connection of its programs: flows as the trace numbers them."""
        from leowarp import metrics

        return metrics.with_connections(self.plan, self._connections)

    @cached_property
    def _connections(self) -> list[dict[str, Any]]:
        # A run that is being written, or was made by hand, may have no such table yet.
        if not (self.path / TRACE / "flows.parquet").exists():
            return []
        return decode_metadata(self.table("flows").schema, "connections") or []

    @property
    def summary(self) -> dict[str, Any]:
        """The run's scalars (`summary.json`), units in the names."""
        return read_summary(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, seed, warnings, costs and the sha256 of each file (`manifest.json`)."""
        return read_manifest(self.path)

    @property
    def warnings(self) -> list[str]:
        """What to check before trusting the result."""
        return list(self.manifest["warnings"])

    @property
    def end_ns(self) -> int:
        """When the run was over on its own clock: as planned, or with its last flow (`run.ends`)."""
        return self.plan.run.duration_ns if self.tables.virtual_ns is None else self.tables.virtual_ns

    def table(self, name: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """A table as Arrow: a trace table, `routes`, `timeline` or `metrics`.

        It has words where the files have numbers, as data frames do: `direction` is "data" or "back", `host` a name.

        Parameters
        ----------
        name : str
        columns, filters
            As for `pyarrow.parquet.read_table`: only these columns, only these rows. Filters have words, too:
            ``filters=[("direction", "==", "data")]``.

        Raises
        ------
        TraceError
            If the run has no such table, or its file is damaged.
        ScenarioError
            If a filter asks for a word that its column never has.
        """
        return self._table(name, columns=columns, filters=filters)

    def _table(
        self, name: str, *, columns: list[str] | None = None, filters: Any = None, categories: bool = False
    ) -> pa.Table:
        """The same; `categories` as for `trace.read_in_words`."""
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

        # Filtered while it is read: of 90 flows the packets of one are a ninetieth of the memory.
        filters = None if flow is None else [("flow", "==", self.flow_number(flow))]
        return counted_frame(self._table(name, filters=filters, categories=True))

    def flow_number(self, flow: int | str) -> int:
        """The number of a flow that is asked for by its number or by its name in the scenario.

        Raises
        ------
        ScenarioError
            If the run has no such flow: an empty table would look like a flow that sent nothing.
        """
        # From the plan's text: a flow of which nothing was recorded is a flow all the same.
        names = [planned.get("name") for planned in self.document.get("flows", ())]
        count = len(names) + len(self._connections)
        if isinstance(flow, str) and flow in names:
            return names.index(flow)
        # True is 1 to Python, and `flow=True` a mistake that would show flow 1.
        if isinstance(flow, bool) or flow not in range(count):
            raise ScenarioError(f"there is no flow {flow!r} in {self.path}", hint=which_flows(flow, names, count))
        return int(flow)

    def flow(self, which: int | str) -> dict[str, Any]:
        """The scalars of one flow, by its number or name; units in the names.

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
        """TCP_INFO over time, and BBR's mode (`bbr_mode`); of one flow, or of all."""
        return self._frame("sockets", flow)

    def packets(self, flow: int | str | None = None) -> pd.DataFrame:
        """Packet truth: the stored packets, each with its arrival or its place and cause of loss.

        Which are stored is `observe.packets`; late, lost and repeated ones always are (docs/concepts/truth.md).
        """
        return self._frame("packets", flow)

    def bins(self, flow: int | str | None = None) -> pd.DataFrame:
        """Packets by 50 ms of sending time; complete, whatever packets are stored."""
        return self._frame("bins", flow)

    def delays(self, flow: int | str | None = None) -> pd.DataFrame:
        """One-way delays and round trips of all packets, counted in narrow bins."""
        return self._frame("delays", flow)

    def flows(self) -> pd.DataFrame:
        """One row a flow: connecting, first and last byte, completion, bytes."""
        return self._frame("flows")

    def echoes(self, flow: int | str | None = None) -> pd.DataFrame:
        """Probe packets of ping and udp flows."""
        return self._frame("echoes", flow)

    def measures(self, flow: int | str | None = None, kind: str | None = None) -> pd.DataFrame:
        """What programs say that they measured (docs/guides/measures.md): transactions, page loads, segments, frames.

        Parameters
        ----------
        flow : int or str, optional
            A flow of kind program, by number or name; of all if not given.
        kind : str, optional
            Lines of this kind alone, such as "page".
        """
        frame = self._frame("measures", flow)
        return frame if kind is None else frame[frame["kind"] == kind].reset_index(drop=True)

    def acks(self, flow: int | str | None = None) -> pd.DataFrame:
        """How receivers acknowledged: ACKs by the segments that they answer and the wait of the first of these."""
        return self._frame("acks", flow)

    def switches(self) -> pd.DataFrame:
        """What `[cures]` did at route changes, an entry of a node each: `move_queue`, `hold` and `duplicate`."""
        return self._frame("switches")

    def merges(self) -> pd.DataFrame:
        """What waited where for the end of an old way, a route change of a node each; only with `cures.end_marker`."""
        return self._frame("merges")

    def notices(self) -> pd.DataFrame:
        """What hosts were told of route changes, lost and false notices included; only with `cures.notify`."""
        return self._frame("notices")

    def nodetotals(self) -> pd.DataFrame:
        """What nodes held back at most, and the packets of their own that they sent; only with `[cures]`; by name."""
        return self._frame("nodetotals")

    def orders(self) -> pd.DataFrame:
        """What was put in order or discarded of each stream between two stations; with `resequence` or `duplicate`."""
        return self._frame("orders")

    def drops(self) -> pd.DataFrame:
        """Every packet that was lost, ACKs and probes too, with place and cause; `direction` null: between links."""
        return self._frame("drops")

    def counters(self) -> pd.DataFrame:
        """The kernel's counters since the run's start, by time, host (by name) and counter; a row a change."""
        return self._frame("counters")

    def links(self) -> pd.DataFrame:
        """Use, drops by cause and longest queues, one row a direction of a link that was offered a packet.

        Columns: `leowarp.metrics.LINK_COLUMNS`. Longest queues are exact, in packets and in bytes, each with the
        instant at which it was first so long; `queues()` has samples over time.
        """
        # A copy: `satellites` rests on the same frame, and a caller may change what it got.
        return self._links.copy()

    def satellites(self) -> pd.DataFrame:
        """The same of each satellite's links that send, together; empty of a run without satellites that are nodes.

        Columns: `leowarp.metrics.SATELLITE_COLUMNS`.
        """
        from leowarp import metrics

        stations = {station.name for station in self.plan.stations}
        moving = self.plan.constellation is not None and self.plan.medium is self.plan.constellation
        # The ends of a wire are a station and its host, and neither is a satellite.
        nodes = {end for a, b, kind in self.tables.directions for end in (a, b) if kind != "wire"} if moving else set()
        return metrics.satellite_use(self.tables, self._links, nodes - stations, self.end_ns)

    @cached_property
    def _links(self) -> pd.DataFrame:
        from leowarp import metrics

        return metrics.link_use(self.tables, self.end_ns)

    def pairs(self) -> pd.DataFrame:
        """TCP by source and destination, one row an ordered pair of stations: goodput, round trip, loss.

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
        """Paths between the stations that talk, one row a route update and pair."""
        return self._frame("routes")

    def timeline(self) -> pd.DataFrame:
        """Events of the emulated network."""
        return self._frame("timeline")

    def metrics(self) -> pd.DataFrame:
        """What was computed from the trace."""
        return self._frame("metrics")

    @property
    def report(self) -> Path | None:
        """The report's page, or None if the run was made without one (`leowarp report RUN` makes it)."""
        page = self.path / REPORT / "index.html"
        return page if page.exists() else None

    def reordering(self, flow: int | str | None = None, scope: str | None = None) -> pd.DataFrame:
        """Reordering of each flow, one row a scope: the "run", each "window" of it, around each "change" of the path.

        Columns: `leowarp.metrics.REORDERING_COLUMNS`; `table("reordering")` has them as the guest wrote them.

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
        """Histograms of reordering, one row a bar; kinds: "density" (RD), "buffer_density" (RBD), "n_reordering",
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
        """What each route change made late, lost or sent again, and what none did, one row a flow and change.

        Columns: `leowarp.metrics.CAUSE_COLUMNS`. It is read out of the truth of each packet, so it takes a moment.
        """
        from leowarp import metrics

        return self._of(metrics.causes(self.tables, metrics.flow_pairs(self.observed_plan.flows)), flow=flow)

    def route_changes(self) -> pd.DataFrame:
        """The changes of paths, one row a change and pair of stations: hops, delay before and after, what came of it.

        Columns: `leowarp.metrics.CHANGE_COLUMNS`. Computed anew, in about a second for a run of a minute.
        """
        # A copy: the frame is kept, and what a notebook adds to it must not reach the next caller.
        return self.numbers.route_changes.copy()

    def recovery(self, flow: int | str | None = None) -> pd.DataFrame:
        """How TCP flows came through the changes of their paths, one row a flow and change: dip and time until back,
        window, smoothed RTT, retransmissions, losses near it.

        Columns: `leowarp.metrics.RECOVERY_COLUMNS`. Computed anew, as `route_changes`.
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
            By number or name; of all flows that have it, one below the other, if not given.

        Raises
        ------
        ScenarioError
            If there is no such series, or no such flow; says which name is nearest.
        TraceError
            If the run did not record what it is read from.
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
            # A state that a newer version wrote is its digits, and no value is dropped.
            every = dict.fromkeys([*series.words.values(), *(word for word in words if word is not None)])
            frame[series.name] = pd.Categorical(words, categories=list(every))
        frame.attrs["units"] = {"t_ns": "ns", "flow": "", series.name: series.unit}
        return frame

    def _reordering(self) -> tuple[Tables, dict[tuple[str, str], list[int]]]:
        from leowarp import metrics, trace

        measured = {name: trace.read(self.path / TRACE, name) for name in ("reordering", "densities")}
        # Routes number the route changes that the scopes of reordering are around.
        planned = {name: self.table(name) for name in ("routes", "timeline")}
        return metrics.tables_of(measured, **planned, where=self.path), metrics.flow_pairs(self.observed_plan.flows)

    def figure(self, name: str, *, flow: int | str | Sequence[int | str] | None = None, **options: Any) -> Figure:
        """A figure of the report by its name, for instance "goodput", as a matplotlib Figure.

        Parameters
        ----------
        flow : int or str, or a sequence of them, optional
            Which flows, by number or name; by default all that the figure is about.
        options
            As `leowarp.report.figure` takes them.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        return Run.drawing(self, name, flow=flow, **options)

    def _of(self, frame: pd.DataFrame, flow: int | str | None, **wanted: Any) -> pd.DataFrame:
        """Rows of a flow with the values that are wanted; None: any."""
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
        """The run, and others beside it with the same clock, as one page on which it moves; a notebook shows it.

        Parameters
        ----------
        others : Run
        out : path, optional
            A file to write it to as well.
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
