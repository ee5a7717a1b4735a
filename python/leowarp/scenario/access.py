# SPDX-License-Identifier: Apache-2.0
"""`[access]`: the link of a terminal to a satellite network, from a profile."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp.scenario.key import instant, word
from leowarp.scenario.queues import QueueKeys


@dataclass(frozen=True, kw_only=True)
class Access(QueueKeys):
    """A link between the hosts dish and server that does what access links of a satellite network do."""

    profile: str = word("Whose access links it is like.", ("starlink",), "starlink")
    preset: str = word("The hour of the day; fills what is not given.", ("peak", "off-peak"), "peak")
    geometry: str = word(
        "Where delays come from: the profile alone, or the scenario's [constellation] too.",
        ("profile", "constellation"),
        "profile",
    )
    clock: str = instant("What the wall clock shows when the run's clock is 0.", "2024-05-17T12:00:00Z")
