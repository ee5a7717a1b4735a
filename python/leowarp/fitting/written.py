# SPDX-License-Identifier: Apache-2.0
"""A fit as the text of a preset for `access.preset`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leowarp.base import printable, units
from leowarp.fitting.estimate import LEVEL, Estimate
from leowarp.fitting.fit import Fit
from leowarp.scenario.schema import Access
from leowarp.scenario.text.key import keys
from leowarp.scenario.write import quoted

LEVEL_TEXT = f"{100 * LEVEL:g} %"


def preset_text(fit: Fit) -> str:
    """Return TOML with only ``[access]``. Comments have each key's interval and data, and the keys that no recording
    determines."""
    return "\n".join(_lines(fit)) + "\n"


def shown(key: str, value: float) -> str:
    """Return a value in the form of a scenario, with four digits: ``20.13 ms``."""
    measure = units.TIME if key == "base_rtts" else keys(Access)[key][1].quantity
    assert measure is not None, f"{key} is no quantity"
    if measure is units.RATIO:
        return f"{100 * value:.4g} %"
    if measure is units.TIME:
        return f"{value / 1e6:.4g} ms" if value < 1e9 else f"{value / 1e9:.6g} s"
    if measure is units.RATE:
        return f"{value / 1e6:.4g} Mbit/s"
    return measure.format(round(value))


def interval_text(estimate: Estimate) -> str:
    """Return the interval of an estimate as text, for example `9.1 ms to 12 ms`. The text has one pair per quantile."""
    if estimate.low is None or estimate.high is None:
        return "no interval"
    if isinstance(estimate.low, tuple):
        assert isinstance(estimate.high, tuple)
        ends = zip(estimate.low, estimate.high, strict=True)
        return ", ".join(f"{shown(estimate.key, a)} to {shown(estimate.key, b)}" for a, b in ends)
    assert not isinstance(estimate.high, tuple)
    return f"{shown(estimate.key, estimate.low)} to {shown(estimate.key, estimate.high)}"


def value_text(estimate: Estimate) -> str:
    if isinstance(estimate.value, str):
        return quoted(estimate.value)
    if isinstance(estimate.value, tuple):
        return "[" + ", ".join(quoted(shown(estimate.key, each)) for each in estimate.value) + "]"
    return quoted(shown(estimate.key, estimate.value))


def _lines(fit: Fit) -> Iterator[str]:
    sources = ", ".join(dict.fromkeys(Path(told.source).name for told in fit.recordings))
    yield f"# Fitted by leowarp fit to {printable.one_line(sources)}. In a scenario:"
    yield "#   [access]"
    yield '#   preset = "THIS-FILE.toml"'
    yield "[access]"
    yield f'profile = "{fit.profile}"'
    for key, (estimate, source) in fit.chosen.items():
        of = f"n = {estimate.count} {estimate.of}, {printable.one_line(Path(source).name)}"
        level = "" if estimate.low is None else f"{LEVEL_TEXT}: "
        yield f"# {level}{interval_text(estimate)}; {of}; {estimate.note}"
        yield f"{key} = {value_text(estimate)}"
    if any(key == "base_rtts" for key in fit.chosen):
        yield ""
    yield "# What no recording tells, and the profile's own values stand for:"
    for key, why in fit.untold.items():
        yield f"#   {key}: {why}"
