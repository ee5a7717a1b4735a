# SPDX-License-Identifier: Apache-2.0
"""A study file to its runs: every combination with every seed as the text of a plan, checked before anything runs."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
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
"""A seed of no study: it shows the place of the seed in a plan's text."""

MOST_PROBLEMS = 20
"""Mistakes shown at once: a study of thousands of combinations repeats itself."""


@dataclass(frozen=True)
class Combination:
    """A value of each parameter, and what follows from them whatever the seed.

    values: Dotted key -> value as it was written.
    columns: Columns of the results -> their values, see `keys.columns_of`.
    plan: With the scenario's own seed.
    """

    values: Mapping[str, Any]
    columns: Mapping[str, Any]
    plan: Plan

    def __str__(self) -> str:
        """Its values, for messages."""
        return ", ".join(f"{key} = {value}" for key, value in self.values.items())

    @cached_property
    def around_seed(self) -> tuple[str, str]:
        """The plan's text before and after its seed.

        Raises AssertionError if the seed is in no place or in several of the text, which would be a fault of ours.
        """
        # Every default written out, so that a study's runs do not move when a later version changes a default.
        text = self.plan.to_toml()
        # In the text and not by writing it anew for each seed: a study of 30 seeds writes each plan once.
        match = re.search(r"^\[run\]\n(?:.+\n)*?seed = (\d+)$", text, re.M)
        assert match is not None, "a plan has a seed in [run]"
        around = text[: match.start(1)], text[match.end(1) :]
        # Proof by another seed that the text depends on it in this place alone: plans of all seeds are then made by
        # joining three texts, without writing each plan out.
        other = dataclasses.replace(self.plan, run=dataclasses.replace(self.plan.run, seed=_OTHER_SEED))
        assert other.to_toml() == str(_OTHER_SEED).join(around), "a seed stands in one place of a plan"
        return around


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study.

    number: Its place in the study: first every combination with the first seed, then with the second.
    """

    number: int
    combination: Combination
    seed: int

    @property
    def values(self) -> Mapping[str, Any]:
        """Dotted key -> value as it was written."""
        return self.combination.values

    @property
    def plan_text(self) -> str:
        """The plan as `00-plan.toml` would hold it."""
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
        """Its values and seed, for messages and the dry run."""
        return ", ".join([*filter(None, [str(self.combination)]), f"seed {self.seed}"])


def expand(study: StudyFile) -> list[PlannedRun]:
    """Every run of a study, checked: each is a valid plan before any is made.

    Returns: By number: all combinations with the first seed, then with the second, and so on. A study that is stopped
        early has its first seeds of everything.
    Raises ScenarioError if a combination is no valid plan, two give the same plan, or none is left: file, line, key and
        combination.
    """
    combinations: list[Combination] = []
    wrong: dict[Problem, str] = {}
    for values in values_of(study):
        try:
            combinations.append(_combination(study, values))
            # A file whose content the timeline would refuse (a measured path) is found here, before the first run.
            media.check(combinations[-1].plan)
        except ScenarioProblems as error:
            for problem in error.problems:
                # One mistake of the scenario turns up in every combination; it is named once, with the first of them.
                wrong.setdefault(problem, _named(values))
            # One mistake in the scenario is in all combinations; different ones are worth reading up to a screen.
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
    # Both after all plans are made: each looks at pairs of runs.
    _refuse_twins(runs)
    _refuse_equal_names(runs)
    return runs


def values_of(study: StudyFile) -> Iterator[dict[str, tuple[Parameter, Node]]]:
    """The product of all dimensions, without what `exclude` and `only` leave out: key -> parameter and value.

    The last dimension varies fastest, as digits of a number do.
    """
    steps = [
        [{parameter.key: (parameter, value) for parameter, value in zip(joined, step, strict=True)}
         for step in zip(*(parameter.values for parameter in joined), strict=True)]
        for joined in study.dimensions
    ]  # fmt: skip
    # One combination at a time: with `exclude` and `only` a product may be far larger than the study.
    for chosen in itertools.product(*steps):
        combined = {key: value for step in chosen for key, value in step.items()}
        plain = {key: plain_value(node) for key, (_, node) in combined.items()}
        # `exclude` before `only`: a combination that both name is left out.
        if any(_meets(condition, plain) for condition in study.exclude):
            continue
        if study.only and not any(_meets(condition, plain) for condition in study.only):
            continue
        yield combined


def _meets(condition: Condition, values: Mapping[str, Any]) -> bool:
    """Whether a combination has, of each key of the condition, one of the values that it names."""
    return all(values[key] in allowed for key, allowed in condition.values.items())


def _combination(study: StudyFile, varied: Mapping[str, tuple[Parameter, Node]]) -> Combination:
    """One combination as a plan, with its values and columns.

    The scenario is loaded anew for each: an error then names the file and line of the value that made it wrong.

    Raises ScenarioProblems if it is no valid scenario, or two of its parameters would fill the same column.
    """
    overrides: dict[str, Any] = dict(study.set)
    # Parameters after `[set]`: a key that both have is varied.
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
    """Raises if two runs have the same plan: results are keyed by the plan's hash, so one would stand for both."""
    # By the texts around the seed and the seed: nothing has to be hashed or joined for a million runs.
    seen: dict[tuple[str, str, int], PlannedRun] = {}
    for run in runs:
        twin = seen.setdefault((*run.combination.around_seed, run.seed), run)
        if twin is not run:
            raise ScenarioError(
                f"two combinations give the same plan: {twin}; and {run}", "take one of the equal values out"
            )


def _refuse_equal_names(runs: list[PlannedRun]) -> None:
    """Plans name files without folders, and a study keeps a copy of each: one name, one content."""
    seen: dict[str, Path] = {}
    for path in {path for combination in {id(r.combination): r.combination for r in runs}.values()
                 for path in combination.plan.inputs()}:  # fmt: skip
        other = seen.setdefault(path.name, path)
        if other != path and other.read_bytes() != path.read_bytes():
            raise ScenarioError(f"two different files are called {path.name}: {other} and {path}", "rename one of them")


def _no_plans(study: StudyFile, wrong: Mapping[Problem, str]) -> ScenarioError:
    """All mistakes in one error; the combination is named where what is wrong was varied."""
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
