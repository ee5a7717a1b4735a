# SPDX-License-Identifier: Apache-2.0
"""Chooses how figures and pages show runs: their names, their colours, and the rules below a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leowarp.base import layout
from leowarp.report.rules import rules_of
from leowarp.report.style import ALGORITHMS, line_style
from leowarp.results.run import Run
from leowarp.scenario.schema import Access, Mobile


def numbers_of(run: Run, flow: int | str | Sequence[int | str]) -> list[int]:
    """Return the numbers of the flows that a user names by number or name, each only once.

    Raises ScenarioError if the run has no such flow.
    """
    # A string is a sequence of letters, so it is tested first.
    each = [flow] if isinstance(flow, str) or not isinstance(flow, Sequence) else flow
    return list(dict.fromkeys(run.flow_number(one) for one in each))


def warnings_of(run: Run) -> list[str]:
    """Return the warnings of the run and of its metrics, each only once."""
    return list(dict.fromkeys([*run.manifest.get("warnings", []), *run.numbers.warnings]))


def is_access(run: Run) -> bool:
    """Return whether the path is an access link. On an access link, route changes are reconfigurations, and satellites
    are not nodes."""
    return isinstance(run.plan.medium, Access)


def mobile_of(run: Run) -> Mobile | None:
    """Return the mobile channel that is the last hop of the path, or None."""
    return run.plan.medium if isinstance(run.plan.medium, Mobile) else None


def algorithm_of(run: Run) -> str:
    return str(run.observed_plan.flows[run.main_flow].congestion_control)


def worded(runs: Sequence[Run], text: str) -> str:
    """Return a text about route changes, in the words that fit the links of the runs. If all runs use access links,
    "route change" becomes "reconfiguration"."""
    # The general word "route change" also suits an access link.
    if not all(is_access(run) for run in runs):
        return text
    return text.replace("route change", "reconfiguration").replace("Route change", "Reconfiguration")


def identity(run: Run) -> int:
    """Return a number for all views of one run. A directory that is opened twice counts as two runs."""
    return id(vars(run))


def by_run(views: Sequence[Run]) -> list[list[Run]]:
    """Return views grouped by run, in the order of each run's first view."""
    groups: dict[int, list[Run]] = {}
    for view in views:
        groups.setdefault(identity(view), []).append(view)
    return list(groups.values())


def labels(runs: Sequence[Run]) -> list[str]:
    """Return a short name for each view. All names are different.

    The name of a run is the first of these that differs for all runs: the algorithm, the scenario, both together, or
    the directory. If all views show flows of one run, each view has its flow's name. If the views show flows of several
    runs, each view has the names of its run and its flow.
    """
    groups = by_run(runs)
    if not any(run.chosen_flow is not None for run in runs):
        return _run_labels(runs)
    of_flows = [run.flow_names[run.main_flow] for run in runs]
    if len(groups) == 1:
        return of_flows
    of_runs = run_labels(runs)
    return [f"{of_runs[identity(run)]}, {name}" for run, name in zip(runs, of_flows, strict=True)]


def run_labels(views: Sequence[Run]) -> dict[int, str]:
    """Return a dict from `identity` to the name of the run to which a view belongs. The name is the scenario's name, or
    the directory's name if two scenarios have the same name."""
    firsts = [group[0] for group in by_run(views)]
    names = [run.name for run in firsts]
    if len(set(names)) < len(names):
        names = layout.directory_names([run.path for run in firsts])
    return {identity(run): name for run, name in zip(firsts, names, strict=True)}


def _run_labels(runs: Sequence[Run]) -> list[str]:
    words = {"bbr": "BBR", "cubic": "CUBIC", "reno": "Reno"}
    algorithms = [words.get(algorithm_of(run), algorithm_of(run)) if run.tcp_flows else run.name for run in runs]
    names = [run.name for run in runs]
    both = [f"{name}, {algorithm}" for name, algorithm in zip(names, algorithms, strict=True)]
    for each in (algorithms, names, both):
        if len(set(each)) == len(runs):
            return each
    return layout.directory_names([run.path for run in runs])


def styles(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the colour and dashes of each run's line, for matplotlib. The algorithms of the reproduced study have
    fixed styles. The style of any other run depends on its position in the list."""
    # A view of one flow ("") has no fixed style, because the flows of a run may have the same algorithm.
    algorithms = [algorithm_of(run) if run.tcp_flows and run.chosen_flow is None else "" for run in runs]
    # Styles by algorithm are used only if all runs have different algorithms. Two runs of CUBIC would both be blue.
    fixed = len(set(algorithms)) == len(runs) and all(name in ALGORITHMS for name in algorithms)
    return [line_style(ALGORITHMS[name] if fixed else index) for index, name in enumerate(algorithms)]


MOST_LINES = 8
"""The maximum number of lines in a panel that a reader can distinguish by colour and dashes."""


def footer_of(runs: Sequence[Run]) -> str:
    """Return one paragraph with the rules that affect the results of the runs, each as "name: value". Values that
    differ between runs are listed in the order of the runs, separated by bars."""
    each = [dict(rules_of(group[0].document, group[0].manifest)) for group in by_run(runs)]
    parts = []
    for name in dict.fromkeys(name for rules in each for name in rules):
        values = [rules.get(name, "none") for rules in each]
        parts.append(f"{name}: {' | '.join(dict.fromkeys(values))}")
    return " · ".join(parts)
