# SPDX-License-Identifier: Apache-2.0
"""A lock that allows only one process to work in the directory of a study. The kernel releases the lock when its holder
ends, for whatever reason.

The lock is a flock(2) on `study.lock`. The mere existence of a file would be no good lock, because the file would
remain after a kill. A flock ends with its process. On NFS, Linux turns a flock into a lock on the server, so it also
works between machines (flock(2), NOTES).
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

LOCK = STUDY_LOCK
"""The file that is locked. The file's text names the holder of the lock, for messages only."""
TRIES, PAUSE_S = 4, 0.05
"""`holder` briefly takes the lock to see whether it is free. A process that wants the lock at that moment tries
again."""


class Holding:
    """`with Holding(folder):` makes this process the only one that may work in the directory.

    Raises ScenarioError if another process holds the lock. The error names that process.

    >>> with Holding(folder):                                                          # doctest: +SKIP
    ...     write_plans(folder, facts, runs)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        if not self._locked():
            # The text in the file is used only for the message, because it cannot be trusted.
            holder = os.pread(self._descriptor, 1000, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise ScenarioError(
                f"cannot start a study in {self._folder}: it is at work there already ({holder or 'since a moment'})",
                hint=f"wait for it (leowarp study status {self._folder}), or choose another directory with --out",
            )
        text = f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode()
        # The text is written only under the lock, so that the text of another holder is not overwritten.
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)
        return self

    def _locked(self) -> bool:
        """Whether the lock was obtained in `TRIES` attempts, `PAUSE_S` apart."""
        for _ in range(TRIES):
            try:
                # A flock belongs to the open file. The kernel releases it however the process ends, even with SIGKILL.
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                time.sleep(PAUSE_S)
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # The lock file is kept. If it were deleted, two processes could lock two different files with the same name.
        os.close(self._descriptor)


def holder(folder: Path) -> str | None:
    """The process that works in the directory of a study, according to its lock file; None if there is none.

    Returns: Text such as `process 1234 on head since 2026-01-31 12:00:00`.
    """
    path = folder / LOCK
    if not path.exists():
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        # A shared lock, so that several processes may test it at the same time. Closing the descriptor releases the
        # lock.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 1000, 0).decode(errors="replace").strip() or "another process"
    finally:
        os.close(descriptor)
    return None
