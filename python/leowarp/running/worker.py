# SPDX-License-Identifier: Apache-2.0
"""A worker of this machine: `python -m leowarp.running.worker PARENT_PID SCRATCH`.

Tasks come in on its standard input, a line of JSON each; what a task tells it writes as a line of JSON, and one at the
task's end. It dies with its parent, whatever kills that, and its guest with it.
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
    """Does the tasks that come in until there are no more.

    parent_pid: Who started it; if that is gone already, it ends at once with status 1.
    scratch: Where its guests work.
    Raises OSError if the host does not let it be bound to its parent's death.
    """
    # The signal comes when the thread ends that started this process, not the parent as a whole (prctl(2)).
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the call above.
    if os.getppid() != parent_pid:
        sys.exit(1)
    # Output of libraries must not get between the lines.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(**what: Any) -> None:
        """Writes a line at once: the parent waits for it."""
        lines.write(json.dumps(what) + "\n")
        lines.flush()

    # Before the first task: a library that cannot be loaded is this machine's fault, and not that of a task's runs.
    from leowarp import guest, metrics, trace  # noqa: F401

    report(ready=os.getpid())
    for line in sys.stdin:
        given = json.loads(line)
        number, fault = given["number"], None
        try:
            pickle.loads(base64.b64decode(given["task"])).work(scratch, partial(report, batch=number))
        except Exception as error:
            # Told to the parent, which decides; the next task may be a better one.
            fault = encode_error(error)
        report(batch=number, ended=True, fault=fault)


if __name__ == "__main__":
    # Started with the signal ignored if a shell put the parent into the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main(int(sys.argv[1]), Path(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(130)
