# SPDX-License-Identifier: Apache-2.0
"""One processor for each guest.

Each system call in a guest is a dozen switches between two processes of the host. On one processor a switch takes
microseconds; between two it wakes an idle one, which on a virtual machine costs ten times that: 1000 s of a nearly idle
network took 8.5 s of processor time on two processors and 1.5 s on one. The guest cannot tell.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress

# Virtual time never waits for the clock on the wall: a guest that is alone there uses all of its processor.
STARVED_RATIO = 0.7
"""A guest that gets less of its processor than this has met other work there, and moves."""

# Long enough that a guest that waits once for its disk does not move.
WINDOW_S = 3.0


class Processor:
    """A processor that no other guest of this machine uses, as long as there are enough.

    A name in the kernel's abstract socket space stands for each processor: whoever holds it has the processor, and it
    is free again when its holder ends, however that comes about. `family` is the first part of those names: guests of
    another family do not count.
    """

    def __init__(self, family: str = "leowarp processor") -> None:
        self._family = family
        self._held: socket.socket | None = None
        self._number: int | None = None
        self._since: tuple[float, float] | None = None
        # From the last one on: interrupts and what else is started first mostly are on the first.
        self._take(sorted(os.sched_getaffinity(0), reverse=True))

    def _take(self, candidates: Iterable[int]) -> bool:
        """Take the first of these processors whose name nobody holds; False: none is free, and what was held stays."""
        for number in candidates:
            # An abstract name (unix(7)) is held by one process at a time and gone with it, however that ends: no file
            # is left behind.
            name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                name.bind(f"\0{self._family} {number}")
            except OSError:
                name.close()
                continue
            # Only after another one is held: a guest that finds none free keeps what it has.
            self.close()
            self._held, self._number = name, number
            return True
        return False

    def keep(self, pids: Iterable[int]) -> None:
        """Hold these processes to the processor; what they start stays there too."""
        # More guests than processors: the host's own scheduler then shares them out better than a fixed choice.
        if self._number is None:
            return
        for pid in pids:
            # a process that has ended meanwhile has no need of it
            with suppress(ProcessLookupError):
                os.sched_setaffinity(pid, {self._number})

    def starved(self, wall_s: float, cpu_s: float) -> bool:
        """Whether the guest should move: it got too little of its processor lately, and another one is free.

        wall_s, cpu_s: The clock on the wall, and the guest's processor time so far.
        Returns: True: another processor was taken, and the guest's processes are to be kept to it (`keep`).
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
        """Let others have it."""
        if self._held is not None:
            self._held.close()
        self._held, self._number = None, None
