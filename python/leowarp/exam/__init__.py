# SPDX-License-Identifier: Apache-2.0
"""The exam of a congestion control. Data files define the cases, and the study engine makes the runs. Each verdict
names the packets or samples on which it is based.

>>> take(Subject("cubic")).counts                   # doctest: +SKIP
{'pass': 41, 'fail': 4, 'measured': 20}
"""

from leowarp.exam.case import cases
from leowarp.exam.taken import Exam, Subject
from leowarp.exam.taking import take
