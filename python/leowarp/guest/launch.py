# SPDX-License-Identifier: Apache-2.0
"""Starts the guest kernel: `python -I -S launch.py PARENT_PID PIPE DESCRIPTORS PROGRAM ARGUMENTS...`.

Run as a program of its own instead of subprocess' `preexec_fn`, which may deadlock in a parent with threads (Arrow
has some). It makes a second child of its own parent, which tells its process id on the descriptor PIPE and becomes the
kernel. What the host counts of a process begins with its clone and passes through `exec`, peak of memory included
(`exec_mmap`, fs/exec.c): a clone of this small program starts at its 7 MB, the program itself at its parent's hundreds.

The kernel dies with its parent whatever kills that, `kill -9` included. The guest's own processes die with the kernel
by themselves once it has set PTRACE_O_EXITKILL. Before that (`start_ptraced_child` of arch/um/os-Linux/start_up.c, and
the first instants of each process) the host leaves them stopped for ever. So the launcher stays, and ends what is left
when the kernel has ended.

DESCRIPTORS says which descriptors the kernel gets beside the standard ones, and under which numbers: `7:100,8:101`, or
nothing.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys

CLONE_PIDFD = 0x1000
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
    ended = ctypes.c_int()
    pid = libc.syscall(SYS_CLONE, CLONE_PARENT | CLONE_PIDFD | signal.SIGCHLD, 0, ctypes.byref(ended), 0, 0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone(CLONE_PARENT)")
    if pid > 0:
        _end_what_it_leaves(pid, ended.value, [pipe, *(own for own, _ in descriptors)])
        os._exit(0)
    # First of all: an interrupted leowarp ends whoever has told its id, and nobody else.
    os.write(pipe, str(os.getpid()).encode())
    os.close(pipe)
    # The session and its process group are how what is left of a guest is found.
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


def _end_what_it_leaves(pid: int, ended: int, descriptors: list[int]) -> None:
    """Waits until the process behind the descriptor `ended` has ended, and ends its group.

    It holds no directory, no file and none of `descriptors`: who waits for the end of the pipe must not wait for it.
    """
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    for descriptor in descriptors:
        os.close(descriptor)
    select.select([ended], [], [])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    pairs = (pair.split(":") for pair in sys.argv[3].split(",") if pair)
    main(int(sys.argv[1]), int(sys.argv[2]), [(int(own), int(number)) for own, number in pairs], sys.argv[4:])
