# SPDX-License-Identifier: Apache-2.0
"""Processes that tests start. No process outlives the test that started it.

A failing test may leave a pipe or process open, because the test's traceback keeps it alive. The ResourceWarning would
then fail a later test.
"""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from leowarp.guest.machine.own_time import everything, trees


def end_with_descendants(processes):
    """Kills processes with all their descendants, and closes their pipes."""
    below = trees([process.pid for process in processes if process.poll() is None], everything())
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in processes:
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                # Data in the buffer of an unread pipe is discarded.
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
