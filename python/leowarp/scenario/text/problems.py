# SPDX-License-Identifier: Apache-2.0
"""The mistakes of a scenario, collected so that one message reports all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leowarp.base.errors import ScenarioError
from leowarp.base.layout import PLAN
from leowarp.base.spelling import nearest


@dataclass(frozen=True)
class Origin:
    """Where a value was written: in a line of a file, in a ``--set``, in a call, or in a study file.

    file: The scenario, the plan or the study file.
    line: The line number from 1. None means that the value has no line.
    override: The text after ``--set``, or a study's name for the value.
    in_call: Whether a Python program passed the value.
    """

    file: Path
    line: int | None = None
    override: str | None = None
    in_call: bool = False

    @property
    def folder(self) -> Path:
        """The folder to which a relative file name refers. For a typed value, it is the working directory. For a value
        from a file, the folder is the folder of this file.
        """
        return Path() if self._is_typed else self.file.parent

    @property
    def named_in(self) -> Path | None:
        """The file that contains the value. None means that the value is not from a file, but typed by the user or
        passed in a call."""
        return None if self._is_typed or self.in_call else self.file

    @property
    def is_of_a_run(self) -> bool:
        """Whether the value is from the plan in a run directory. All files that such a plan names must be inside the
        run directory."""
        return not self._is_typed and self.file.name == PLAN

    @property
    def _is_typed(self) -> bool:
        return self.override is not None and self.line is None

    def __str__(self) -> str:
        if self._is_typed:
            return f"--set {self.override}"
        return str(self.file) if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Problem:
    """One mistake in a scenario.

    origin: The file and line, or the ``--set``, of the mistake.
    key: The dotted key as in ``--set``, or "" for the whole text.
    rule: The value and the rule that it breaks.
    hint: What to write instead.

    >>> print(Problem(Origin(Path("a.toml"), 3), "run.duration", '"5" has no unit', 'write "5 s"'))
    a.toml:3: run.duration: "5" has no unit
        write "5 s"
    """

    origin: Origin
    key: str
    rule: str
    hint: str | None = None

    def __str__(self) -> str:
        where = f"{self.origin}: {self.key}: {self.rule}" if self.key else f"{self.origin}: {self.rule}"
        return where if self.hint is None else f"{where}\n    {self.hint}"


class ScenarioProblems(ScenarioError):
    """All mistakes of a scenario, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        text = "\n".join(str(problem) for problem in self.problems)
        count = len(self.problems)
        super().__init__(text if count == 1 else f"{count} errors:\n{text}")


@dataclass
class Problems:
    """The mistakes in the order in which they were found, possibly with duplicates."""

    found: list[Problem] = field(default_factory=list)

    def add(self, origin: Origin, key: str, rule: str, hint: str | None = None) -> None:
        self.found.append(Problem(origin, key, rule, hint))

    def raise_any(self) -> None:
        """Raise `ScenarioProblems` if any mistake was added. It lists each mistake once."""
        if self.found:
            # Several checks may find the same mistake: for instance, a wrong key of [tcp] is found once for each host.
            unique = dict.fromkeys(self.found)
            raise ScenarioProblems(sorted(unique, key=_place))


def _place(problem: Problem) -> tuple[bool, str, int]:
    """Return the key by which messages are sorted. Mistakes in files come first, by file and line. Mistakes in typed
    values follow."""
    origin = problem.origin
    return origin.override is not None, str(origin.file), origin.line or 0


def unknown_key_hint(key: str, known: Iterable[str], elsewhere: Mapping[str, str]) -> str:
    """Return a hint about an unknown key: the key that was probably meant. `elsewhere` maps each key of the other
    sections to the section's name.

    >>> unknown_key_hint("altitud", ["rate", "size"], {"altitude": "constellation"})
    'did you mean "altitude" in [constellation]?'
    """
    here = list(known)
    near = nearest(key, [*here, *elsewhere])
    if near in here:
        return f'did you mean "{near}"?'
    if near is not None:
        return f'did you mean "{near}" in [{elsewhere[near]}]?'
    return f"known here: {', '.join(here)}"
