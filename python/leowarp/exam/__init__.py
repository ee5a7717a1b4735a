# SPDX-License-Identifier: Apache-2.0
"""The exam of a congestion control: cases as data, runs by the study engine, verdicts with what decided them.

>>> take(Subject("cubic")).counts                   # doctest: +SKIP
{'pass': 41, 'fail': 4, 'measured': 20}
"""

from leowarp.exam.case import SUITES, Case, cases
from leowarp.exam.taken import Exam, Subject
from leowarp.exam.taking import take
from leowarp.exam.verdict import Judged

__all__ = ["SUITES", "Case", "Exam", "Judged", "Subject", "cases", "take"]
