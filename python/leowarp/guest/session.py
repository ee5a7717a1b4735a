# SPDX-License-Identifier: Apache-2.0
"""Programs of others that start programs: make, with its compilers."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def own_session(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """A running program whose output, errors included, is text; it and all that it starts end with the block.

    Ctrl-C or a full disk: a session of their own is what a signal reaches whole.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "LC_ALL": "C"},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
