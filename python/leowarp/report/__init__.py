# SPDX-License-Identifier: Apache-2.0
"""Draw figures and write pages from the metrics of runs.

>>> figure("runs/madrid-tokyo", "goodput").savefig("goodput.pdf")     # doctest: +SKIP
>>> write_report("runs/madrid-tokyo")                                # doctest: +SKIP
"""

from leowarp.report import html
from leowarp.report.figures import FIGURES, figure, views
from leowarp.report.figures.over_time import plot
from leowarp.report.notebook import inline
from leowarp.report.pages.group_page import write_group_comparison
from leowarp.report.pages.page import write_comparison, write_report
from leowarp.report.style import FORMATS, save
