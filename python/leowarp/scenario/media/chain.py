# SPDX-License-Identifier: Apache-2.0
"""The section `[chain]`: a row of links. The links never change.

The network is so small that its delays, throughputs and queue lengths can be computed by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.network.queues import RateKeys
from leowarp.scenario.text.key import count, overhead, share, time


@dataclass(frozen=True, kw_only=True)
class Chain(RateKeys, MediumSection):
    """The routers r0 to rN in a row between hosts A and B, with one fixed path.

    For a chain, a formula gives every quantity (docs/accuracy.md, a check by hand). Tests compare the link model with
    these formulas.
    """

    # The class attribute GOVERNS must come from QueueKeys, and Python takes it from the first base class that has it.
    # QueueKeys is therefore listed before MediumSection.
    NAME: ClassVar = "chain"

    hops: int = count("Number of links between routers.", 1, 1, 200)
    delay_ns: int = time("One-way delay of each link.", "10 ms", "60 s")
    overhead_bytes: int = overhead("a link")
    loss_ratio: float = share("Share of packets that each link loses at random.", "0 %")
