# SPDX-License-Identifier: Apache-2.0
"""A worker process on this machine: `python -m leowarp.running.worker PARENT_PID SCRATCH`.

Tasks arrive on its standard input as lines of JSON. The worker writes each message of a task as a line of JSON, and a
last line at the task's end. If the parent dies for any reason, the worker and its guest die too.
"""

from __future__ import annotations

import atexit
import base64
import ctypes
import gc
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
"""Constant of prctl(2), linux/prctl.h, which Python does not provide."""


def main(parent_pid: int, scratch: Path) -> None:
    """Process incoming tasks until standard input ends.

    parent_pid: Process that started the worker; if that process is already gone, the worker ends at once with status 1.
    scratch: Working directory of the worker's guests.
    Raises OSError if the host does not permit the worker to end with its parent.
    """
    # The signal comes when the parent's thread that started this worker ends, not only when the whole parent ends
    # (prctl(2)).
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the call above.
    if os.getppid() != parent_pid:
        sys.exit(1)
    # Output of libraries to descriptor 1 must not be mixed with these lines.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(**what: Any) -> None:
        """Write a line and flush it, because the parent waits for it."""
        lines.write(json.dumps(what) + "\n")
        lines.flush()

    # The libraries are loaded before the first task. If a library cannot be loaded, the machine is at fault, not the
    # runs of a task.
    from leowarp import guest, metrics, trace  # noqa: F401

    report(ready=os.getpid())
    for line in sys.stdin:
        given = json.loads(line)
        number, fault = given["number"], None
        try:
            pickle.loads(base64.b64decode(given["task"])).work(scratch, partial(report, batch=number))
        except Exception as error:
            # The error goes to the parent, which decides what to do; the next task may succeed.
            fault = encode_error(error)
        report(batch=number, ended=True, fault=fault)


if __name__ == "__main__":
    # A shell that puts the parent into the background may have set the signal to be ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # As in `leowarp.cli.main`: otherwise Python searches all objects for cycles at the end of each worker.
    atexit.register(gc.freeze)
    try:
        main(int(sys.argv[1]), Path(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(130)
