# SPDX-License-Identifier: Apache-2.0
"""The rule by which virtual time keeps to real time (`leowarp live`)."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_NS = 1_000_000
"""The guest waits for real time at each of these."""
SLACK_NS = 20_000_000
"""This far behind a guest may run a little faster than real time, to make up for a process that was not woken in time.
Longer delays are not caught up: packets would otherwise arrive sooner than their path allows."""


class Pace:
    """Virtual time against real time: never more than a step ahead, and behind only if the guest is slow.

    Parameters
    ----------
    step_ns : int
        Of virtual time, between two looks.
    slack_ns : int
        How far behind it may be and still make up for it.
    clock_ns : callable
        The clock on the wall, ns.

    Attributes
    ----------
    virtual_ns : int or None
        Where the guest waits, or waited last; None: it has not begun.
    lost_ns : int
        By how much virtual time is behind for good.
    """

    def __init__(
        self, step_ns: int = STEP_NS, slack_ns: int = SLACK_NS, clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._step_ns, self._slack_ns, self._clock_ns = step_ns, slack_ns, clock_ns
        self._began_ns = 0
        self.virtual_ns: int | None = None
        self.lost_ns = 0

    @property
    def wall_ns(self) -> int:
        """Since the guest waited first; 0 before."""
        return 0 if self.virtual_ns is None else self._clock_ns() - self._began_ns

    def arrive(self, virtual_ns: int) -> None:
        """The guest waits at this virtual time, ns; what it is too late by is lost."""
        if self.virtual_ns is None:
            self._began_ns = self._clock_ns() - virtual_ns
        self.virtual_ns = virtual_ns
        # It should have come here when real time was here, and may go on a step later.
        late_ns = self.wall_ns - self.lost_ns - (virtual_ns + self._step_ns)
        self.lost_ns += max(0, late_ns - self._slack_ns)

    def wait_ns(self, has_news: bool) -> int:
        """Remaining real time for the guest to wait; 0: none.

        The step that it is let go for lies in the past then: no packet arrives before its time. Only if the host has
        something for it (`has_news`) it may go as soon as the clock is where it waits, and is up to a step ahead.
        """
        assert self.virtual_ns is not None
        due_ns = self.virtual_ns + (0 if has_news else self._step_ns)
        return max(0, due_ns - (self.wall_ns - self.lost_ns))

    def spare_steps(self) -> int:
        """Number of steps after the next that lie in the past already: the guest need not wait at them.

        Each wait is a change of processes there and back, which a busy machine takes milliseconds for.
        """
        assert self.virtual_ns is not None
        return max(0, (self.wall_ns - self.lost_ns - self.virtual_ns) // self._step_ns - 1)
