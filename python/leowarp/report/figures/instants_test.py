# SPDX-License-Identifier: Apache-2.0
"""Tests how leowarp chooses the time at which a figure shows several runs."""

from types import SimpleNamespace

import pandas as pd
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.report.figures.instants import chosen_instant_s, common_instant, sentence
from leowarp.results.run import Run

S = 1_000_000_000


def view(*changes, end_s=100):
    """Return the view of one flow. Each tuple in `changes` describes a route change: (time in s, late packets, lost
    packets)."""
    frame = pd.DataFrame(
        [(t_s * S, late, lost) for t_s, late, lost in changes], columns=["t_ns", "late_pkts", "lost_pkts"]
    )
    return SimpleNamespace(changes=frame, tcp_flows=[0], plan=SimpleNamespace(medium=None), end_ns=end_s * S)


def test_what_most_runs_have_goes_before_what_was_worst_in_one():
    assert common_instant([view((30, 1, 0), (60, 2, 0)), view((30, 1, 0), (90, 99, 0))]) == 30 * S


def test_then_the_most_late_then_the_most_lost_then_the_earliest():
    assert common_instant([view((30, 1, 0), (60, 2, 0)), view((30, 1, 0), (60, 1, 0))]) == 60 * S
    assert common_instant([view((30, 1, 0), (60, 1, 2)), view((30, 1, 0), (60, 1, 0))]) == 60 * S
    assert common_instant([view((30, 1, 0), (60, 1, 0)), view((30, 1, 0), (60, 1, 0))]) == 30 * S
    assert common_instant([view(), view()]) is None


def test_a_number_counts_the_changes_of_all_runs():
    runs = [view((30, 1, 0)), view((60, 1, 0))]
    assert chosen_instant_s(runs, "2") == 60
    assert chosen_instant_s(runs, "45 s") == 45


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("3", "their paths changed at 2 instants", "1: 30 s, 2: 60 s"),
        ("0", "cannot show change 0", "1: 30 s"),
        ("100 s", "the shortest of them lasts 100 s", "from 0 s to 100 s"),
        ("soon", "--change soon", "--change '150 s'"),
    ],
)
def test_an_instant_that_is_none_says_what_to_type(text, words, hint):
    with pytest.raises(ScenarioError) as failed:
        chosen_instant_s([view((30, 1, 0)), view((60, 1, 0))], text)
    assert words in failed.value.message
    assert hint in failed.value.hint


def test_the_page_states_the_rule():
    assert "at 30 s: of the instants at which a path changed" in sentence([view((30, 1, 0)), view((30, 1, 0))], None)
    assert "as asked for" in sentence([view((30, 1, 0))], 12.0)


def test_figures_of_two_runs_show_one_instant(run_dir, other_run_dir):
    from leowarp.report import figure

    drawn = figure([Run(run_dir, complete=False), Run(other_run_dir, complete=False)], "cwnd", change_s=30.0)
    titles = [axes.get_title() for axes in drawn.axes if axes.get_title()]
    assert len(titles) == 2
    assert all("no change at 30 s" in title for title in titles)
