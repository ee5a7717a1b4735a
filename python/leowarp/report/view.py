# SPDX-License-Identifier: Apache-2.0
"""One run in the form that figures and pages use: its plan, its tables, its metrics, and the rules that shaped its
results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leowarp.base import layout
from leowarp.base.errors import TraceError
from leowarp.base.flownames import FlowKey, flow_names
from leowarp.media import planned
from leowarp.metrics import (
    Metrics,
    Tables,
    both_ways_ns,
    overhead_bytes,
    path_capacity,
    path_delay,
    payload_ratio,
)
from leowarp.report.realisation import realisation_of_run
from leowarp.report.rules import kernel_name as kernel_name
from leowarp.report.rules import rules_of
from leowarp.report.style import ALGORITHMS, line_style
from leowarp.results.known import numbers_to_draw
from leowarp.results.run import Run
from leowarp.scenario.schema import Access, Mobile, Plan
from leowarp.timeline.channel import Realisation


class RunView:
    """A run with the values that figures and pages need.

    run: The run, or its directory. The run needs a plan and a trace; summary and manifest may be missing.
    flow: The flow of this view. If a figure shows one flow per view and the run has several flows, the figure gets one
        view per flow.
    """

    def __init__(self, run: Run | Path | str, flow: int | None = None, whole: RunView | None = None) -> None:
        # The report is drawn while the run is still marked as incomplete: the run's last steps are to write the
        # manifest and to remove the mark (`running/one.py`).
        self.run = run if isinstance(run, Run) else Run(run, complete=False)
        self.flow = flow
        self.path = self.run.path
        # Views of the same run share the data that all its flows have in common. Without sharing, 2,000 views would
        # each hold a list of 2,000 names.
        self._whole = self if whole is None else whole
        # The plan is read here, so that a directory without a plan gives an error before a figure is half drawn.
        self.document = self.run.document

    def of_flow(self, flow: int) -> RunView:
        """A view of one flow of the same run; the run is not read again."""
        return RunView(self.run, flow, self._whole)

    @property
    def flow_names(self) -> list[str]:
        """Name of each flow, by its number."""
        return self._whole._flow_names

    @cached_property
    def _flow_names(self) -> list[str]:
        return flow_names([FlowKey.of_plan(number, flow) for number, flow in enumerate(self.plan.flows)])

    def chosen(self, flow: int | str | Sequence[int | str]) -> list[int]:
        """Numbers of the flows that a user requests by number or name, without repetition.

        Raises ScenarioError if the run has no such flow.
        """
        # A name is itself a sequence, of letters.
        each = [flow] if isinstance(flow, str) or not isinstance(flow, Sequence) else flow
        return list(dict.fromkeys(self.run.flow_number(one) for one in each))

    @property
    def plan(self) -> Plan:
        """The plan with parsed numbers. The plan's flows include the connections of programs."""
        return self.run.observed_plan

    @property
    def tables(self) -> Tables:
        """The run's tables."""
        return self.run.tables

    @property
    def metrics(self) -> Metrics:
        """Metrics that are computed from the tables."""
        return numbers_to_draw(self.run)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Content of `summary.json`, including the costs of the run. If the file is missing, the summary is computed
        without costs."""
        return self.run.summary if (self.path / layout.SUMMARY).exists() else self.metrics.summary

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Content of `manifest.json`; empty if there is none yet."""
        return self.run.manifest if (self.path / layout.MANIFEST).exists() else {}

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.document.get("name", self.path.name))

    @property
    def warnings(self) -> list[str]:
        """Warnings of the run and of its metrics, without repetition."""
        return list(dict.fromkeys([*self.manifest.get("warnings", []), *self.metrics.warnings]))

    @property
    def tcp_flows(self) -> list[int]:
        """Numbers of the TCP flows."""
        return self._whole._tcp_flows

    @cached_property
    def _tcp_flows(self) -> list[int]:
        return [number for number, flow in enumerate(self.plan.flows) if flow.kind == "tcp"]

    @property
    def probe_flows(self) -> list[int]:
        """Numbers of the ping and UDP flows, including flows for the datagrams of programs."""
        return [number for number, flow in enumerate(self.plan.flows) if flow.kind in ("ping", "udp")]

    @property
    def is_access(self) -> bool:
        """Whether the path is an access link. The changes of an access link are reconfigurations, and its satellites
        are not nodes."""
        return isinstance(self.plan.medium, Access)

    @property
    def mobile(self) -> Mobile | None:
        """The mobile channel that is the last hop of the path; None if there is none."""
        return self.plan.medium if isinstance(self.plan.medium, Mobile) else None

    @cached_property
    def realisation(self) -> Realisation:
        """The mobile channel of the run, recomputed from its plan.

        Raises TraceError if the run has no mobile channel, or if the channel differs from the run's timeline.
        """
        return realisation_of_run(self.path, self.plan, self.metrics.end_ns)

    @property
    def ping_flows(self) -> list[int]:
        """Numbers of the ping flows that get replies."""
        return [number for number, flow in enumerate(self.plan.flows) if flow.kind == "ping" and flow.replies]

    def change_instants_ns(self, flow: int) -> np.ndarray:
        """Instants at which the path of a flow changed in either direction, as int64 in ascending order."""
        ends = self.plan.flows[flow]
        return both_ways_ns(self.tables, (ends.source, ends.destination))

    @property
    def main_flow(self) -> int:
        """Number of the flow of this view, or of the first TCP flow if the view has none.

        Raises TraceError if neither exists.
        """
        if self.flow is not None:
            return self.flow
        if not self.tcp_flows:
            raise TraceError(
                f"cannot draw this figure of {self.path.name}: the run has no TCP flow",
                hint="its flows are ping or udp",
            )
        return self.tcp_flows[0]

    @property
    def algorithm(self) -> str:
        """Congestion control of the main flow."""
        return str(self.plan.flows[self.main_flow].congestion_control)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Route changes between the stations of the main flow."""
        flow = self.plan.flows[self.main_flow]
        changes = self.metrics.route_changes
        # Many flows have the same pair of stations, so the result is cached.
        known, pair = self._whole._changes_of_pairs, (flow.source, flow.destination)
        if pair not in known:
            mine = (changes["source"] == flow.source) & (changes["destination"] == flow.destination)
            known[pair] = changes[mine].reset_index(drop=True)
        return known[pair]

    @cached_property
    def _changes_of_pairs(self) -> dict[tuple[str, str], pd.DataFrame]:
        return {}

    @cached_property
    def capacity_bps(self) -> float | None:
        """Payload rate of the slowest link of the plan: rate x payload / (IP length + overhead).

        The result is None if the link has no rate limit, or if its rate changes over time.

        With timestamps, a full segment carries 1448 bytes of payload in a packet of 1500 bytes. 100 Mbit/s with 14
        bytes of overhead then carry 95.64 Mbit/s.
        """
        # If rates are in tables, each path has its own capacity. If rates are constant, the capacity of the links is
        # the same for all flows.
        return self._steady_capacity_bps() if self._whole._has_tables else self._whole._links_capacity_bps

    @cached_property
    def _has_tables(self) -> bool:
        """Whether rates of links are in tables, so that each path has its own capacity."""
        return not planned(self.plan).steady_links()

    @cached_property
    def _links_capacity_bps(self) -> float | None:
        sections = planned(self.plan).steady_links()
        shaped = [
            section.left_bps / (self.ip_bytes + section.overhead_bytes)
            for section in sections
            if section.left_bps is not None
        ]
        if not shaped:
            return None
        segments = self.tables.sockets["snd_mss_bytes"].dropna()
        # The largest sample is used, because before its handshake a socket reports 536 (TCP_MSS_DEFAULT, tcp_init_sock
        # in net/ipv4/tcp.c). Without a sample, three headers are subtracted: IP, 20 bytes of TCP, and 12 of timestamps
        # (RFC 7323, appendix A).
        payload_bytes = float(segments.max()) if len(segments) else self.ip_bytes - 32.0 - self.ip_header_bytes
        return min(shaped) * payload_bytes

    def _steady_capacity_bps(self) -> float | None:
        """Payload rate of the main flow's path, from the timeline; None if it changes."""
        ends = self.plan.flows[self.main_flow]
        pair = (ends.source, ends.destination)
        # A capacity from a table may change at any ns. Means over thousandths of the run are compared, so that a change
        # within any thousandth is noticed.
        edges_ns = np.linspace(0, self.metrics.end_ns, 1001).astype("int64")
        rates = np.unique(path_capacity(self.tables, pair, edges_ns))
        if len(rates) != 1 or np.isnan(rates[0]):
            return None
        return float(rates[0]) * payload_ratio(
            self.tables, self.main_flow, overhead_bytes(self.tables, pair), self.ip_bytes, self.ip_header_bytes
        )

    def path_delay(self, source: str, destination: str) -> pd.DataFrame:
        """Propagation delay of the path from one station to another over time, as a frame of `metrics.path_delay`."""
        known = self.metrics.path_delay.get((source, destination))
        return path_delay(self.tables, (source, destination), self.metrics.end_ns) if known is None else known

    @property
    def ip_bytes(self) -> int:
        """Length of a full packet in bytes."""
        return int(self.plan.network.mtu_bytes)

    @property
    def ip_header_bytes(self) -> int:
        """Length of a packet's IP header in bytes."""
        return self.plan.network.ip_header_bytes

    def rules(self) -> list[tuple[str, str]]:
        """The rules that shape results, as (name, text); every figure has them at its bottom."""
        return rules_of(self.document, self.manifest)

    def footer(self) -> str:
        """The rules as one paragraph."""
        return " · ".join(f"{name}: {text}" for name, text in self.rules())


