# SPDX-License-Identifier: Apache-2.0
"""Result of an exam: the examined algorithm, the verdicts, and the paths of files."""

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
"""Version of the format of `exam.json`."""


@dataclass(frozen=True)
class Subject:
    """The algorithm that is examined.

    Attributes
    ----------
    algorithm : str
        Value of a flow's `congestion_control`.
    modules : tuple of Path
        C files of kernel modules, which are compiled for the guest kernel.
    kernel : str or Path or None
        Guest kernel to use instead of the default one.
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
        Directory of the exam: it has `exam.json`, `index.html`, `junit.xml`, and `runs/`, the directory of the study
            that made the runs.
    subject : Subject
    judged : tuple of Judged
        Verdicts in the order of the cases.
    kernel : mapping
        Description of the kernel, from the manifest of a run; empty if every run failed.
    leowarp_version : str
    warnings : tuple of str
        Warnings of all runs; each text appears once.
    repeats : tuple of tuple of Judged
        For each further seed: the verdicts, in the order of `judged`.
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
        """Path of the exam's page."""
        return self.path / PAGE

    @property
    def counts(self) -> dict[str, int]:
        """Number of cases for each verdict."""
        count = Counter(each.verdict for each in self.judged)
        return {verdict: count[verdict] for verdict in VERDICTS}

    @property
    def failed(self) -> list[Judged]:
        """Cases with the verdict "fail"."""
        return [each for each in self.judged if each.verdict == "fail"]

    def rows(self) -> list[dict[str, Any]]:
        """Verdicts as rows of `exam.json`; with several seeds, each row has the values and verdicts of all seeds."""
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
        """Content of `exam.json` as a dict."""
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
    """Document of an earlier exam, read from the exam's directory or from its `exam.json`.

    Raises
    ------
    TraceError
        If the file does not exist, or has a format of another version.
    """
    file = path / EXAM if path.is_dir() else path
    if not file.exists():
        raise TraceError(f"there is no exam in {path}: it has no {EXAM}", hint="name the directory of an exam")
    document = recorded.read_json(file)
    if document.get("schema") != SCHEMA or not isinstance(document.get("cases"), list):
        raise TraceError(f"{file} is no exam that this leowarp reads (schema {SCHEMA})", hint="take the exam again")
    return document


def by_case(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of a document, by the names of the cases."""
    return {row["case"]: row for row in document["cases"]}


def changed(now: Sequence[dict[str, Any]], before: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Cases whose verdict or value differs from an earlier exam: name, old result, new result.

    A case that only one of the two exams has is included.
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
