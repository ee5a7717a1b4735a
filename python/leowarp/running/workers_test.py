# SPDX-License-Identifier: Apache-2.0
"""What workers say reaches the one who waits for them, whatever becomes of the others."""

import os
import sys

import pytest

from leowarp.errors import HostError
from leowarp.running.whole_run import WholeRun
from leowarp.running.workers import BatchEnded, LocalWorkers


@pytest.mark.slow
def test_what_was_said_comes_before_the_error_of_a_worker_that_cannot_begin(tmp_path, monkeypatch):
    workers = LocalWorkers(1, tmp_path / "scratch")
    try:
        [able] = workers._workers
        workers.give(WholeRun(7, tmp_path / "none.toml", {}, tmp_path / "run", {}))
        # It says all that it has to say, and ends.
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
