# SPDX-License-Identifier: Apache-2.0
"""Exits with 0 if this process may trace its own child, as User Mode Linux does at its start."""

import ctypes
import os
import sys

PTRACE_TRACEME = 0
SIGKILL, SIGSTOP = 9, 19
"""The signals on Linux (signal(7)). The module `signal` is not imported, because the import takes as long as the rest
of this program."""


def main() -> int:
    """Return 0 if a signal to itself stops a child that has called PTRACE_TRACEME. If the child is not stopped, print
    the reason on stderr and return 1."""
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        if libc.ptrace(PTRACE_TRACEME, 0, None, None) != 0:
            os._exit(ctypes.get_errno())
        # User Mode Linux checks ptrace in the same way at its start (check_ptrace, arch/um/os-Linux/start_up.c) and
        # expects SIGSTOP.
        os.kill(os.getpid(), SIGSTOP)
        os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        os.kill(child, SIGKILL)
        os.waitpid(child, 0)
        return 0
    print(f"ptrace(PTRACE_TRACEME): {os.strerror(os.waitstatus_to_exitcode(status))}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
