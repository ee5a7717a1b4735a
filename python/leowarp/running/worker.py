# SPDX-License-Identifier: Apache-2.0
"""A worker of this machine: `python -m leowarp.running.worker PARENT_PID SCRATCH`.

Tasks arrive on its standard input, one line of JSON each; each message of a task is written as a line of JSON, and so
is the end of the task. It dies with its parent, whatever kills that, and so does its guest.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import pickle
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

from leowarp.base.errors import encode_error

PR_SET_PDEATHSIG = 1
"""prctl(2), linux/prctl.h: Python has no name for it."""


def main(parent_pid: int, scratch: Path) -> None:
    """Do tasks as they arrive until there are no more.

    parent_pid: The process that started it; if that has already ended, it exits at once with status 1.
    scratch: Working directory of its guests.
    Raises OSError if the host does not allow the signal at the parent's death.
    """
    # The signal is sent when the thread that started this process ends, not the whole parent (prctl(2)).
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the call above.
    if os.getppid() != parent_pid:
        sys.exit(1)
    # Output of libraries must not mix with the lines.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(**what: Any) -> None:
        """The line is flushed at once, since the parent waits for it."""
        lines.write(json.dumps(what) + "\n")
        lines.flush()

    # This precedes the first task: a library that cannot be loaded is a fault of this machine, not of a task's runs.
    from leowarp import guest, metrics, trace  # noqa: F401

    report(ready=os.getpid())
    for line in sys.stdin:
        given = json.loads(line)
        number, fault = given["number"], None
        try:
            pickle.loads(base64.b64decode(given["task"])).work(scratch, partial(report, batch=number))
        except Exception as error:
            # The parent decides what to do; the next task may succeed.
            fault = encode_error(error)
        report(batch=number, ended=True, fault=fault)


if __name__ == "__main__":
    # The signal is ignored at the start if a shell put the parent into the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main(int(sys.argv[1]), Path(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(130)
