# SPDX-License-Identifier: Apache-2.0
"""The runs that tools/same_results.py compares: examples, runs of studies, random networks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leowarp.scenario import Plan

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
# Examples that run for their own duration, because their flows begin and end at different times.
WHOLE = {"starlink-capacity", "iperf3", "nginx", "quic", "one-change", "transactions", "page", "video", "frames"}
# Examples with programs that examples/programs/build.sh must have built.
BUILT = {"quic-aioquic", "quic-quic-go", "quic-quinn"}
# With a duration of 40 s, a run has a route change. Without a route change, all in-flight rules would give the same
# result.
LONGER = {"run.duration": "40 s"}
MORE = {
    "two-changes bbr": ("two-changes", {**LONGER, "flows.0.congestion_control": "bbr"}),
    "two-changes reno": ("two-changes", {**LONGER, "flows.0.congestion_control": "reno"}),
    "two-changes source": ("two-changes", {**LONGER, "routing.in_flight": "source"}),
    "two-changes drop": ("two-changes", {**LONGER, "routing.in_flight": "drop"}),
    "madrid-tokyo netem": ("madrid-tokyo", {"run.duration": "5 s", "network.link_model": "netem"}),
    "chain fq_codel": ("chain", {"run.duration": "5 s", "chain.queue_discipline": "fq_codel"}),
}
OF_A_PART = 2
"""The number of runs that are taken from each group of a study. With 2, they are the first and the last run."""
NETWORKS = 100
"""The number of random networks, each made from its seed."""

Case = tuple[Any, dict[str, Any]]
"""A scenario file or a plan, with replacements for some of its keys."""


def examples() -> dict[str, Case]:
    """Return a dict from name to case. The cases are all examples that need no built program, and variants of some
    examples. The examples run for 5 s."""
    names = sorted({path.stem for path in EXAMPLES.glob("*.toml")} - BUILT)
    shorter: dict[str, dict[str, Any]] = {name: {} if name in WHOLE else {"run.duration": "5 s"} for name in names}
    # With `traffic.stop` at 4 s, arrivals of flows end within the run of 5 s.
    shorter["city-traffic"]["traffic.stop"] = "4 s"
    cases = {name: (name, shorter[name]) for name in names} | MORE
    return {case: (EXAMPLES / f"{name}.toml", changes) for case, (name, changes) in cases.items()}


def study_runs() -> dict[str, Case]:
    """Return the cases from every study. From each group of a study, `OF_A_PART` runs are taken. Runs of 1000 s are
    shortened to 40 s."""
    from leowarp.study import studies
    from leowarp_studies.frederiksen2024.runs import all_runs
    from leowarp_studies.programs import application_runs, fetching, senders
    from leowarp_studies.programs import runs as programs

    found: dict[str, Case] = {}
    for run in all_runs(1):
        found[f"frederiksen2024 {run.slug}"] = (EXAMPLES / run.example, {**run.set, **LONGER})
    here = [sender.name for sender in senders.SENDERS if sender.name not in fetching.missing()]
    for study, entry in studies().items():
        # Two kinds of studies are left out: studies whose runs have another form, and studies in other authors'
        # packages.
        if study == "frederiksen2024" or not entry.value.startswith("leowarp_studies."):
            continue
        if study == "programs":
            parts = programs.parts(here, fetching.place()) + application_runs.parts(here, fetching.place())
        else:
            parts = importlib.import_module(f"leowarp_studies.{study}.runs").parts()
        for part in parts:
            for place, plan in _spread_over(part.content):
                found[f"{study} {part.name} {place}"] = (plan, {})
    return found


def _spread_over(content: dict[str, Any]) -> Iterator[tuple[int, Plan]]:
    """Yield the index and plan of `OF_A_PART` runs that are evenly spaced within a group."""
    from leowarp.scenario import load, resolve
    from leowarp.study.sweep import StudyFile
    from leowarp.study.sweep.parameters.expand import values_of

    study = StudyFile.of(content)
    # Only a few plans of a study are expanded, because expanding all of them takes minutes.
    varied = list(values_of(study))
    for place in sorted({(len(varied) - 1) * each // (OF_A_PART - 1) for each in range(OF_A_PART)}):
        values = {key: node for key, (_, node) in varied[place].items()}
        yield place, resolve(load(study.scenario, dict(study.set) | values))


def networks(duration_ns: int | None = None) -> list[Any]:
    """Return `NETWORKS` random networks, which run for 1 to 30 s, or for `duration_ns` (tests/support/networks.py)."""
    if str(ROOT / "tests") not in sys.path:
        sys.path.insert(0, str(ROOT / "tests"))
    from support.networks import any_network

    found = [any_network(seed) for seed in range(NETWORKS)]
    return [replace(each, duration_ns=duration_ns) for each in found] if duration_ns else found
