# SPDX-License-Identifier: Apache-2.0
"""Rounds delays as the scenario key `network.delay_rounding` says. Only delays that are inputs are rounded, not delays
computed from geometry."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leowarp.scenario.schema import Plan

Delays = TypeVar("Delays", int, NDArray[np.int64])


def rounded_ns(plan: Plan, delay_ns: Delays) -> Delays:
    """Return the delay (or delays) for the guest. With ``ceil-ms``, delays are rounded up to a multiple of 1 ms.


    The arithmetic is in whole ns. For example, 10.000001 ms become 11 ms, and 10 ms remain 10 ms."""
    if plan.network.delay_rounding == "ceil-ms":
        # Delays are rounded as in Frederiksen's emulator, which gives netem whole ms on every hop and rounds them up.
        return -(-delay_ns // 1_000_000) * 1_000_000
    return delay_ns
