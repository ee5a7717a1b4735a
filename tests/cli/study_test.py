# SPDX-License-Identifier: Apache-2.0
"""Tests `leowarp study` with runs that boot no guest."""

import functools
import json
import signal

import pytest
from typer.testing import CliRunner

import leowarp.study
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.cli.app import program
from leowarp.study.sweep import engine, run_study
from support.sweep.in_process import InThisProcess
from support.sweep.maker import FakeMaker
from support.sweep.study import STUDY


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """A function that runs `leowarp study ...`, and returns exit status, stdout and stderr. It raises leowarp's
    errors."""
    monkeypatch.chdir(tmp_path)
    maker = FakeMaker(tmp_path)
    monkeypatch.setattr(engine, "_workers", lambda *given: InThisProcess(tmp_path / "scratch"))
    monkeypatch.setattr(leowarp.study, "run_study", functools.partial(run_study, maker=maker), raising=False)
    (tmp_path / "trial.toml").write_text(STUDY)

    def run(*words):
        done = CliRunner().invoke(program(), ["study", *words])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.mark.slow
def test_a_study_its_status_and_a_second_start(typed, tmp_path):
    assert typed("trial.toml", "--json", "--progress", "none")[0] == 0
    status, out, _ = typed("status", "studies/trial", "--json")
    told = json.loads(out)
    assert (status, told["total"], told["done"], told["failed"], told["holder"]) == (0, 12, 12, 0, None)
    (tmp_path / "seed-2").write_text("fail")
    status, out, err = typed("run", "trial.toml", "--out", "elsewhere")
    assert status == TraceError.exit_code
    assert "Results: elsewhere/results" in out
    assert err.count("failed: ") == 4
    assert "leowarp study elsewhere --retry-failed" in err
    status, _, err = typed("status", "elsewhere")
    assert status == 0
    assert "(chain.delay = 0 ms, flows.0.congestion_control = bic, seed 2): the guest of seed 2 panicked" in err
    (tmp_path / "seed-2").unlink()
    assert typed("elsewhere", "--retry-failed", "--progress", "json")[0] == 0


def test_a_dry_run_says_what_would_be_and_makes_nothing(typed, tmp_path):
    status, out, _ = typed("--dry-run", "trial.toml", "--json")
    told = json.loads(out)
    assert (status, told["runs"], told["made"]) == (0, 12, 0)
    assert [(p["key"], p["column"], p["count"]) for p in told["parameters"]] == [
        ("chain.delay", "delay", 2), ("flows.0.congestion_control", "cc", 2), ("run.seed", "seed", 3)
    ]  # fmt: skip
    assert not told["cpu_s_is_measured"]
    assert 0.1 < told["cpu_s_per_run"] < 10
    assert not (tmp_path / "studies").exists()
    typed("trial.toml", "--progress", "none")
    told = json.loads(typed("trial.toml", "--dry-run", "--json")[1])
    assert (told["made"], told["cpu_s_per_run"], told["cpu_s_is_measured"], told["left_s"]) == (12, 0.5, True, 0)
    assert "12 runs" in typed("trial.toml", "--dry-run")[1]


def test_mistakes_are_told_before_anything_is_made(typed, tmp_path):
    (tmp_path / "trial.toml").write_text(STUDY.replace("chain.delay", "chain.dely"))
    with pytest.raises(ScenarioError, match=r"trial.toml:9: chain.dely: there is no such key\n    did you mean .delay"):
        typed("trial.toml")
    assert not (tmp_path / "studies").exists()
    with pytest.raises(TraceError, match=r"it has no plans\.parquet"):
        typed("status", ".")
    (tmp_path / "trial.toml").write_text(STUDY)
    typed("trial.toml", "--progress", "none")
    with pytest.raises(ScenarioError, match="no result of a run 'x'"):
        typed("run-again", "studies/trial", "x", "--out", "y")


def test_an_interruption_says_how_to_go_on(typed, monkeypatch):
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(leowarp.study, "run_study", interrupted)
    status, _, err = typed("trial.toml", "--out", "there")
    assert status == 128 + signal.SIGINT
    assert "leowarp study trial.toml --out there" in err


def test_help_and_no_word():
    runner = CliRunner()
    assert "run-again" in runner.invoke(program(), ["study", "--help"]).stdout
    assert "FILE" in runner.invoke(program(), ["study", "run", "--help"]).stdout
    assert runner.invoke(program(), ["study"]).exit_code in (0, 2)
