# SPDX-License-Identifier: Apache-2.0
"""Tests the figures of series over time."""

import pytest

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.report import plot
from support.synthetic import run as syn


def test_each_series_has_a_panel_and_the_time_is_what_was_asked_for(run_dir):
    figure = plot(run_dir, ["cwnd", "srtt_us"], from_s=1.0, to_s=3.0)
    assert [axes.get_ylabel() for axes in figure.axes] == ["cwnd,\npackets", "srtt,\nms"]
    assert figure.axes[0].get_xlim() == (1.0, 3.0)
    assert figure.axes[0].lines[0].get_xdata().max() >= 3.0


@pytest.mark.slow
def test_two_runs_are_told_apart(run_dir, other_run_dir):
    figure = plot([run_dir, other_run_dir], ["goodput"])
    assert len(figure.legends) == 1
    assert len({text.get_text() for text in figure.legends[0].get_texts()}) == 2


@pytest.mark.parametrize(
    ("names", "options", "says"),
    [
        (["srrt"], {}, 'did you mean "srtt"? one of goodput_in_order, '),
        (["nothing"], {}, "path_delay, path_queue, share"),
        (["rtt_ccdf"], {}, "--figures rtt_ccdf"),
        ([], {}, "1 to 8"),
        (["cwnd"], {"from_s": 5.0, "to_s": 2.0}, "the earlier one first"),
        (["cwnd"], {"from_s": 1e6}, "a time within the run"),
        (["cwnd"], {"flow": 9}, "only flow 0"),
    ],
)
def test_what_cannot_be_drawn_is_answered_with_what_to_type(run_dir, names, options, says):
    with pytest.raises(ScenarioError) as caught:
        plot(run_dir, names, **options)
    assert says in str(caught.value.hint)


def test_a_change_of_the_path_is_marked(run_dir):
    axes = plot(run_dir, ["path_delay"]).axes[0]
    marked = {float(line.get_xdata()[0]) for line in axes.lines[1:]}
    assert marked == {t_ns / 1e9 for t_ns in syn.CHANGES_NS}


def test_a_state_is_drawn_by_its_words(bbr_dir):
    (axes,) = plot(bbr_dir, ["bbr_mode"], flow="upload").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]
    # The axis has ticks only for states that occur in the time shown.
    (axes,) = plot(bbr_dir, ["bbr_mode"], from_s=3.0, to_s=12.5).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["PROBE_BW", "PROBE_RTT"]
    assert axes.get_title(loc="left") == "synthetic, upload"


def test_of_flows_that_were_not_asked_for_those_that_have_the_series_are_drawn(bbr_dir, run_dir):
    window, mode = plot([bbr_dir, run_dir], ["cwnd", "bbr_mode"]).axes
    assert [len([line for line in axes.lines if len(line.get_xdata()) > 2]) for axes in (window, mode)] == [2, 1]
    mode, window = plot([bbr_dir, run_dir], ["bbr_mode", "cwnd"]).axes
    assert len(mode.figure.legends[0].get_texts()) == 2
    with pytest.raises(TraceError, match="it has none"):
        plot([bbr_dir, run_dir], ["bbr_mode"], flow=0)
    with pytest.raises(TraceError, match="it has none"):
        plot(run_dir, ["bbr_mode"])
