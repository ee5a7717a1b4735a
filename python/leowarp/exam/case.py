# SPDX-License-Identifier: Apache-2.0
"""A case of an exam. It consists of a scenario with changed keys, a rule with a limit, and the sources of the rule and
the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from leowarp.base import tomltext
from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.exam.measures import MEASURES, Measure, in_words

_FOLDER = Path(str(resources.files("leowarp.exam")))
SUITES = {"rfc9743": "RFC 9743, criterion by criterion", "bbr": "The examples of the BBR draft, for any algorithm",
          "leo": "Low Earth orbit"}  # fmt: skip
"""The headings of the suites of cases, by the name of the suite's file in `cases/`, in the order of the page."""
KEYS = {"id", "title", "asked", "scenario", "set", "exam", "control", "rule", "limit"}


@dataclass(frozen=True)
class Rule:
    """A measure and the limit for its value.

    measure: The name of the measure, a key of `MEASURES`.
    arguments: The parsed arguments of the measure's function.
    sense: "at least" or "at most", or "measured" if there is no limit.
    limit: The limit in the base unit of the measure. None means that there is no limit.
    source: The publication from which the limit comes, or leowarp itself. If there is no limit, `source` has the
        reason.
    """

    measure: str
    arguments: Mapping[str, Any]
    sense: str
    limit: float | None
    source: str

    @property
    def how(self) -> Measure:
        return MEASURES[self.measure]

    def holds(self, value: float | None) -> bool:
        """Return whether a value is within the limit. A value that was never reached (None) is not."""
        if self.limit is None:
            return True
        if value is None:
            return False
        return value >= self.limit if self.sense == "at least" else value <= self.limit

    def in_words(self) -> str:
        """Return the limit with its unit, such as `at least 80 %`."""
        return "–" if self.limit is None else f"{self.sense} {in_words(self.how.quantity, self.limit)}"


@dataclass(frozen=True)
class Case:
    """A case of the exam.

    key: The name of the case: letters, digits and dashes.
    suite: One of `SUITES`.
    asked: The document that requires the case, and how the case implements the requirement.
    set: The dotted scenario keys, each with its new value.
    under_exam: The numbers of the flows whose algorithm is examined.
    control: The algorithm that these flows use in a second run, the control run, if the measure compares two runs.
    """

    key: str
    suite: str
    title: str
    asked: str
    scenario: Path
    set: Mapping[str, Any] = field(repr=False)
    under_exam: tuple[int, ...]
    control: str | None
    rule: Rule

    def overrides(self, algorithm: str) -> dict[str, Any]:
        return dict(self.set) | {f"flows.{flow}.congestion_control": algorithm for flow in self.under_exam}


def cases(names: Sequence[str] = ()) -> list[Case]:
    """Return all cases in the order of the page, or only those whose own name or suite is in `names`.

    Raises ScenarioError if one of the names is neither a case nor a suite.
    """
    every = [_case(suite, entry) for suite in SUITES for entry in _document(suite).get("case", [])]
    known = [*SUITES, *(case.key for case in every)]
    for name in names:
        if name not in known:
            raise ScenarioError(f"there is no case {name!r:.60}", hint=one_of(name, known))
    return [case for case in every if not names or case.key in names or case.suite in names]


def left_out() -> list[tuple[str, str]]:
    """Return the cases of published suites that the exam leaves out, each with the reason."""
    return [(entry["what"], entry["why"]) for suite in SUITES for entry in _document(suite).get("left_out", [])]


def _document(suite: str) -> dict[str, Any]:
    return tomltext.loads((_FOLDER / "cases" / f"{suite}.toml").read_text(encoding="utf-8"))


def _case(suite: str, entry: Mapping[str, Any]) -> Case:
    """Build a case from its table in a TOML file.

    Raises ScenarioError if the table is wrong, which would be a bug, because the files belong to leowarp.
    """
    key = entry.get("id", "?")
    where = f"cases/{suite}.toml, {key}"
    if strange := sorted(entry.keys() - KEYS):
        raise ScenarioError(f"{where}: there is no key {strange[0]!r}", hint=one_of(strange[0], sorted(KEYS)))
    rule = _rule(where, entry["rule"], entry["limit"])
    if rule.how.has_control != ("control" in entry):
        raise ScenarioError(f"{where}: {rule.measure} and `control` do not fit", hint="kept and completion_beside do")
    return Case(
        key=key,
        suite=suite,
        title=entry["title"],
        asked=entry["asked"],
        scenario=_FOLDER / "scenarios" / entry["scenario"],
        set=entry.get("set", {}),
        under_exam=tuple(entry.get("exam", [0])),
        control=entry.get("control"),
        rule=rule,
    )


def _rule(where: str, written: Mapping[str, Any], source: str) -> Rule:
    arguments = dict(written)
    name = arguments.pop("measure")
    if name not in MEASURES:
        raise ScenarioError(f"{where}: there is no measure {name!r}", hint=one_of(name, MEASURES))
    limits = {key.replace("_", " "): arguments.pop(key) for key in ("at_least", "at_most") if key in arguments}
    if len(limits) > 1:
        raise ScenarioError(f"{where}: a rule has one limit", hint="make two cases of it: they share their run")
    try:
        parsed = MEASURES[name].parsed(arguments)
        for sense, text in limits.items():
            return Rule(name, parsed, sense, float(MEASURES[name].quantity.parse(text)), source)
    except ScenarioError as error:
        raise ScenarioError(f"{where}: {error.message}", error.hint) from error
    return Rule(name, parsed, "measured", None, source)
