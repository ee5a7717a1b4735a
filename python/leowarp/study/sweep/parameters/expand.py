# SPDX-License-Identifier: Apache-2.0
"""Make the runs of a study file: one run per combination and seed, each with the text of its plan. All plans are
checked before any run is made."""

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
from leowarp.scenario.text.decoding import Node
from leowarp.scenario.text.problems import Problem, ScenarioProblems
from leowarp.study.sweep.parameters.dotted import plain_value
from leowarp.study.sweep.parameters.file import Condition, Parameter, StudyFile
from leowarp.study.sweep.parameters.keys import columns_of

_OTHER_SEED = 987_654_321
"""A seed that occurs in no study. `around_seed` uses it to find the seed's place in the text of a plan."""

MOST_COMBINATIONS = 100_000
"""The maximum number of combinations. Each is loaded and checked before the first run, which takes 5 ms."""

MOST_PRODUCT = 2_000_000
"""The maximum number of combinations before `exclude` and `only` are applied, which takes 5 us for each."""

MOST_RUNS = 1_000_000
"""The maximum number of runs: combinations times seeds. Each run takes 500 bytes of memory in this process, and at
least 0.1 s of processor time, which is more than a day in all."""

MOST_PROBLEMS = 20
"""The maximum number of mistakes that are shown at once, because more do not fit on a screen."""


