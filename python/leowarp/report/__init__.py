# SPDX-License-Identifier: Apache-2.0
"""Metrics to figures and pages.

>>> figure("runs/madrid-tokyo", "goodput").savefig("goodput.pdf")     # doctest: +SKIP
>>> write_report("runs/madrid-tokyo")                                # doctest: +SKIP
"""

from leowarp.report import html
from leowarp.report.figures import FIGURES, FigureKind, figure, views
from leowarp.report.group_page import write_group_comparison
from leowarp.report.page import draw_all, write_comparison, write_report
from leowarp.report.style import FORMATS, save
from leowarp.report.view import RunView

__all__ = [
    "FIGURES",
    "FORMATS",
    "FigureKind",
    "RunView",
    "draw_all",
    "figure",
    "html",
    "save",
    "views",
    "write_comparison",
    "write_group_comparison",
    "write_report",
]
