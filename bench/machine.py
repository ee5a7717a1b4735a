# SPDX-License-Identifier: Apache-2.0
"""The functions for all benchmarks: the machine's description, the text of repeated values, and tables in a page."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def machine() -> str:
    """Return the processor's name and load as text: `Intel(R) Xeon(R) Processor, load 1.55 at the start`."""
    cpu = next(line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
               if line.startswith("model name"))  # fmt: skip
    load = Path("/proc/loadavg").read_text().split()[0]
    return f"{cpu}, load {load} at the start"


def load_ns(regions_kib: Sequence[int]) -> dict[int, float]:
    """Return a dict from the size in KiB of a memory region to the latency of a load in ns. Loads visit the addresses
    of the region in random order. Each load waits for the previous load."""
    source = Path(__file__).with_name("load_latency.c")
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as directory:
        program = Path(directory) / "load_latency"
        subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
        said = subprocess.run([program, *map(str, regions_kib)], check=True, capture_output=True, text=True).stdout
    return {int(kib): float(ns) for kib, ns in (line.split() for line in said.splitlines())}


def spread(values: list[float], form: str) -> str:
    """Return the median, with the smallest and the largest value in brackets."""
    middle = format(statistics.median(values), form)
    return f"{middle} ({format(min(values), form)} to {format(max(values), form)})"


def publish(name: str, lines: list[str], *, quick: bool) -> None:
    """Print a table. If `quick` is false, also replace the table `name` on the page."""
    print("\n".join(lines))
    if quick:
        return
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text("\n".join([before + begin, *lines, end + rest.split(end)[1]]))
