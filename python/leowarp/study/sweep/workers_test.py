# SPDX-License-Identifier: Apache-2.0
"""Studies with worker processes, some of which, or whose parent, are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leowarp.errors import HostError
from leowarp.study.sweep.conftest import FAKE
from leowarp.study.sweep.in_process_for_tests import made_so_far
from leowarp.study.sweep.status import study_status
from leowarp.study.sweep.store import read_results

STARTER = f"""
import sys
from leowarp.study.sweep import run_study
run_study(sys.argv[1], sys.argv[2], at_once=2, maker={FAKE!r})
"""


@pytest.fixture
def start(fake, study_file, tmp_path):
    """Starts a study of 36 runs of 0.03 s in a process of its own."""
    file = study_file(("count = 3", "count = 9"))
    for seed in range(1, 10):
        (fake / f"seed-{seed}").write_text("sleep 0.03")

    started = []

    def run():
        command = [sys.executable, "-c", STARTER, str(file), str(tmp_path / "out")]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path))
        return started[-1]

    yield run
    for process in (process for process in started if process.poll() is None):
        process.kill()
        process.communicate()


def rows_on_disk(out):
    """Run ids, seen from another process than the one that may be writing."""
    table, journal = read_results(out)
    return {row["run_id"] for row in journal} | (set() if table is None else set(table["run_id"].to_pylist()))


def workers_of(parent):
    """Process ids of the workers of a study."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"leowarp.study.sweep.worker" in words and str(parent).encode() in words:
            found.append(int(path.parent.name))
    return found


def wait_until(condition, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_kills_of_the_parent_and_of_workers_lose_nothing_and_repeat_nothing(start, fake, tmp_path):
    out = tmp_path / "out"
    for target in (8, 16, 24):
        before, made = rows_on_disk(out), made_so_far(fake)
        process = start()
        wait_until(lambda target=target: len(rows_on_disk(out)) >= target)
        workers = workers_of(process.pid)
        assert len(workers) == 2
        if target == 16:
            os.kill(workers[0], signal.SIGKILL)
            wait_until(lambda workers=workers, process=process: set(workers_of(process.pid)) - set(workers))
        process.kill()
        process.communicate()
        # They die with it, in the middle of a run.
        wait_until(lambda process=process: not workers_of(process.pid), 10)
        assert before < rows_on_disk(out)
        # What was under way is at most a run a worker, and one more for the worker that was killed.
        assert made_so_far(fake) - made <= len(rows_on_disk(out) - before) + 3
    process = start()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert study_status(out).done == len(rows_on_disk(out)) == 36
    assert told.splitlines()[-1].startswith("trial: 36 of 36 runs")
    assert "0:00 left" in told


@pytest.mark.slow
def test_an_interruption_ends_the_workers_and_keeps_what_was_made(start, fake, tmp_path):
    process = start()
    wait_until(lambda: made_so_far(fake) >= 10)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in told
    assert not workers_of(process.pid)
    assert made_so_far(fake) - len(rows_on_disk(tmp_path / "out")) <= 2
    assert not (tmp_path / "out" / ".scratch").exists()


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_runs_are_made_again(make, study_file, fake):
    (fake / "seed-2").write_text("kill")
    result = make(study_file(), at_once=2)
    assert len(result.failures) == 4
    assert all("its worker was killed 3 times" in error.message for error in result.failures.values())
    assert result.table()["status"].to_pylist().count("ok") == 8


@pytest.mark.slow
def test_a_worker_that_cannot_begin_is_an_error_with_its_last_words(make, study_file, monkeypatch, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise ImportError('no such library here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(HostError, match="a worker of the study ended with status 1 before it could begin") as told:
        make(study_file())
    assert "no such library here" in told.value.message
