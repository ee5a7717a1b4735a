# SPDX-License-Identifier: Apache-2.0
"""Starts the guest kernel: `python -I -S launch.py PARENT_PID PIPE DESCRIPTORS PROGRAM ARGUMENTS...`.

Run as a program of its own instead of subprocess' `preexec_fn`, which may deadlock in a parent with threads (Arrow
has some). It makes a second child of its own parent, which tells its process id on the descriptor PIPE and becomes the
kernel, and ends. What the host counts of a process begins with its clone and passes through `exec`, peak of memory
included (`exec_mmap`, fs/exec.c): a clone of this small program starts at its 7 MB, the program itself at its parent's
hundreds. The kernel dies with its parent whatever kills that, `kill -9` included; the guest's own processes die with
the kernel by themselves.

DESCRIPTORS says which descriptors the kernel gets beside the standard ones, and under which numbers: `7:100,8:101`, or
nothing.
"""

import ctypes
import os
import signal
import sys

CLONE_PARENT = 0x8000
SYS_CLONE = 56
PR_SET_PDEATHSIG = 1
ADDR_NO_RANDOMIZE = 0x0040000


def main(parent_pid: int, pipe: int, descriptors: list[tuple[int, int]], command: list[str]) -> None:
    """Becomes `command`, in a child of `parent_pid`; writes that child's process id to the descriptor `pipe`.

    Each pair of `descriptors` is one of this process' and its number in the child.

    Raises
    ------
    OSError
        If the host refuses clone, prctl or exec; python prints it to the guest's console file.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # os.fork would make a child of this process; wait4 of leowarp takes its own children only.
    pid = libc.syscall(SYS_CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone(CLONE_PARENT)")
    if pid > 0:
        os._exit(0)
    # First of all: an interrupted leowarp ends whoever has told its id, and nobody else.
    os.write(pipe, str(os.getpid()).encode())
    os.close(pipe)
    # The session is how what is left of a guest is found (`members_of_session`).
    os.setsid()
    # Kept across exec for a program without set-user-ID (prctl(2)).
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # The parent may have died before the call above.
    if os.getppid() != parent_pid:
        sys.exit(1)
    # MemTotal of the guest then is the same at each boot. Containers may forbid it (EPERM): the buffers and table
    # sizes that would follow from MemTotal are set on the command line and by the agent, so a refusal is harmless.
    libc.personality(ADDR_NO_RANDOMIZE)
    for own, number in descriptors:
        os.dup2(own, number)
        os.close(own)
    os.execv(command[0], command)


if __name__ == "__main__":
    pairs = (pair.split(":") for pair in sys.argv[3].split(",") if pair)
    main(int(sys.argv[1]), int(sys.argv[2]), [(int(own), int(number)) for own, number in pairs], sys.argv[4:])
