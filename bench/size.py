# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of a packet-hop in a large and in a small network: the third table of docs/performance.md.

    python bench/size.py            measure, print, and write the table into docs/performance.md
    python bench/size.py --quick    shorter, one repetition, printed only

The flows use CUBIC over Starlink's first shell, where all links have 100 Mbit/s and a queue of 500 packets. One case
has a flow from Madrid to Tokyo. Another has a flow for each pair of some cities. A short run is subtracted from a long
run, to remove the cost of set-up. The result is the guest's processor time for each packet that a link delivers.
Further cases show the causes of the cost. A flow over only two links shows how much of the cost arises at the hosts. A
flow for which no packet truth is recorded shows the cost of the records. Another flow has a tenth of the rate and a
tenth of the packets in flight. It shows the cost of memory accesses. This flow also has a tenth of the samples, so that
the number of samples per packet is the same. A second table shows the memory latency of this machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pandas as pd
from bench import measure
from machine import load_ns, machine, publish, spread

import leowarp as lw

CITIES = ("Madrid", "Tokyo", "London", "New York", "Sydney", "Singapore", "Cape Town", "Oslo", "Paris", "Mumbai")
HEAD = """\
name = "size"
[constellation]
preset = "starlink-shell1"
[isl]
rate = "100 Mbit/s"
queue = "500 pkts"
[ground]
rate = "100 Mbit/s"
queue = "500 pkts"
[observe]
packets = "none"
"""
WITHOUT_TRUTH = {"observe.truth": False}
# Rate, queue and sampling frequency are divided by ten. The queue then drains in the same time, and the number of
# samples per packet stays the same.
TENTH = {"isl.rate": "10 Mbit/s", "isl.queue": "50 pkts", "ground.rate": "10 Mbit/s", "ground.queue": "50 pkts",
         "observe.sockets": "500 ms", "observe.queues": "500 ms"}  # fmt: skip
REGIONS_KIB = (512, 2 * 1024, 4 * 1024, 8 * 1024, 16 * 1024, 64 * 1024)


@dataclass(frozen=True)
class Case:
    """A case of the benchmark: the city pairs, the virtual times of the measurement, and the scenario keys."""

    pairs: tuple[tuple[str, str], ...]
    from_s: int
    to_s: int
    changes: Mapping[str, str | bool]


def each_to_each(cities: int) -> tuple[tuple[str, str], ...]:
    return tuple(permutations(CITIES[:cities], 2))


CASES = {
    "one flow, Madrid to Paris": Case((("Madrid", "Paris"),), 5, 85, {}),
    "one flow, Madrid to Tokyo": Case((("Madrid", "Tokyo"),), 5, 45, {}),
    "6 flows": Case(each_to_each(3), 2, 14, {}),
    "30 flows": Case(each_to_each(6), 1, 4, {}),
    "90 flows": Case(each_to_each(10), 1, 5, {}),
    "one flow, Madrid to Tokyo, without packet truth": Case((("Madrid", "Tokyo"),), 5, 45, WITHOUT_TRUTH),
    "90 flows, without packet truth": Case(each_to_each(10), 1, 5, WITHOUT_TRUTH),
    "one flow, Madrid to Tokyo, a tenth in flight": Case((("Madrid", "Tokyo"),), 50, 450, TENTH),
    "90 flows, a tenth in flight": Case(each_to_each(10), 10, 30, TENTH),
}
BASE = "one flow, Madrid to Tokyo"


@dataclass(frozen=True)
class Price:
    """Values between two virtual times: the guest's processor time, the hops, the sent packets and the used link
    directions. Each packet that a link delivers counts as one packet-hop."""

    cpu_s: float
    hops: int
    sent_pkts: int
    directions: int

    @property
    def hop_ns(self) -> float:
        return self.cpu_s * 1e9 / self.hops

    @property
    def packet_ns(self) -> float:
        return self.cpu_s * 1e9 / self.sent_pkts


def scenario(pairs: tuple[tuple[str, str], ...], file: Path) -> str:
    """Write a scenario with one flow for each pair of cities. Return its path."""
    cities = dict.fromkeys(city for pair in pairs for city in pair)
    stations = [f'[[stations]]\nname = "{city}"\n' for city in cities]
    flows = [f'[[flows]]\nsource = "{source}"\ndestination = "{destination}"\n' for source, destination in pairs]
    file.write_text(HEAD + "".join(stations + flows))
    return str(file)


def sent_pkts(totals: pd.DataFrame) -> int:
    """Return the number of packets that stations sent in a run, from the table `linktotals`."""
    return int(totals[totals["from"].isin(CITIES)]["offered_pkts"].sum())


def price(case: Case, share: float, scratch: Path) -> Price:
    """Return the cost of a case after the time `from_s`. Only the first part of the time from `from_s` to `to_s`
    counts. `share` is the length of this part divided by the whole time."""
    file = scenario(case.pairs, scratch / "size.toml")
    until_s = case.from_s + (case.to_s - case.from_s) * share
    costs: list[Price] = []
    for virtual_s in (case.from_s, until_s):
        made = measure(file, {"run.duration": f"{virtual_s} s", **case.changes}, scratch / "run")
        totals = lw.open(scratch / "run").linktotals()
        directions = int((totals["delivered_pkts"] > 0).sum())
        costs.append(Price(made.guest_cpu_s, made.packet_hops, sent_pkts(totals), directions))
    short, long = costs
    return Price(long.cpu_s - short.cpu_s, long.hops - short.hops, long.sent_pkts - short.sent_pkts, long.directions)


def price_lines(found: dict[str, list[Price]]) -> list[str]:
    base_ns = statistics.median(each.hop_ns for each in found[BASE])
    lines = ["| flows | link directions in use | packet-hops | links a packet passes | CPU time of a packet-hop "
             "| against one flow | CPU time of a packet |", "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for name, prices in found.items():
        first, hops_ns = prices[0], [each.hop_ns for each in prices]
        lines.append(
            f"| {name} | {first.directions} | {first.hops:,} | {first.hops / first.sent_pkts:.1f} "
            f"| {spread(hops_ns, '.0f')} ns | {statistics.median(hops_ns) / base_ns:.2f} "
            f"| {spread([each.packet_ns for each in prices], ',.0f')} ns |"
        )
    return lines


def load_lines(repeats: int) -> list[str]:
    found = [load_ns(REGIONS_KIB) for _ in range(repeats)]
    sizes = " | ".join(f"{kib / 1024:g}" for kib in REGIONS_KIB)
    costs = " | ".join(spread([each[kib] for each in found], ".0f") for kib in REGIONS_KIB)
    return ["", f"| a chain of loads through so many MiB | {sizes} |", "|---|" + "---:|" * len(REGIONS_KIB),
            f"| ns a load | {costs} |"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter and once; the page stays as it is")
    quick = parser.parse_args().quick
    where, repeats = machine(), 1 if quick else 3
    found: dict[str, list[Price]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as directory:
        for _ in range(repeats):
            for name, case in CASES.items():
                found[name].append(price(case, 0.25 if quick else 1.0, Path(directory)))
                print(f"{name}: {found[name][-1].hop_ns:.0f} ns", file=sys.stderr, flush=True)
    head = f"Measured on: {where}. Median of {repeats} (smallest to largest)."
    lines = [head, "", *price_lines(found), *load_lines(repeats)]
    publish("bench size", lines, quick=quick)


if __name__ == "__main__":
    main()
