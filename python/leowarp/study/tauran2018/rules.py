# SPDX-License-Identifier: Apache-2.0
"""What stands at the foot of every figure: the rules that shape the results."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp.study.tauran2018 import runs

PATH_RULES = (
    "path: LMS fading (Perez-Fontan, ITS 40°, 60 km/h, 2.2 GHz), incremental HARQ (10 to 70 ms), 80 ms to the last "
    "satellite, FIFO of 500 packets"
)
SESSION_RULES = f"one flow of {runs.DURATION_S} s, packets of 1,115 B"
STUDY_TCP = "profile newreno: no SACK, three duplicate ACKs"


@dataclass(frozen=True)
class Rules:
    """The kernel, and how many seeds."""

    kernel: str
    seeds: int

    def footer(self, *rules: str) -> str:
        """Rules of a figure in one paragraph."""
        count = "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"
        return " · ".join((PATH_RULES, *rules, count, f"kernel: {self.kernel}"))
