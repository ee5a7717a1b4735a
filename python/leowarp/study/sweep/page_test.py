# SPDX-License-Identifier: Apache-2.0
"""Tests of the chart on the page of a study."""

import re
from xml.etree import ElementTree

from leowarp.report.style import OKABE_ITO
from leowarp.study.statistics import middle
from leowarp.study.sweep.page import chart

PLACES = ["1 ms", "2 ms"]


def drawn(*, joined=True, **lines):
    middles = {name: [middle(values) for values in line] for name, line in lines.items()}
    return chart(PLACES, middles, "jitter <max>", "goodput in Mbit/s", joined=joined)


def heights(svg, colour):
    """Return the heights of the dots of a colour, in the order of drawing. In SVG, a height is the distance from the
    top."""
    return [float(y) for y in re.findall(rf'<use [^>]*y="([0-9.]+)" style="fill: {colour.lower()}; stroke', svg)]


def test_each_cell_is_a_dot_and_what_is_unknown_is_left_out():
    svg = drawn(cubic=[[1.0, 2.0, 3.0], []], bbr=[[5.0], [6.0, 7.0]])
    ElementTree.fromstring(svg)
    # The legend adds one dot for each line.
    assert len(heights(svg, OKABE_ITO[0])) == 1 + 1
    assert len(heights(svg, OKABE_ITO[1])) == 2 + 1
    for word in ("cubic", "bbr", "1 ms", "2 ms", "jitter &lt;max&gt;"):
        assert word in svg


def test_only_values_in_order_are_joined():
    one = {"cubic": [[1.0, 2.0, 3.0], [4.0]]}
    dots, line = (drawn(joined=joined, **one).count("clip-path") for joined in (False, True))
    assert line == dots + 1


def test_higher_values_stand_higher():
    first, second, _ = heights(drawn(one=[[10.0], [20.0]]), OKABE_ITO[0])
    assert first > second


def test_nothing_known_or_too_many_lines_are_no_chart():
    assert drawn(one=[[], []]) == ""
    assert drawn(**{f"line{number}": [[1.0], [2.0]] for number in range(len(OKABE_ITO) + 1)}) == ""


def test_equal_values_have_an_axis():
    ElementTree.fromstring(drawn(one=[[0.0], [0.0]]))
    ElementTree.fromstring(drawn(one=[[5.0], [5.0]]))
