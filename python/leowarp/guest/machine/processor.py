# SPDX-License-Identifier: Apache-2.0
"""Assigns a processor to each guest.

Whenever a guest makes a system call, the host switches about twelve times between two processes. A switch on one
processor takes microseconds. On two processors, each switch wakes an idle processor, which takes ten times as long on a
virtual machine. A run of 1000 s over a nearly idle network took 8.5 s of processor time on two processors. On one
processor, it took 1.5 s. The guest cannot observe its processor, so the choice does not change results.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress

# Virtual time never waits for real time, so a guest that is alone on its processor uses the whole processor.
STARVED_RATIO = 0.7
"""If a guest gets less than this share of its processor, it competes with other work, and moves to another
processor."""

# The guest's share of its processor is measured over this time, in s. The time is so long that one wait for the disk
# does not move a guest.
WINDOW_S = 3.0


class Processor:
    """A processor for one guest. No other guest uses this processor, as long as the machine has enough processors.

    Each processor has a name in the kernel's abstract socket space. The process that binds the name owns the processor
    until the process ends. `family` is the prefix of the names. Only guests with the same prefix avoid each other's
    processors.
    """

    def __init__(self, family: str = "leowarp processor") -> None:
        self._family = family
        self._held: socket.socket | None = None
        self._number: int | None = None
        self._since: tuple[float, float] | None = None
        # The search starts with the last processor, because interrupts and early processes mostly run on the first.
        self._take(sorted(os.sched_getaffinity(0), reverse=True))

    def _take(self, candidates: Iterable[int]) -> bool:
        """Take the first candidate whose name is free. The result is False if no name is free."""
        for number in candidates:
            # Only one process at a time can bind an abstract name (unix(7)). The name disappears with the process,
            # however the process ends, so no file remains.
            name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                name.bind(f"\0{self._family} {number}")
            except OSError:
                name.close()
                continue
            # The old processor's name is released only after a new processor's name has been bound. A guest that finds
            # no free name thus keeps its old processor.
            self.close()
            self._held, self._number = name, number
            return True
        return False

    def keep(self, pids: Iterable[int]) -> None:
        """Restrict these processes, and the processes that they will start, to the processor."""
        # If no processor was free, there are more guests than processors. The host's scheduler distributes many guests
        # better than a fixed choice.
        if self._number is None:
            return
        for pid in pids:
            # The process may already have ended.
            with suppress(ProcessLookupError):
                os.sched_setaffinity(pid, {self._number})

    def starved(self, wall_s: float, cpu_s: float) -> bool:
        """If the guest recently got too little of its processor, take another one that is free. Return whether one was
        taken. The caller must then restrict the guest's processes to it (`keep`).

        wall_s, cpu_s: The real time, and the guest's processor time so far.
        """
        if self._since is None or wall_s < self._since[0]:
            self._since = (wall_s, cpu_s)
            return False
        began_s, used_s = self._since
        if wall_s - began_s < WINDOW_S:
            return False
        self._since = (wall_s, cpu_s)
        if self._number is None or cpu_s - used_s >= STARVED_RATIO * (wall_s - began_s):
            return False
        return self._take(sorted(os.sched_getaffinity(0) - {self._number}))

    def close(self) -> None:
        if self._held is not None:
            self._held.close()
        self._held, self._number = None, None
