# SPDX-License-Identifier: Apache-2.0
"""The smallest tolerance at which a script passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leowarp_conformance.attempt import Attempt

RUNGS_US = (1, 10, 100, 1000)
DEFAULT_US = 4000
"""packetdrill's own (set_default_config of its config.c)."""


@dataclass(frozen=True)
class Outcome:
    """The result of a script.

    tolerance_us: The smallest of `RUNGS_US` and `DEFAULT_US` at which it passes; `DEFAULT_US` also if the script asks
        for more. None: it fails as its driver runs it.
    failure: As its driver runs it.
    """

    script: str
    tolerance_us: int | None
    failure: Attempt | None = None


def climb(script: str, at: Callable[[int | None], Attempt]) -> Outcome:
    """Find the smallest tolerance by attempts.

    An attempt that passes does so with any larger tolerance: it makes the same packets at the same times, as virtual
    time repeats.

    at: Makes an attempt with a tolerance; None: as the script's driver does.
    """
    smallest, *others = RUNGS_US
    if at(smallest).passed:
        return Outcome(script, smallest)
    usual = at(None)
    if not usual.passed:
        return Outcome(script, None, usual)
    # Downwards would take more attempts: most scripts pass at 10 us
    return Outcome(script, next((rung for rung in others if at(rung).passed), DEFAULT_US))
