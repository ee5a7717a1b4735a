# SPDX-License-Identifier: Apache-2.0
"""Write the files of an exam: `exam.json`, `junit.xml` and the page."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from leowarp.base import plainfiles, recorded
from leowarp.base.printable import visible
from leowarp.exam.case import SUITES
from leowarp.exam.figure import figure_svg
from leowarp.exam.page import page_text
from leowarp.exam.references import references
from leowarp.exam.taken import EXAM, JUNIT, PAGE, Exam
from leowarp.exam.verdict import Judged


def write(exam: Exam, command: str, baseline: dict[str, Any] | None = None) -> None:
    """Write all files into the exam's directory.

    command: The command line that repeats the exam, for the page.
    baseline: The document of an earlier exam, with which the page compares this one.
    """
    recorded.write_json(exam.path / EXAM, exam.document())
    plainfiles.write(exam.path / JUNIT, _junit_text(exam).encode())
    # Cases are sorted by run, because only a few runs are cached and each should be read only once.
    by_run = sorted(exam.judged, key=lambda each: str(each.run))
    figures = {each.case.key: figure_svg(each) for each in by_run}
    page = page_text(exam, command, references(), baseline, figures)
    plainfiles.write(exam.path / PAGE, page.encode())


def _junit_text(exam: Exam) -> str:
    """Return the exam as JUnit XML, for CI services, in the schema of Jenkins' xunit plugin. A case without a limit is
    a passed test, and its output says that it was only measured."""
    top = ElementTree.Element("testsuites", name=f"leowarp exam {exam.subject.algorithm}")
    for suite in SUITES:
        mine = [each for each in exam.judged if each.case.suite == suite]
        if not mine:
            continue
        failures = sum(each.verdict == "fail" for each in mine)
        # The file contains no times, so that repeating an exam gives the same file.
        below = ElementTree.SubElement(top, "testsuite", name=suite, tests=str(len(mine)), failures=str(failures))
        for each in mine:
            _append(below, each, exam)
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, encoding="unicode") + "\n"


def _append(suite: ElementTree.Element, each: Judged, exam: Exam) -> None:
    classname = f"leowarp.exam.{exam.subject.algorithm}.{each.case.suite}"
    case = ElementTree.SubElement(suite, "testcase", name=each.case.key, classname=classname)
    row = each.row(exam.path)
    told = visible(f"{row['value_in_words']}, limit {row['limit_in_words']}: {each.decided}")
    if each.verdict == "fail":
        failure = ElementTree.SubElement(case, "failure", message=told, type=row["measure"])
        failure.text = visible(f"{each.case.title}\n{each.case.asked}\n{row['limit_source']}")
    ElementTree.SubElement(case, "system-out").text = f"{each.verdict}: {told}"