@dataclass(frozen=True)
class Combination:
    """One value for each parameter, and what follows from these values, whatever the seed.

    values: The value of each parameter as in the study file, keyed by dotted key.
    columns: The value of each result column (see `keys.columns_of`).
    plan: The plan of the combination. Its seed is the scenario's seed.
    """

    values: Mapping[str, Any]
    columns: Mapping[str, Any]
    plan: Plan

    def __str__(self) -> str:
        return ", ".join(f"{key} = {value}" for key, value in self.values.items())

    @cached_property
    def around_seed(self) -> tuple[str, str]:
        """Return the two parts of the plan's text: before the seed, and after it."""
        # The text includes every default, so that the run does not change with the defaults of later versions.
        text = self.plan.to_toml()
        # The seed is replaced in the text, because writing the plan again for each of, say, 30 seeds would be slower.
        match = re.search(r"^\[run\]\n(?:.+\n)*?seed = (\d+)$", text, re.M)
        assert match is not None, "a plan has a seed in [run]"
        around = text[: match.start(1)], text[match.end(1) :]
        # A second text, written with another seed, proves that only one place in the text depends on the seed.
        other = dataclasses.replace(self.plan, run=dataclasses.replace(self.plan.run, seed=_OTHER_SEED))
        assert other.to_toml() == str(_OTHER_SEED).join(around), "a seed stands in one place of a plan"
        return around


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study.

    number: The position of the run in the study. All combinations with the first seed come first, followed by all
        combinations with the second seed.
    """

    number: int
    combination: Combination
    seed: int

    @property
    def values(self) -> Mapping[str, Any]:
        return self.combination.values

    @property
    def plan_text(self) -> str:
        """Return the text of the plan, as in the run directory."""
        return str(self.seed).join(self.combination.around_seed)

    @cached_property
    def plan_sha256(self) -> str:
        return hashlib.sha256(self.plan_text.encode()).hexdigest()

    @property
    def kernel(self) -> str:
        return self.combination.plan.guest.kernel

    @property
    def inputs(self) -> tuple[Path, ...]:
        return tuple(self.combination.plan.inputs())

    def __str__(self) -> str:
        return ", ".join([*filter(None, [str(self.combination)]), f"seed {self.seed}"])


def expand(study: StudyFile) -> list[PlannedRun]:
    """Return all runs of a study. All plans are checked before any run is made.

    Returns: The runs in the order of their numbers. If a study is stopped early, the first seeds have results of all
        combinations.
    Raises ScenarioError if a combination is not a valid plan, if two combinations have the same plan, or if no
        combination is left. The error names the file, the line, the key and the combination.
    """
    _refuse_too_many(study)
    combinations: list[Combination] = []
    wrong: dict[Problem, str] = {}
    for values in values_of(study):
        try:
            combinations.append(_combination(study, values))
            # No timeline can be made from some files, such as a wrong recording of a measured path.
            media.check(combinations[-1].plan)
        except ScenarioProblems as error:
            for problem in error.problems:
                # A mistake in the scenario occurs in every combination, but is reported only for the first.
                wrong.setdefault(problem, _named(values))
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
    _refuse_twins(runs)
    _refuse_equal_names(runs)
    return runs


def _refuse_too_many(study: StudyFile) -> None:
    """Raise ScenarioError if there are too many combinations or runs, before any plan is loaded."""
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
    """Yield all combinations of the dimensions' values, except the combinations that `exclude` and `only` remove. Each
    parameter's key gives the parameter and its value.

    The last dimension varies fastest, like the last digit of a number.
    """
    steps = [
        [{parameter.key: (parameter, value) for parameter, value in zip(joined, step, strict=True)}
         for step in zip(*(parameter.values for parameter in joined), strict=True)]
        for joined in study.dimensions
    ]  # fmt: skip
    # Before `exclude` and `only` are applied, there may be far more combinations than the study has.
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
    """Return whether a combination has, for each key of the condition, one of the values listed there."""
    return all(values[key] in allowed for key, allowed in condition.values.items())


def _combination(study: StudyFile, varied: Mapping[str, tuple[Parameter, Node]]) -> Combination:
    """Load the plan of one combination. The scenario is loaded anew, so that an error names the file and the line of
    the wrong value.

    Raises ScenarioProblems if the scenario is not valid, or if two parameters of the study would fill the same column.
    """
    overrides: dict[str, Any] = dict(study.set)
    # If a key is in both tables, the values in `[parameters]` replace the value in `[set]`.
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
    """Raise an error if two runs have the same plan, because they would share one row."""
    # There may be a million plans, so the check neither joins nor hashes their texts.
    seen: dict[tuple[str, str, int], PlannedRun] = {}
    for run in runs:
        twin = seen.setdefault((*run.combination.around_seed, run.seed), run)
        if twin is not run:
            raise ScenarioError(
                f"two combinations give the same plan: {twin}; and {run}", "take one of the equal values out"
            )


def _refuse_equal_names(runs: list[PlannedRun]) -> None:
    """Raise an error if two files of the plans have the same name and different content, because the study's directory
    has one copy per file name."""
    seen: dict[str, Path] = {}
    for path in {path for combination in {id(r.combination): r.combination for r in runs}.values()
                 for path in combination.plan.inputs()}:  # fmt: skip
        other = seen.setdefault(path.name, path)
        if other != path and other.read_bytes() != path.read_bytes():
            raise ScenarioError(f"two different files are called {path.name}: {other} and {path}", "rename one of them")


def _no_plans(study: StudyFile, wrong: Mapping[Problem, str]) -> ScenarioError:
    """Return one error that lists all mistakes, with the combination if a mistake is in a varied value."""
    lines = []
    for problem, combination in wrong.items():
        lines.append(str(problem))
        if combination and problem.key not in study.set:
            lines.append(f"    in the combination {combination}")
    more = " (and perhaps more)" if len(wrong) >= MOST_PROBLEMS else ""
    count = "" if len(wrong) == 1 else f"{len(wrong)} errors{more}:\n"
    return ScenarioError(f"the study {study.name} has combinations that are no plan; {count}" + "\n".join(lines))


def _named(values: Mapping[str, tuple[Parameter, Node]]) -> str:
    """Return a combination as text for a message, such as `isl.rate = 20 Mbit/s, isl.queue = 25 pkts`."""
    return ", ".join(f"{key} = {plain_value(node)}" for key, (_, node) in values.items())
