# SPDX-License-Identifier: Apache-2.0
"""Determines how virtual time follows real time (`leowarp live`)."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_NS = 1_000_000
"""The step of virtual time in ns. At each multiple of the step, the guest waits for real time."""
SLACK_NS = 20_000_000
"""Virtual time may lag behind real time. Up to this lag in ns, the guest catches up by running faster. A lag arises,
for instance, if the guest's process is woken late. A longer lag is not caught up. Otherwise, packets would arrive
sooner than their path allows."""


class Pace:
    """Compares virtual time with real time.

    step_ns, slack_ns: See `STEP_NS` and `SLACK_NS`.
    virtual_ns: The virtual time at which the guest waits now, or at which it last waited. None means that the guest has
        not waited yet.
    lost_ns: The part of the lag of virtual time that will never be caught up.
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
        """The real time in ns since the guest first waited. The time is 0 if the guest has not waited yet."""
        return 0 if self.virtual_ns is None else self._clock_ns() - self._began_ns

    def arrive(self, virtual_ns: int) -> None:
        """Record that the guest waits at this virtual time, in ns. If the guest lags by more than `slack_ns`, the
        excess is added to `lost_ns`."""
        if self.virtual_ns is None:
            self._began_ns = self._clock_ns() - virtual_ns
        self.virtual_ns = virtual_ns
        # The guest is late if real time is more than one step ahead of this virtual time.
        late_ns = self.wall_ns - self.lost_ns - (virtual_ns + self._step_ns)
        self.lost_ns += max(0, late_ns - self._slack_ns)

    def wait_ns(self, has_news: bool) -> int:
        """Return how long the guest has to wait in real time before it may continue, in ns. 0 means that there is no
        wait.

        Normally, the guest must wait until the end of its next step is in the past. Otherwise, packets could arrive too
        early. If the host has data for the guest (`has_news`), the guest may continue as soon as real time reaches its
        waiting point. The guest may then be up to one step ahead of real time.
        """
        assert self.virtual_ns is not None
        due_ns = self.virtual_ns + (0 if has_news else self._step_ns)
        return max(0, due_ns - (self.wall_ns - self.lost_ns))

    def spare_steps(self) -> int:
        """Return the number of steps after the next one that are already in the past, in real time. The guest does not
        wait at these steps, because each wait switches processes twice: milliseconds on a busy machine."""
        assert self.virtual_ns is not None
        return max(0, (self.wall_ns - self.lost_ns - self.virtual_ns) // self._step_ns - 1)
