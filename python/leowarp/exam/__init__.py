# SPDX-License-Identifier: Apache-2.0
"""Exam of a congestion control. Cases are defined in data files, the study engine makes the runs, and each verdict
names the packets or samples on which it is based.

>>> take(Subject("cubic")).counts                   # doctest: +SKIP
{'pass': 41, 'fail': 4, 'measured': 20}
"""

from leowarp.exam.case import cases
from leowarp.exam.taken import Exam, Subject
from leowarp.exam.taking import take
