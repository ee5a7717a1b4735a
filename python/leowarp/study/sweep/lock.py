# SPDX-License-Identifier: Apache-2.0
"""A lock that allows only one process to work in the directory of a study. The kernel releases the lock when the
process that holds it ends, for whatever reason.

The lock is a flock(2) on `study.lock`. A file whose existence is the lock would be unsuitable, because the file would
remain if the process is killed. On NFS, Linux turns a flock into a lock on the server, which also works between
machines (flock(2), NOTES).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from leowarp.base.errors import ScenarioError
from leowarp.base.layout import STUDY_LOCK

TRIES, PAUSE_S = 4, 0.05
"""The number of attempts to get the lock, which `holder` takes for a moment, and the time between them in s."""


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Lock a study's directory, so that the block excludes all other processes.

    Raises ScenarioError if another process holds the lock.
    """
    descriptor = os.open(folder / STUDY_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        if not _locked(descriptor):
            # The file's text names the process. It is used only in messages, because anyone may have written it.
            holder = os.pread(descriptor, 1000, 0).decode(errors="replace").strip()
            raise ScenarioError(
                f"cannot start a study in {folder}: it is at work there already ({holder or 'since a moment'})",
                hint=f"wait for it (leowarp study status {folder}), or choose another directory with --out",
            )
        text = f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode()
        # The text of another process must not be overwritten, so the lock comes first.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text, 0)
        yield
    finally:
        # If the lock file were deleted, two processes could each lock a different file with this name.
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    for _ in range(TRIES):
        try:
            # The kernel releases a flock however the process ends, even with SIGKILL.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(PAUSE_S)
    return False


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
