# SPDX-License-Identifier: Apache-2.0
"""Tests that a run directory is complete, or says why it is incomplete. Also tests that leowarp never removes files of
other programs."""

import errno
import os
import subprocess
import sys

import pytest

from leowarp.base.errors import HostError, ScenarioError, TraceError
from leowarp.base.layout import INCOMPLETE
from leowarp.base.recorded import why_incomplete, write_json
from leowarp.results.run import Run
from leowarp.running.writing import Writing


def _complete(path, *, force=False):
    with Writing(path, force=force) as directory:
        (directory / "00-plan.toml").write_text('name = "x"\n')
        (directory / "30-trace").mkdir()
        write_json(directory / "summary.json", {})
        write_json(directory / "manifest.json", {"warnings": []})


def test_a_run_that_ended_well_bears_no_mark(tmp_path):
    _complete(tmp_path / "run")
    assert why_incomplete(tmp_path / "run") is None
    assert Run(tmp_path / "run").warnings == []


def test_a_run_that_failed_says_why_and_cannot_be_opened(tmp_path):
    with pytest.raises(RuntimeError), Writing(tmp_path / "run"):
        raise RuntimeError("the satellite fell down")
    assert "the satellite fell down" in (tmp_path / "run" / INCOMPLETE).read_text()
    with pytest.raises(TraceError, match="the satellite fell down"):
        Run(tmp_path / "run")


def test_a_run_without_manifest_is_not_complete(tmp_path):
    with pytest.raises(TraceError, match="without a manifest"), Writing(tmp_path / "run"):
        pass
    assert (tmp_path / "run" / INCOMPLETE).exists()


def test_a_complete_run_is_replaced_only_when_forced(tmp_path):
    _complete(tmp_path / "run")
    (tmp_path / "run" / "40-metrics.parquet").write_bytes(b"old")
    with pytest.raises(ScenarioError, match="--force"):
        _complete(tmp_path / "run")
    assert (tmp_path / "run" / "40-metrics.parquet").read_bytes() == b"old"
    _complete(tmp_path / "run", force=True)
    assert not (tmp_path / "run" / "40-metrics.parquet").exists()


def test_a_complete_run_without_a_report_is_told_how_to_get_one(tmp_path):
    _complete(tmp_path / "run")
    with pytest.raises(ScenarioError, match=r"without a report(.|\n)*leowarp report .*run"):
        _complete(tmp_path / "run")
    (tmp_path / "run" / "50-report").mkdir()
    (tmp_path / "run" / "50-report" / "index.html").write_text("")
    with pytest.raises(ScenarioError) as raised:
        _complete(tmp_path / "run")
    assert "leowarp report" not in str(raised.value)


def test_an_incomplete_run_is_replaced_without_force(tmp_path):
    with pytest.raises(RuntimeError), Writing(tmp_path / "run"):
        raise RuntimeError
    _complete(tmp_path / "run")
    assert why_incomplete(tmp_path / "run") is None


@pytest.mark.parametrize("force", [False, True])
def test_a_directory_with_anything_else_is_never_touched(tmp_path, force):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ScenarioError, match=r"thesis\.tex"):
        _complete(tmp_path, force=force)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert not (tmp_path / INCOMPLETE).exists()


def test_two_writers_do_not_meet_in_one_directory(tmp_path):
    with Writing(tmp_path / "run") as directory:
        (directory / "00-plan.toml").write_text("first")
        with pytest.raises(ScenarioError, match="another process"):
            _complete(tmp_path / "run")
        assert (directory / "00-plan.toml").read_text() == "first"
        write_json(directory / "manifest.json", {})


@pytest.mark.parametrize("ends", ["before the mark is opened", "after the mark was opened"])
def test_a_run_that_another_writer_completes_meanwhile_is_not_overwritten(tmp_path, monkeypatch, ends):
    other = Writing(tmp_path / "run")
    directory = other.__enter__()
    (directory / "00-plan.toml").write_text("first")
    (directory / "30-trace").mkdir()
    write_json(directory / "summary.json", {})
    opened = os.open

    def in_between(path, *arguments):
        monkeypatch.undo()
        mark = opened(path, *arguments) if ends.startswith("after") else None
        write_json(directory / "manifest.json", {"warnings": []})
        other.__exit__(None, None, None)
        return opened(path, *arguments) if mark is None else mark

    monkeypatch.setattr(os, "open", in_between)
    with pytest.raises(ScenarioError, match="it holds a complete run"):
        _complete(tmp_path / "run")
    assert (directory / "00-plan.toml").read_text() == "first"
    assert why_incomplete(tmp_path / "run") is None


def test_a_writer_that_was_killed_leaves_the_mark_and_no_lock(tmp_path, spawn):
    script = f"""
import sys
from leowarp.running.writing import Writing
with Writing({str(tmp_path / "run")!r}):
    print("in", flush=True)
    sys.stdin.read()
"""
    child = spawn([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "in\n"
    child.kill()
    child.wait()
    assert "has not ended" in why_incomplete(tmp_path / "run")
    _complete(tmp_path / "run")


def test_a_full_disk_is_a_lack_of_the_machine_and_leaves_the_mark(tmp_path):
    with pytest.raises(HostError, match="No space left") as told, Writing(tmp_path / "run"):
        raise OSError(28, "No space left on device", "sockets.parquet")
    assert "free some space" in told.value.hint
    assert "No space left" in (tmp_path / "run" / INCOMPLETE).read_text()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match="cannot write the run directory"):
        _complete(tmp_path / "file" / "run")


@pytest.mark.parametrize("fails", ["fcntl.flock", "shutil.rmtree"])
def test_a_lock_or_a_removal_that_fails_is_told_and_leaves_nothing_open(tmp_path, monkeypatch, fails):
    (tmp_path / "run" / "30-trace").mkdir(parents=True)

    def fail(*_, **__):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fails, fail)
    opened = os.listdir("/proc/self/fd")
    with pytest.raises(HostError, match=r"cannot write the run directory .*No locks available"):
        _complete(tmp_path / "run")
    assert os.listdir("/proc/self/fd") == opened


def test_an_error_of_the_system_that_is_not_about_the_directory_is_not_blamed_on_it(tmp_path):
    with pytest.raises(HostError) as told, Writing(tmp_path / "run"):
        subprocess.run([tmp_path / "no-compiler"], check=True)
    assert "no-compiler" in told.value.message
    assert "cannot write" not in told.value.message
    assert "--out" not in told.value.hint
    assert "no-compiler" in (tmp_path / "run" / INCOMPLETE).read_text()


def test_a_file_of_the_directory_that_cannot_be_written_is_blamed_on_it(tmp_path):
    with pytest.raises(HostError, match="cannot write the run directory") as told, Writing(tmp_path / "run") as run:
        (run / "30-trace" / "packets.parquet").write_text("")
    assert "--out" in told.value.hint


def test_a_failure_of_the_refused_writer_does_not_unmark_the_first(tmp_path):
    with pytest.raises(KeyboardInterrupt), Writing(tmp_path / "run"):
        raise KeyboardInterrupt
    text = (tmp_path / "run" / INCOMPLETE).read_text()
    assert "interrupted" in text
