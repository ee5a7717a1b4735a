# SPDX-License-Identifier: Apache-2.0
"""Tests verbs that read an existing run, and verbs that create a scenario for the user."""

import re
import tomllib

import pytest

from leowarp import scenario
from leowarp.version import VERSION


def test_the_version_is_one_line(leowarp):
    # Between releases, the version number is followed by the commit.
    assert re.fullmatch(rf"leowarp {re.escape(VERSION)}(\.dev0\+\S+)?\n", leowarp("--version").out)


def test_show_prints_what_run_printed(leowarp, write_run):
    run = write_run()
    shown = leowarp("show", run)
    assert re.search(r"goodput +9\.50* Mbit/s", shown.out)
    assert f"leowarp show {run} --metrics" in shown.out
    assert "look twice" in shown.err
    assert leowarp("show", run, "--json").json()["summary"]["flows"][0]["goodput_mean_bps"] == 9.5e6


def test_show_of_no_run_says_what_a_run_is(leowarp, tmp_path):
    answer = leowarp("show", tmp_path / "nothing" / "there")
    assert answer.status == 5
    assert "leowarp run SCENARIO" in answer.err
    assert "--force" not in answer.err


def test_examples_are_listed_and_each_has_a_plan_by_its_name(leowarp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = leowarp("examples", "--json").json()["examples"]
    assert {"chain", "starlink", "madrid-tokyo"} <= {each["name"] for each in listed}
    plan = tomllib.loads(leowarp("plan", "chain").out)
    assert plan["name"] == "chain"
    assert "leowarp run NAME" in leowarp("examples").out


def test_init_writes_a_scenario_that_runs_and_never_over_another(leowarp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = leowarp("init", "mine", "--from", "measured-path")
    assert made.status == 0
    assert scenario.resolve(scenario.load("mine.toml")).name == "mine"
    assert (tmp_path / "measured-path.csv").is_file()
    again = leowarp("init", "mine", "--from", "measured-path")
    assert again.status == 2
    assert "mine-2" in again.err
    # If the example's file exists with the same content, this is no error; a different file with this name stays
    # unchanged.
    assert leowarp("init", "other", "--from", "measured-path").status == 0
    (tmp_path / "measured-path.csv").write_text("t_s,delay_ms\n0,1\n")
    assert leowarp("init", "third", "--from", "measured-path").status == 2
    assert not (tmp_path / "third.toml").exists()


@pytest.mark.parametrize("name", ["a/b", "", "-x", "a b"])
def test_a_name_that_no_scenario_can_have_is_refused(leowarp, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    answer = leowarp("init", "--", name)
    assert answer.status == 2
    assert "leowarp init my-scenario" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_plot_lists_its_series_and_refuses_what_it_cannot_write(leowarp, write_run):
    run = write_run()
    assert "srtt_us" in leowarp("report", run, "--plot", "list").out
    assert 'did you mean "srtt"? one of goodput_in_order, ' in leowarp("report", run, "--plot", "srrt").err
    assert "cwnd, ssthresh" in leowarp("report", run, "--plot", "foo").err
    assert "end its name in" in leowarp("report", run, "--plot", "cwnd", "-o", "x.gif").err
    assert 'looks like "29 s"' in leowarp("report", run, "--plot", "cwnd", "--from", "29").err


def test_a_figure_that_there_is_not_is_answered_with_the_nearest(leowarp, write_run):
    run = write_run()
    assert 'did you mean "goodput"? one of playback, ' in leowarp("report", run, "--figures", "godput").err
    assert "one of svg, pdf, png" in leowarp("report", run, "--formats", "gif").err
