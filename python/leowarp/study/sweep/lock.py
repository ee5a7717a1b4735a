# SPDX-License-Identifier: Apache-2.0
"""One study at a time in a directory: a lock that its holder's end releases, whatever ends it.

flock(2) on `study.lock`. A file that says "taken" by being there would outlive a kill; a lock ends with its process. On
NFS Linux turns flock into a lock of the server, so it also holds between machines (flock(2), NOTES).
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
"""The locked file. Its text says who holds the lock, for messages only."""
TRIES, PAUSE_S = 4, 0.05
"""`holder` takes the lock for a moment to find out whether it is free; whoever starts meanwhile tries again."""


class Holding:
    """`with Holding(folder):` this process works in the directory, and no other does.

    Raises ScenarioError if another does: it is named.

    >>> with Holding(folder):                                                          # doctest: +SKIP
    ...     write_plans(folder, facts, runs)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        if not self._locked():
            # The text there is not trusted for anything except the message.
            holder = os.pread(self._descriptor, 1000, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise ScenarioError(
                f"cannot start a study in {self._folder}: it is at work there already ({holder or 'since a moment'})",
                hint=f"wait for it (leowarp study status {self._folder}), or choose another directory with --out",
            )
        text = f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode()
        # Only with the lock: the text of another holder must not be lost.
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)
        return self

    def _locked(self) -> bool:
        """Whether the lock could be had, in `TRIES` tries `PAUSE_S` apart."""
        for _ in range(TRIES):
            try:
                # flock goes with the open file: the kernel releases it however the process ends, SIGKILL included.
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                time.sleep(PAUSE_S)
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # The file stays: taking it away would let two hold locks on two files of one name.
        os.close(self._descriptor)


def holder(folder: Path) -> str | None:
    """The process at work in a study's directory, by its lock file; None if there is none.

    Returns: `process 1234 on head since 2026-01-31 12:00:00`.
    """
    path = folder / LOCK
    if not path.exists():
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        # Shared, so that several may look at once; closing the descriptor gives it back.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 1000, 0).decode(errors="replace").strip() or "another process"
    finally:
        os.close(descriptor)
    return None