def worded(runs: Sequence[RunView], text: str) -> str:
    """Text about route changes, in words that suit the runs: the changes of an access link are called reconfigurations.

    runs: Runs that the text is about. Unless all are access links, the text is not changed.
    """
    # If a run with routes is among them, the word "route change" stays, because it suits both kinds.
    if not all(run.is_access for run in runs):
        return text
    return text.replace("route change", "reconfiguration").replace("Route change", "Reconfiguration")


def by_run(views: Sequence[RunView]) -> list[list[RunView]]:
    """Views grouped by run.

    Returns: Groups in the order of each run's first view. Runs are distinguished by identity: a directory that is given
        twice counts as two runs.
    """
    groups: dict[int, list[RunView]] = {}
    for view in views:
        # Two views of one run hold the same `Run` object. Two runs with the same name are different objects.
        groups.setdefault(id(view.run), []).append(view)
    return list(groups.values())


def labels(runs: Sequence[RunView]) -> list[str]:
    """A short name for each view that distinguishes it from the other views.

    Returns: For runs, the first of these texts that differs between all runs: algorithm, scenario, both, directory. For
        flows of one run, the name of the flow. For flows of several runs, the names of the run and the flow.
    """
    groups = by_run(runs)
    if not any(run.flow is not None for run in runs):
        return _run_labels(runs)
    of_flows = [run.flow_names[run.main_flow if run.flow is None else run.flow] for run in runs]
    if len(groups) == 1:
        return of_flows
    of_runs = run_labels(runs)
    return [f"{of_runs[id(run.run)]}, {name}" for run, name in zip(runs, of_flows, strict=True)]


