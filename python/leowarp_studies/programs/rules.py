# SPDX-License-Identifier: Apache-2.0
"""The foot of every figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Facts of the runs that the figures' feet need.

    kernel: Name and version of the guest's kernel, or "not recorded".
    """

    kernel: str

    def footer(self, *rules: str) -> str:
        """Rules of a figure in one paragraph."""
        stacks = "ngtcp2, quinn, quic-go and aioquic with their defaults, computing takes no virtual time"
        return " · ".join((*rules, stacks, f"kernel: {self.kernel}"))
