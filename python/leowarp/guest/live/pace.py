# SPDX-License-Identifier: Apache-2.0
"""The rule by which virtual time keeps to the clock on the wall (`leowarp live`)."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_NS = 1_000_000
"""The guest waits for the clock on the wall at each of these."""
SLACK_NS = 20_000_000
"""So far behind a guest may run a little faster than the clock on the wall, to make up for a process that was not woken
in time. What is beyond is lost: to make up for it would let packets arrive sooner than their path allows."""


class Pace:
    """Virtual time against the clock on the wall: never more than a step ahead, and behind only if the guest is slow.

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
        # It should have come here when the clock on the wall was here, and may go on a step later.
        late_ns = self.wall_ns - self.lost_ns - (virtual_ns + self._step_ns)
        self.lost_ns += max(0, late_ns - self._slack_ns)

    def wait_ns(self, has_news: bool) -> int:
        """For how long the guest is still to wait by the clock on the wall; 0: not at all.

        The step that it is let go for lies in the past then: no packet arrives before its time. Only if the host has
        something for it (`has_news`) it may go as soon as the clock is where it waits, and is up to a step ahead.
        """
        assert self.virtual_ns is not None
        due_ns = self.virtual_ns + (0 if has_news else self._step_ns)
        return max(0, due_ns - (self.wall_ns - self.lost_ns))

    def spare_steps(self) -> int:
        """How many steps after the next lie in the past already: the guest need not wait at them.

        Each wait is a change of processes there and back, which a busy machine takes milliseconds for.
        """
        assert self.virtual_ns is not None
        return max(0, (self.wall_ns - self.lost_ns - self.virtual_ns) // self._step_ns - 1)
