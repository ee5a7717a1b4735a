# SPDX-License-Identifier: Apache-2.0
"""Text below every figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Facts about the runs, for the text below figures.

    kernel: Name and version of the guest's kernel, or "not recorded".
    """

    kernel: str

    def footer(self, *rules: str) -> str:
        """The rules that apply to a figure, as one paragraph."""
        stacks = "ngtcp2, quinn, quic-go and aioquic with their defaults, computing takes no virtual time"
        return " · ".join((*rules, stacks, f"kernel: {self.kernel}"))
