# SPDX-License-Identifier: Apache-2.0
"""What a packet-hop costs in a large network against a small one, as the third table of docs/performance.md.

    python bench/size.py            measure, print, and write the table into docs/performance.md
    python bench/size.py --quick    shorter, one repetition, printed only

CUBIC over Starlink's first shell, all links 100 Mbit/s with 500 packets of queue: one flow from Madrid to Tokyo, and
90, each of ten cities to each. The cost of building is taken out: a long run less a short one, processor time of the
guest by packets that links delivered.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from itertools import permutations
from pathlib import Path

from bench import measure
from machine import machine, publish, spread

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


def scenario(cities: tuple[str, ...], pairs: list[tuple[str, str]], file: Path) -> str:
    """A file's name, of a scenario with a flow for each pair."""
    stations = [f'[[stations]]\nname = "{city}"\n' for city in cities]
    flows = [f'[[flows]]\nsource = "{source}"\ndestination = "{destination}"\n' for source, destination in pairs]
    file.write_text(HEAD + "".join(stations + flows))
    return str(file)


def hop_ns(file: str, short_s: int, long_s: int, scratch: Path) -> tuple[float, int]:
    """Processor time of a packet-hop in ns, and how many there were in the time between the two durations."""
    short, long = (measure(file, {"run.duration": f"{s} s"}, scratch / "run") for s in (short_s, long_s))
    hops = long.packet_hops - short.packet_hops
    return (long.guest_cpu_s - short.guest_cpu_s) * 1e9 / hops, hops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter and once; the page stays as it is")
    quick = parser.parse_args().quick
    where, repeats = machine(), 1 if quick else 3
    found: dict[str, list[tuple[float, int]]] = {"one flow": [], "90 flows": []}
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as directory:
        scratch = Path(directory)
        one = scenario(CITIES[:2], [CITIES[:2]], scratch / "one.toml")
        many = scenario(CITIES, list(permutations(CITIES, 2)), scratch / "many.toml")
        for _ in range(repeats):
            found["one flow"].append(hop_ns(one, 5, 15 if quick else 45, scratch))
            found["90 flows"].append(hop_ns(many, 1, 2 if quick else 3, scratch))
            print({name: values[-1] for name, values in found.items()}, file=sys.stderr, flush=True)
    middle = {name: statistics.median(ns for ns, _ in values) for name, values in found.items()}
    lines = [f"Measured on: {where}. Median of {repeats} (smallest to largest).", "",
             "| flows | packet-hops | CPU time of one | against one flow |", "|---|---:|---:|---:|",
             *(f"| {name} | {values[0][1]:,} | {spread([ns for ns, _ in values], '.0f')} ns "
               f"| {middle[name] / middle['one flow']:.2f} |" for name, values in found.items())]  # fmt: skip
    publish("bench size", lines, quick=quick)


if __name__ == "__main__":
    main()
