# SPDX-License-Identifier: Apache-2.0
"""Tests several runs at once, with a stand-in for the worker process that makes the runs."""

import json
import os
import signal
import stat
import sys

import pytest

from leowarp.base.errors import GuestError, ScenarioError, TraceError, UnexpectedError
from leowarp.running import many, workers
from leowarp.running.many import Job, run_many

_WORKER = """\
#!{python}
import os, runpy, signal, sys, time
from leowarp.base import errors
from leowarp.base.progress import Progress
from leowarp.running import one

def run(scenario, given, out, *, progress, **options):
    name = os.path.basename(out)
    def note(what):
        with open({log!r}, "a") as log:
            log.write(f"{{what}} {{name}} {{os.getpid()}} {{options['report']}}\\n")
    note("begins")
    progress(Progress(run="x", stage="guest", t_ns=500, duration_ns=1000, wall_s=1.0))
    if given.get("sleep"):
        time.sleep(given["sleep"])
    if given.get("stay"):
        signal.pause()
    if given.get("words"):
        print(given["words"], file=sys.stderr, flush=True)
    if given.get("error"):
        raise getattr(errors, given["error"]["kind"])(given["error"]["error"], given["error"]["hint"])
    if given.get("bug"):
        raise ZeroDivisionError(given["bug"])
    if given.get("status"):
        os._exit(given["status"])
    progress(Progress(run="x", stage="done"))
    note("ends")

one.run = run
# The parent's command line: -m leowarp.running.worker PARENT_PID SCRATCH
sys.argv[1:] = sys.argv[3:]
runpy.run_module("leowarp.running.worker", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Replace the worker by a program that makes no real runs. Return the file in which this program records starts and
    ends of runs."""
    log = tmp_path / "log"
    program = tmp_path / "worker"
    program.write_text(_WORKER.format(python=sys.executable, log=str(log)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(workers.sys, "executable", str(program))
    monkeypatch.setattr(many, "built_image", lambda *given: None)
    return log


@pytest.mark.slow
def test_each_job_gives_its_run_in_order_and_its_progress_under_its_label(worker, write_run):
    outs = [write_run(name) for name in ("a", "b", "c")]
    seen = []
    runs = run_many([Job("s.toml", out, label=out.name.upper()) for out in outs], at_once=2, progress=seen.append)
    assert [run.path for run in runs] == outs
    assert {(p.run, p.stage, p.t_ns) for p in seen if p.stage == "guest"} == {(n, "guest", 500) for n in "ABC"}
    assert sorted(p.run for p in seen if p.stage == "done") == ["A", "B", "C"]


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "given"), [({}, "False"), ({"report": True}, "True")])
def test_reports_are_made_only_when_asked_for(worker, write_run, asked, given):
    run_many([Job("s.toml", write_run("a"))], progress=False, **asked)
    assert [line.split()[3] for line in worker.read_text().splitlines()] == [given, given]


@pytest.mark.slow
def test_a_failure_is_raised_with_its_kind_its_hint_and_its_label(worker, tmp_path):
    error = {"error": "the queue is full", "hint": "drain it", "kind": "TraceError", "exit_code": 5}
    job = Job("s.toml", tmp_path / "a", {"error": error})
    with pytest.raises(TraceError, match="the run a failed: the queue is full") as told:
        run_many([job], progress=False)
    assert told.value.hint == "drain it"


@pytest.mark.slow
def test_a_failure_stands_in_the_place_of_its_run_when_asked(worker, write_run, tmp_path):
    good = write_run("good")
    jobs = [Job("s.toml", tmp_path / "bad", {"status": 9, "words": "last words"}), Job("s.toml", good)]
    bad, run = run_many(jobs, progress=False, failures="return")
    assert isinstance(bad, GuestError)
    assert "status 9" in str(bad)
    assert "last words" in str(bad)
    assert run.path == good


@pytest.mark.slow
def test_a_worker_that_dies_takes_no_other_run_with_it(worker, write_run, tmp_path):
    outs = [write_run(name) for name in ("a", "c")]
    deadly = Job("s.toml", tmp_path / "b", {"status": 9, "words": "of b"})
    jobs = [Job("s.toml", outs[0], {"words": "of a"}), deadly, Job("s.toml", outs[1])]
    first, dead, last = run_many(jobs, at_once=1, progress=False, failures="return")
    assert (first.path, last.path) == tuple(outs)
    # The worker died during one run. Only this run has failed, although the same worker had completed another run
    # before.
    assert dead.message == "the run b ended with status 9; its last words: of b"


@pytest.mark.slow
def test_what_no_rule_foresees_is_said_as_the_command_line_says_it(worker, tmp_path):
    with pytest.raises(UnexpectedError, match="the run a failed: ZeroDivisionError: a mistake") as told:
        run_many([Job("s.toml", tmp_path / "a", {"bug": "a mistake"})], progress=False)
    assert "no rule foresees this" in told.value.hint


@pytest.mark.slow
def test_no_more_run_at_a_time_than_asked(worker, write_run):
    outs = [write_run(name) for name in ("a", "b")]
    # If the parent started both runs at once, the second would most likely begin while the first sleeps.
    run_many([Job("s.toml", out, {"sleep": 0.2}) for out in outs], at_once=1, progress=False)
    notes = [line.split()[:2] for line in worker.read_text().splitlines()]
    assert notes == [["begins", "a"], ["ends", "a"], ["begins", "b"], ["ends", "b"]]


def test_two_runs_cannot_go_into_one_directory(worker, tmp_path):
    with pytest.raises(ScenarioError, match="two runs"):
        run_many([Job("a.toml", tmp_path / "x"), Job("b.toml", tmp_path / "y" / ".." / "x")])


@pytest.mark.slow
def test_an_interruption_leaves_no_process_behind(worker, tmp_path):
    def interrupt(progress):
        if progress.stage == "guest":
            # In the main thread of a program, Ctrl-C has the same effect as SIGINT.
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_many([Job("s.toml", tmp_path / "a", {"stay": True})], progress=interrupt)
    (note,) = worker.read_text().splitlines()
    assert not os.path.exists(f"/proc/{note.split()[2]}")


@pytest.mark.slow
def test_values_reach_the_run_as_they_are(worker, write_run, tmp_path):
    out = write_run("a")
    error = {"error": json.dumps(["a list", 1]), "hint": None, "kind": "GuestError", "exit_code": 4}
    with pytest.raises(GuestError, match=r'\["a list", 1\]'):
        run_many([Job("s.toml", out, {"error": error})], progress=False)
