# SPDX-License-Identifier: Apache-2.0
"""Programs of others that start programs: make, with its compilers."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def own_session(
    command: Sequence[str],
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[str] | int = subprocess.PIPE,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator["subprocess.Popen[str]"]:
    """A running program whose output, errors included, is text; it and all that it starts end with the block.

    Ctrl-C or a full disk: a session of their own is what a signal reaches whole.
    """
    with subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=cwd,
        env={**os.environ, **(environment or {}), "LC_ALL": "C"},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
