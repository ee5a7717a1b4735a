# SPDX-License-Identifier: Apache-2.0
"""Tests that messages of a worker are received, whatever happens to other workers."""

import os
import signal
import sys

import pytest

from leowarp.base.errors import HostError
from leowarp.running.many import WholeRun
from leowarp.running.workers import MOST_KILLED_AT_START, BatchEnded, LocalWorkers


@pytest.mark.slow
def test_what_was_said_comes_before_the_error_of_a_worker_that_cannot_begin(tmp_path, monkeypatch):
    workers = LocalWorkers(1, tmp_path / "scratch")
    try:
        [able] = workers._workers
        workers.give(WholeRun(7, tmp_path / "none.toml", {}, tmp_path / "run", {}))
        # The worker sends all messages of its task and then exits.
        able.child.stdin.close()
        able.child.wait()
        monkeypatch.setattr(sys, "executable", "/bin/false")
        workers._start()
        os.waitid(os.P_PID, workers._workers[1].child.pid, os.WEXITED | os.WNOWAIT)
        said = workers.wait(0)
        assert [(event.batch, event.lost) for event in said] == [(7, 0)]
        assert isinstance(said[0], BatchEnded)
        assert "none.toml" in said[0].fault["message"]
        with pytest.raises(HostError, match="before it could begin"):
            workers.wait(0)
    finally:
        workers.end()


def stand_in(tmp_path, script):
    """Make a script in place of Python. The worker is not ready until the script lets it start."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def all_that_is_said(workers):
    events = []
    while not events:
        events = workers.wait(None)
    return events


@pytest.mark.slow
def test_a_worker_that_is_killed_before_it_begins_is_replaced_and_its_task_is_done(tmp_path, monkeypatch):
    workers = LocalWorkers(1, tmp_path / "scratch")
    try:
        workers.give(WholeRun(7, tmp_path / "none.toml", {}, tmp_path / "run", {}))
        # When the signal is sent, the worker has not yet loaded its libraries.
        workers._workers[0].child.send_signal(signal.SIGKILL)
        said = all_that_is_said(workers)
        assert [(event.batch, event.lost) for event in said] == [(7, 0)]
        assert "none.toml" in said[0].fault["message"]
        assert workers._killed_at_start == 0
    finally:
        workers.end()


def test_workers_that_are_killed_before_they_begin_are_so_many_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path, f"echo >> {tmp_path}/starts; kill -9 $$"))
    workers = LocalWorkers(2, tmp_path / "scratch")
    try:
        with pytest.raises(HostError, match=r"ended by signal 9 before it could begin, and so did each of the last 6"):
            all_that_is_said(workers)
    finally:
        workers.end()
    # The limit is 2 * MOST_KILLED_AT_START + 1, because other workers may be alive when the last killed worker is
    # counted.
    assert len((tmp_path / "starts").read_text().splitlines()) <= 2 * MOST_KILLED_AT_START + 1
