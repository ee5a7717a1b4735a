# SPDX-License-Identifier: Apache-2.0
"""Start processes for tests. No started process outlives its test.

The traceback of a failed test keeps its objects alive, so a pipe or a process may stay open. Python's ResourceWarning
about it would make a later test fail.
"""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from leowarp.guest.machine.own_time import everything, trees


def end_with_descendants(processes):
    """Kill processes and all their descendants, and close the pipes to them."""
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
    """A function like `subprocess.Popen`. Its processes end with the test."""
    processes = []

    def start(command, **options):
        processes.append(subprocess.Popen([str(word) for word in command], **options))
        return processes[-1]

    yield start
    end_with_descendants(processes)
