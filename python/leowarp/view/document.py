# SPDX-License-Identifier: Apache-2.0
"""Combine all data of a page into one container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leowarp.base.flownames import FlowKey, plain_name
from leowarp.base.printable import one_line
from leowarp.metrics.per_flow.goodput import life
from leowarp.results.run import Run
from leowarp.trace.schema.hosts import BBR_MODES
from leowarp.view.clock import Names, station_pairs, tick_ns
from leowarp.view.container import Arrays
from leowarp.view.gaps import gaps_of
from leowarp.view.load import load_of
from leowarp.view.packets import BUDGET_BYTES, packets_of
from leowarp.view.series import drops_of, fading_of_run, flow_rows, links_of, probe_rows, queues_of, step_ns_of
from leowarp.view.sky import sky_of
from leowarp.view.ways import changes_of, pairs_of

LONGEST_TEXT = 200
"""The maximum number of characters of a name or a warning on a page."""
MOST_WARNINGS = 50
VERSION = 1


def document(runs: Sequence[Run]) -> str:
    """Return the container of a page. The page is about one or more runs with a common clock.

    Raises TraceError if a table is damaged or lacks a column that the page needs.
    """
    arrays = Arrays()
    # Packets take most of a page's space. The budget is divided among the runs, so that the page's size hardly depends
    # on their number.
    budget_bytes = BUDGET_BYTES // len(runs)
    # All runs are in one container, so that equal arrays, such as the positions of a constellation, are stored once.
    names = _labels(runs)
    told = [_run(run, label, arrays, budget_bytes) for run, label in zip(runs, names, strict=True)]
    return arrays.packed({"version": VERSION, "runs": told})


def title(runs: Sequence[Run]) -> str:
    """Return the title of a page about these runs: the names of their scenarios, each only once."""
    return clipped(", ".join(dict.fromkeys(str(run.plan.name) for run in runs)))


def clipped(text: object) -> str:
    """Return a text as one line of limited length without control characters. The author of the text is not trusted."""
    line = one_line(str(text))
    return line if len(line) <= LONGEST_TEXT else f"{line[:LONGEST_TEXT]}..."


def _run(run: Run, label: str, arrays: Arrays, budget_bytes: int) -> dict[str, Any]:
    """Return all data of one run for the page. The keys must be the names that the code in `web/` reads."""
    plan, manifest = run.observed_plan, run.manifest
    # The sky is made first, because it gives satellites and stations their numbers, which all other parts use.
    sky = sky_of(plan, run.end_ns, arrays)
    names = Names([] if sky is None else sky["satellites"])
    # The numbers of stations follow the numbers of satellites.
    for station in [] if sky is None else sky["stations"]:
        names(station["name"])
    # All flows and the fading have the same time grid, so that one cursor selects the same time in all charts.
    step_ns = step_ns_of(run)
    pairs = {pair: number for number, pair in enumerate(station_pairs(run))}
    flows = [
        {
            "name": clipped(plain_name(FlowKey.of_plan(number, flow))),
            "kind": flow.kind,
            "source": names(flow.source),
            "destination": names(flow.destination),
            "congestion_control": clipped(flow.congestion_control) if flow.kind == "tcp" else None,
            "there": pairs[flow.source, flow.destination],
            "back": pairs[flow.destination, flow.source],
            "start_s": flow.start_ns / 1e9,
            "end_s": life(run.tables, number, flow, run.end_ns).stop_ns / 1e9,
            "rows": flow_rows(run, number, step_ns, arrays),
            "probes": None if flow.kind in ("tcp", "program") else probe_rows(run, number, arrays),
        }
        for number, flow in enumerate(plan.flows)
    ]
    found = {
        "label": clipped(label),
        "name": clipped(plan.name),
        "directory": clipped(run.path.resolve().name),
        "leowarp": clipped(manifest.get("leowarp_version", "")),
        "kernel": clipped(manifest.get("kernel", {}).get("linux_version", "")),
        "seed": plan.run.seed,
        "medium": plan.medium.NAME,
        "in_flight": plan.routing.in_flight,
        "warnings": [clipped(warning) for warning in manifest.get("warnings", [])[:MOST_WARNINGS]],
        "end_s": run.end_ns / 1e9,
        "tick_s": tick_ns(run) / 1e9,
        "step_s": step_ns / 1e9,
        "sky": sky,
        "pairs": pairs_of(run, names, arrays),
        "flows": flows,
        "changes": changes_of(run, arrays),
        "links": links_of(run, names),
        "queues": queues_of(run, arrays),
        "drops": drops_of(run, arrays),
        "load": load_of(run, arrays),
        "packets": packets_of(run, arrays, budget_bytes),
        "fading": fading_of_run(run, step_ns, arrays),
        "bbr_modes": list(BBR_MODES.values()),
    }
    if sky is not None:
        # Names are shortened only at the end. All parts of the page above use names as keys, and two long names could
        # become equal.
        sky["satellites"] = [clipped(name) for name in sky["satellites"]]
        for station in sky["stations"]:
            station["name"] = clipped(station["name"])
    # If a run has no gaps, there is no key `gaps`.
    gaps = gaps_of(run, names, arrays)
    if gaps is not None:
        found["gaps"] = gaps
    return found | {"others": [clipped(name) for name in names.others]}


def _labels(runs: Sequence[Run]) -> list[str]:
    """Return a short name for each run: the algorithm, the scenario, or the directory. The first of these names that
    differs between all runs is used."""
    algorithms = [
        next(
            (str(flow.congestion_control) for flow in run.observed_plan.flows if flow.kind == "tcp"),
            run.plan.name,
        )
        for run in runs
    ]
    for labels in (algorithms, [run.plan.name for run in runs]):
        if len(set(labels)) == len(labels):
            return labels
    names = [run.path.resolve().name for run in runs]
    # If two directories have the same name, the full paths of all runs are used.
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]
