# SPDX-License-Identifier: Apache-2.0
"""The section `[measured]`: a link that replays a measurement.

Delay, loss and capacity depend only on time and do not react to the flow (docs/limitations.md, replays of measured
paths).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leowarp.base import units
from leowarp.scenario.media.medium_section import MediumSection
from leowarp.scenario.network.queues import QueueKeys
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import InputFile, flag, instant, overhead, quantity, word
from leowarp.scenario.text.key import file as named_file
from leowarp.scenario.text.problems import Problems


@dataclass(frozen=True, kw_only=True)
class Measured(QueueKeys, MediumSection):
    """A link between hosts A and B that replays a measurement. A to B is the downlink, from the internet to the user. B
    to A is the uplink. `run.start` is the time in the measurement at which the run begins.
    """

    NAME: ClassVar = "measured"

    file: InputFile = named_file(  # noqa: RUF009
        "File of delays: a CSV table with the columns `t_s, delay_ms` (or `rtt_ms`) and optionally `rate_mbps, "
        "loss_ratio, delay_up_ms, rate_up_mbps, loss_up_ratio`; irtt's JSON; the output of `ping -D`; LeoReplayer's "
        "delays.",
        required=True,
    )
    format: str = word(
        "Format of `file`; auto: recognised by its content.", ("auto", "csv", "irtt", "ping", "leoreplayer"), "auto"
    )
    file_up: InputFile | None = named_file(  # noqa: RUF009
        "One-way delays of the uplink, in the same format, if `file` holds those of the downlink alone."
    )
    interval_ns: int | None = quantity(
        units.TIME, "Time between two lines of a file without times: ping without -D (no default), LeoReplayer 10 ms.",
        "none", low="1 us", high="1 h", none="none",
    )  # fmt: skip
    capacity: InputFile | None = named_file(  # noqa: RUF009
        "Capacity of the downlink: a CSV table with `t_s, rate_mbps` (or `mbps`) and optionally `rate_up_mbps`, or a "
        "Mahimahi trace."
    )
    capacity_up: InputFile | None = named_file("Capacity of the uplink, in the same formats.")  # noqa: RUF009
    capacity_format: str = word(
        "Format of `capacity` and `capacity_up`; auto: recognised by the content.", ("auto", "csv", "mahimahi"), "auto"
    )
    rate_bps: int | None = quantity(
        units.RATE, "Rate of the downlink if no capacity was measured.", "unshaped", low="8 kbit/s",
        high="1000 Gbit/s", none="unshaped",
    )  # fmt: skip
    rate_up_bps: int | None = quantity(
        units.RATE, "Rate of the uplink if no capacity was measured.", "unshaped", low="8 kbit/s",
        high="1000 Gbit/s", none="unshaped",
    )  # fmt: skip
    repeat: bool = flag(
        "Each file starts again when it ends, as with Mahimahi and LeoReplayer (each file has its own length).", False
    )
    rtt: str = word(
        "Division of a round trip: half in each direction, all of it on the downlink, or all of it on the uplink. "
        "one-way: the one-way delays that irtt measured (its two clocks must agree).",
        ("halves", "down", "up", "one-way"),
        "halves",
    )
    rtt_from: str = word(
        "Host whose pings have the recorded round trips. A request has the first part of the round trip recorded when "
        "it is sent, and its reply has the second part recorded when the reply is sent. auto: the source of the first "
        "flow.",
        ("auto", "A", "B"),
        "auto",
    )
    lost_probes: str = word(
        "Direction of a probe's loss that the recording does not tell; none: such losses are ignored. A packet is lost "
        "if the probe nearest to it in time was lost.",
        ("down", "up", "both", "none"),
        "down",
    )
    # A gap is an error unless the user chooses a rule, because any default would invent data.
    gaps: str = word(
        "Treatment of a time without probes (a gap): an error; hold: the delay before it continues; down: no packet "
        "passes; linear: the delay changes linearly to the one after it.",
        ("error", "hold", "down", "linear"),
        "error",
    )
    gap_after_ns: int | None = quantity(
        units.TIME, "Shortest time without probes that is a gap; auto: ten median intervals.",
        "auto", low="1 us", high="1 d",
        none="auto",
    )  # fmt: skip
    resample_ns: int | None = quantity(
        units.TIME, "Delays and losses within this time become one row.", "none", low="100 us", high="1 h",
        none="none",
    )  # fmt: skip
    resample_rule: str = word("Delay of such a row: the mean or the smallest.", ("mean", "min"), "mean")
    interpolation: str = word(
        "Delay between two rows: that of the first row (hold), or linear from the first to the second.",
        ("hold", "linear"),
        "hold",
    )
    interpolation_step_ns: int = quantity(
        units.TIME, "Distance in time of the rows that approximate a linear change.", "1 ms", low="10 us", high="1 h"
    )
    probe_size_bytes: int | None = quantity(
        units.BYTES, "IP length of the probes, because the delay that they measured includes their own serialisation "
        "time. auto: the length that irtt and ping report (84 B if they report none, and for LeoReplayer), 0 B for "
        "tables.", "auto", low="0 B",
        high="65535 B", none="auto",
    )  # fmt: skip
    clock: str | None = instant(
        "Wall-clock time at the measurement's time 0, if the file does not record it.", "none", none="none"
    )
    overhead_bytes: int = overhead()

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Check for keys that have no effect together with another key. `media/measured` checks the files."""
        # A capacity table has a value at every instant, so a rate given in addition would have no effect.
        for rate, capacity in (("rate", "capacity"), ("rate_up", "capacity_up")):
            if section.values.get(f"{rate}_bps") is not None and section.values.get(capacity) is not None:
                rule = f"has no effect: {capacity} says what this way could carry"
                section.refuse(problems, rate, rule, f"take {rate} or {capacity} out")
        if section.values.get("rtt") == "one-way" and section.values.get("rtt_from") == "A":
            rule = 'has no effect: with rtt = "one-way" the ways are those of irtt, whose client is B'
            section.refuse(problems, "rtt_from", rule, "take rtt_from out")
