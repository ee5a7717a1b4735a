# SPDX-License-Identifier: Apache-2.0
"""Tests of studies with worker processes: some workers are killed, or the parent process is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp.study.sweep.status import study_status
from leowarp.study.sweep.store import read_results
from support.sweep.in_process import made_so_far
from support.waiting import wait_until, wait_until_gone

STARTER = """
import sys
from pathlib import Path
from leowarp.study.sweep import run_study
from support.sweep.maker import FakeMaker
run_study(sys.argv[1], sys.argv[2], at_once=2, maker=FakeMaker(Path(sys.argv[3])))
"""


@pytest.fixture
def start(spawn, fake, study_file, tmp_path):
    """Start a study of 36 runs in a separate process."""
    file = study_file(("count = 3", "count = 9"))
    command = [sys.executable, "-c", STARTER, file, tmp_path / "out", fake]
    return lambda: spawn(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)


def rows_on_disk(out):
    """Return the run ids that are on disk. The function reads them like a process that does not write."""
    table, journal = read_results(out)
    return {row["run_id"] for row in journal} | (set() if table is None else set(table["run_id"].to_pylist()))


def workers_of(parent):
    """Return the process ids of a study's workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"leowarp.running.worker" in words and str(parent).encode() in words:
            found.append(int(path.parent.name))
    return found


@pytest.mark.slow
def test_kills_of_the_parent_and_of_workers_lose_nothing_and_repeat_nothing(start, fake, tmp_path):
    out = tmp_path / "out"
    for target in (8, 16, 24):
        before, made = rows_on_disk(out), made_so_far(fake)
        # When the fake maker has made this number of runs, each worker stops in the middle of its next run.
        most = made + target - len(before)
        (fake / "most").write_text(str(most))
        process = start()
        wait_until(lambda most=most: made_so_far(fake) == most + 2, process)
        wait_until(lambda target=target: len(rows_on_disk(out)) == target, process)
        workers = workers_of(process.pid)
        assert len(workers) == 2
        if target == 16:
            os.kill(workers[0], signal.SIGKILL)
            wait_until(lambda workers=workers, process=process: set(workers_of(process.pid)) - set(workers), process)
        process.kill()
        process.communicate()
        # The workers end when their parent ends.
        wait_until_gone(lambda process=process: workers_of(process.pid))
        assert before < rows_on_disk(out)
        # Each of the three workers, including the killed one, had begun at most one further run.
        assert made_so_far(fake) <= most + 3
    (fake / "most").unlink()
    process = start()
    _, told = process.communicate()
    assert process.returncode == 0, told
    assert study_status(out).done == len(rows_on_disk(out)) == 36
    assert told.splitlines()[-1].startswith("trial: 36 of 36 runs")
    assert "0:00 left" in told


@pytest.mark.slow
def test_an_interruption_ends_the_workers_and_keeps_what_was_made(start, fake, tmp_path):
    (fake / "most").write_text("10")
    process = start()
    wait_until(lambda: len(rows_on_disk(tmp_path / "out")) == 10 and made_so_far(fake) == 12, process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode != 0
    assert "KeyboardInterrupt" in told
    assert not workers_of(process.pid)
    assert len(rows_on_disk(tmp_path / "out")) == 10
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
