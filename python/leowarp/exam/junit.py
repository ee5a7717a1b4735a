# SPDX-License-Identifier: Apache-2.0
"""Write an exam as JUnit XML, for CI services. Each case of the exam becomes a test case. The schema is that of
Jenkins' xunit plugin."""

from __future__ import annotations

from xml.etree import ElementTree

from leowarp.base.printable import visible
from leowarp.exam.case import SUITES
from leowarp.exam.taken import Exam
from leowarp.exam.verdict import Judged


def junit_text(exam: Exam) -> str:
    """Return the exam as XML text. A case without a limit is a passed test, and its output says that it was only
    measured."""
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
