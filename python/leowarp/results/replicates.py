# SPDX-License-Identifier: Apache-2.0
"""All replicates in a directory as one object. Replicates are runs with the same plan and different seeds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leowarp.base import layout, plainfiles
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.recorded import why_incomplete
from leowarp.results.differences import Part, differences
from leowarp.results.run import Run, inline

FOLDER = "seed-"
"""The prefix of the names of run directories in a group."""

MOST_SEEDS = 10_000
"""The largest number of seeds of a group. For more seeds, use a study (`leowarp study`)."""


@dataclass(frozen=True)
class Group:
    """A directory of runs that differ only in their seeds, in the order of their seeds."""

    path: Path
    runs: tuple[Run, ...]

    @property
    def seeds(self) -> list[int]:
        """The seed of each run."""
        return [run.plan.run.seed for run in self.runs]

    def _repr_html_(self) -> str:
        return inline(self.runs)


def is_group(path: Path | str) -> bool:
    """Return whether a directory contains run directories and is not a run itself."""
    path = Path(path)
    return path.is_dir() and not (path / layout.PLAN).exists() and bool(_runs_in(path))


def open_group(path: Path | str) -> Group:
    """Return the runs in a directory, sorted by seed.

    Raises TraceError if a run is incomplete, if the directory has fewer than two runs, or if the runs differ in more
    than their seeds.
    """
    path = Path(path)
    if (why := plainfiles.why_not_plain(path, itself=True)) is not None:
        raise TraceError(f"cannot open {path} as a group of runs: {why}")
    found = _runs_in(path)
    for each in found:
        if (reason := why_incomplete(each)) is not None:
            raise TraceError(
                f"cannot open {path} as a group of runs: {each.name} is incomplete: {reason}",
                hint="type the command that made the group again: it makes the runs that are missing",
            )
    # The runs are sorted by seed and not by name, because sorting by name puts "10" before "9".
    runs = sorted((Run(each) for each in found), key=lambda run: run.plan.run.seed)
    if len(runs) < 2:
        what = f"it holds one run, {found[0].name}" if found else "it holds no run"
        raise TraceError(
            f"cannot take a median over {path}: {what}, and a group needs two or more",
            hint=f"leowarp run {shlex.quote(str(found[0] / layout.PLAN) if found else 'FILE')} --seeds 1..10 "
            f"--out {shlex.quote(str(path))}",
        )
    _demand_replicates(path, runs)
    return Group(path, tuple(runs))


def seeds_of(text: str) -> tuple[int, ...]:
    """Read a text such as "1..10", "1,2,5" or "1..3,7". Return its seeds in the order of the text.

    Raises ScenarioError if there are fewer than two seeds or too many, or if a seed occurs twice.
    """
    seeds: list[int] = []
    for part in text.split(","):
        # Numbers of 18 digits are always below 2^63, the upper limit of `run.seed`.
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:\.\.\s*(\d{1,18})\s*)?", part)
        if match is None:
            raise ScenarioError(
                f"cannot run --seeds {text}: {part.strip() or 'an empty part'!r} is no seed and no range of seeds",
                hint="whole numbers from 0 on: --seeds 1..10, or --seeds 1,2,5",
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ScenarioError(
                f"cannot run --seeds {text}: {first}..{last} ends before it begins",
                hint=f"the smaller seed first: --seeds {last}..{first}",
            )
        if last - first >= MOST_SEEDS:
            raise ScenarioError(
                f"cannot run --seeds {text}: these are {last - first + 1:,} runs, and {MOST_SEEDS:,} are the most",
                hint="more runs are a study: leowarp study FILE",
            )
        seeds += range(first, last + 1)
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None) if len(set(seeds)) < len(seeds) else None
    if twice is not None:
        raise ScenarioError(f"cannot run --seeds {text}: {twice} is named twice", hint="name each seed once")
    if len(seeds) < 2:
        raise ScenarioError(
            f"cannot run --seeds {text}: one run is no group, as a median of one has no interval",
            hint=f"name two or more, as --seeds 1..10, or make one run: --set run.seed={seeds[0]}",
        )
    return tuple(seeds)


def directories(path: Path, seeds: Sequence[int]) -> list[Path]:
    """Return the run directory of each seed of a group. All seeds in the directories' names have the same number of
    digits."""
    # Listings sort names as text. If the names have equal length, the directories are listed in the order of their
    # seeds.
    digits = len(str(max(seeds)))
    return [path / f"{FOLDER}{seed:0{digits}d}" for seed in seeds]


def _runs_in(path: Path) -> list[Path]:
    return sorted(each for each in path.iterdir() if each.is_dir() and (each / layout.PLAN).is_file())


def _demand_replicates(path: Path, runs: Sequence[Run]) -> None:
    causes = differences(runs, (Part.PLAN, Part.MODULE, Part.KERNEL))
    others = [each.key for each in causes if each.key != "run.seed"]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise TraceError(
            f"cannot take a median over {path}: its runs differ in more than their seeds "
            f"({', '.join(others[:3])}{more})",
            hint=f"compare them one by one: leowarp compare {shlex.quote(str(runs[0].path))} "
            f"{shlex.quote(str(runs[1].path))}",
        )
    seeds = [run.plan.run.seed for run in runs]
    if twice := [seed for seed in seeds if seeds.count(seed) > 1]:
        raise TraceError(
            f"cannot take a median over {path}: two of its runs have the seed {twice[0]}",
            hint="the same seed gives the same bytes: move one of the two away",
        )