def run_labels(views: Sequence[RunView]) -> dict[int, str]:
    """Names of the runs to which the views belong.

    Returns: Names by `id` of the view's `run`. A name is that of the scenario, or of the directory if two scenarios
        have the same name.
    """
    firsts = [group[0] for group in by_run(views)]
    names = [run.name for run in firsts]
    if len(set(names)) < len(names):
        names = layout.directory_names([run.path for run in firsts])
    return {id(run.run): name for run, name in zip(firsts, names, strict=True)}


def _run_labels(runs: Sequence[RunView]) -> list[str]:
    algorithms = [_algorithm_name(run.algorithm) if run.tcp_flows else run.name for run in runs]
    names = [run.name for run in runs]
    # The shortest names that distinguish all runs are used: algorithm, scenario, both, and finally the directories.
    if len(set(algorithms)) == len(runs):
        return algorithms
    if len(set(names)) == len(runs):
        return names
    both = [f"{name}, {algorithm}" for name, algorithm in zip(names, algorithms, strict=True)]
    return both if len(set(both)) == len(runs) else layout.directory_names([run.path for run in runs])


def styles(runs: Sequence[RunView]) -> list[dict[str, Any]]:
    """Colour and dashes of the line of each run. Colours and dashes are fixed for the algorithms of the reproduced
    study; for other runs they depend on the position.

    Returns: `color` and `linestyle` for matplotlib's lines.
    """
    if any(run.flow is not None for run in runs):
        return [line_style(index) for index in range(len(runs))]
    algorithms = [run.algorithm if run.tcp_flows else "" for run in runs]
    # Lines are coloured by algorithm only if all runs have different algorithms: two runs of CUBIC in the same blue
    # could not be distinguished.
    if len(set(algorithms)) == len(runs) and all(name in ALGORITHMS for name in algorithms):
        return [line_style(ALGORITHMS[name]) for name in algorithms]
    return [line_style(index) for index in range(len(runs))]


MOST_LINES = 8
"""Maximum number of lines in a panel that colour and dashes can distinguish. For more flows, figures show a
distribution."""


def footer_of(runs: Sequence[RunView]) -> str:
    """The rules of several runs, as one paragraph.

    Returns: Each rule once, as "name: value". If runs have different values of a rule, the rule lists all of them in
        order, separated by bars.
    """
    each = [dict(group[0].rules()) for group in by_run(runs)]
    parts = []
    for name in dict.fromkeys(name for rules in each for name in rules):
        values = [rules.get(name, "none") for rules in each]
        parts.append(f"{name}: {' | '.join(dict.fromkeys(values))}")
    return " · ".join(parts)


def _algorithm_name(name: str) -> str:
    return {"bbr": "BBR", "cubic": "CUBIC", "reno": "Reno"}.get(name, name)
