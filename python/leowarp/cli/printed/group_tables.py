# SPDX-License-Identifier: Apache-2.0
"""Prints groups of runs: medians with their confidence intervals."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.base.layout import directory_names
from leowarp.cli.output import note, print_json, say
from leowarp.cli.printed.comparison import print_causes
from leowarp.cli.printed.tables import print_sections
from leowarp.results.differences import causes
from leowarp.results.replicates import Group, is_group, open_group
from leowarp.scalars.medians import compared_groups, sentence


def stays(path: Path) -> None:
    """Print that a run already exists and is not repeated."""
    note(f"{path} is there already, of the same plan, kernel and agent; --force makes it again")


def print_group(group: Group, as_json: bool) -> None:
    """Print a new group of runs: its warnings, its medians, and the paths of further results."""
    if as_json:
        print_json(group_value(group))
        return
    print_groups([group])
    path = shlex.quote(str(group.path))
    say(f"Runs:        {group.path} ({len(group.runs)} seeds: {spans(group.seeds)})")
    say(f"Side by side with another group: leowarp compare {path} GROUP")
    say(f"One of them: leowarp report {shlex.quote(str(group.runs[0].path))}")


def print_groups(groups: Sequence[Group]) -> None:
    """Print the warnings of the runs, and a table with one column of medians per group."""
    for group in groups:
        # The same warning may occur with every seed, so it is printed once, with the list of seeds.
        warnings: dict[str, list[int]] = {}
        for run in group.runs:
            for warning in run.warnings:
                warnings.setdefault(warning, []).append(run.plan.run.seed)
        for warning, seeds in warnings.items():
            of = "every seed" if len(seeds) == len(group.runs) else f"seed {spans(seeds)}"
            note(f"warning: {group.path}, {of}: {warning}")
    names = directory_names([group.path for group in groups])
    print_sections(compared_groups(names, [[run.summary for run in group.runs] for group in groups]))
    say(sentence([len(group.runs) for group in groups]))


def compare_groups(paths: Sequence[Path], out: Path, as_json: bool) -> None:
    """Print groups side by side, with their differences and medians. The function also writes a page that shows bands
    over time."""
    from leowarp import report

    alone = [path for path in paths if not is_group(path)]
    if alone:
        groups = [path for path in paths if path not in alone]
        raise ScenarioError(
            f"cannot compare a group of runs ({groups[0]}) with {alone[0]}, which is none",
            hint=f"make a group of it: leowarp run {shlex.quote(str(alone[0]))} --seeds 1..10 --out GROUP; or compare "
            f"single runs: leowarp compare {shlex.quote(str(groups[0]))}/seed-... {shlex.quote(str(alone[0]))}",
        )
    opened = [open_group(path) for path in paths]
    # The page contains the command line that made it, so that a reader can repeat it.
    command = f"leowarp compare {' '.join(shlex.quote(str(path)) for path in paths)}"
    page = report.write_group_comparison(opened, out, command=command)
    if as_json:
        print_json({"page": str(page), "groups": [group_value(group) for group in opened]})
        return
    firsts = [group.runs[0] for group in opened]
    names = directory_names(paths)
    # Runs of a group differ only in their seeds, so the first run of each group is compared. A different seed does not
    # count as a difference between groups.
    print_causes(firsts, [each for each in causes(firsts) if each.key != "run.seed"], names)
    print_groups(opened)
    say(f"Page:        {page}")


def group_value(group: Group) -> dict[str, Any]:
    """Return a group as a value for JSON."""
    return {
        "group": str(group.path),
        "seeds": group.seeds,
        "runs": [{"run": str(run.path), "summary": run.summary, "warnings": run.warnings} for run in group.runs],
    }


def spans(seeds: Sequence[int]) -> str:
    """Return seeds in ascending order as text. Three or more consecutive seeds are written as "1 to 10"."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    # Two consecutive numbers are listed, because "1 to 2" is no shorter than "1, 2".
    return ", ".join(f"{part[0]} to {part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts)
