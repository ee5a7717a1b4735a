# SPDX-License-Identifier: Apache-2.0
"""The chart on the page of a study."""

import re
from xml.etree import ElementTree

from leowarp.study.statistics import middle
from leowarp.study.sweep.chart import COLOURS, Chart


def chart(*, joined=True, **lines):
    return Chart(["1 ms", "2 ms"], {name: [middle(values) for values in line] for name, line in lines.items()},
                 "jitter <max>", "goodput in Mbit/s", joined=joined).svg()  # fmt: skip


def test_each_cell_is_a_dot_with_its_interval_and_what_is_unknown_is_left_out():
    svg = chart(cubic=[[1.0, 2.0, 3.0], []], bbr=[[5.0], [6.0, 7.0]])
    ElementTree.fromstring(svg)
    assert svg.count("<circle") == 3
    for word in ("cubic", "bbr", "1 ms", "2 ms", "jitter &lt;max&gt;"):
        assert word in svg


def test_words_along_the_axis_are_dots_that_no_line_joins():
    svg = chart(joined=False, cubic=[[1.0, 2.0, 3.0], [4.0]], bbr=[[5.0], [6.0, 7.0]])
    ElementTree.fromstring(svg)
    assert "<polyline" not in svg
    assert chart(cubic=[[1.0], [4.0]]).count("<polyline") == 1
    # There is one circle for each value, and one beside each name in the legend.
    assert svg.count("<circle") == 4 + 2


def test_higher_values_stand_higher():
    heights = [float(y) for y in re.findall(r'<circle cx="[0-9.]+" cy="([0-9.]+)"', chart(one=[[10.0], [20.0]]))]
    assert heights[0] > heights[1]


def test_nothing_known_or_too_many_lines_are_no_chart():
    assert chart(one=[[], []]) == ""
    assert chart(**{f"line{number}": [[1.0], [2.0]] for number in range(len(COLOURS) + 1)}) == ""


def test_equal_values_have_an_axis():
    ElementTree.fromstring(chart(one=[[0.0], [0.0]]))
    ElementTree.fromstring(chart(one=[[5.0], [5.0]]))
