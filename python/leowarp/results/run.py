# SPDX-License-Identifier: Apache-2.0
"""`Run`: a run directory as an object. All code that reads a run directory uses this class. `Run` also draws the
figures of a run, and displays the run in a notebook."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base import plainfiles
from leowarp.base.errors import TraceError
from leowarp.base.flownames import FlowKey, flow_names
from leowarp.base.layout import REPORT, TIMELINE, TRACE
from leowarp.base.tables import runtables
from leowarp.results.run_tables import RunTables

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from leowarp.metrics import LinkValues, Metrics, Tables
    from leowarp.scenario import Plan
    from leowarp.timeline.channel import Realisation
    from leowarp.timeline.metadata import CodewordSummary


class Run(RunTables):
    """A complete run: `plan`, `summary`, `manifest`, `warnings`, tables as data frames, figures, and the path of the
    report.

    Parameters
    ----------
    path : path
        The run directory.
    complete : bool
        If True, an incomplete run raises an error. Pass False for a run that is still being written. Such a run has a
        plan and a trace, but no summary or manifest.

    Raises
    ------
    TraceError
        If the directory is not a run, or if the run is marked as incomplete. The message has the reason.
    """

    # The chosen flow is the only value that is not in `__dict__`, because all objects of one run share their `__dict__`
    # (`of_flow`).
    __slots__ = ("_chosen_flow",)

    def __init__(self, path: Path | str, *, complete: bool = True) -> None:
        super().__init__(path, complete=complete)
        self._chosen_flow: int | None = None

    @property
    def chosen_flow(self) -> int | None:
        """The number of the flow that `of_flow` chose. None means the whole run."""
        return self._chosen_flow

    def of_flow(self, flow: int | str) -> Run:
        """Return a view of the run whose figures show only the chosen flow. The tables have all flows."""
        found = object.__new__(Run)
        # If the object of one flow has read or computed a value, all other flows' objects use it, too. Without sharing,
        # each of 2,000 flows would have its own list of 2,000 names.
        found.__dict__ = self.__dict__
        found._chosen_flow = self.flow_number(flow)
        return found

    @cached_property
    def flow_names(self) -> list[str]:
        """The names of the flows, in the order of their numbers. Connections of programs are flows too."""
        return flow_names([FlowKey.of_plan(number, flow) for number, flow in enumerate(self.observed_plan.flows)])

    @cached_property
    def tcp_flows(self) -> list[int]:
        """The numbers of the TCP flows."""
        return [number for number, flow in enumerate(self.observed_plan.flows) if flow.kind == "tcp"]

    @property
    def probe_flows(self) -> list[int]:
        """The numbers of the ping and UDP flows, including the datagrams of programs."""
        return [number for number, flow in enumerate(self.observed_plan.flows) if flow.kind in ("ping", "udp")]

    @property
    def ping_flows(self) -> list[int]:
        """The numbers of the ping flows that get replies."""
        return [n for n, flow in enumerate(self.observed_plan.flows) if flow.kind == "ping" and flow.replies]

    @property
    def main_flow(self) -> int:
        """The number of the chosen flow, or of the first TCP flow.

        Raises
        ------
        TraceError
            If no flow is chosen and the run has no TCP flow.
        """
        if self._chosen_flow is not None:
            return self._chosen_flow
        if not self.tcp_flows:
            raise TraceError(
                f"cannot draw this figure of {self.path.name}: the run has no TCP flow",
                hint="its flows are ping or udp",
            )
        return self.tcp_flows[0]

    @property
    def changes(self) -> pd.DataFrame:
        """A data frame of the route changes that concern the main flow's pair of stations."""
        flow, changes = self.observed_plan.flows[self.main_flow], self.numbers.route_changes
        pair = (flow.source, flow.destination)
        # Many flows have the same pair of stations, so the result is cached.
        if pair not in self._changes_of_pairs:
            mine = (changes["source"] == flow.source) & (changes["destination"] == flow.destination)
            self._changes_of_pairs[pair] = changes[mine].reset_index(drop=True)
        return self._changes_of_pairs[pair]

    @cached_property
    def _changes_of_pairs(self) -> dict[tuple[str, str], pd.DataFrame]:
        return {}

    def change_instants_ns(self, flow: int) -> np.ndarray:
        """Return the instants at which a flow's path changed in either direction, as int64 in ascending order."""
        from leowarp import metrics

        ends = self.observed_plan.flows[flow]
        return metrics.both_ways_ns(self.tables, (ends.source, ends.destination)).copy()

    @property
    def capacity_bps(self) -> float | None:
        """The payload rate of the slowest link on the main flow's path. It is the link's rate, multiplied by payload /
        (IP length + overhead).

        None means that the link has no rate limit, or that its rate changes over time. With timestamps, a full segment
        has 1448 of the packet's 1500 bytes. A rate of 100 Mbit/s with 14 bytes of overhead carries 95.64 Mbit/s.
        """
        return self._links_capacity_bps if self._steady_links else self._steady_capacity_bps()

    @cached_property
    def _steady_links(self) -> list[Any]:
        from leowarp.media import planned

        return list(planned(self.plan).steady_links())

    @cached_property
    def _links_capacity_bps(self) -> float | None:
        network = self.plan.network
        shaped = [
            section.left_bps / (network.mtu_bytes + section.overhead_bytes)
            for section in self._steady_links
            if section.left_bps is not None
        ]
        if not shaped:
            return None
        segments = self.tables.sockets["snd_mss_bytes"].dropna()
        # The largest sample is used, because a socket shows 536 before its handshake (TCP_MSS_DEFAULT, tcp_init_sock in
        # net/ipv4/tcp.c). If no sample exists, three headers are subtracted from the MTU: the IP header, 20 bytes of
        # TCP header, and 12 bytes of timestamps (RFC 7323, appendix A).
        headers_bytes = network.ip_header_bytes + 32.0
        payload_bytes = float(segments.max()) if len(segments) else network.mtu_bytes - headers_bytes
        return min(shaped) * payload_bytes

    def _steady_capacity_bps(self) -> float | None:
        """Return the payload rate of the main flow's path, from the timeline. None means that the rate changes."""
        import numpy as np

        from leowarp import metrics

        ends, network = self.observed_plan.flows[self.main_flow], self.plan.network
        pair = (ends.source, ends.destination)
        # A capacity from a table may change at any ns. The run is divided into a thousand parts, and the means of the
        # parts are compared. A change within a part is then not missed.
        edges_ns = np.linspace(0, self.end_ns, 1001).astype("int64")
        rates = np.unique(metrics.path_capacity(self.tables, pair, edges_ns))
        if len(rates) != 1 or np.isnan(rates[0]):
            return None
        overhead = metrics.overhead_bytes(self.tables, pair)
        return float(rates[0]) * metrics.payload_ratio(
            self.tables, self.main_flow, overhead, int(network.mtu_bytes), network.ip_header_bytes
        )

    @cached_property
    def link_values(self) -> LinkValues:
        """The delay and the rate of each link over time."""
        from leowarp import metrics

        return metrics.link_values(self.tables)

    @cached_property
    def realisation(self) -> Realisation:
        """The mobile channel of the run, recomputed from its plan.

        Raises
        ------
        TraceError
            If the run has no mobile channel, or if the recomputed channel differs from the channel in the run's
            timeline.
        """
        from leowarp.media.mobile import described, realisation_of
        from leowarp.scenario.schema import Mobile
        from leowarp.timeline.metadata import TimelineMetadata

        # A run does not store its power series, because the plan determines it.
        plan, name = self.plan, self.path.name
        if not isinstance(plan.medium, Mobile):
            raise TraceError(f"{name} has no mobile channel", "a run of a scenario with [mobile]")
        found = realisation_of(plan, plan.medium)
        has_timeline = (self.path / TIMELINE).exists()
        stored = TimelineMetadata.of(runtables.read_schema(self.path, TIMELINE)).harq if has_timeline else None
        if stored is not None and not _are_alike(stored, described(plan.medium, found.outcomes)):
            raise TraceError(
                f"cannot make the mobile channel of {name} again: its timeline has another",
                "another version of leowarp made the run; make it again",
            )
        return found.until(self.end_ns)

    def links(self) -> pd.DataFrame:
        """Return the utilisation, the drops for each cause, and the longest queues of links. Each row is a link
        direction to which a packet was offered.

        The columns are `leowarp.metrics.LINK_COLUMNS`. The lengths of the longest queues are exact. They are in packets
        and in bytes. For each length, the table has the instant at which the queue first reached it. `queues()` has
        samples of queues over time.
        """
        # A copy is returned, because `satellites` uses the same frame, and the caller may change it.
        return self._links.copy()

    def satellites(self) -> pd.DataFrame:
        """Return one row per satellite. Each row combines the numbers of `links()` over the satellite's outgoing links.
        The table is empty if the satellites are not nodes of the network.

        The columns are `leowarp.metrics.SATELLITE_COLUMNS`.
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
        """Return the goodput, round trip and loss of TCP, one row per ordered pair of stations.

        The columns are `leowarp.metrics.PAIR_COLUMNS`. `run.pairs().pivot(index="source", columns="destination",
        values="goodput_mean_bps")` is a matrix.
        """
        from leowarp import metrics

        return metrics.pairs(self.summary["flows"])

    @property
    def report(self) -> Path | None:
        """The path of the report's page. None means that the run has no report yet (`leowarp report RUN` creates
        it)."""
        page = self.path / REPORT / "index.html"
        return page if page.exists() else None

    def reordering(self, flow: int | str | None = None, scope: str | None = None) -> pd.DataFrame:
        """Return the reordering of each flow, one row per scope. The scopes are the whole "run", each "window" of
        sending time, and the time around each "change" of the path.

        The columns are `leowarp.metrics.REORDERING_COLUMNS`. `table("reordering")` returns these measurements as the
        guest wrote them. That table has different columns.

        Raises
        ------
        ScenarioError
            If the flow or scope does not exist.
        """
        from leowarp import metrics

        metrics.refuse_unknown(scope)
        return self._of(metrics.reordering(*self._reordering()), flow=flow, scope=scope)

    def densities(
        self, flow: int | str | None = None, scope: str | None = None, kind: str | None = None
    ) -> pd.DataFrame:
        """Return the histograms of reordering, one row per bar of a histogram. The kinds are "density" (RD),
        "buffer_density" (RBD), "n_reordering" and "extent".

        The columns are `leowarp.metrics.DENSITY_COLUMNS`.

        Raises
        ------
        ScenarioError
            If the flow, scope or kind does not exist.
        """
        from leowarp import metrics

        metrics.refuse_unknown(scope, kind)
        return self._of(metrics.densities(*self._reordering()), flow=flow, scope=scope, kind=kind)

    def causes(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return how many packets each route change made late, lost or retransmitted. The table has one row per flow
        and route change. A further row per flow counts the packets whose cause is not a route change.

        The columns are `leowarp.metrics.CAUSE_COLUMNS`. The method computes the numbers from the recorded packets
        (packet truth). This computation takes some time.
        """
        from leowarp import metrics

        return self._of(metrics.causes(self.tables, metrics.flow_pairs(self.observed_plan.flows)), flow=flow)

    def route_changes(self) -> pd.DataFrame:
        """Return the changes of paths, with one row per change and pair. Each row has the number of hops and the delay
        before and after the change, and its effects.

        The columns are `leowarp.metrics.CHANGE_COLUMNS`. The first call computes the table, which takes about a second
        for a run of a minute.
        """
        # A copy is returned: the frame is cached, and a caller's changes must not affect other callers.
        return self.numbers.route_changes.copy()

    def recovery(self, flow: int | str | None = None) -> pd.DataFrame:
        """Return how TCP flows recovered from changes of their paths. The table has one row per flow and change. For
        example, the columns contain the dip, time to recover, window, smoothed RTT, retransmissions, and losses near
        the change.

        The full list of columns is `leowarp.metrics.RECOVERY_COLUMNS`. The first call computes the table.
        """
        return self._of(self.numbers.recoveries, flow=flow)

    def series(self, name: str, flow: int | str | None = None) -> pd.DataFrame:
        """Return a quantity, or a state in words, over time. The columns are `t_ns`, `flow` and the name of the series.

        Parameters
        ----------
        name : str
            One of `leowarp.metrics.SERIES`, for example "cwnd_pkts", "srtt_us", "goodput_in_order_bps",
            "path_delay_ns", "bbr_mode". The unit at the end of the name may be omitted.
        flow : int or str, optional
            The number or name of a flow. By default, all flows that have the series are returned, one after another.

        Raises
        ------
        ScenarioError
            If the series or flow does not exist. The message suggests the most similar name.
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
        # The reordering tables name route changes only by number, so the routes are needed, too.
        planned = {name: self.table(name) for name in ("routes", "timeline")}
        return metrics.tables_of(measured, **planned, where=self.path), metrics.flow_pairs(self.observed_plan.flows)

    def figure(self, name: str, *, flow: int | str | Sequence[int | str] | None = None, **options: Any) -> Figure:
        """Return a figure of the report by its name, for example "goodput", as a matplotlib Figure.

        Parameters
        ----------
        flow : int or str, or a sequence of them, optional
            The flows by number or name. The default is all flows that the figure can show.
        options
            The options of `leowarp.report.figure`.

        Returns
        -------
        figure : matplotlib.figure.Figure
        """
        picture: Figure = _later("report").figure(self, name, flow=flow, **options)
        return picture

    def view(self, *others: Run, out: Path | str | None = None) -> FramedPage:
        """Return the run as an animated page that a notebook displays. The page can show other runs beside this run, on
        the same clock.

        Parameters
        ----------
        others : Run
        out : path, optional
            The path of a file into which the page is also written.
        """
        found = FramedPage(_later("view").page((self, *others)))
        if out is not None:
            plainfiles.refuse_link(Path(out))
            plainfiles.write(Path(out), found.text.encode())
        return found

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return inline((self,))


def known(run: Run, plan: Plan, numbers: Metrics) -> Run:
    """Store this plan and these numbers in the object `run`, so that they are not read again. Return the run."""
    vars(run).update(plan=plan, numbers=numbers, tables=numbers.tables)
    return run


def inline(runs: Sequence[Run]) -> str:
    """Return the HTML of the notebook display of a run, or of the runs of a group."""
    return str(_later("report").inline(runs))


@dataclass(frozen=True)
class FramedPage:
    """An animated page of runs, for a notebook. A page in a frame can have its own content security policy. If the page
    were part of the notebook's page, this policy would not be valid."""

    text: str

    def _repr_html_(self) -> str:
        # The page is the value of the attribute srcdoc, in which an unescaped quote would end the value, and an
        # unescaped ampersand would be misread.
        return (
            '<iframe style="width: 100%; height: 820px; border: 0" sandbox="allow-scripts" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"FramedPage({len(self.text)} characters)"


def _are_alike(stored: CodewordSummary, made: CodewordSummary) -> bool:
    # Counts are exact, but a ratio of counts may differ in its last digit.
    ratios = ((stored.loss_ratio, made.loss_ratio), (stored.symbols_ratio, made.symbols_ratio))
    return (stored.codewords, stored.first_bits) == (made.codewords, made.first_bits) and all(
        math.isclose(a, b, rel_tol=1e-9) for a, b in ratios
    )


def _later(room: str) -> Any:
    """Return the package `leowarp.<room>`, imported when it is needed. An import at the top of this module would be
    circular, because figures import `Run`."""
    return importlib.import_module(f"leowarp.{room}")
