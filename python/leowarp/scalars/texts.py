# SPDX-License-Identifier: Apache-2.0
"""The functions that format values as text: rates, times, ratios, counts."""

from __future__ import annotations

from collections.abc import Callable


def plainly(value: float | str) -> str:
    """Return a number as text. Counts have all digits, and other numbers have three significant digits."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def ratio_text(ratio: float) -> str:
    return f"{100 * ratio:.3g} %"


def rate_text(value_bps: float) -> str:
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")):
        if value_bps >= size:
            return f"{_digits(value_bps / size)} {unit}"
    return "0 bit/s"


def span_text(value_ns: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")):
        if abs(value_ns) >= size:
            return f"{_digits(value_ns / size)} {unit}"
    return "0 s"


def _digits(value: float) -> str:
    """Return a number as text with at least four significant digits, and all before the decimal point."""
    # `#` preserves trailing zeros, so that 1.200 and 1.234 are printed with the same precision.
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.4g}".rstrip(".")


TEXTS: dict[str, Callable[..., str]] = {
    "_bps": rate_text,
    "_ns": span_text,
    "_us": lambda value_us: span_text(value_us * 1e3),
    "_s": lambda value_s: f"{value_s:,.4g} s" if value_s < 1000 else f"{value_s:,.0f} s",
    "_ratio": ratio_text,
}
"""A dict from the ending of scalars' names to the function that formats these scalars. A scalar with another name is
printed unchanged."""
