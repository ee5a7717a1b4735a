# SPDX-License-Identifier: Apache-2.0
"""What a benchmark was measured on, and how its repetitions are written."""

from __future__ import annotations

import statistics
from pathlib import Path


def machine() -> str:
    """Processor and load, in words: `Intel(R) Xeon(R) Processor, load 1.55 at the start`."""
    cpu = next(line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
               if line.startswith("model name"))  # fmt: skip
    load = Path("/proc/loadavg").read_text().split()[0]
    return f"{cpu}, load {load} at the start"


def spread(values: list[float], form: str) -> str:
    """Median, and in brackets the smallest and the largest."""
    middle = format(statistics.median(values), form)
    return f"{middle} ({format(min(values), form)} to {format(max(values), form)})"
