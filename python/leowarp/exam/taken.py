# SPDX-License-Identifier: Apache-2.0
"""Result of an exam: its subject, verdicts and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base import recorded
from leowarp.base.errors import TraceError
from leowarp.exam.verdict import VERDICTS, Judged

EXAM = "exam.json"
PAGE = "index.html"
JUNIT = "junit.xml"
SCHEMA = 1
"""Schema version of `exam.json`."""


@dataclass(frozen=True)
class Subject:
    """The algorithm under exam.

    Attributes
    ----------
    algorithm : str
        Value of a flow's `congestion_control`.
    modules : tuple of Path
        C files of kernel modules, compiled for the guest kernel.
    kernel : str or Path or None
        Guest kernel that is used instead of the default one.
    """

    algorithm: str
    modules: tuple[Path, ...] = ()
    kernel: str | Path | None = None


@dataclass(frozen=True)
class Exam:
    """A completed exam.

    Attributes
    ----------
    path : Path
        Directory of the exam: `exam.json`, `index.html`, `junit.xml`; and `runs/`, the study that made the exam's runs.
    subject : Subject
    judged : tuple of Judged
        Verdicts in the order of the cases.
    kernel : mapping
        Description of the kernel, from the manifest of a run; empty if every run failed.
    leowarp_version : str
    warnings : tuple of str
        Warnings of the runs, each text once.
    repeats : tuple of tuple of Judged
        Verdicts of each further seed, in the order of `judged`.
    """

    path: Path
    subject: Subject
    judged: tuple[Judged, ...]
    leowarp_version: str
    kernel: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    repeats: tuple[tuple[Judged, ...], ...] = ()

    @property
    def page(self) -> Path:
        """Path of the page."""
        return self.path / PAGE

    @property
    def counts(self) -> dict[str, int]:
        """Number of cases by verdict."""
        count = Counter(each.verdict for each in self.judged)
        return {verdict: count[verdict] for verdict in VERDICTS}

    @property
    def failed(self) -> list[Judged]:
        """The cases that failed."""
        return [each for each in self.judged if each.verdict == "fail"]

    def rows(self) -> list[dict[str, Any]]:
        """Verdicts as in `exam.json`; with further seeds, each row has the values and verdicts of all seeds."""
        rows = [each.row(self.path) for each in self.judged]
        if self.repeats:
            for place, row in enumerate(rows):
                of_seeds = [self.judged[place], *(repeat[place] for repeat in self.repeats)]
                row["seeds"] = {
                    "values": [each.value for each in of_seeds],
                    "verdicts": [each.verdict for each in of_seeds],
                }
        return rows

    def document(self) -> dict[str, Any]:
        """Content of `exam.json`."""
        return {
            "schema": SCHEMA,
            "algorithm": self.subject.algorithm,
            "modules": [path.name for path in self.subject.modules],
            "kernel": self.kernel,
            "leowarp_version": self.leowarp_version,
            "counts": self.counts,
            "warnings": list(self.warnings),
            "cases": self.rows(),
        }


def read(path: Path) -> dict[str, Any]:
    """Result of an earlier exam, read from its directory or from an `exam.json`.

    Raises
    ------
    TraceError
        If the file does not exist, or if it has another version.
    """
    file = path / EXAM if path.is_dir() else path
    if not file.exists():
        raise TraceError(f"there is no exam in {path}: it has no {EXAM}", hint="name the directory of an exam")
    document = recorded.read_json(file)
    if document.get("schema") != SCHEMA or not isinstance(document.get("cases"), list):
        raise TraceError(f"{file} is no exam that this leowarp reads (schema {SCHEMA})", hint="take the exam again")
    return document


def by_case(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of an exam by the names of the cases."""
    return {row["case"]: row for row in document["cases"]}


def changed(now: Sequence[dict[str, Any]], before: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Cases whose verdict or number differs from that of an earlier exam: case, old result, new result.

    A case that only one of the two exams has is listed too.
    """
    old, new = by_case(before), {row["case"]: row for row in now}
    found = []
    for key in dict.fromkeys([*new, *old]):
        was, now_is = (_told(rows.get(key)) for rows in (old, new))
        if was != now_is:
            found.append((key, was, now_is))
    return found


def _told(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not there"
    return f"{row['verdict']}, {row['value_in_words']} ({row['limit_in_words']})"
