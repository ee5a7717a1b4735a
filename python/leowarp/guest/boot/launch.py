# SPDX-License-Identifier: Apache-2.0
"""Starts guest kernels for a thread of leowarp. leowarp calls it as `python -I -S launch.py PARENT_PID`, with a socket
as standard input.

The launcher is a separate program, because Arrow starts threads in leowarp. subprocess' `preexec_fn` may deadlock in a
process with threads. For each request, the launcher clones itself. leowarp is the launcher's parent, and also becomes
the parent of the new process. This child writes its process id to a pipe and then runs the kernel by `exec`. The host
counts the resources of a process from the moment at which the process was cloned. `exec` does not reset the process's
resource counts, including peak memory (`exec_mmap`, fs/exec.c). A clone of this small program starts with a peak memory
of 10 MB. A clone of leowarp would start with hundreds of MB. Starting Python takes 20 ms, so one launcher starts all
guests of a thread.

leowarp is the parent of the kernel. When leowarp dies, even by `kill -9`, the kernel dies as well. The kernel sets
PTRACE_O_EXITKILL for each guest process. From then on, the process dies with the kernel. In the first instants of a
process, the kernel may die before it has set PTRACE_O_EXITKILL for the process. In this case, the host leaves the
process stopped for ever (`start_ptraced_child` of arch/um/os-Linux/start_up.c). When a kernel has ended, the launcher
kills the remaining processes of its guest. The launcher runs until the last guest has ended, even if leowarp has died.

A request is a JSON object: `command`, `directory`, `environment`, and `numbers`. The request carries descriptors in
this order: the kernel's output, the pipe, and any further descriptors. In the kernel's process, the further descriptors
get the numbers in `numbers`.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys

CLONE_PIDFD = 0x1000
CLONE_PARENT = 0x8000
SYS_CLONE = 56
PR_SET_PDEATHSIG = 1
ADDR_NO_RANDOMIZE = 0x0040000
MOST_BYTES, MOST_DESCRIPTORS = 1 << 17, 64


def main(parent_pid: int) -> None:
    """Start a guest for each request. Once the socket is closed or the parent has died, the function waits until all
    guests have ended, and returns.

    Raises OSError if the parent is already gone.
    """
    requests, parent = socket.socket(fileno=0), os.pidfd_open(parent_pid)
    libc = ctypes.CDLL(None, use_errno=True)
    ends = select.poll()
    guests: dict[int, int] = {}
    ends.register(requests, select.POLLIN)
    ends.register(parent, select.POLLIN)
    serves = True
    while serves or guests:
        for descriptor, _ in ends.poll():
            if descriptor in guests:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(guests.pop(descriptor), signal.SIGKILL)
                ends.unregister(descriptor)
                os.close(descriptor)
                continue
            asked = descriptor == requests.fileno()
            text, given, _, _ = socket.recv_fds(requests, MOST_BYTES, MOST_DESCRIPTORS) if asked else (b"", [], 0, None)
            if not text:
                serves = False
                ends.unregister(descriptor)
                continue
            for each in given:
                os.set_inheritable(each, False)
            pid, ended = start(libc, parent_pid, json.loads(text), given)
            for each in given:
                os.close(each)
            if pid is not None:
                guests[ended] = pid
                ends.register(ended, select.POLLIN)


def start(libc: ctypes.CDLL, parent_pid: int, request: dict, given: list[int]) -> "tuple[int | None, int]":
    """Start a guest's kernel as a child of `parent_pid`. Return the kernel's process id and a descriptor that becomes
    readable when the kernel ends. The process id is None if the kernel could not be started.

    If the host reports an error, the function writes the error to the guest's output. This output is the first
    descriptor in `given`.
    """
    # os.fork would make the process a child of the launcher, but wait4 in leowarp only accepts leowarp's own children.
    ended = ctypes.c_int()
    pid = libc.syscall(SYS_CLONE, CLONE_PARENT | CLONE_PIDFD | signal.SIGCHLD, 0, ctypes.byref(ended), 0, 0)
    if pid > 0:
        return pid, ended.value
    try:
        if pid < 0:
            raise OSError(ctypes.get_errno(), "clone(CLONE_PARENT)")
        become(libc, parent_pid, request, *given)
    except BaseException as error:
        os.write(given[0], f"{type(error).__name__}: {error}\n".encode())
    if pid == 0:
        os._exit(1)
    return None, -1


def become(libc: ctypes.CDLL, parent_pid: int, request: dict, output: int, pipe: int, *others: int) -> None:
    """Run the kernel in this process, by exec."""
    # The process id is sent before anything else, so that leowarp, if interrupted, can still end this process.
    os.write(pipe, str(os.getpid()).encode())
    # leowarp later finds the remaining processes of a guest by the guest's session and process group.
    os.setsid()
    # The death signal survives exec of a program without set-user-ID (prctl(2)).
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # If the parent died before the call of prctl, the death signal will never come.
    if os.getppid() != parent_pid:
        os._exit(1)
    os.chdir(request["directory"])
    # Without address randomisation, the guest's MemTotal is the same at each boot. A container may forbid the call of
    # personality() (EPERM). A failure is harmless: the command line and the agent set all buffers and table sizes that
    # depend on MemTotal.
    libc.personality(ADDR_NO_RANDOMIZE)
    standard = [os.open(os.devnull, os.O_RDONLY), output, output]
    for own, number in [*zip(standard, range(3), strict=True), *zip(others, request["numbers"], strict=True)]:
        os.dup2(own, number)
    # execve closes all other open descriptors.
    os.execve(request["command"][0], request["command"], request["environment"])


if __name__ == "__main__":
    main(int(sys.argv[1]))
