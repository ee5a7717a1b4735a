# SPDX-License-Identifier: Apache-2.0
"""Files of a run directory: plan, summary, manifest, and each table as a data frame. `Run` is a subclass of the class
in this module."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.flownames import which_flows
from leowarp.base.layout import MANIFEST, METRICS, PLAN, ROUTES, SUMMARY, TIMELINE, TRACE
from leowarp.base.metadata import decode_metadata
from leowarp.base.recorded import read_manifest, read_summary, refuse_changed, refuse_incomplete, refuse_strange
from leowarp.base.spelling import one_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from leowarp.metrics import Metrics, Tables
    from leowarp.scenario import Plan


MANY_FLOWS = 100
"""If a run has more flows than `MANY_FLOWS`, its stored scalars are used, because computing them again takes 6 ms per
flow."""


class RunTables:
    """Files of a run directory; a file is read when it is first needed."""

    def __init__(self, path: Path | str, *, complete: bool = True) -> None:
        self.path = Path(path)
        self._complete = complete
        refuse_strange(self.path)
        if complete:
            refuse_incomplete(self.path)

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.document.get("name", self.path.name))

    @cached_property
    def document(self) -> dict[str, Any]:
        """The plan as TOML values with units, for display and not for computation."""
        from leowarp import metrics

        refuse_changed(self.path, PLAN)
        return metrics.plan_document(self.path)

    @cached_property
    def tables(self) -> Tables:
        """All tables in the form that metrics read, with checked columns. The tables contain the numbers of the files,
        not words."""
        from leowarp import metrics

        return metrics.read_tables(self.path)

    @cached_property
    def numbers(self) -> Metrics:
        """Metrics, computed again from the tables. In a run of many flows, the scalars are taken from `summary`
        instead.

        `summary` and `metrics()` return the metrics that were written when the run was made.
        """
        from leowarp import metrics

        return metrics.metrics(self.tables, self.plan, summary=_stored_scalars(self))

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
        # A run may lack the table `flows` if the run is being written, or if it was made by hand.
        if not (self.path / TRACE / "flows.parquet").exists():
            return []
        return decode_metadata(self.table("flows").schema, "connections") or []

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run's scalars (`summary.json`); their names contain the units. The scalars are computed, without costs,
        if the file is missing from a run that may be incomplete."""
        if not self._complete and not (self.path / SUMMARY).exists():
            return self.numbers.summary
        return read_summary(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, seed, warnings, costs and the sha256 of each file (`manifest.json`). Empty if the file is missing
        and the run need not be complete."""
        if not self._complete and not (self.path / MANIFEST).exists():
            return {}
        return read_manifest(self.path)

    @property
    def warnings(self) -> list[str]:
        """Points to check before the results are trusted."""
        return list(self.manifest["warnings"])

    @property
    def end_ns(self) -> int:
        """End of the run on its own clock: the planned end, or the end of its last flow (`run.ends`)."""
        return self.plan.run.duration_ns if self.tables.virtual_ns is None else self.tables.virtual_ns

    def table(self, name: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """A table as Arrow: a trace table, `routes`, `timeline` or `metrics`.

        The table has words instead of the numbers in the files, as data frames do: `direction` is "data" or "back", and
        `host` is a name.

        Parameters
        ----------
        name : str
        columns, filters
            As in `pyarrow.parquet.read_table`: columns to read, and conditions on rows. Conditions use words instead of
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

        # The filter is applied while reading: the packets of one of 90 flows take a ninetieth of the memory.
        filters = None if flow is None else [("flow", "==", self.flow_number(flow))]
        return counted_frame(self._table(name, filters=filters, categories=True))

    def flow_number(self, flow: int | str) -> int:
        """Number of a flow that is given by its number or by its name in the scenario.

        Raises
        ------
        ScenarioError
            If the run has no such flow.
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
        """Packet truth: the stored packets, each with its arrival, or with the place and cause of its loss.

        `observe.packets` determines which packets are stored. Late, lost and retransmitted packets are always stored
        (docs/concepts/truth.md).
        """
        return self._frame("packets", flow)

    def bins(self, flow: int | str | None = None) -> pd.DataFrame:
        """Number of packets per 50 ms of sending time. All packets are counted, even if the run stored only some of
        them."""
        return self._frame("bins", flow)

    def delays(self, flow: int | str | None = None) -> pd.DataFrame:
        """One-way delays and round trips of all packets, as counts in narrow bins."""
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
        """ACKs of the receivers, counted by two values: the number of segments that an ACK answers, and the waiting
        time of the first of these segments."""
        return self._frame("acks", flow)

    def switches(self) -> pd.DataFrame:
        """Actions of `[cures]` at route changes (`move_queue`, `hold` and `duplicate`), with one row for each change of
        a node's route."""
        return self._frame("switches")

    def merges(self) -> pd.DataFrame:
        """Packets that waited at a node for the end marker of an old path, one row per route change and node; only with
        `cures.end_marker`."""
        return self._frame("merges")

    def notices(self) -> pd.DataFrame:
        """Notices of route changes to hosts, including lost and false ones; only with `cures.notify`."""
        return self._frame("notices")

    def nodetotals(self) -> pd.DataFrame:
        """One row per node: largest number of packets that the node held, and number of packets that it sent itself.
        The table exists only with `[cures]`."""
        return self._frame("nodetotals")

    def orders(self) -> pd.DataFrame:
        """Packets that were put into order or discarded, one row per stream between two stations; only with
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
        """Events of the emulated network."""
        return self._frame("timeline")

    def metrics(self) -> pd.DataFrame:
        """Metrics computed from the trace."""
        return self._frame("metrics")

    def _of(self, frame: pd.DataFrame, flow: int | str | None, **wanted: Any) -> pd.DataFrame:
        """Rows of a flow with the wanted values. A wanted value of None matches any value."""
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


def _stored_scalars(run: RunTables) -> dict[str, Any] | None:
    """The scalars of a run of many flows, if the same sources and libraries wrote them; None if they have to be
    computed."""
    is_large = len(run.document.get("flows", ())) > MANY_FLOWS
    return run.summary if is_large and is_of_these_sources(run) else None


def is_of_these_sources(run: RunTables) -> bool:
    """Whether the run is complete, and the current sources and libraries wrote its summary, with the run or later."""
    from leowarp.trace.manifest import maker, maker_of

    if not ((run.path / MANIFEST).exists() and (run.path / SUMMARY).exists()):
        return False
    return maker_of(run.manifest, SUMMARY) == maker()
