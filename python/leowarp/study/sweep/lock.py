# SPDX-License-Identifier: Apache-2.0
"""One study at a time in a directory: a lock that its holder's end releases, whatever ends it."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from leowarp.errors import ScenarioError

LOCK = "study.lock"
TRIES, PAUSE_S = 4, 0.05
"""`holder` takes the lock for a moment to find out whether it is free; whoever starts meanwhile tries again."""


class Holding:
    """`with Holding(folder):` this process works in the directory, and no other does.

    Raises
    ------
    ScenarioError
        If another does: it is named.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        if not self._locked():
            holder = os.pread(self._descriptor, 1000, 0).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise ScenarioError(
                f"cannot start a study in {self._folder}: it is at work there already ({holder or 'since a moment'})",
                hint=f"wait for it (leowarp study status {self._folder}), or choose another directory with --out",
            )
        text = f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)
        return self

    def _locked(self) -> bool:
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
    """Who is at work in a study's directory; None if nobody is."""
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
