# SPDX-License-Identifier: Apache-2.0
"""The forecast of a study: the number of runs, and their likely cost.

A dry run finds the mistakes that a real start finds, except in the parameters of kernel modules. It does not compile
modules. The expected cost of a run is the mean cost of the runs that have already been made. If no run has been made,
the cost is estimated from the numbers of packets and hops. This estimate can distinguish minutes from days, but not
more.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from leowarp.base.machine.cgroups import usable_cores
from leowarp.base.progress import clock
from leowarp.media import planned
from leowarp.scenario import Plan
from leowarp.study.sweep.parameters.expand import PlannedRun, expand
from leowarp.study.sweep.parameters.file import StudyFile
from leowarp.study.sweep.parameters.keys import column_name, text_of
from leowarp.study.sweep.parameters.ranges import seeds_in_words
from leowarp.study.sweep.store import read_results

SHOWN_RUNS = 5
"""The number of first runs that a dry run lists."""
SHOWN_VALUES = 6
"""The maximum number of values that are printed in full."""

SEGMENT_BYTES = 1448
"""The payload of a full TCP segment with timestamps, in 1500 bytes of Ethernet payload."""


def dry_run(path: Path | str, out: Path | str | None = None) -> dict[str, Any]:
    """Describe what `run_study` would do, for `leowarp study --dry-run`.

    out: The directory that the study would use, by default `studies/<name>`. Its results count as made.
    Returns: `study`, `out`; `runs` (number of all runs), `made` (number of runs with a stored row); `cpu_s_per_run`,
        `cpu_s_is_measured`, `left_s` (on all cores of this machine), `results_bytes`; `parameters` and `costs` (rows of
        tables), `first_runs` (texts).
    Raises ScenarioError if the study file is wrong (see `run_study`).
    Raises TraceError if existing results are damaged.
    """
    file = StudyFile.load(path)
    runs = expand(file)
    folder = Path(out) if out is not None else Path("studies") / file.name
    costs_s = _costs_s(folder, {run.plan_sha256 for run in runs})
    # The run id of a stored run depends on kernel and agent, which a dry run does not build.
    made = sum(run.plan_sha256 in costs_s for run in runs)
    left = len(runs) - made
    cpu_s, measured = _cpu_s(costs_s, runs)
    # Each guest keeps one core busy, because its virtual time needs one processor.
    cores = usable_cores()
    how = "as measured so far" if measured else "a rough guess"
    left_to_the_start = []
    if any(run.combination.plan.modules for run in runs):
        told = "checked when the study starts, before its first run"
        left_to_the_start.append({"quantity": "parameters of modules", "value": told})
    return {
        "study": file.name,
        "out": str(folder),
        "runs": len(runs),
        "made": made,
        "cpu_s_per_run": cpu_s,
        "cpu_s_is_measured": measured,
        "left_s": left * cpu_s / cores,
        "results_bytes": len(runs) * ROW_BYTES,
        "parameters": _parameters(file),
        "costs": [
            {"quantity": "runs that have a result in " + str(folder), "value": f"{made:,}"},
            {"quantity": f"CPU seconds a run, {how}", "value": f"{cpu_s:.2g}"},
            {"quantity": f"time on {cores} cores, {how}", "value": clock(left * cpu_s / cores)},
            {"quantity": "size of the results, a rough guess", "value": _size(len(runs) * ROW_BYTES)},
            {"quantity": "whole run directories that stay (keep.runs)", "value": _kept(file, runs)},
            *left_to_the_start,
        ],
        "first_runs": [str(run) for run in runs[:SHOWN_RUNS]],
    }


def guessed_cpu_s(plan: Plan) -> float:
    """Return the CPU seconds of a run, estimated as RUN_CPU_S + packets (PACKET_CPU_S + hops HOP_CPU_S)."""
    packets = sum(_packets(plan, place) for place in range(len(plan.flows)))
    return RUN_CPU_S + packets * (PACKET_CPU_S + planned(plan).likely_hops() * HOP_CPU_S)


def _costs_s(folder: Path, plans: Collection[str]) -> dict[str, float | None]:
    """Return a dict from the hash of a plan to the CPU seconds of the plan's stored run. None means unknown.

    Rows in the journal are included, because a study may be running in the directory.
    """
    table, journal = read_results(folder)
    columns = ("plan_sha256", "cpu_s")
    stored = [] if table is None else table.select([c for c in columns if c in table.column_names]).to_pylist()
    return {row["plan_sha256"]: row.get("cpu_s") for row in (*stored, *journal) if row.get("plan_sha256") in plans}


def _cpu_s(costs_s: Mapping[str, float | None], runs: Sequence[PlannedRun]) -> tuple[float, bool]:
    """Return the CPU seconds per run, and whether they were measured (True) or estimated."""
    known_s = [cost_s for cost_s in costs_s.values() if cost_s is not None]
    if known_s:
        return math.fsum(known_s) / len(known_s), True
    # One estimate per combination is enough, because the cost does not depend on the seed.
    plans = {id(run.combination): run.combination.plan for run in runs}
    return math.fsum(map(guessed_cpu_s, plans.values())) / len(plans), False


def _packets(plan: Plan, place: int) -> float:
    """Return the number of packets of a flow in both directions. A bulk transfer is assumed to send at the lowest rate
    that limits it, and each packet of a ping or of constant rate has one reply."""
    flow = plan.flows[place]
    # Retransmissions and slow start are ignored, so the result is an upper bound.
    lasts_s = (flow.stop_ns - flow.start_ns) / 1e9
    rates = [rate for rate in (planned(plan).likely_rate_bps(), flow.rate_bps) if rate is not None]
    # The rate of a program is unknown, so the rate of TCP is assumed.
    if flow.kind in ("tcp", "program"):
        by_rate = min(rates, default=UNSHAPED_BPS) * lasts_s / 8 / SEGMENT_BYTES
        by_size = math.inf if flow.size_bytes is None else flow.size_bytes / SEGMENT_BYTES
        # The receiver is assumed to send one ACK per two segments.
        return 1.5 * min(by_rate, by_size)
    most = math.inf if flow.packets is None else flow.packets
    return 2 * min(most, flow.paced_pkts_per_s * lasts_s)


def _parameters(file: StudyFile) -> list[dict[str, Any]]:
    rows = []
    for parameter in (parameter for joined in file.dimensions for parameter in joined):
        values = [str(text_of(value.value)) for value in parameter.values]
        shown = values if len(values) <= SHOWN_VALUES else [*values[: SHOWN_VALUES - 2], "...", values[-1]]
        rows.append({
            "key": parameter.key, "column": column_name(parameter.parts, parameter.label), "count": len(values),
            "values": ", ".join(shown),
        })  # fmt: skip
    if (seeds := file.seeds) is not None:
        rows.append({"key": "run.seed", "column": "seed", "count": len(seeds), "values": seeds_in_words(seeds)})
    return rows


def _kept(file: StudyFile, runs: Sequence[PlannedRun]) -> str:
    if file.keep == "none":
        return "none"
    most = f"some {_size(len(runs) * RUN_DIRECTORY_BYTES)} in all, if packets are not stored"
    return f"all: {most}" if file.keep == "all" else "those of failed runs"


def _size(count_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count_bytes < 1000:
            return f"{count_bytes:.3g} {unit}"
        count_bytes /= 1000
    return f"{count_bytes:.3g} TB"


# These estimates of CPU time apply until the first run has been made. docs/performance.md has measurements of the cost
# of packets and hops. A run without traffic costs a boot, the setup of the network, and the metrics.
RUN_CPU_S = 0.1
"""The CPU time in s of a run that sends nothing."""
PACKET_CPU_S = 1.2e-6
"""The CPU time in s per packet in sockets, capture and records, whatever its path."""
HOP_CPU_S = 0.55e-6
"""The CPU time in s for one packet on one link of its path."""
UNSHAPED_BPS = 1e9
"""The rate in bit/s that is assumed for a flow without any rate limit."""
ROW_BYTES = 600
"""The size in bytes of a row in the compressed data set."""
RUN_DIRECTORY_BYTES = 500_000
"""The size in bytes of a complete run directory, except its table of packets."""
