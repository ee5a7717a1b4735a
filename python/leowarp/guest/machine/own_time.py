# SPDX-License-Identifier: Apache-2.0
"""Time limits for processes. Neither the machine's speed nor its load affects these limits.

Real time alone cannot tell a hanging process from a process that waits for a processor. The kernel's process states
show the difference. A hanging process sleeps, or uses processor time without end. A process that waits for a processor
is ready to run.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

TICKS_PER_S = os.sysconf("SC_CLK_TCK")

AWAKE = frozenset("RDT")
"""The states (proc(5)) of a thread that does not sleep voluntarily. R: it runs or is ready to run. D: it waits for the
disk. T: a signal has stopped it. The set does not contain state `t`, in which the tracer has stopped the thread. A
process of the guest in state `t` waits for the guest's kernel."""

LONGEST_STEP_S = 1.0
"""A sleep between two samples is trusted only if it is at most this long, in s. If samples are further apart, the
sampling process itself may have been stopped, or have waited for a processor."""

POLL_S = 0.02


@dataclass(frozen=True)
class Look:
    """A sample of one process from /proc/PID/stat: its parent, its processor time, and whether any of its threads is
    awake.

    `has_ended` means that all threads of the process have ended. The parent may not have reaped the process yet.
    `reaped_s` is the processor time of the children that have ended and been reaped by the process.
    """

    parent: int
    cpu_s: float
    reaped_s: float
    is_awake: bool
    has_ended: bool


def look_at(pid: int) -> Look | None:
    """Return a sample of process `pid`, or None if there is no process."""
    try:
        fields = stat_fields(f"/proc/{pid}/stat")
        state, threads = fields[0], int(fields[17])
        is_awake = state in AWAKE or (threads > 1 and _any_awake(pid))
    except (FileNotFoundError, ProcessLookupError):
        return None
    # utime, stime, cutime and cstime are fields 14 to 17 of proc(5), which counts from 1. `fields` lacks the first two
    # fields, pid and name.
    own, reaped = (sum(map(int, fields[at : at + 2])) / TICKS_PER_S for at in (11, 13))
    # The main thread may have ended (state Z) while other threads of the process still run.
    return Look(int(fields[1]), own, reaped, is_awake, state in "ZX" and threads <= 1)


def stat_fields(path: str) -> list[str]:
    """Return the fields of a stat file of proc(5), from field 3 (the state) on."""
    # The file is read with plain open, because a guest is sampled ten times per second. A Path and a text decoder would
    # be half of a sample's cost.
    with open(path, "rb", buffering=0) as file:
        # The name, in parentheses, may contain any character.
        return file.read(4096).rpartition(b")")[2].decode("ascii").split()


def _any_awake(pid: int) -> bool:
    """Return whether a thread of a process is awake. The thread that calls this function is ignored."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(thread) != threading.get_native_id() and stat_fields(f"/proc/{pid}/task/{thread}/stat")[0] in AWAKE:
                return True
    return False


def everything() -> dict[int, Look]:
    """Return the samples of all processes of this machine, by process id."""
    return {int(entry): look for entry in os.listdir("/proc") if entry.isdigit() and (look := look_at(int(entry)))}


def trees(roots: Iterable[int], looks: Mapping[int, Look]) -> dict[int, Look]:
    """Return those samples in `looks` that belong to the processes `roots` or to their descendants. Processes that have
    ended are left out."""
    # A process that has ended, but is not reaped, still names its parent. Without this filter, such a process would
    # count as a sleeping process.
    looks = {pid: look for pid, look in looks.items() if not look.has_ended}
    below: dict[int, list[int]] = {}
    for pid, look in looks.items():
        below.setdefault(look.parent, []).append(pid)
    members, ahead = {}, [pid for pid in roots if pid in looks]
    while ahead:
        pid = ahead.pop()
        # A root may itself be a descendant of another root.
        if pid not in members:
            members[pid] = looks[pid]
            ahead += below.get(pid, [])
    return members


class OwnTime:
    """Counts the processor time of some processes and their descendants. Also counts the time in which all these
    processes slept. Counting starts at the first sample.

    cpu_s: The processor seconds that the processes used. For a process that has ended, time after its last sample is
        missing.
    asleep_s: The total time between samples during which all the processes slept, in s. The time between two samples is
        not counted if a process was ready to run, waited for the disk, or was stopped.
    """

    def __init__(self, roots: Iterable[int]) -> None:
        self._roots = list(roots)
        self._seen_s: dict[int, float] | None = None
        self._looked_at_s = 0.0
        self.cpu_s = 0.0
        self.asleep_s = 0.0

    @property
    def total_s(self) -> float:
        """The sum of `cpu_s` and `asleep_s` at the last sample, in s."""
        return self.cpu_s + self.asleep_s

    def look(self, looks: Mapping[int, Look] | None = None) -> bool:
        """Take a new sample, or use the samples in `looks` (`everything`). Return whether at least one of the processes
        still exists."""
        now_s, looks = time.monotonic(), trees(self._roots, everything() if looks is None else looks)
        # The time limit starts with the first sample, so earlier processor time does not count.
        if self._seen_s is None:
            self._seen_s = {pid: look.cpu_s for pid, look in looks.items()}
        elif looks and not any(look.is_awake for look in looks.values()):
            self.asleep_s += min(now_s - self._looked_at_s, LONGEST_STEP_S)
        self._looked_at_s = now_s
        for pid, look in looks.items():
            self.cpu_s += max(0.0, look.cpu_s - self._seen_s.get(pid, 0.0))
            self._seen_s[pid] = look.cpu_s
        return bool(looks)


def end_patiently(children: Iterable[subprocess.Popen], patience_s: float) -> None:
    """Wait for `children` to end. A child is killed when its own time (`OwnTime`) has reached `patience_s`."""
    waited = [(child, OwnTime([child.pid])) for child in children]
    while waited := [(child, own) for child, own in waited if child.poll() is None]:
        looks = everything()
        for child, own in waited:
            own.look(looks)
            if own.total_s > patience_s:
                child.kill()
        # A sample reads every process of the machine, but a poll does not. There are therefore ten polls per sample.
        for _ in range(10):
            if all(child.poll() is not None for child, _ in waited):
                return
            time.sleep(POLL_S)
