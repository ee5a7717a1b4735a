# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of a route update with a hundred stations and 4,408 satellites, for the fourth table of
docs/performance.md.

    python bench/routes.py            measure, print, and write the table into docs/performance.md
    python bench/routes.py --quick    fewer updates, once, printed only

The constellation is Starlink's first generation with a +Grid. The stations are spread evenly between 52 degrees south
and 52 degrees north. Each update finds the shortest paths in both directions for all pairs with a flow. It also
computes the lengths and the delays of paths, and finds the paths that changed. The first update is slower, because no
earlier paths limit its search. To exclude the first update, a run with one update is subtracted from a run with many
updates.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

from machine import machine, publish, spread

from leowarp.ephemeris import ephemeris_of
from leowarp.routes.over_constellation import constellation_routes
from leowarp.running.garbage import rarely_collected
from leowarp.scenario import load, resolve

STATIONS = 100
INTERVAL_S = 15
GOLDEN_ANGLE_DEG = 137.50776
HEAD = f"""\
name = "routes"
[constellation]
preset = "starlink-gen1"
[isl]
rule = "plus-grid"
[ground]
rule = "min-elevation"
min_elevation = "25 deg"
[routing]
interval = "{INTERVAL_S} s"
"""


def scenario(pairs: int, file: Path) -> Path:
    """Write a scenario in which `pairs` station pairs send pings to each other."""
    every = list(combinations(range(STATIONS), 2))
    chosen = [every[place * len(every) // pairs] for place in range(pairs)]
    stations = [
        f'[[stations]]\nname = "p{number}"\nlatitude = "{-52 + 104 * number / (STATIONS - 1):.2f} deg"\n'
        f'longitude = "{(number * GOLDEN_ANGLE_DEG) % 360 - 180:.2f} deg"\n'
        for number in range(STATIONS)
    ]
    flows = [f'[[flows]]\nkind = "ping"\nsource = "p{a}"\ndestination = "p{b}"\n' for a, b in chosen]
    file.write_text(HEAD + "".join(stations + flows))
    return file


def update_s(file: Path, updates: int) -> float:
    """Return the processor time of one update, in s."""
    cost = {}
    for count in (1, 1 + updates):
        plan = resolve(load(file, {"run.duration": f"{count * INTERVAL_S} s"}))
        ephemeris = ephemeris_of(plan)
        began_s = time.process_time()
        # The garbage collector has the same setting as in a run.
        with rarely_collected():
            constellation_routes(plan, ephemeris)
        cost[count] = time.process_time() - began_s
    return (cost[1 + updates] - cost[1]) / updates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer updates and once; the page stays as it is")
    quick = parser.parse_args().quick
    where, repeats = machine(), 1 if quick else 3
    found: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as directory:
        # This call is not measured, because it loads modules. If the first measured case loaded modules, `cost[1]`
        # would be too large, and the result of `update_s` would be negative.
        update_s(scenario(1, Path(directory) / "first.toml"), 1)
        for pairs in (100, 990, 4950):
            file = scenario(pairs, Path(directory) / f"{pairs}.toml")
            found[pairs] = [update_s(file, 3 if quick else 10) for _ in range(repeats)]
            print(pairs, found[pairs], file=sys.stderr, flush=True)
    lines = [f"Measured on: {where}. Median of {repeats} (smallest to largest).", "",
             f"| pairs of {STATIONS} stations that talk | CPU time of an update |", "|---|---:|",
             *(f"| {pairs:,} | {spread(values, '.3f')} s |" for pairs, values in found.items())]  # fmt: skip
    publish("bench routes", lines, quick=quick)


if __name__ == "__main__":
    main()
