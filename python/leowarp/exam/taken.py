# SPDX-License-Identifier: Apache-2.0
"""The result of an exam: the examined algorithm, the verdicts, and the paths of files."""

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
"""The version of the format of `exam.json`."""


@dataclass(frozen=True)
class Subject:
    """The examined algorithm.

    algorithm: The value of a flow's `congestion_control`.
    modules: The C files of kernel modules, which are compiled for the guest kernel.
    kernel: The guest kernel instead of the default kernel, if any.
    """

    algorithm: str
    modules: tuple[Path, ...] = ()
    kernel: str | Path | None = None


@dataclass(frozen=True)
class Exam:
    """A completed exam.

    path: The directory of the exam. The study that made the runs is in `runs/`.
    kernel: The description of the kernel, from the manifest of a run. If every run failed, it is empty.
    warnings: The warnings of all runs, without duplicates.
    repeats: The verdicts of each further seed. All verdicts are in the order of the cases.
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
        return self.path / PAGE

    @property
    def counts(self) -> dict[str, int]:
        count = Counter(each.verdict for each in self.judged)
        return {verdict: count[verdict] for verdict in VERDICTS}

    @property
    def failed(self) -> list[Judged]:
        return [each for each in self.judged if each.verdict == "fail"]

    def rows(self) -> list[dict[str, Any]]:
        """Return the verdicts as rows of `exam.json`, with the values and verdicts of several seeds."""
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
        """Return the content of `exam.json`."""
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
    """Read the document of an earlier exam from its directory or its `exam.json`.

    Raises TraceError if the file does not exist, or has the format of another version.
    """
    file = path / EXAM if path.is_dir() else path
    if not file.exists():
        raise TraceError(f"there is no exam in {path}: it has no {EXAM}", hint="name the directory of an exam")
    document = recorded.read_json(file)
    if document.get("schema") != SCHEMA or not isinstance(document.get("cases"), list):
        raise TraceError(f"{file} is no exam that this leowarp reads (schema {SCHEMA})", hint="take the exam again")
    return document


def by_case(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["case"]: row for row in document["cases"]}


def changed(now: Sequence[dict[str, Any]], before: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the cases that differ from an earlier exam in verdict or value, as (name, old result, new result). A case
    that only one of the two exams has is included."""
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
