# SPDX-License-Identifier: Apache-2.0
"""The smallest tolerance at which a script passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leowarp_conformance.attempt import Attempt

RUNGS_US = (1, 10, 100, 1000)
DEFAULT_US = 4000
"""Default tolerance of packetdrill (set_default_config of its config.c)."""


@dataclass(frozen=True)
class Outcome:
    """The result of a script.

    tolerance_us: Smallest of `RUNGS_US` and `DEFAULT_US` at which it passes; `DEFAULT_US` also if the script asks for
        more. None: the script fails when run as by its driver.
    failure: Result of the failed attempt, run as by the script's driver.
    """

    script: str
    tolerance_us: int | None
    failure: Attempt | None = None


def climb(script: str, at: Callable[[int | None], Attempt]) -> Outcome:
    """Find the smallest tolerance by attempts.

    An attempt that passes would also pass with any larger tolerance: virtual time repeats, so packets and times are the
    same.

    at: Function that makes an attempt with a tolerance; None: as the script's driver does.
    """
    smallest, *others = RUNGS_US
    if at(smallest).passed:
        return Outcome(script, smallest)
    usual = at(None)
    if not usual.passed:
        return Outcome(script, None, usual)
    # Searching downwards would take more attempts: most scripts pass at 10 us
    return Outcome(script, next((rung for rung in others if at(rung).passed), DEFAULT_US))
