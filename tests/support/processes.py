# SPDX-License-Identifier: Apache-2.0
"""Processes that tests start: nothing of them outlives its test, however that ends.

What a failing test leaves open, a pipe or a process, would be a ResourceWarning, and so a failure, of a test after it:
the traceback keeps it alive until then.
"""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from leowarp.guest.machine.own_time import everything, trees


def end_with_descendants(processes):
    """Kills processes and all that they have started, and closes their pipes."""
    below = trees([process.pid for process in processes if process.poll() is None], everything())
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                # What is left in the buffer of a pipe that nobody reads is lost.
                with suppress(BrokenPipeError):
                    pipe.close()


@pytest.fixture
def spawn():
    """`subprocess.Popen` whose processes end with the test."""
    processes = []

    def start(command, **options):
        processes.append(subprocess.Popen([str(word) for word in command], **options))
        return processes[-1]

    yield start
    end_with_descendants(processes)
