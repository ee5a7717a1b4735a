# SPDX-License-Identifier: Apache-2.0
"""Finds the smallest tolerance with which a script passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leowarp_conformance.attempt import Attempt

RUNGS_US = (1, 10, 100, 1000)
DEFAULT_US = 4000
"""Default tolerance of packetdrill (set_default_config in its config.c)."""


@dataclass(frozen=True)
class Outcome:
    """The result of a script.

    tolerance_us: Smallest of `RUNGS_US` and `DEFAULT_US` with which the script passes. The value is `DEFAULT_US` even
        if the script sets a larger tolerance. None if the script fails when it is run in the same way as by its driver.
    failure: The failed attempt, made in the same way as by the script's driver; None if it passed.
    """

    script: str
    tolerance_us: int | None
    failure: Attempt | None = None


def climb(script: str, at: Callable[[int | None], Attempt]) -> Outcome:
    """Find the smallest tolerance of a script by attempts.

    If an attempt passes, an attempt with a larger tolerance passes too, because virtual time makes all attempts alike,
    with the same packets and times.

    at: Function that makes an attempt with a tolerance. With None, it makes the attempt in the same way as the script's
        driver.
    """
    smallest, *others = RUNGS_US
    if at(smallest).passed:
        return Outcome(script, smallest)
    usual = at(None)
    if not usual.passed:
        return Outcome(script, None, usual)
    # The search goes from small to large tolerances, because most scripts pass at 10 us.
    return Outcome(script, next((rung for rung in others if at(rung).passed), DEFAULT_US))
