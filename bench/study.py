# SPDX-License-Identifier: Apache-2.0
"""Measure each step of a study with many small runs, for the second table of docs/performance.md.

    python bench/study.py            measure, print, and write the table into docs/performance.md
    python bench/study.py --quick    one repetition, printed only

The runs belong to `torres2020`: transfers of 120 MB at 100 Mbit/s, over a path with 100 ms of delay and jitter. Runs
without traffic show the cost of boot and set-up. Complete transfers also show the cost of a packet.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench import ROOT
from machine import machine, publish, spread

from leowarp import scenario
from leowarp.base.layout import GUEST
from leowarp.metrics import metrics, tables_of
from leowarp.running import summaries
from leowarp.running.street import prepared
from leowarp.trace import read_output

SEGMENT_BYTES = 1448
SIZE_BYTES = 120_000_000
TOGETHER = 10
JITTERS = ("0 ms", "0.3 ms", "1 ms", "10 ms")


def plans(count: int, **changes: str) -> list[scenario.Plan]:
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    example = ROOT / "examples" / "jittered-transfer.toml"
    return [scenario.resolve(scenario.load(example, {**dotted, "run.seed": seed})) for seed in range(1, count + 1)]


def guest_cpu_s(count: int, scratch: Path, **changes: str) -> float:
    """Return the guest's processor time in s for this number of runs."""
    made = list(summaries.make(plans(count, **changes), scratch))
    failed = [each.error for each in made if each.error is not None]
    if failed:
        raise failed[0]
    return sum(each.costs["guest_cpu_s"] for each in made)


def host_ms(scratch: Path) -> dict[str, float]:
    """Return the processor time in ms that each step of a run takes on the host. Each value is the median of ten
    runs."""
    steps: dict[str, list[float]] = {"plan": [], "timeline": [], "collection": []}
    for seed in range(1, TOGETHER + 1):
        list(summaries.make(plans(1, flows__0__size="1 MB", run__seed=str(seed)), scratch))
        began = time.process_time()
        plan = plans(1, run__seed=str(seed))[0]
        planned = time.process_time()
        given = prepared(plan)
        drawn = time.process_time()
        directory = scratch / "run" / GUEST
        recorded = read_output(directory / "out", directory / "in" / "setup.json")
        metrics(tables_of(recorded, routes=given.routes, timeline=given.timeline), plan)
        for step, spent in zip(steps, (planned - began, drawn - planned, time.process_time() - drawn), strict=True):
            steps[step].append(1e3 * spent)
    return {step: statistics.median(spent) for step, spent in steps.items()}


def rows(scratch: Path, repeats: int) -> list[tuple[str, str]]:
    small = {"flows__0__size": "1 B"}
    empty = []
    packets: dict[str, list[float]] = {jitter: [] for jitter in JITTERS}
    for _ in range(repeats):
        empty.append(guest_cpu_s(TOGETHER, scratch, **small) / TOGETHER)
        for jitter in JITTERS:
            whole = guest_cpu_s(TOGETHER, scratch, jittered__jitter=jitter)
            packets[jitter].append(whole / TOGETHER - empty[-1])
            print(f"jitter {jitter}: {packets[jitter][-1]:.3f} CPU s a run", file=sys.stderr, flush=True)
    host = host_ms(scratch)
    table = [
        ("boot, network, sockets", f"{spread([1e3 * s for s in empty], '.0f')} ms"),
    ]
    for jitter in JITTERS:
        per_packet_us = [1e6 * s * SEGMENT_BYTES / SIZE_BYTES for s in packets[jitter]]
        seconds = spread([1e3 * s for s in packets[jitter]], ".0f")
        us = spread(per_packet_us, ".2f")
        table.append((f"its packets: 120 MB, bic, normal jitter of {jitter}", f"{seconds} ms, {us} us a segment"))
    names = {"plan": "plan out of the scenario", "timeline": "timeline", "collection": "records to numbers"}
    table += [(f"host: {names[step]}", f"{spent:.0f} ms") for step, spent in host.items()]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one repetition; the page stays as it is")
    quick = parser.parse_args().quick
    where, repeats = machine(), 1 if quick else 3
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as scratch:
        table = rows(Path(scratch), repeats)
    lines = [f"Measured on: {where}. CPU time; median of {repeats} (smallest to largest).", "", "| what | of a run |",
             "|---|---|", *(f"| {a} | {b} |" for a, b in table)]  # fmt: skip
    publish("bench study", lines, quick=quick)


if __name__ == "__main__":
    main()
