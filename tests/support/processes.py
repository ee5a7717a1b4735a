# SPDX-License-Identifier: Apache-2.0
"""Starts processes for tests. No process started by this module outlives its test.

When a test fails, its traceback keeps its objects alive, so a pipe or a process may stay open. Python's ResourceWarning
about the open pipe or process would make a later test fail.
"""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from leowarp.guest.machine.own_time import everything, trees


def end_with_descendants(processes):
    """Kills processes and all their descendants, and closes the pipes to them."""
    below = trees([process.pid for process in processes if process.poll() is None], everything())
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                # If nobody reads the pipe any more, the data in its buffer are discarded.
                with suppress(BrokenPipeError):
                    pipe.close()


@pytest.fixture
def spawn():
    """Same as `subprocess.Popen`, except that the processes end with the test."""
    processes = []

    def start(command, **options):
        processes.append(subprocess.Popen([str(word) for word in command], **options))
        return processes[-1]

    yield start
    end_with_descendants(processes)
