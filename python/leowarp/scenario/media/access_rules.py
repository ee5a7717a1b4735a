# SPDX-License-Identifier: Apache-2.0
"""Rules between keys of the section `[access]`."""

from __future__ import annotations

from collections.abc import Sequence

from leowarp.base import units
from leowarp.base.errors import ScenarioError
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.problems import Problems


def check_base(section: Section, problems: Problems) -> None:
    """Check that the next slot's base can differ by the minimum step and stay in range, whatever the present base.

    For a base in the middle of the range, a step must fit into half of the range: high - low >= 2 step. A base with
    equal bounds and a step of 0 is constant. It is valid.
    """
    low, high, step = (section.value(name) for name in ("base_rtt_min_ns", "base_rtt_max_ns", "base_step_min_ns"))
    # `ORDERED` already reports a range whose maximum is below its minimum; a second message would only confuse.
    if low <= high < low + 2 * step:
        rule = "leaves no room between base_rtt_min and base_rtt_max for a step up or down from every value"
        hint = f"at most {units.TIME.format((high - low) // 2)}"
        problems.add(section.where("base_step_min"), "access.base_step_min", rule, hint)


def quantiles_ns(texts: Sequence[str]) -> list[int]:
    """Parse the quantiles in `texts` (`Access.base_rtts` or `Access.stalls`), and return them in ns.

    Raises ScenarioError if a quantile is not a time from 0 s to 10 s, if the quantiles decrease, or if there is only
    one.
    """
    values_ns = [int(units.TIME.parse(each)) for each in texts]
    if any(not 0 <= each <= 10 * 10**9 for each in values_ns):
        raise ScenarioError("a quantile is not from 0 s to 10 s")
    if len(values_ns) == 1:
        raise ScenarioError("one quantile is no distribution", "write the least and the largest, at least")
    if values_ns != sorted(values_ns):
        raise ScenarioError("the quantiles descend", "write them from the least to the largest")
    return values_ns


def check_quantiles(section: Section, problems: Problems) -> None:
    """Check that `base_rtts` and `stalls` are increasing times."""
    for key in ("base_rtts", "stalls"):
        try:
            quantiles_ns(section.value(key))
        except ScenarioError as error:
            problems.add(section.where(key), f"access.{key}", error.message, error.hint)
    if section.value("stall_every_ns") and not section.value("stalls"):
        hint = 'write their lengths too, as in stalls = ["30 ms", "40 ms"]'
        problems.add(section.where("stall_every"), "access.stall_every", "has no effect without stalls", hint)


def keys_without_effect(section: Section) -> dict[str, tuple[str, ...]]:
    """Return the keys of ``[access]`` that have no effect because of other keys. The dict maps each reason to keys."""
    idle_keys: dict[str, tuple[str, ...]] = {}
    if section.value("geometry") == "profile":
        idle_keys['geometry = "profile"'] = _GEOMETRY
        if section.value("base_rtts"):
            idle_keys["base_rtts"] = ("base_rtt_min", "base_rtt_max", "base_step_min")
    else:
        drawn = ("base_rtt_min", "base_rtt_max", "base_step_min", "base_rtts", "base_kept")
        idle_keys['geometry = "constellation"'] = drawn
    if not section.value("stall_every_ns"):
        idle_keys['stall_every = "0 s"'] = ("stalls",)
    if section.value("handover") == "hold":
        idle_keys['handover = "hold"'] = ("spike_min", "spike_max")
    scheduled = [section.value(name) is None for name in ("capacity_bps", "capacity_up_bps")]
    if not scheduled[0]:
        idle_keys["a capacity that is given"] = ("schedule_min", "schedule_median", "schedule_max")
    if not scheduled[1]:
        idle_keys["a capacity_up that is given"] = ("schedule_up_min", "schedule_up_median", "schedule_up_max")
    if not any(scheduled):
        idle_keys["capacities that are given"] = ("busy_hour", "busy")
    return idle_keys


ORDERED = (
    ("base_rtt_min", "base_rtt_max"),
    ("handover_min", "handover_max"),
    ("spike_min", "spike_max"),
    ("outage_min", "outage_max"),
    ("schedule_min", "schedule_median"),
    ("schedule_median", "schedule_max"),
    ("schedule_up_min", "schedule_up_median"),
    ("schedule_up_median", "schedule_up_max"),
)
"""Pairs of keys. The first key is a minimum, which must not exceed the second key, its maximum."""

_GEOMETRY = (
    "terminal_latitude", "terminal_longitude", "gateway_latitude", "gateway_longitude", "pop_latitude",
    "pop_longitude", "min_elevation", "scheduler", "processing_delay",
)  # fmt: skip
