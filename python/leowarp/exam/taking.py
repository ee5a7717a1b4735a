# SPDX-License-Identifier: Apache-2.0
"""The steps of an exam: plans, runs by the study engine, verdicts, and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from leowarp import media, scenario
from leowarp.base import plainfiles
from leowarp.base.errors import LeowarpError, ScenarioError
from leowarp.exam.case import Case, cases
from leowarp.exam.taken import Exam, Subject
from leowarp.exam.verdict import Judged, judge
from leowarp.results.run import Run
from leowarp.scenario import Plan
from leowarp.study.parts import warnings_said
from leowarp.study.sweep.engine import Options, StudyResult, run_plans
from leowarp.study.sweep.maker import GUESTS, Maker
from leowarp.study.sweep.session import RUNS
from leowarp.version import VERSION

STUDY = "runs"
"""The name of a folder in the exam's directory. The folder belongs to the study that makes the runs."""


def take(
    subject: Subject, out: Path | str | None = None, *, only: Sequence[str] = (), at_once: int | None = None,
    progress: bool | Callable[[Any], None] = True, trust: bool = False, maker: Maker = GUESTS, seeds: int = 1,
) -> Exam:  # fmt: skip
    """Take the exam of `subject`. Runs that already exist in the exam's directory are kept.

    out: The directory of the exam, by default `exams/<algorithm>`.
    only: The names of cases or suites. An empty sequence means all cases.
    at_once: The number of parallel runs, by default the number of usable cores.
    progress, trust, maker: As in `run_study`.
    seeds: The number of seeds, from 1 on. Each further seed repeats every case with a `run.seed` that is larger by one.
        The verdicts come from the runs with the first seed. The scenarios contain the first seed.
    Raises ScenarioError if the algorithm, the kernel or a case does not exist, or if a module does not compile.
    Raises HostError if the machine does not meet a requirement. Runs that were complete before the error are kept.
    """
    chosen = cases(only)
    folder = Path(out) if out is not None else Path("exams") / subject.algorithm
    why = plainfiles.why_not_plain(folder)
    if folder.exists() and not folder.is_dir():
        why = "it is a file"
    if why is not None:
        raise ScenarioError(f"cannot take an exam in {folder}: {why}", hint="choose another directory with --out")
    plans = {
        _of_seed(role, number): plan
        for number in range(seeds)
        for case in chosen
        for role, plan in plans_of(subject, case, number).items()
    }
    # Several cases may have the same plan. Such a plan is run only once, under the name of the first of these cases.
    first: dict[str, str] = {}
    asked = {role: first.setdefault(plan.to_toml(), role) for role, plan in plans.items()}
    done = run_plans(
        f"exam-{subject.algorithm}", "case", {role: plans[role] for role in first.values()}, folder / STUDY,
        Options(at_once=at_once, progress=progress, retry_failed=True, trust=trust, maker=maker),
    )  # fmt: skip
    made = _made(done)
    # Cases are sorted by run, because only a few runs are cached and each run should be read only once.
    by_run = sorted(chosen, key=lambda case: asked[case.key])
    verdicts = [{case.key: _judged(case, made, asked, number) for case in by_run} for number in range(seeds)]
    judged, *repeats = (tuple(of_seed[case.key] for case in chosen) for of_seed in verdicts)
    warnings = warnings_said({"": done.table(["warnings"]).to_pandas()})
    return Exam(folder, subject, judged, VERSION, _kernel(judged), tuple(warnings), tuple(repeats))


def plans_of(subject: Subject, case: Case, seed_offset: int = 0) -> dict[str, Plan]:
    """Return the plans of a case: `<case>` is its plan, and `<case>.control` is the control run's plan, if any.

    seed_offset: The number to add to the scenario's `run.seed`.
    Raises ScenarioError if the kernel lacks the algorithm, or if the algorithm's name is not allowed.
    """
    algorithms = {case.key: subject.algorithm}
    if case.control is not None:
        algorithms[f"{case.key}.control"] = case.control
    return {name: _plan(subject, case, algorithm, seed_offset) for name, algorithm in algorithms.items()}


def _of_seed(role: str, number: int) -> str:
    return f"{role}.seed-{number}" if number else role


def _plan(subject: Subject, case: Case, algorithm: str, seed_offset: int) -> Plan:
    overrides = case.overrides(algorithm)
    if subject.modules:
        overrides["guest.cc_modules"] = [str(path.resolve()) for path in subject.modules]
    if subject.kernel is not None:
        # Names of congestion controls are checked against the kernel of the plan.
        overrides["guest.kernel"] = str(subject.kernel)
    plan = scenario.plan_of(case.scenario, overrides, subject.kernel)
    if seed_offset:
        plan = scenario.plan_of(case.scenario, overrides | {"run.seed": plan.run.seed + seed_offset}, subject.kernel)
    media.check(plan)
    return plan


def _made(done: StudyResult) -> dict[str, Path | LeowarpError]:
    rows = done.table(["case", "run_id"]).to_pylist()
    runs = done.path / RUNS
    return {row["case"]: done.failures.get(row["run_id"], runs / row["run_id"]) for row in rows}


def _judged(case: Case, made: dict[str, Path | LeowarpError], asked: dict[str, str], number: int) -> Judged:
    control = made[asked[_of_seed(f"{case.key}.control", number)]] if case.control else None
    return judge(case, made[asked[_of_seed(case.key, number)]], control)


def _kernel(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the kernel's description from the manifest of the first existing run, or {} if no run exists."""
    first = next((each.run for each in judged if each.run is not None), None)
    return {} if first is None else dict(Run(first).manifest["kernel"])
