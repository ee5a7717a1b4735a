# SPDX-License-Identifier: Apache-2.0
"""Prints runs side by side, and differences between two runs, as tables and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from leowarp.base.layout import directory_names
from leowarp.cli.output import print_json, print_table, say, scalar_text
from leowarp.cli.printed.tables import print_sections
from leowarp.results.differences import Difference, Part, causes, condensed, differences, is_of_overview, said
from leowarp.results.run import Run
from leowarp.scalars.overview import compared

MOST_FLOWS = 3
"""If a run has more than this number of flows, only `--all` prints the metrics of single flows that differ."""


def print_comparison(runs: Sequence[Run]) -> None:
    """Print the values that a paper would use to compare the runs, with one column per run."""
    print_causes(runs, causes(runs))
    print_sections(compared(directory_names([run.path for run in runs]), [run.summary for run in runs]))
    # The command contains the first run's path; for another run, the user replaces the path.
    say(f"All scalars: leowarp show {shlex.quote(str(runs[0].path))} --metrics, and so on")


def print_comparison_json(runs: Sequence[Run], page: Path) -> None:
    """Print the summaries of the runs, and the path of their page, as one JSON object."""
    print_json({"page": str(page), "runs": [{"run": str(run.path), "summary": run.summary} for run in runs]})


def print_differences(a: Run, b: Run, *, everything: bool, as_json: bool) -> None:
    """Print the differences between two runs, as text or as JSON. Differences of the plans come first. With
    `everything`, all differing scalars of all flows are printed."""
    runs = [a, b]
    found = differences(runs)
    if as_json:
        each = [
            {
                "part": str(one.part),
                "key": one.key,
                "a": one.values[0],
                "b": one.values[1],
                "change_ratio": one.change_ratio,
            }
            for one in found
        ]
        print_json({"a": str(a.path), "b": str(b.path), "differences": each})
        return
    # Differences between the plans are printed first: a difference in goodput means little to a reader who does not
    # know that the plans have different queues.
    print_causes(runs, [each for each in found if each.part is not Part.METRIC])
    _print_metrics(runs, [each for each in found if each.part is Part.METRIC], everything=everything)


def print_causes(runs: Sequence[Run], found: Sequence[Difference], names: Sequence[str] | None = None) -> None:
    """Print differences between the runs' plans, modules, kernels and versions, with one column per run."""
    names = directory_names([run.path for run in runs]) if names is None else names
    if not found:
        say(f"{' and '.join(names) if len(names) == 2 else 'The runs'}: the same plan, modules, kernel and version\n")
        return
    rows = [(each.key, *(said(value) for value in each.values)) for each in condensed(found)]
    print_table("What differs", ("", *names), rows, text=tuple(names))


def _print_metrics(runs: Sequence[Run], metrics: Sequence[Difference], *, everything: bool) -> None:
    names = directory_names([run.path for run in runs])
    if not metrics:
        say("Every scalar is the same.")
        return
    most = max(len(run.summary["flows"]) for run in runs)
    # Runs that differ in one packet may differ in hundreds of scalars, because a single TCP flow has a hundred.
    few = [each for each in metrics if is_of_overview(each.key)]
    if most > MOST_FLOWS:
        few = [each for each in few if not each.key.startswith("flows.")]
    shown = metrics if everything else few
    rows = [(each.key, *(scalar_text(value) for value in each.values), _change(each.change_ratio)) for each in shown]
    if rows:
        print_table("Metrics", ("", *names, "change"), rows)
    if len(shown) < len(metrics):
        of_flows = f", those of the {most} flows among them" if most > MOST_FLOWS else ""
        say(f"{len(metrics) - len(shown)} more scalars differ{of_flows}: add --all")


def _change(ratio: float | None) -> str | None:
    # A change by a factor of ten or more is printed as a factor: "x 1000" is easier to read than "+99,900 %".
    return None if ratio is None else f"{100 * ratio:+.3g} %" if abs(ratio) < 10 else f"x {ratio + 1:.3g}"
