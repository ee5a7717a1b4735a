# SPDX-License-Identifier: Apache-2.0
"""A worker of this machine: `python -m leowarp.study.sweep.worker PARENT_PID SCRATCH`.

Batches come in on its standard input, a line of JSON each; for each run made it writes a line, and one at the batch's
end. It dies with its parent, whatever kills that, and its guest with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from leowarp.study.sweep.batch import Batch, encode_error, results_of

PR_SET_PDEATHSIG = 1
"""prctl(2), linux/prctl.h: Python has no name for it."""


def main(parent_pid: int, scratch: Path) -> None:
    """Makes the batches that come in until there are no more."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the call above.
    if os.getppid() != parent_pid:
        sys.exit(1)
    # What a library prints must not get between the lines.
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def report(**what: Any) -> None:
        lines.write(json.dumps(what) + "\n")
        lines.flush()

    report(ready=os.getpid())
    for line in sys.stdin:
        batch = Batch.decode(json.loads(line))
        fault = None
        try:
            for place, result in results_of(batch, scratch):
                report(batch=batch.number, place=place, result=result)
        except Exception as error:
            # Told to the parent, which decides; the next batch may be a better one.
            fault = encode_error(error)
        report(batch=batch.number, ended=True, fault=fault)


if __name__ == "__main__":
    # Started with the signal ignored if a shell put the parent into the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main(int(sys.argv[1]), Path(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(130)
