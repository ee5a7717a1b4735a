# SPDX-License-Identifier: Apache-2.0
"""Tests figures of several flows. A figure must show all flows, name the flows that it shows, or show a distribution
over the flows."""

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.report import figure
from leowarp.report.figures import manyflows
from leowarp.report.figures.around_changes import columns_of, cwnd_around_changes, hardest_hit
from leowarp.report.labels import labels
from leowarp.report.style import new_figure
from leowarp.results.run import Run


def words(drawn):
    legends = [axes.get_legend() for axes in drawn.axes if axes.get_legend()] + list(drawn.legends)
    return {text.get_text() for legend in legends for text in legend.get_texts()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["goodput", "goodput_cdf", "rtt_ccdf", "shares"])
def test_every_flow_is_in_the_figure_under_its_own_name(access_dir, name):
    run = Run(access_dir, complete=False)
    assert {run.flow_names[flow] for flow in run.tcp_flows} <= words(figure(run, name))


def test_chosen_flows_alone_are_drawn(access_dir):
    run = Run(access_dir, complete=False)
    names = run.flow_names
    first, second = run.tcp_flows
    assert names[second] in words(figure(run, "goodput", flow=[first, second]))
    lone = figure(run, "goodput", flow=second)
    assert len(lone.axes) == 1
    assert names[second] in lone.axes[0].get_title("left")


def test_a_flow_that_a_figure_is_not_about_is_refused(access_dir):
    run = Run(access_dir, complete=False)
    with pytest.raises(ScenarioError, match="flow 99"):
        figure(run, "goodput", flow=99)
    with pytest.raises(ScenarioError, match="it is about none such"):
        figure(run, "goodput", flow=run.ping_flows)
    with pytest.raises(ScenarioError, match="no flow"):
        figure(run, "goodput", flow=[])


@pytest.mark.slow
def test_of_more_flows_than_can_be_told_apart_their_distribution_is_drawn(access_dir, monkeypatch):
    monkeypatch.setattr(manyflows, "MOST_LINES", 1)
    assert words(figure(access_dir, "goodput")) == {"all flows", "middle 80 %", "middle half", "median flow"}
    named = words(figure(access_dir, "goodput_cdf"))
    assert {word.partition(":")[0] for word in named} <= {"lowest", "median", "highest"}


def test_bands_are_the_quantiles_over_the_flows_that_have_a_value():
    axes = new_figure(3, 2, "").subplots()
    t_s = np.arange(3.0)
    manyflows.draw_bands(axes, [(t_s, np.full(3, level)) for level in (1.0, 2.0, 9.0)] + [(t_s[:1], np.array([9.0]))])
    assert list(axes.lines[0].get_ydata()) == [5.5, 2.0, 2.0]


def with_changes(monkeypatch, *pairs):
    """Replace the route changes of runs. A pair is a run and the data frame of its new route changes."""
    monkeypatch.setattr(Run, "changes", property(lambda self: next(frame for run, frame in pairs if run is self)))


def test_without_a_change_of_any_flows_route_the_message_speaks_of_all(run_dir, monkeypatch):
    run = Run(run_dir)
    views = [run.of_flow(0), run.of_flow(0)]
    with_changes(monkeypatch, *((view, run.changes[:0]) for view in views))
    with pytest.raises(TraceError, match="the route of none of these 2 flows changed"):
        cwnd_around_changes(views)


def test_a_change_of_one_flows_route_is_shown_though_that_of_the_first_never_changed(run_dir, monkeypatch):
    run = Run(run_dir)
    still, moved = run.of_flow(0), run.of_flow(0)
    with_changes(monkeypatch, (still, run.changes[:0]), (moved, run.changes))
    assert hardest_hit([still, moved]) is moved
    drawn = cwnd_around_changes([still, moved])
    assert any("change at 20 s" in axes.get_title() for axes in drawn.axes)


def test_late_packets_rank_flows_before_lost_ones_wherever_flows_are_chosen(run_dir, monkeypatch):
    run = Run(run_dir, complete=False)
    lossy, overtaken = run.of_flow(0), run.of_flow(0)
    with_changes(
        monkeypatch, (lossy, run.changes.assign(late_pkts=1, lost_pkts=100)),
        (overtaken, run.changes.assign(late_pkts=5, lost_pkts=0)),
    )  # fmt: skip
    monkeypatch.setattr(manyflows, "MOST_LINES", 1)
    assert hardest_hit([lossy, overtaken]) is overtaken
    (column,) = columns_of([lossy, overtaken], 1)
    assert [flow for flow, _, _ in column.flows] == [overtaken]


def test_flows_of_several_runs_have_the_runs_name_too(access_dir, run_dir):
    run, other = Run(access_dir, complete=False), Run(run_dir, complete=False)
    views = [*(run.of_flow(flow) for flow in run.tcp_flows), other]
    found = labels(views)
    assert len(set(found)) == len(found)
    assert found[0].startswith(f"{run.name}, ")


def test_of_more_grey_curves_than_can_be_seen_some_are_drawn_evenly_by_their_score(run_dir, monkeypatch):
    monkeypatch.setattr(manyflows, "MOST_LINES", 3)
    monkeypatch.setattr(manyflows, "MOST_GREY", 5)
    run = Run(run_dir, complete=False)
    views = [run.of_flow(0) for _ in range(20)]
    named = manyflows.in_colour(views, list(range(20)))
    shown = [views.index(view) for view, _, _ in named]
    assert [label for _, label, _ in named][:2] == ["5 of 17 other flows", "_"]
    assert shown == [1, 5, 10, 14, 18, 0, 9, 19]
    # If there are eight views, all eight are drawn, because eight lines can still be distinguished.
    assert len(manyflows.in_colour(views[:8], list(range(8)))) == 8
