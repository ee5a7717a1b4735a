# SPDX-License-Identifier: Apache-2.0
"""A lock that allows only one process to work in the directory of a study. The kernel releases the lock when the
process that holds it ends, for whatever reason.

The lock is a flock(2) on `study.lock`. A file whose existence is the lock would be unsuitable, because the file would
remain if the process is killed. On NFS, Linux turns a flock into a lock on the server, which also works between
machines (flock(2), NOTES).
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from leowarp.base.errors import ScenarioError
from leowarp.base.layout import STUDY_LOCK

TRIES, PAUSE_S = 4, 0.05
"""The number of attempts to get the lock, which `holder` takes for a moment, and the time between them in s."""


class Holding:
    """A lock on a study's directory: `with Holding(folder):` excludes all other processes.

    Raises ScenarioError if another process holds the lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = os.open(
            self._folder / STUDY_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666
        )
        if not self._locked():
            # The file's text names the process. It is used only in messages, because anyone may have written it.
            holder = os.pread(self._descriptor, 1000, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise ScenarioError(
                f"cannot start a study in {self._folder}: it is at work there already ({holder or 'since a moment'})",
                hint=f"wait for it (leowarp study status {self._folder}), or choose another directory with --out",
            )
        text = f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode()
        # The text of another process must not be overwritten, so the lock comes first.
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)
        return self

    def _locked(self) -> bool:
        for _ in range(TRIES):
            try:
                # The kernel releases a flock however the process ends, even with SIGKILL.
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                time.sleep(PAUSE_S)
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # If the lock file were deleted, two processes could each lock a different file with this name.
        os.close(self._descriptor)


def holder(folder: Path) -> str | None:
    """Return the process that holds the lock of a study, such as `process 1234 on head since 2026-01-31 12:00:00`. None
    means that no process holds it."""
    path = folder / STUDY_LOCK
    if not path.exists():
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        # The lock is shared, so that several processes may test it. Closing the descriptor releases it.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 1000, 0).decode(errors="replace").strip() or "another process"
    finally:
        os.close(descriptor)
    return None
