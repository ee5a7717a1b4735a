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
        itself sets a larger tolerance and passes only with that, the value is `DEFAULT_US`. None means that the script
        fails with the settings of its driver.
    failure: The failed attempt with the driver's settings. None means that this attempt passed.
    """

    script: str
    tolerance_us: int | None
    failure: Attempt | None = None


def climb(script: str, at: Callable[[int | None], Attempt]) -> Outcome:
    """Find the smallest tolerance of a script by attempts.

    In virtual time, all attempts have the same packets and times. If an attempt passes, attempts with larger tolerances
    therefore pass, too.

    at: The function that makes an attempt with a tolerance. None means the settings of the script's driver.
    """
    smallest, *others = RUNGS_US
    if at(smallest).passed:
        return Outcome(script, smallest)
    usual = at(None)
    if not usual.passed:
        return Outcome(script, None, usual)
    # The search begins with small tolerances, because most scripts pass at 10 us.
    return Outcome(script, next((rung for rung in others if at(rung).passed), DEFAULT_US))
