# SPDX-License-Identifier: Apache-2.0
"""Tests the scales and outlines of the reordering figures, and the text that they show if there are no packets.
Identical data must give identical files."""

import numpy as np
import pytest

from leowarp.base.errors import TraceError
from leowarp.report.curves.densities import Shares, draw_buffer_density, draw_density, draw_n_reordering, figure_of
from leowarp.report.style import save

SMALL = Shares([2, -4, 0], [0.5, 0.25, 0.25])
WIDE = Shares([-467, 0, 1], [1e-4, 0.9, 0.0999])


def test_shares_are_drawn_by_index_and_zeros_are_left_out():
    index, share = Shares([2, 1, 0], [0.5, 0.0, 0.5]).nonzero()
    assert index.tolist() == [0, 2]
    assert share.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("draw", [draw_density, draw_buffer_density])
def test_a_share_too_small_for_a_linear_axis_takes_a_logarithmic_one(draw):
    assert figure_of(draw, [SMALL], footer="").axes[0].get_yscale() == "linear"
    axes = figure_of(draw, [WIDE], footer="").axes[0]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] < 1e-4 < 0.9 < axes.get_ylim()[1]
    assert figure_of(draw, [WIDE], footer="", y_scale="linear").axes[0].get_yscale() == "linear"


def test_every_displacement_stands_inside_the_axes():
    low, high = figure_of(draw_density, [WIDE, SMALL], footer="").axes[0].get_xlim()
    assert low < -467.5
    assert high > 2.5


def test_several_have_a_legend_and_one_has_none():
    both = figure_of(draw_density, [Shares([0], [1.0], "uniform"), Shares([0], [1.0], "normal")], footer="").axes[0]
    assert [text.get_text() for text in both.get_legend().get_texts()] == ["uniform", "normal"]
    assert figure_of(draw_density, [Shares([0], [1.0], "uniform")], footer="").axes[0].get_legend() is None


def test_a_density_of_no_packets_is_an_error_and_no_reordering_is_said():
    with pytest.raises(TraceError, match="no packets"):
        figure_of(draw_density, [Shares([], [])], footer="")
    axes = figure_of(draw_n_reordering, [Shares(np.arange(1, 11), np.zeros(10))], footer="").axes[0]
    assert [text.get_text() for text in axes.texts] == ["none is n-reordered"]


@pytest.mark.slow
def test_equal_shares_give_equal_bytes(tmp_path):
    drawn = [figure_of(draw_density, [SMALL], footer="threshold: 4 packets") for _ in range(2)]
    files = [save(figure, tmp_path / name) for figure, name in zip(drawn, ("a", "b"), strict=True)]
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()
