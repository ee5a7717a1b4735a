# SPDX-License-Identifier: Apache-2.0
"""Tests that the figure and page section of a mobile channel show the channel of the run."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from leowarp.base import layout
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.media import timeline_of
from leowarp.report import FIGURES, figure
from leowarp.report.curves.fading import draw, fading_figure
from leowarp.report.figures.channel import bin_length_s, codeword_shares
from leowarp.report.pages.channel_section import channel_section
from leowarp.report.style import save
from leowarp.results.run import Run
from leowarp.scenario import load, resolve
from leowarp.timeline.channel import Harq, LandMobile, Outcomes, Realisation, power_series, realisation
from leowarp.timeline.channel.lms import unfaded

SECOND = 1_000_000_000
END_S = 4


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """The plan and timeline of a run that was planned for 6 s but ended after 4 s."""
    path = tmp_path_factory.mktemp("runs") / "mobile"
    path.mkdir()
    scenario = path / "scenario.toml"
    scenario.write_text(
        'name = "mobile"\n[run]\nduration = "6 s"\n[mobile]\nsnr = "8 dB"\nsamples_per_wavelength = 4\nrule = "equal"\n'
        '[[flows]]\nsource = "server"\ndestination = "mobile"\n',
        encoding="utf-8",
    )
    plan = resolve(load(scenario))
    (path / layout.PLAN).write_text(plan.to_toml(), encoding="utf-8")
    pq.write_table(timeline_of(plan), path / layout.TIMELINE)
    return path


@pytest.fixture
def view(run_path):
    run = Run(run_path, complete=False)
    t_ns = np.arange(0, END_S * SECOND + 1, SECOND // 20)
    sockets = pd.DataFrame({"t_ns": t_ns, "flow": 0, "bytes_received": t_ns / 8000.0})
    run.__dict__["tables"] = SimpleNamespace(
        has=lambda name: True,
        of_flow=lambda name, flow: sockets,
        sockets=sockets,
        channels=None,
        virtual_ns=END_S * SECOND,
    )
    link = {"a": "satellite", "b": "terminal", "offered_pkts": 110, "dropped_queue_pkts": 7, "dropped_down_pkts": 3,
            "dropped_loss_pkts": 25}  # fmt: skip
    run.__dict__["numbers"] = SimpleNamespace(
        route_changes=pd.DataFrame({"t_ns": [SECOND]}), links=pd.DataFrame([link])
    )
    return run


@pytest.mark.slow
def test_the_figure_has_power_states_codewords_and_goodput_over_the_same_time(view, tmp_path):
    drawn = figure(view, "channel")
    save(drawn, tmp_path / "channel", ("png",))
    strip, power, codewords, goodput = drawn.axes
    assert all(axes.get_xlim() == (0, END_S) for axes in drawn.axes)
    states = [text.get_text() for text in strip.get_legend().get_texts()]
    assert states == ["line of sight", "moderate shadow", "deep shadow"]
    (median,) = [line for line in power.lines if line.get_label() == "median"]
    assert abs(np.median(median.get_ydata()) - np.median(view.realisation.power.level_db + 8)) < 0.5
    assert [text.get_text() for text in codewords.get_legend().get_texts()] == ["0", "1", "2", "3", "lost"]
    # A bin is 0.1 s long and every bin contains codewords, so the shares add up to 100 %.
    tops = codewords.patches[-1].get_data().values
    assert tops == pytest.approx(np.full(10 * END_S, 100))
    # The run receives one byte every 8 us.
    assert goodput.patches[0].get_data().values == pytest.approx(np.full(10 * END_S, 1.0))


def test_runs_without_a_mobile_channel_have_no_such_figure(run_dir):
    assert not FIGURES["channel"].concerns([Run(run_dir, complete=False)])
    with pytest.raises(TraceError, match="has no mobile channel"):
        figure(run_dir, "channel")
    assert channel_section(Run(run_dir, complete=False), "") == ""


def test_a_path_that_cannot_change_has_no_figures_of_changes(view, run_dir, monkeypatch):
    of_changes = [name for name, kind in FIGURES.items() if kind.shows == "changes"]
    assert of_changes == ["cwnd", "srtt", "packets", "queues_change"]
    assert all(FIGURES[name].concerns([Run(run_dir, complete=False)]) for name in of_changes)
    monkeypatch.setattr(Run, "changes", property(lambda run: pd.DataFrame({"t_ns": []})))
    assert not any(FIGURES[name].concerns([view]) for name in of_changes)


def test_the_section_has_codewords_beside_packets_and_states_beside_the_model(view):
    text = channel_section(view, "[picture]")
    assert text.startswith("[picture]")
    rows = {cells[0]: cells[1:] for row in text.split("<tr>")
            for cells in [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row)] if cells}  # fmt: skip
    outcomes = view.realisation.outcomes
    assert len(outcomes.lost) == -(-END_S * SECOND // 223_000)
    assert float(rows["decoded after 0 retransmissions"][0]) == pytest.approx(
        100 * outcomes.decoded_shares(3)[0], rel=1e-3
    )
    assert rows["decoded after 2 retransmissions"][1] == "50"
    assert rows["packets sent over the link, by the trace"] == ["100", "25", "25"]
    assert rows["all codewords"][1] == f"{int(outcomes.lost.sum()):,}"
    # The model is intermediate tree shadowing; the two numbers are the share of its line-of-sight state and the state's
    # mean duration.
    assert rows["line of sight"][1::2] == ["39.29", "1.25"]


def test_another_channel_than_the_timeline_says_is_not_shown(view, run_path, tmp_path):
    table = pq.read_table(run_path / layout.TIMELINE)
    harq = json.loads(table.schema.metadata[b"harq"])
    path = tmp_path / "mobile"
    path.mkdir()
    (path / layout.PLAN).write_bytes((run_path / layout.PLAN).read_bytes())
    other = json.dumps(harq | {"loss_ratio": harq["loss_ratio"] + 1e-6})
    pq.write_table(table.replace_schema_metadata({"harq": other}), path / layout.TIMELINE)
    run = Run(path, complete=False)
    run.__dict__.update(numbers=view.numbers, tables=view.tables)
    with pytest.raises(TraceError, match="its timeline has another"):
        figure(run, "channel")
    assert "its timeline has another" in channel_section(run, "")


def test_shares_are_counted_bin_by_bin_and_many_retransmissions_are_one_colour():
    again = np.array([0, 0, 1, 6, 5, 6], np.uint8)
    lost = np.array([0, 0, 0, 0, 0, 1], bool)
    starts_ns = np.array([0, 1, 2, 3, 10, 11]) * (SECOND // 10)
    found = Realisation(unfaded(2 * SECOND), starts_ns, Outcomes(again, again.astype(np.int64), lost, again, 1))
    shares, names = codeword_shares(found, 6, 1.2, 1.0)
    assert names == ["0", "1", "2", "3", "4 or more", "lost"]
    assert shares.T.tolist() == [[50, 25, 0, 0, 25, 0], [0, 0, 0, 0, 50, 50]]


@pytest.mark.parametrize(("end_s", "bin_s"), [(5, 0.1), (60, 1), (600, 2), (7200, 30), (10_000_000, 10_000_000 / 300)])
def test_bins_are_a_second_or_such_that_they_can_be_told_apart(end_s, bin_s):
    assert bin_length_s(end_s) == bin_s


@pytest.mark.slow
def test_the_picture_of_a_series_has_a_panel_for_each_statistic(tmp_path):
    channel = LandMobile(samples_per_wavelength=4)
    power = power_series(channel, 12 * SECOND, 1)
    drawn = fading_figure(power, channel)
    titles = " ".join(axes.get_title("left") for axes in drawn.axes)
    for words in ("the first 10 s of 12 s", "Distribution", "How often", "How long", "Autocorrelation"):
        assert words in titles
    assert all("," in axes.get_xlabel() for axes in drawn.axes if axes.get_xlabel())
    draw(power, channel, tmp_path / "power.svg", "foot")
    assert (tmp_path / "power.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_what_never_changes_and_other_formats_are_not_drawn(tmp_path):
    with pytest.raises(ScenarioError, match=r"0\.00 dB throughout"):
        fading_figure(realisation(None, Harq(), 8.0, SECOND, 1).power)
    with pytest.raises(ScenarioError, match="cannot draw gif"):
        draw(unfaded(1), None, tmp_path / "power.gif", "")
