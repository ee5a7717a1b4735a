# SPDX-License-Identifier: Apache-2.0
"""The text below every figure. It states the rules of the path that affect the results."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp_studies.tauran2018 import runs

PATH_RULES = (
    "path: LMS fading (Perez-Fontan, ITS 40°, 60 km/h, 2.2 GHz), HARQ of 10 to 70 ms, 70 to 89 ms to the last "
    "of 66 satellites (Frankfurt to Lima), FIFO of 500 packets"
)
UNFADED_RULES = (
    "path: 40 Mbit/s, 180 ms there and back, no fading, every packet decoded at once, FIFO that never overflows"
)
SESSION_RULES = f"one flow of {runs.DURATION_S} s, packets of 1,115 B"
STUDY_TCP = "profile newreno: no SACK, three duplicate ACKs"


@dataclass(frozen=True)
class Rules:
    """Facts about the runs, for the text below each figure.

    kernel: The name and version of the guest's kernel, or "not recorded".
    seeds: The number of seeds of the study's own sessions.
    """

    kernel: str
    seeds: int

    def footer(self, *rules: str, path: str = PATH_RULES) -> str:
        """Return the rules that apply to a figure, as one paragraph."""
        return " · ".join((path, *rules, f"kernel: {self.kernel}"))

    @property
    def counted(self) -> str:
        """Return a text with the number of seeds of the study's own sessions."""
        return "1 seed" if self.seeds == 1 else f"{self.seeds} seeds"
