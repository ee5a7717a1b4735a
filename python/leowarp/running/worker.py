# SPDX-License-Identifier: Apache-2.0
"""A worker process: `python -m leowarp.running.worker PARENT_PID SCRATCH`.

The worker reads tasks from its standard input, as lines of JSON. The worker writes each message of a task as a line of
JSON, and one more line at the task's end. If the parent dies for any reason, the worker and its guest die too.
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
"""The constant of prctl(2) from linux/prctl.h. Python does not define this constant."""


def main(parent_pid: int, scratch: Path) -> None:
    """Process tasks until standard input is closed.

    parent_pid: The process that started the worker. If this process has already ended, the worker ends at once with
        status 1.
    scratch: The directory in which the worker's guests work.
    Raises OSError if the host rejects prctl, because the worker could then outlive its parent.
    """
    # The kernel sends this death signal when the thread that started the worker ends, even if other threads of the
    # parent still run (prctl(2)).
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # If the parent died before the call of prctl, the kernel sends no death signal.
    if os.getppid() != parent_pid:
        sys.exit(1)
    # Messages use a copy of descriptor 1, so that output of libraries is not mixed with them.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(**what: Any) -> None:
        """Write a message as one line, and flush it, because the parent waits for it."""
        lines.write(json.dumps(what) + "\n")
        lines.flush()

    # The libraries are loaded before the first task is read. If loading fails, this failure is not counted as a failure
    # of a task's run.
    from leowarp import guest, metrics, trace  # noqa: F401

    report(ready=os.getpid())
    for line in sys.stdin:
        given = json.loads(line)
        number, fault = given["number"], None
        try:
            pickle.loads(base64.b64decode(given["task"])).work(scratch, partial(report, batch=number))
        except Exception as error:
            # The error is sent to the parent; the worker continues with the next task.
            fault = encode_error(error)
        report(batch=number, ended=True, fault=fault)


if __name__ == "__main__":
    # The handler is set explicitly: a process that a shell starts in the background ignores SIGINT, and its children
    # inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Without gc.freeze, Python searches all objects for reference cycles at the end of each worker. `leowarp.cli.main`
    # also calls gc.freeze.
    atexit.register(gc.freeze)
    try:
        main(int(sys.argv[1]), Path(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(130)
