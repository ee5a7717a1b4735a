# SPDX-License-Identifier: Apache-2.0
"""The text below every figure. It states the rules of the path that affect the results."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp_studies.huston2024 import groups

PATH_RULES = (
    "path: profile starlink (synthetic: capacity, delay and loss as functions of time; FIFO), reconfigurations at "
    "seconds 12, 27, 42, 57"
)
SESSION_RULES = f"one flow of {groups.DURATION_S} s from the server to the dish, drop-tail queue unless named otherwise"


@dataclass(frozen=True)
class Rules:
    """Facts about the runs, for the text below each figure.

    kernel: The name and version of the guest's kernel, or "not recorded".
    seeds: The number of seeds of the sessions.
    """

    kernel: str
    seeds: int

    def footer(self, *rules: str) -> str:
        """Return the rules that apply to a figure, as one paragraph."""
        return " · ".join((PATH_RULES, *rules, f"kernel: {self.kernel}"))
