# SPDX-License-Identifier: Apache-2.0
"""The rates of links, and the part of a rate that background traffic takes."""

from __future__ import annotations

from dataclasses import dataclass

from leowarp.base import units
from leowarp.scenario.network.queues import QueueKeys
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import quantity
from leowarp.scenario.text.problems import Problems


@dataclass(frozen=True, kw_only=True)
class RateKeys(QueueKeys):
    """The scenario keys of a link whose rate is constant, and equal in both directions.

    Background traffic is modelled as a rate, without packets. It occupies its share of the link's serialiser
    continuously, like a fluid. To send a packet of length L, the link needs the time L / (rate - background). The
    background traffic fills no queue, loses no packets and does not react to congestion.
    """

    rate_bps: int | None = quantity(
        units.RATE, "Rate of each link, each direction.", "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s",
        none="unshaped",
    )  # fmt: skip
    background_bps: int = quantity(
        units.RATE, "Capacity that traffic outside of the run takes from each link, in each direction. It is a rate "
        "without packets; the run's packets are sent at the remaining rate.",
        "0 bit/s", low="0 bit/s", high="1000 Gbit/s",
    )  # fmt: skip

    @property
    def left_bps(self) -> int | None:
        """The rate that remains for the run's packets. None means unshaped."""
        return None if self.rate_bps is None else self.rate_bps - self.background_bps


SMALLEST_LEFT_BPS = 8000
"""Background traffic must leave at least this rate, in bit/s. It is also the smallest rate of a link."""


def check_background(section: Section, problems: Problems) -> None:
    """Check that background traffic leaves some of a link's rate."""
    rate_bps, background_bps = section.value("rate_bps"), section.value("background_bps")
    if background_bps == 0:
        return
    load = units.RATE.format(background_bps)
    if rate_bps is None:
        hint = f'give it a rate: {section.name}.rate = "1 Gbit/s"'
        section.refuse(problems, "background", f"{load} of a link that is unshaped", hint)
    elif rate_bps - background_bps < SMALLEST_LEFT_BPS:
        rule = f"{load} of a link that carries {units.RATE.format(rate_bps)} leave nothing for the run's packets"
        section.refuse(problems, "background", rule, f"write less than {section.name}.rate, or a higher rate")
