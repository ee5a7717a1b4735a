# SPDX-License-Identifier: Apache-2.0
"""A mobile channel as text and JSON: what its power does beside the model, what hybrid ARQ makes of its codewords."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from leowarp.errors import ScenarioError
from leowarp.media.mobile import described, fading_of, harq_of, realisation_of, warnings_about
from leowarp.scenario.schema import Mobile, Plan
from leowarp.timeline.channel import LandMobile, PowerSeries, Realisation
from leowarp.timeline.channel.mutual_information import BITS_PER_SYMBOL
from leowarp.timeline.channel.statistics import statistics

QUANTILES = (0.01, 0.1, 0.5, 0.9)
"""Shares of time: deep fades matter to hybrid ARQ, so there are two below the median."""

FADE_LEVELS_DB = (-25, -20, -15, -10, -5, -3, 0)
"""Relative to line of sight. Es/N0 at each is given beside it, which is what decides whether a codeword is decoded."""

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class MobileChannel:
    """The mobile channel of a plan, over the plan's duration."""

    plan: Plan
    mobile: Mobile
    fading: LandMobile | None
    realisation: Realisation

    @property
    def power(self) -> PowerSeries:
        """The power series, relative to line of sight (0 dB), one level every `spacing_ns`."""
        return self.realisation.power

    @property
    def steady(self) -> bool:
        """Whether the level is one number: nothing fades, or the terminal is at rest."""
        return self.power.frozen

    @cached_property
    def statistics(self) -> pa.Table:
        """What the series does beside the model's closed forms; columns as `timeline.channel.statistics.COLUMNS`."""
        return statistics(self.power, self.fading)


def channel_of(plan: Plan, source: str) -> MobileChannel:
    """The channel that a run of the plan would have.

    Raises
    ------
    ScenarioError
        If the plan has none.
    """
    if not isinstance(plan.medium, Mobile):
        raise ScenarioError(
            f"{source} has no mobile channel",
            f"a scenario with [mobile], as examples/mobile.toml; its events: leowarp timeline {source}",
        )
    realisation = realisation_of(plan, plan.medium).until(plan.run.duration_ns)
    return MobileChannel(plan, plan.medium, fading_of(plan.medium), realisation)


def title(channel: MobileChannel) -> str:
    """Scenario, environment, speed, carrier, duration and seed."""
    run = f"{channel.plan.run.duration_ns / 1e9:g} s, seed {channel.plan.run.seed}"
    if channel.fading is None:
        return f"{channel.plan.name}: no fading, {run}"
    return (
        f"{channel.plan.name}: {channel.fading.environment}, {channel.fading.elevation_deg:g} deg, "
        f"{3.6 * channel.fading.speed_m_per_s:.6g} km/h, {channel.fading.carrier_hz / 1e9:g} GHz, {run}"
    )


def level_rows(channel: MobileChannel) -> list[Row]:
    """What the power did, and what the model says: shares and stays of the states, quantiles, mean."""
    rows = channel.statistics.to_pylist()

    def line(name: str, row: dict[str, Any], scale: float, unit: str, digits: int) -> Row:
        return name, *(
            None if row[key] is None else f"{row[key] * scale:.{digits}f} {unit}" for key in ("value", "closed_form")
        )

    shares = [
        line(f"share of time, {row['state']}", row, 100, "%", 2) for row in rows if row["statistic"] == "state_share"
    ]
    dwells = [line(f"mean stay, {row['state']}", row, 1, "s", 3) for row in rows if row["statistic"] == "dwell"]
    levels = [
        line(f"quantile {100 * row['at']:g} % of the level", row, 1, "dB", 2)
        for row in rows
        if row["statistic"] == "quantile" and row["at"] in QUANTILES
    ]
    means = [line("mean power", row, 1, "dB", 2) for row in rows if row["statistic"] == "mean_power"]
    return [*shares, *dwells, *levels, *means]


def fade_rows(channel: MobileChannel) -> list[Row]:
    """Fades below some levels: Es/N0 there, how many a second, how long."""
    by_level: dict[float, dict[str, Any]] = {}
    for row in channel.statistics.to_pylist():
        if row["statistic"] in ("crossing_rate", "fade_duration") and row["at"] in FADE_LEVELS_DB:
            by_level.setdefault(row["at"], {})[row["statistic"]] = row["value"]
    return [
        (
            f"below {level_db:g} dB", f"{channel.mobile.snr_db + level_db:g} dB", f"{values['crossing_rate']:.2f}",
            None if values["fade_duration"] is None else f"{1e3 * values['fade_duration']:.2f} ms",
        )
        for level_db, values in by_level.items()
    ]  # fmt: skip


def codeword_rows(channel: MobileChannel) -> list[Row]:
    """Share of all codewords decoded after 0, 1, ... retransmissions, with the delay that each has, and lost."""
    harq, outcomes = harq_of(channel.mobile), channel.realisation.outcomes
    rows: list[Row] = [
        (
            f"decoded after {again} retransmission{'' if again == 1 else 's'}",
            f"{100 * share:.3f} %",
            f"{(harq.first_delay_ns + again * harq.retransmission_delay_ns) / 1e6:g} ms",
        )
        for again, share in enumerate(outcomes.decoded_shares(harq.retransmissions))
    ]
    return [*rows, ("lost", f"{100 * outcomes.loss_ratio:.3f} %", None)]


def link_rows(channel: MobileChannel) -> list[Row]:
    """What the link layer works with."""
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
    """What became of all codewords, and what the link layer works with."""
    harq = harq_of(channel.mobile)
    symbols = channel.realisation.outcomes.first_bits / BITS_PER_SYMBOL[harq.modulation]
    constant = harq.threshold_kind == "constant"
    return asdict(described(channel.mobile, channel.realisation.outcomes)) | {
        "symbol_rate_hz": symbols * 1e9 / harq.codeword_period_ns,
        "threshold_bits": harq.threshold_ratio * harq.data_bits if constant else None,
    }


def as_json(channel: MobileChannel) -> dict[str, Any]:
    """All of it as one object; statistics as `timeline.channel.statistics.COLUMNS`."""
    return about(channel) | {
        "spacing_ns": channel.power.spacing_ns,
        "samples": len(channel.power.level_db),
        "is_steady": channel.steady,
        "statistics": channel.statistics.to_pylist(),
        "harq": harq_numbers(channel),
        "warnings": warnings_about(channel.plan, channel.mobile),
    }


def about(channel: MobileChannel) -> dict[str, object]:
    """What the channel was made from."""
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
