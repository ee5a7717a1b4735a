# SPDX-License-Identifier: Apache-2.0
"""The text below every figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """The facts about the runs, for the text below figures.

    kernel: The name and version of the guest's kernel, or "not recorded".
    """

    kernel: str

    def footer(self, *rules: str) -> str:
        """Return the rules that apply to a figure, as one paragraph."""
        stacks = "ngtcp2, quinn, quic-go and aioquic with their defaults, computing takes no virtual time"
        return " · ".join((*rules, stacks, f"kernel: {self.kernel}"))
