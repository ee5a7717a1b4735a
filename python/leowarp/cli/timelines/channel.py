# SPDX-License-Identifier: Apache-2.0
"""Describes a mobile channel as text and JSON. It compares the power with the model's power, and lists how codewords
with hybrid ARQ ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from leowarp.base.errors import ScenarioError
from leowarp.media.mobile import described, fading_of, harq_of, realisation_of, warnings_about
from leowarp.scenario.schema import Mobile, Plan
from leowarp.timeline.channel import LandMobile, PowerSeries, Realisation
from leowarp.timeline.channel.mutual_information import BITS_PER_SYMBOL
from leowarp.timeline.channel.statistics import statistics

QUANTILES = (0.01, 0.1, 0.5, 0.9)
"""For each of these shares of time, the quantile of the power is printed. Two of the shares are below the median,
because deep fades matter to hybrid ARQ."""

FADE_LEVELS_DB = (-25, -20, -15, -10, -5, -3, 0)
"""The levels of received power that the table lists, in dB relative to line of sight. The Es/N0 of each level is
printed beside it, because Es/N0 determines whether a codeword can be decoded."""

_LEVELS = (
    ("state_share", "share of time, {state}", 100, "%", 2),
    ("dwell", "mean stay, {state}", 1, "s", 3),
    ("quantile", "quantile {percent:g} % of the level", 1, "dB", 2),
    ("mean_power", "mean power", 1, "dB", 2),
)
"""The statistics that are printed: the text of a row, and the factor, unit and number of digits of its values."""

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class MobileChannel:
    """The mobile channel of a plan, until the run's duration.

    fading: The fading model. None means that the last hop always has line of sight (``fading = false``).
    realisation: The power, the codewords and their outcomes, the same as in a run of this plan.
    """

    plan: Plan
    mobile: Mobile
    fading: LandMobile | None
    realisation: Realisation

    @property
    def power(self) -> PowerSeries:
        """The received power in dB. 0 dB is the power with line of sight, and there is one sample every
        `spacing_ns`."""
        return self.realisation.power

    @cached_property
    def statistics(self) -> pa.Table:
        """The statistics of the series beside the model's closed forms, with the columns
        `timeline.channel.statistics.COLUMNS`."""
        return statistics(self.power, self.fading)


def channel_of(plan: Plan, source: str) -> MobileChannel:
    """Return the mobile channel of a run with this plan. `source` is the name of the scenario in messages.

    Raises ScenarioError if the plan has no mobile channel.
    """
    if not isinstance(plan.medium, Mobile):
        raise ScenarioError(
            f"{source} has no mobile channel",
            f"a scenario with [mobile], as examples/mobile.toml; its events: leowarp timeline {source}",
        )
    # The seed determines the realisation. A run's timeline uses the same realisation, and therefore the same random
    # values.
    realisation = realisation_of(plan, plan.medium).until(plan.run.duration_ns)
    return MobileChannel(plan, plan.medium, fading_of(plan.medium), realisation)


def title(channel: MobileChannel) -> str:
    """Return a line with scenario, environment, speed, carrier, duration and seed."""
    run = f"{channel.plan.run.duration_ns / 1e9:g} s, seed {channel.plan.run.seed}"
    if channel.fading is None:
        return f"{channel.plan.name}: no fading, {run}"
    return (
        f"{channel.plan.name}: {channel.fading.environment}, {channel.fading.elevation_deg:g} deg, "
        # 3.6 converts m/s to km/h.
        f"{3.6 * channel.fading.speed_m_per_s:.6g} km/h, {channel.fading.carrier_hz / 1e9:g} GHz, {run}"
    )


def level_rows(channel: MobileChannel) -> list[Row]:
    """Return rows that compare the power series with its model: name, value, closed form. None means that the state or
    level did not occur, or that there is no closed form."""
    found: list[Row] = []
    for statistic, name, scale, unit, digits in _LEVELS:
        for row in channel.statistics.to_pylist():
            # A terminal has space only for some of the quantiles; JSON includes all of them.
            if row["statistic"] != statistic or (statistic == "quantile" and row["at"] not in QUANTILES):
                continue
            values = (row["value"], row["closed_form"])
            texts = (None if value is None else f"{value * scale:.{digits}f} {unit}" for value in values)
            found.append((name.format(state=row["state"], percent=100 * (row["at"] or 0)), *texts))
    return found


def fade_rows(channel: MobileChannel) -> list[Row]:
    """Return one row for each of `FADE_LEVELS_DB` that the statistics have: level, Es/N0, crossings per second and mean
    duration of a fade (None if there was none)."""
    by_level: dict[float, dict[str, Any]] = {}
    for row in channel.statistics.to_pylist():
        if row["statistic"] in ("crossing_rate", "fade_duration") and row["at"] in FADE_LEVELS_DB:
            # The statistics have separate rows for rate and duration of a level, which are combined here.
            by_level.setdefault(row["at"], {})[row["statistic"]] = row["value"]
    return [
        (
            f"below {level_db:g} dB", f"{channel.mobile.snr_db + level_db:g} dB", f"{values['crossing_rate']:.2f}",
            None if values["fade_duration"] is None else f"{1e3 * values['fade_duration']:.2f} ms",
        )
        for level_db, values in by_level.items()
    ]  # fmt: skip


def codeword_rows(channel: MobileChannel) -> list[Row]:
    """Return one row per number of retransmissions: the share of codewords decoded after this number, and the delay
    until decoding. The last row has the share of lost codewords."""
    harq, outcomes = harq_of(channel.mobile), channel.realisation.outcomes
    rows: list[Row] = [
        (
            f"decoded after {again} retransmission{'' if again == 1 else 's'}",
            f"{100 * share:.3f} %",
            f"{(harq.first_delay_ns + again * harq.retransmission_delay_ns) / 1e6:g} ms",
        )
        # Shares are relative to all codewords, including lost ones, so that the column adds up to 100 %.
        for again, share in enumerate(outcomes.decoded_shares(harq.retransmissions))
    ]
    return [*rows, ("lost", f"{100 * outcomes.loss_ratio:.3f} %", None)]


def link_rows(channel: MobileChannel) -> list[Row]:
    """Return the parameters of the link layer as texts with units."""
    numbers = harq_numbers(channel)
    harq = harq_of(channel.mobile)
    if numbers["threshold_bits"] is None:
        threshold = f"by code rate, at most {harq.needed_ratio:g} times the {harq.data_bits} data bits"
    else:
        threshold = (
            f"{numbers['threshold_bits']:.0f} bits ({harq.threshold_ratio:g} times the {harq.data_bits} of data)"
        )
    return [
        ("SNR: Es/N0 at line of sight (a level of 0 dB)", f"{channel.mobile.snr_db:g} dB"),
        ("hybrid ARQ, rule, modulation", f"{harq.kind}, {harq.rule}, {harq.modulation}"),
        ("codewords", f"{numbers['codewords']}, one every {harq.codeword_period_ns / 1e3:g} us"),
        ("mutual information that decodes", threshold),
        ("bits of the first transmission", f"{numbers['first_bits']} of {harq.codeword_bits}"),
        ("symbol rate of first transmissions", f"{numbers['symbol_rate_hz'] / 1e6:.3f} Msymbol/s"),
        ("symbols sent over those of first transmissions", f"{numbers['symbols_ratio']:.3f}"),
    ]


def harq_numbers(channel: MobileChannel) -> dict[str, Any]:
    """Return the fields of `media.mobile.described`, and two more: ``symbol_rate_hz`` of first transmissions, and
    ``threshold_bits`` (None if the threshold depends on the rate of the code)."""
    harq = harq_of(channel.mobile)
    # The rate is the number of symbols (bits divided by bits per symbol) per codeword period. A radio band must carry
    # this rate even if no codeword is retransmitted.
    symbols = channel.realisation.outcomes.first_bits / BITS_PER_SYMBOL[harq.modulation]
    constant = harq.threshold_kind == "constant"
    return asdict(described(channel.mobile, channel.realisation.outcomes)) | {
        "symbol_rate_hz": symbols * 1e9 / harq.codeword_period_ns,
        # If the threshold depends on the code rate, it depends on the number of bits sent so far (`RATIOS_BY_RATE` of
        # timeline/channel/harq.py). There is then no single number.
        "threshold_bits": harq.threshold_ratio * harq.data_bits if constant else None,
    }


def as_json(channel: MobileChannel) -> dict[str, Any]:
    """Return the channel as a JSON object."""
    return about(channel) | {
        "spacing_ns": channel.power.spacing_ns,
        "samples": len(channel.power.level_db),
        "is_steady": channel.power.frozen,
        "statistics": channel.statistics.to_pylist(),
        "harq": harq_numbers(channel),
        "warnings": warnings_about(channel.plan, channel.mobile),
    }


def about(channel: MobileChannel) -> dict[str, object]:
    """Return the inputs from which the channel is computed. Values about fading are None if there is no fading."""
    fading = channel.fading
    return {
        "scenario": channel.plan.name,
        "seed": channel.plan.run.seed,
        "duration_ns": channel.plan.run.duration_ns,
        "snr_db": channel.mobile.snr_db,
        "environment": None if fading is None else fading.environment,
        "elevation_deg": None if fading is None else fading.elevation_deg,
        "speed_m_per_s": None if fading is None else fading.speed_m_per_s,
        "carrier_hz": None if fading is None else fading.carrier_hz,
    }
