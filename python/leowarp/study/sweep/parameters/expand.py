# SPDX-License-Identifier: Apache-2.0
"""Expand a study file to its runs: every combination with every seed as the text of a plan, checked before anything
runs."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from leowarp import media, scenario
from leowarp.base.errors import ScenarioError
from leowarp.scenario import Plan
from leowarp.scenario.text.node import Node
from leowarp.scenario.text.problems import Problem, ScenarioProblems
from leowarp.study.sweep.parameters.dotted import plain_value
from leowarp.study.sweep.parameters.file import Condition, Parameter, StudyFile
from leowarp.study.sweep.parameters.keys import columns_of

_OTHER_SEED = 987_654_321
"""A seed that no study uses: it locates the seed in a plan's text."""

MOST_COMBINATIONS = 100_000
"""Limit of combinations. Each is loaded and checked before the first run, which takes 5 ms, so more would take ten
minutes."""

MOST_PRODUCT = 2_000_000
"""Limit of combinations before `exclude` and `only` remove some; looking at one takes 5 us."""

MOST_RUNS = 1_000_000
"""Limit of runs: combinations times seeds. A run takes 500 bytes of memory here and at least 0.1 s of a processor. At
this limit, that is more than a day."""

MOST_PROBLEMS = 20
"""Number of mistakes shown at once: a study of thousands of combinations repeats the same mistakes."""


@dataclass(frozen=True)
class Combination:
    """One value per parameter, and everything that follows from them independent of the seed.

    values: Dotted key -> value as written in the study file.
    columns: Columns of the results -> their values, see `keys.columns_of`.
    plan: Plan with the scenario's own seed.
    """

    values: Mapping[str, Any]
    columns: Mapping[str, Any]
    plan: Plan

    def __str__(self) -> str:
        """The combination's values, for messages."""
        return ", ".join(f"{key} = {value}" for key, value in self.values.items())

    @cached_property
    def around_seed(self) -> tuple[str, str]:
        """The plan's text before and after its seed.

        Raises AssertionError if the seed occurs not exactly once in the text, which would be a bug in leowarp.
        """
        # Every default is written out, so that runs do not change when a later version changes a default.
        text = self.plan.to_toml()
        # The seed is replaced in the text instead of writing the plan anew: a study of 30 seeds writes each plan once.
        match = re.search(r"^\[run\]\n(?:.+\n)*?seed = (\d+)$", text, re.M)
        assert match is not None, "a plan has a seed in [run]"
        around = text[: match.start(1)], text[match.end(1) :]
        # A second seed proves that the text depends on the seed in only this place. Plans of all seeds are then made
        # by joining three texts.
        other = dataclasses.replace(self.plan, run=dataclasses.replace(self.plan.run, seed=_OTHER_SEED))
        assert other.to_toml() == str(_OTHER_SEED).join(around), "a seed stands in one place of a plan"
        return around


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study.

    number: Place in the study: first every combination with the first seed, then with the second.
    """

    number: int
    combination: Combination
    seed: int

    @property
    def values(self) -> Mapping[str, Any]:
        """Dotted key -> value as written in the study file."""
        return self.combination.values

    @property
    def plan_text(self) -> str:
        """The plan as text, as `00-plan.toml` would contain it."""
        before, after = self.combination.around_seed
        return f"{before}{self.seed}{after}"

    @cached_property
    def plan_sha256(self) -> str:
        """Of `plan_text`, hexadecimal."""
        return hashlib.sha256(self.plan_text.encode()).hexdigest()

    @property
    def kernel(self) -> str:
        """The plan's `guest.kernel`."""
        return self.combination.plan.guest.kernel

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Files that the plan names."""
        return tuple(self.combination.plan.inputs())

    def __str__(self) -> str:
        """Values and seed of the run, for messages and the dry run."""
        return ", ".join([*filter(None, [str(self.combination)]), f"seed {self.seed}"])


def expand(study: StudyFile) -> list[PlannedRun]:
    """Every run of a study; each plan is checked before any run is made.

    Returns: Runs by number: all combinations with the first seed, then with the second, and so on. If the study is
        stopped early, the first seeds of all combinations are done.
    Raises ScenarioError if a combination is not a valid plan, two give the same plan, or none is left. The error names
        file, line, key and combination.
    """
    _refuse_too_many(study)
    combinations: list[Combination] = []
    wrong: dict[Problem, str] = {}
    for values in values_of(study):
        try:
            combinations.append(_combination(study, values))
            # A file with content that the timeline would refuse (a measured path) is found here, before the first run.
            media.check(combinations[-1].plan)
        except ScenarioProblems as error:
            for problem in error.problems:
                # A mistake in the scenario occurs in every combination; it is reported once, with the first
                # combination.
                wrong.setdefault(problem, _named(values))
            # A mistake in the scenario occurs in all combinations; up to one screen of different mistakes is reported.
            if len(wrong) >= MOST_PROBLEMS:
                break
        except ScenarioError as error:
            raise ScenarioError(f"{study.name}, {_named(values)}: {error.message}", error.hint) from error
    if wrong:
        raise _no_plans(study, wrong)
    if not combinations:
        raise ScenarioError(
            f"the study {study.name} has no run: `exclude` and `only` leave nothing", "take one of them out"
        )
    seeds = study.seeds or (None,)
    runs = [
        PlannedRun(number, combination, combination.plan.run.seed if seed is None else seed)
        for number, (seed, combination) in enumerate(itertools.product(seeds, combinations))
    ]
    # Both checks for duplicates compare pairs of runs, so they are made after all plans.
    _refuse_twins(runs)
    _refuse_equal_names(runs)
    return runs


def _refuse_too_many(study: StudyFile) -> None:
    """Check the counts before anything is loaded.

    Raises ScenarioError.
    """
    counts = [len(joined[0].values) for joined in study.dimensions]
    product = math.prod(counts)
    kept = product
    if (study.exclude or study.only) and product <= MOST_PRODUCT:
        kept = sum(1 for _ in values_of(study))
    runs = kept * len(study.seeds or (None,))
    most_looked_at = MOST_PRODUCT if study.exclude or study.only else MOST_COMBINATIONS
    for count, most, of in (
        (product, most_looked_at, "combinations"), (kept, MOST_COMBINATIONS, "combinations"), (runs, MOST_RUNS, "runs"),
    ):  # fmt: skip
        if count > most:
            raise ScenarioError(
                f"the study {study.name} has {' x '.join(f'{count:,}' for count in counts)} values and "
                f"{len(study.seeds or (None,)):,} seeds, which are {count:,} {of}; at most {most:,} are possible, as "
                "each is checked before the first run",
                "give its parameters fewer values, let some go in step ([[together]]), or make several studies of it",
            )


def values_of(study: StudyFile) -> Iterator[dict[str, tuple[Parameter, Node]]]:
    """The product of all dimensions without the combinations removed by `exclude` and `only`: key -> parameter and
    value.

    The last dimension varies fastest, like the last digit of a number.
    """
    steps = [
        [{parameter.key: (parameter, value) for parameter, value in zip(joined, step, strict=True)}
         for step in zip(*(parameter.values for parameter in joined), strict=True)]
        for joined in study.dimensions
    ]  # fmt: skip
    # Combinations are generated one at a time: with `exclude` and `only`, the product may be far larger than the study.
    for chosen in itertools.product(*steps):
        combined = {key: value for step in chosen for key, value in step.items()}
        plain = {key: plain_value(node) for key, (_, node) in combined.items()}
        # `exclude` is applied before `only`, so a combination that matches both is left out.
        if any(_meets(condition, plain) for condition in study.exclude):
            continue
        if study.only and not any(_meets(condition, plain) for condition in study.only):
            continue
        yield combined


def _meets(condition: Condition, values: Mapping[str, Any]) -> bool:
    """Whether a combination matches the condition: for each key it has one of the listed values."""
    return all(values[key] in allowed for key, allowed in condition.values.items())


def _combination(study: StudyFile, varied: Mapping[str, tuple[Parameter, Node]]) -> Combination:
    """Load one combination as a plan, with its values and columns.

    The scenario is loaded anew for each combination, so that an error names the file and line of the wrong value.

    Raises ScenarioProblems if the scenario is not valid, or two of its parameters would fill the same column.
    """
    overrides: dict[str, Any] = dict(study.set)
    # Parameters are applied after `[set]`: a key in both is varied.
    overrides |= {key: node for key, (_, node) in varied.items()}
    plan = scenario.resolve(scenario.load(study.scenario, overrides))
    values: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    for key, (parameter, node) in varied.items():
        values[key] = plain_value(node)
        own = columns_of(parameter.parts, parameter.label, plan, values[key])
        if twice := sorted(own.keys() & columns.keys()):
            rule = f"two parameters would fill the column {twice[0]}"
            raise ScenarioProblems([Problem(parameter.origin, key, rule, "give one of them another label")])
        columns |= own
    return Combination(values, columns, plan)


def _refuse_twins(runs: list[PlannedRun]) -> None:
    """Raises if two runs have the same plan: results are keyed by the plan's hash, so both would share one row."""
    # Texts around the seed are compared, with the seed: this avoids hashing or joining a million plans.
    seen: dict[tuple[str, str, int], PlannedRun] = {}
    for run in runs:
        twin = seen.setdefault((*run.combination.around_seed, run.seed), run)
        if twin is not run:
            raise ScenarioError(
                f"two combinations give the same plan: {twin}; and {run}", "take one of the equal values out"
            )


