# SPDX-License-Identifier: Apache-2.0
"""Becomes the guest kernel: `python -I -S launch.py PARENT_PID PROGRAM ARGUMENTS...`.

Run as a program of its own instead of subprocess' `preexec_fn`, which may deadlock in a parent with threads (Arrow
has some). The kernel that it turns into dies with its parent whatever kills that, `kill -9` included; the guest's own
processes die with the kernel by themselves.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
ADDR_NO_RANDOMIZE = 0x0040000


def main(parent_pid: int, command: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the call above.
    if os.getppid() != parent_pid:
        sys.exit(1)
    # MemTotal of the guest then is the same at each boot. Containers may forbid it (EPERM): the buffers and table
    # sizes that would follow from MemTotal are set on the command line and by the agent, so a refusal is harmless.
    libc.personality(ADDR_NO_RANDOMIZE)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
