# SPDX-License-Identifier: Apache-2.0
"""The text below every figure. It names the network rules on which the results depend."""

from __future__ import annotations

from dataclasses import dataclass

PATH_RULES = (
    "path: 648 or 324 satellites at 1200 km, Madrid to Tokyo and Aalborg to Cape Town, links of 100 Mbit/s with FIFOs "
    "of 500 packets, routes every 30 s, in_flight = drain"
)


@dataclass(frozen=True)
class Rules:
    """The facts about the runs, for the text below figures.

    Attributes
    ----------
    kernel : str
        The name and version of the guest's kernel, or "not recorded".
    changes : int
        The number of route changes that the study examines at saturation.
    """

    kernel: str
    changes: int

    def footer(self, *rules: str) -> str:
        """Return the rules that apply to a figure, as one paragraph."""
        return " · ".join((PATH_RULES, *rules, f"{self.changes} changes at saturation", f"kernel: {self.kernel}"))
