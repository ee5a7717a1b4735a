# SPDX-License-Identifier: Apache-2.0
"""Reads the last system calls of a guest's programs. From these calls, also explains why a program stops virtual time.

`guest/host/registers.c` records the calls in the kernel's memory, where `leowarp.guest.boot.watch` reads them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SYMBOL = "leowarp_calls"
_KEPT = 8
# Fields of struct leowarp_calls: the total number of calls, then two values per recorded call: the host's process id
# and the system call's number.
_LAYOUT = struct.Struct(f"<Q{2 * _KEPT}I")
SIZE_BYTES = _LAYOUT.size

_POLLS = ("poll", "select", "pselect6", "ppoll", "epoll_wait", "epoll_pwait", "epoll_pwait2")
# Numbers of arch/x86/entry/syscalls/syscall_64.tbl. The list contains calls that return at once without an error, and
# take no virtual time. A program can therefore repeat these calls in a loop without advancing virtual time. The list
# omits calls that take virtual time. For instance, a call takes 1 us of virtual time if it fails. A call that polls or
# waits with a timeout takes 1 us, too (guest/clock/polling.c). Reading the clock takes 256 ns.
_NAMES = {
    0: "read", 1: "write", 3: "close", 5: "fstat", 7: "poll", 8: "lseek", 9: "mmap", 10: "mprotect", 11: "munmap",
    12: "brk", 13: "rt_sigaction", 14: "rt_sigprocmask", 16: "ioctl", 19: "readv", 20: "writev", 23: "select",
    24: "sched_yield", 28: "madvise", 39: "getpid", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg",
    56: "clone", 57: "fork", 61: "wait4", 62: "kill", 72: "fcntl", 98: "getrusage", 102: "getuid", 186: "gettid",
    200: "tkill", 202: "futex", 204: "sched_getaffinity", 232: "epoll_wait", 233: "epoll_ctl", 234: "tgkill",
    257: "openat", 262: "newfstatat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 299: "recvmmsg",
    307: "sendmmsg", 324: "membarrier", 441: "epoll_pwait2",
}  # fmt: skip


@dataclass(frozen=True)
class Calls:
    """The number of system calls of all programs since boot, and the names of the latest ones.

    last: The names of the latest calls, at most 8, from oldest to newest.
    """

    count: int
    last: tuple[str, ...]


def calls_in(raw: bytes) -> Calls:
    """Return the calls recorded in `raw`, which are the `SIZE_BYTES` bytes of the guest's memory at `SYMBOL`."""
    count, *words = _LAYOUT.unpack(raw)
    numbers = words[1::2]
    newest = range(max(0, count - _KEPT), count)
    return Calls(count, tuple(_NAMES.get(number := numbers[at % _KEPT], f"number {number}") for at in newest))


def polling(then: Calls | None, now: Calls | None) -> tuple[str, str]:
    """Return two texts for a message. The first text lists the system calls that programs made while virtual time
    paused. The second text suggests a remedy.

    then, now: The system calls up to the last advance of virtual time, and up to the present. None means that the
        system calls could not be read.
    """
    if then is None or now is None:
        return "", (
            "a program in the guest that goes on without sleeping and without reading the clock stops virtual time: "
            "let it sleep or block"
        )
    made = now.count - then.count
    if made == 0:
        return "; it has made no system call since", (
            "it computes without an end, or waits for another thread without giving it the only processor: let it "
            "block (a mutex, a condition variable, a pipe); libraries that compute in threads have a switch "
            "(OMP_NUM_THREADS=1, OPENBLAS_NUM_THREADS=1, by the flow's environment)"
        )
    last = now.last[-min(made, len(now.last)) :]
    said = f"; its last system calls of {made} since: {', '.join(last)}"
    if any(name in _POLLS for name in last):
        return said, (
            "a call that waits, and returns at once because something is ready, takes no virtual time: let the program "
            "read, or no longer ask for, what stays ready"
        )
    return said, (
        "system calls that succeed take no virtual time: let the program sleep or block between them, or read the "
        "clock (256 ns)"
    )
