# SPDX-License-Identifier: Apache-2.0
"""The section `[jittered]`: a path on which each packet has its own random delay.

In emulation studies of reordering, a jittered path consists of netem's delay and jitter, followed by a token bucket
filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leowarp.base import units
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import InputFile, file, overhead, quantity, queue, share, time, word
from leowarp.scenario.text.problems import Problems


@dataclass(frozen=True, kw_only=True)
class Jittered(MediumSection):
    """A path between hosts A and B over one router. Each packet to B has its own random delay, so packets overtake each
    other.
    """

    NAME: ClassVar = "jittered"
    # A jittered link always uses netem, and its hosts are connected by wires.
    IDLE_NETWORK: ClassVar = ("instantiate", "endpoints", "link_model", "delay_rounding", "queue_counts", "neighbours")
    GOVERNS: ClassVar = {"distribution": ("table", "table_sha256")}

    delay_ns: int = time("Mean one-way delay, A to B.", "100 ms", "60 s")
    delay_up_ns: int = time("One-way delay, B to A; this direction has no jitter.", "0 s", "60 s")
    # netem's parameter is the standard deviation for its tables, but the half-width for its uniform distribution
    # (net/sched/sch_netem.c, tabledist). leowarp's key is the standard deviation for every distribution.
    jitter_ns: int = time("Standard deviation of the packets' delay, A to B, for every distribution.", "1 ms", "2 s")
    distribution: str = word(
        "Distribution of the delays: uniform (mean +- sqrt(3) jitter), normal, exponential (on top of delay - jitter), "
        "or that of the samples in `table`.",
        ("uniform", "normal", "exponential", "table"),
        "normal",
    )
    table: InputFile | None = file(  # noqa: RUF009
        'distribution = "table": a text file with one sample per line, in any unit. The samples are scaled to the mean '
        "`delay` and the standard deviation `jitter`."
    )
    # The shaper follows the delay line, as in emulation studies (docs/concepts/links.md, jittered links).
    rate_bps: int | None = quantity(
        units.RATE, "Rate of the link, A to B; it serialises packets in the order in which their delays end.",
        "100 Mbit/s", low="8 kbit/s", high="1000 Gbit/s", none="unshaped",
    )  # fmt: skip
    rate_up_bps: int | None = quantity(
        units.RATE, "The same, B to A.", "unshaped", low="8 kbit/s", high="1000 Gbit/s", none="unshaped"
    )
    queue_pkts: int | None = queue(
        "netem's own limit in each direction, as a number of packets: it counts waiting packets and packets in flight.",
        "5000 pkts",
    )
    queue_bytes: int | None = None
    overhead_bytes: int = overhead()
    loss_ratio: float = share("Share of packets that are lost at random, A to B.", "0 %")

    @property
    def left_bps(self) -> int | None:
        """The rate in bit/s that the link offers to packets. Unlike in `queues.RateKeys`, background traffic does not
        reduce this rate."""
        return self.rate_bps

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Check that a table of samples is given if and only if `distribution` is "table". Also check that netem's
        limit is in packets."""
        drawn = section.value("distribution") == "table"
        given = section.values.get("table") is not None
        # A wrong table has already been reported, and is not reported as missing in addition.
        if drawn and not given and not (section.gave("table") and "table" not in section.values):
            rule = 'is missing, and distribution is "table"'
            problems.add(section.where("distribution"), "jittered.table", rule, 'write table = "delays.txt"')
        for key in ("table", "table_sha256"):
            if section.gave(key) and not drawn and (given or key != "table"):
                rule = 'has no effect without distribution = "table"'
                section.refuse(problems, key, rule, 'take it out, or write distribution = "table"')
        if section.values.get("queue_bytes") is not None:
            section.refuse(problems, "queue", "netem's limit is in packets", 'write "5000 pkts"')