def _refuse_equal_names(runs: list[PlannedRun]) -> None:
    """Plans name files without folders, and a study keeps a copy of each: every name must have one content."""
    seen: dict[str, Path] = {}
    for path in {path for combination in {id(r.combination): r.combination for r in runs}.values()
                 for path in combination.plan.inputs()}:  # fmt: skip
        other = seen.setdefault(path.name, path)
        if other != path and other.read_bytes() != path.read_bytes():
            raise ScenarioError(f"two different files are called {path.name}: {other} and {path}", "rename one of them")


def _no_plans(study: StudyFile, wrong: Mapping[Problem, str]) -> ScenarioError:
    """All mistakes in one error; the combination is named if the mistake is in a varied value."""
    lines = []
    for problem, combination in wrong.items():
        lines.append(str(problem))
        if combination and problem.key not in study.set:
            lines.append(f"    in the combination {combination}")
    more = " (and perhaps more)" if len(wrong) >= MOST_PROBLEMS else ""
    count = "" if len(wrong) == 1 else f"{len(wrong)} errors{more}:\n"
    return ScenarioError(f"the study {study.name} has combinations that are no plan; {count}" + "\n".join(lines))


def _named(values: Mapping[str, tuple[Parameter, Node]]) -> str:
    """A combination for a message: `isl.rate = 20 Mbit/s, isl.queue = 25 pkts`."""
    return ", ".join(f"{key} = {plain_value(node)}" for key, (_, node) in values.items())
