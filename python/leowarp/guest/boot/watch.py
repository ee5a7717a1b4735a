# SPDX-License-Identifier: Apache-2.0
"""Observes a running guest from outside: its clock, its processor time, and its console."""

import json
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from leowarp.guest.machine import system_calls
from leowarp.guest.machine.own_time import OwnTime, look_at, stat_fields

CONSOLE_KEPT_BYTES = 64 * 1024
# A guest prints about 30 bytes per virtual second, and some lines at its end. A guest that prints more than
# `CONSOLE_LIMIT_BYTES` has a fault.
CONSOLE_LIMIT_BYTES = 16 << 20
CONSOLE_BYTES_PER_VIRTUAL_S = 64
# TASK_COMM_LEN of the kernel (include/linux/sched.h)
_COMM_BYTES = 16


class GuestMemory:
    """The guest kernel's own variables, read through /proc/PID/mem.

    The kernel is linked at fixed addresses, and `nm` gives the addresses of its variables. If the user's kernel is
    stripped, the addresses of the variables are unknown, and all methods return None.
    """

    def __init__(self, pid: int, symbols: dict[str, int]) -> None:
        self._path = f"/proc/{pid}/mem"
        self._symbols = symbols

    def clock_ns(self) -> int | None:
        """Return the virtual time since boot, or None if it cannot be read (no symbol, or the guest has ended)."""
        # The variable `time_travel_time` is static in arch/um/kernel/time.c. The variable is the virtual clock itself,
        # so it can be read even if the guest reports nothing.
        return self._word("time_travel_time")

    def running_program(self) -> str | None:
        """Return the name of the task that runs on the guest's processor, at most 15 characters, or None if it cannot
        be read."""
        # The array has one entry, because the guest has one processor. The only member of the array's entry is the
        # running task (struct cpu_task, arch/um/kernel/process.c).
        task = self._word("cpu_tasks")
        if not task or "init_task" not in self._symbols:
            return None
        # The layout of task_struct depends on the configuration. The first task is called "swapper"; the position of
        # this word in `init_task` is the offset of a task's name.
        offset = (self._read(self._symbols["init_task"], 8192) or b"").find(b"swapper\0")
        name = self._read(task + offset, _COMM_BYTES) if offset >= 0 else None
        return name.split(b"\0")[0].decode("ascii", "replace") if name else None

    def calls(self) -> system_calls.Calls | None:
        """Return the system calls of the guest's programs since boot, or None if they cannot be read."""
        if system_calls.SYMBOL not in self._symbols:
            return None
        raw = self._read(self._symbols[system_calls.SYMBOL], system_calls.SIZE_BYTES)
        return system_calls.calls_in(raw) if raw and len(raw) == system_calls.SIZE_BYTES else None

    def _word(self, symbol: str) -> int | None:
        if symbol not in self._symbols:
            return None
        raw = self._read(self._symbols[symbol], 8)
        return struct.unpack("<Q", raw)[0] if raw else None

    def _read(self, address: int, size_bytes: int) -> bytes | None:
        try:
            # The file is unbuffered: a buffer would read 8 kB from the address on, and some of it may not be mapped.
            with open(self._path, "rb", buffering=0) as memory:
                memory.seek(address)
                return memory.read(size_bytes)
        except (OSError, ValueError):
            return None  # The process has ended, or the host forbids access to its memory.


@dataclass
class Usage:
    """The processor time of the guest and of its processes, from /proc. It also contains the time during which the
    guest and all its processes slept.

    A guest's processes are children of the kernel program. If a child ends after the kernel program, `wait4` on the
    kernel program does not count the child's time.

    main_s, reaped_s: The processor time of the kernel program, and that of its ended child processes for which it
        waited, at the last sample.
    children_s: The processor time of each other process, by process id.
    """

    pid: int
    children_s: dict[int, float] = field(default_factory=dict)
    main_s: float = 0.0
    reaped_s: float = 0.0

    def __post_init__(self) -> None:
        self._own = OwnTime([self.pid])

    def sample(self) -> float:
        """Take a new sample, and return the total so far in CPU seconds."""
        before, looks = None, {}
        # A process that the kernel program reaps between two readings would be missed or counted twice, so the sample
        # is then repeated. Once the kernel program has ended, the guest's processes are no longer its children, so no
        # further sample is taken.
        while (main := look_at(self.pid)) and not main.has_ended:
            if before and main.reaped_s == before.reaped_s:
                self.main_s, self.reaped_s = main.cpu_s, main.reaped_s
                self.children_s = {pid: look.cpu_s for pid, look in looks.items()}
                self._own.look({self.pid: main, **looks})
                break
            before, looks = main, {pid: look for pid in _children(self.pid) if (look := look_at(pid))}
        return self.total_s

    @property
    def total_s(self) -> float:
        """The CPU seconds of the kernel program and of all its processes at the last sample."""
        return self.main_s + self.reaped_s + sum(self.children_s.values())

    def left_s(self) -> float:
        """Return the part of a kernel program's processor time that `wait4` does not report. It is the sampled time of
        processes for which the program did not wait.

        Call this method after the program has ended and before it is reaped.
        """
        main = look_at(self.pid)
        waited_for_s = main.reaped_s - self.reaped_s if main else 0.0
        return max(0.0, sum(self.children_s.values()) - waited_for_s)

    @property
    def asleep_s(self) -> float:
        """The time asleep at the last sample, in s (`OwnTime`)."""
        return self._own.asleep_s


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def members_of_session(session: int) -> list[int]:
    """Return the processes of a session that are still alive (without zombies)."""
    members = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(FileNotFoundError, ProcessLookupError):
            # Fields 3 to 6 of proc(5) are state, parent, process group and session.
            state, _, _, its_session, *_ = stat_fields(f"/proc/{entry}/stat")
            if int(its_session) == session and state not in "ZX":
                members.append(int(entry))
    return members


class Console:
    """The output of the guest, read from its file as it grows."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._partial = b""
        self.size_bytes = 0
        self.tail = b""

    def lines(self) -> Iterator[dict | str]:
        """Return the new lines of the output: the agent's messages (`leowarp: {...}`) as a dict, all other lines as
        text.

        An incomplete line is buffered until the next call. Output that is written during a call also waits for the next
        call. Otherwise, a guest that prints faster than the lines are read would never let the call end.
        """
        left_bytes = os.fstat(self._file.fileno()).st_size - self.size_bytes
        while chunk := self._file.read(min(left_bytes, 1 << 20)):
            left_bytes -= len(chunk)
            self.size_bytes += len(chunk)
            self.tail = (self.tail + chunk)[-CONSOLE_KEPT_BYTES:]
            *lines, self._partial = (self._partial + chunk).split(b"\n")
            # Only the end of a very long line is buffered, to bound memory.
            self._partial = self._partial[-CONSOLE_KEPT_BYTES:]
            for line in lines:
                message = _message(line)
                yield line.decode("utf-8", "replace") if message is None else message

    def text(self) -> str:
        """Return the last 64 kB of the output."""
        return self.tail.decode("utf-8", "replace")

    def close(self) -> None:
        self._file.close()


def _message(line: bytes) -> dict | None:
    prefix, mark, rest = line.partition(b"leowarp: {")
    if not mark or prefix.strip():
        return None
    try:
        return json.loads(b"{" + rest)
    except ValueError:
        return None  # A kernel message interrupted this line. `text()` still contains the line.
