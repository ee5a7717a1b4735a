# SPDX-License-Identifier: Apache-2.0
"""Write the files of an exam: `exam.json`, `junit.xml` and the page."""

from __future__ import annotations

from typing import Any

from leowarp.base import plainfiles, recorded
from leowarp.exam.figure import figure_svg
from leowarp.exam.junit import junit_text
from leowarp.exam.page import page_text
from leowarp.exam.references import references
from leowarp.exam.taken import EXAM, JUNIT, PAGE, Exam


def write(exam: Exam, command: str, baseline: dict[str, Any] | None = None) -> None:
    """Write all files into the exam's directory.

    command: The command line that repeats the exam, for the page.
    baseline: The document of an earlier exam. The page compares the new exam with it.
    """
    recorded.write_json(exam.path / EXAM, exam.document())
    plainfiles.write(exam.path / JUNIT, junit_text(exam).encode())
    # Cases are sorted by run, because only a few runs are cached and each should be read only once.
    by_run = sorted(exam.judged, key=lambda each: str(each.run))
    figures = {each.case.key: figure_svg(each) for each in by_run}
    page = page_text(exam, command, references(), baseline, figures)
    plainfiles.write(exam.path / PAGE, page.encode())
