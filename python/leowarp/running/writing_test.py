# SPDX-License-Identifier: Apache-2.0
"""A run directory is complete or says why not, and nothing of anybody else is ever removed."""

import subprocess
import sys

import pytest

from leowarp.errors import HostError, ScenarioError, TraceError
from leowarp.layout import INCOMPLETE
from leowarp.recorded import why_incomplete, write_json
from leowarp.result import Run
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


def test_a_failure_of_the_refused_writer_does_not_unmark_the_first(tmp_path):
    with pytest.raises(KeyboardInterrupt), Writing(tmp_path / "run"):
        raise KeyboardInterrupt
    text = (tmp_path / "run" / INCOMPLETE).read_text()
    assert "interrupted" in text
