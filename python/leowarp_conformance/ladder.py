# SPDX-License-Identifier: Apache-2.0
"""Find the smallest tolerance with which a script passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leowarp_conformance.attempt import Attempt

RUNGS_US = (1, 10, 100, 1000)
DEFAULT_US = 4000
"""The default tolerance of packetdrill in microseconds (set_default_config in its config.c)."""


@dataclass(frozen=True)
class Outcome:
    """The result of a script.

    tolerance_us: The smallest tolerance among `RUNGS_US` and `DEFAULT_US` with which the script passes. If the script
        passes only with a larger tolerance that it sets itself, the value is `DEFAULT_US`. None means that the script
        fails with the settings of its driver.
    failure: The failed attempt with the driver's settings. None means that this attempt passed.
    """

    script: str
    tolerance_us: int | None
    failure: Attempt | None = None


def climb(script: str, at: Callable[[int | None], Attempt]) -> Outcome:
    """Find, by attempts, the smallest tolerance with which a script passes.

    In virtual time, all attempts have the same packets and times. An attempt with a larger tolerance therefore passes
    if an attempt with a smaller one does.

    at: The function that makes an attempt with the tolerance that it gets. If it gets None, the settings of the
        script's driver are used.
    """
    smallest, *others = RUNGS_US
    if at(smallest).passed:
        return Outcome(script, smallest)
    usual = at(None)
    if not usual.passed:
        return Outcome(script, None, usual)
    # The search begins with small tolerances, because most scripts pass at 10 us.
    return Outcome(script, next((rung for rung in others if at(rung).passed), DEFAULT_US))
