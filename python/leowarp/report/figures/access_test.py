# SPDX-License-Identifier: Apache-2.0
"""Tests the figures and the page of a run over an access link. They show pings, goodput beside capacity, shares of
flows, and reconfigurations."""

import shutil

import numpy as np
import pytest

from leowarp.base.errors import TraceError
from leowarp.report import FIGURES, figure, write_report
from leowarp.report.labels import worded
from leowarp.report.pages.reconfigurations import reconfigurations_section
from leowarp.results.run import Run
from support.synthetic import access as syn

pytestmark = pytest.mark.slow

OF_ACCESS = ("ping", "ping_change", "ping_slots", "throughput", "shares")


@pytest.fixture(scope="module")
def view(access_dir):
    return Run(access_dir, complete=False)


def test_an_access_link_has_figures_of_its_own_and_no_map(view, run_dir):
    shown = [name for name, kind in FIGURES.items() if kind.concerns([view])]
    assert set(OF_ACCESS) <= set(shown)
    assert "map" not in shown
    satellites = [name for name, kind in FIGURES.items() if kind.concerns([Run(run_dir, complete=False)])]
    assert "map" in satellites
    assert not set(OF_ACCESS) & set(satellites)


@pytest.mark.parametrize("name", OF_ACCESS)
def test_figures_speak_of_reconfigurations_and_say_the_rules(view, name):
    drawn = figure(view, name)
    words = " ".join(axes.get_xlabel() for axes in drawn.axes)
    assert "route change" not in words
    assert any("access link: starlink, peak" in text.get_text().replace("\n", " ") for text in drawn.texts)


def test_pings_are_drawn_with_their_losses_and_changes(view):
    (axes,) = figure(view, "ping").axes
    dots, lost = [line for line in axes.lines if line.get_marker() in (".", "|")]
    assert len(dots.get_xdata()) == 600
    assert np.nanmin(dots.get_ydata()) == 25.0
    assert lost.get_xdata().tolist() == [t_ns / syn.S for t_ns in syn.PING_LOST_NS]
    changes = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "-"]
    assert changes == [12, 27, 42, 57]
    assert axes.get_title("left") == "600 probes, 6 lost"


def test_one_change_is_zoomed_into(view):
    (axes,) = figure(view, "ping_change", change_s=27, before_s=1).axes
    assert axes.get_xlim() == (-1, 2)
    assert "change at 27 s, 30 probes, 2 lost" in axes.get_title("left")


def test_changes_are_cut_out_and_minima_are_steps(view):
    (axes,) = figure(view, "ping_slots").axes
    (dots,) = [line for line in axes.lines if line.get_marker() == "."]
    assert min(abs(dots.get_xdata() - 27)) > 1.0
    # Between reconfigurations, the delay of the probes does not vary.
    assert "0.00 ms" in axes.get_title("left")
    (steps,) = [patch for patch in axes.patches if patch.get_label() == "smallest of each slot"]
    assert steps.get_data().values.tolist() == [(base + syn.UP_NS) / syn.MS for base in syn.BASE_NS]
    assert steps.get_data().edges.tolist() == [0, 12, 27, 42, 57, 60]


def test_goodput_stands_before_the_capacity_in_payload(view):
    axes, _ = figure(view, "throughput").axes
    (area,) = [patch for patch in axes.patches if patch.get_label() == "capacity (payload)"]
    values = area.get_data().values
    assert len(values) == 120
    assert values[[0, -1]] == pytest.approx([40 * 1448 / 1514, 20 * 1448 / 1514])
    (goodput,) = [line for line in axes.lines if line.get_label() == "server to dish, cubic"]
    assert np.median(goodput.get_ydata()) == pytest.approx(500 * 1448 * 8 / 1e6)
    # The y axis does not end at the capacity, because the capacity is not constant.
    assert view.capacity_bps is None


def test_runs_in_one_panel_share_the_capacity(view):
    drawn = figure([view, view], "throughput", together=True)
    (axes,) = drawn.axes
    assert len([patch for patch in axes.patches if patch.get_label() == "capacity (payload)"]) == 1
    assert len([line for line in axes.lines if line.get_linewidth() == 1.0]) == 4


def test_shares_have_a_line_a_flow_and_the_index(view, run_dir):
    above, below = figure(view, "shares").axes
    flows = [line for line in above.lines if line.get_label().startswith("server to dish")]
    assert [len(line.get_xdata()) for line in flows] == [60, 30]
    assert "0.800" in below.get_title("left")
    with pytest.raises(TraceError, match="fewer than two TCP flows"):
        figure(run_dir, "shares")


def test_without_pings_or_changes_it_is_said(view, run_dir, tmp_path):
    with pytest.raises(TraceError, match="no ping flow"):
        figure(run_dir, "ping")
    copy = tmp_path / "run"
    shutil.copytree(view.path, copy)
    plan = copy / "00-plan.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("replies = true", "replies = false"), encoding="utf-8")
    assert Run(copy, complete=False).ping_flows == []


def test_words_of_an_access_link(view, run_dir):
    assert worded([view], "Recovery after route changes") == "Recovery after reconfigurations"
    assert worded([view, Run(run_dir, complete=False)], "a route change") == "a route change"


def test_the_section_says_what_all_and_each_did(view):
    text = reconfigurations_section(view)
    assert "Each of the 4 reconfigurations" in text
    assert "server to dish: 15.00 → 22.00" in text
    # At three of the four reconfigurations, flow 1 loses exactly one packet. The round-trip times of the spikes reach
    # from 20 to 60 ms.
    row = text[text.index("with exactly one") :]
    assert row[: row.index("</tr>")].count(">75<") == 2
    assert "40" in text[text.index("spike of the one-way delay") :][:200]


@pytest.mark.slow
def test_the_page_of_an_access_link(access_dir):
    text = write_report(access_dir).read_text(encoding="utf-8")
    assert '<section id="changes"><h2>Reconfigurations</h2>' in text
    assert "The route before and after a change" not in text
    assert "Frederiksen et al." not in text
    assert "Jain" in text
    assert "fq_codel, ECN" in text
