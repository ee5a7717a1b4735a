# SPDX-License-Identifier: Apache-2.0
"""Measure leowarp's speed and memory on this machine, for the table of docs/performance.md.

    python bench/bench.py            measure, print, and write the table into docs/performance.md
    python bench/bench.py --quick a tenth of the virtual time, without writing the table

The compared cases run in turn, `REPEATS` times, so that other load on the machine affects all cases alike. The table
shows the median, the smallest and the largest value. On a shared machine, only compare values of the same table, by
their ratios.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from machine import machine, publish, spread

import leowarp as lw

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 3
LARGE = ROOT / "bench" / "thousand-flows.toml"


@dataclass(frozen=True)
class Measured:
    """The cost of one run.

    cpu_s: The processor time of guest and host up to the trace, from the run's manifest.
    all_cpu_s: The processor time up to the end, including the metrics and the run directory.
    """

    virtual_s: float
    cpu_s: float
    guest_cpu_s: float
    wall_s: float
    peak_memory_bytes: int
    packet_hops: int
    all_cpu_s: float


def measure(scenario: str | Path, changes: Mapping[str, str | bool], directory: Path) -> Measured:
    """Run a scenario (a path, or a name in examples/) without a report, into `directory`."""
    began_s = time.process_time()
    run = lw.run(ROOT / "examples" / scenario, changes, directory, force=True, report=False, progress=False)
    own_s = time.process_time() - began_s
    costs = json.loads((directory / "manifest.json").read_text())["costs"]
    totals = pq.read_table(directory / "30-trace" / "linktotals.parquet", columns=["delivered_pkts"])
    hops = sum(n for n in totals["delivered_pkts"].to_pylist() if n is not None)
    return Measured(
        virtual_s=run.summary["virtual_s"], cpu_s=costs["cpu_s"], guest_cpu_s=costs["guest_cpu_s"],
        wall_s=costs["wall_s"], peak_memory_bytes=costs["guest_peak_memory_bytes"], packet_hops=hops,
        all_cpu_s=own_s + costs["guest_cpu_s"],
    )  # fmt: skip


def speed_rows(label: str, runs: list[Measured]) -> list[tuple[str, str, str]]:
    rows = [
        (label, "CPU time of the whole run", f"{spread([m.cpu_s for m in runs], '.1f')} s"),
        ("", "virtual seconds per CPU second", spread([m.virtual_s / m.cpu_s for m in runs], ".1f")),
        ("", "memory, peak", f"{max(m.peak_memory_bytes for m in runs) / 2**20:.0f} MiB"),
    ]
    if runs[0].packet_hops:
        ns = [m.cpu_s / m.packet_hops * 1e9 for m in runs]
        rows.insert(2, ("", "CPU time per packet and hop", f"{spread(ns, '.0f')} ns"))
    return rows


def compared(cases: dict[str, Callable[[Path], Measured]], scratch: Path) -> dict[str, list[Measured]]:
    """Run the cases in turn, `REPEATS` times. Return the costs by case."""
    results: dict[str, list[Measured]] = {name: [] for name in cases}
    for _ in range(REPEATS):
        for name, case in cases.items():
            results[name].append(case(scratch / "run"))
            print(f"{name}: {results[name][-1].cpu_s:.1f} CPU s", file=sys.stderr, flush=True)
    return results


def rows(scratch: Path, share: float) -> list[tuple[str, str, str]]:
    long = f"{round(1000 * share)} s"
    short = f"{round(200 * share)} s"

    def madrid_tokyo(**changes: str) -> Callable[[Path], Measured]:
        dotted = {key.replace("__", "."): value for key, value in changes.items()}
        return lambda out: measure("madrid-tokyo.toml", {"run.duration": short, **dotted}, out)

    def constellation(preset: str) -> Callable[[Path], Measured]:
        changes = {
            "constellation.preset": preset, "isl.rule": "plus-grid", "network.instantiate": "all",
            "run.duration": "1 s", "ground.rule": "min-elevation", "ground.min_elevation": "10 deg",
        }  # fmt: skip
        return lambda out: measure("madrid-tokyo.toml", changes, out)

    table: list[tuple[str, str, str]] = []
    whole = compared(
        {f"Madrid-Tokyo, CUBIC, {long}, packet truth of both ends": madrid_tokyo(run__duration=long)}, scratch
    )
    for label, runs in whole.items():
        table += speed_rows(label, runs)
    for label, runs in compared({
        f"the same, {short}": madrid_tokyo(),
        f"the same, {short}, Reno": madrid_tokyo(flows__0__congestion_control="reno"),
        f"the same, {short}, BBR": madrid_tokyo(flows__0__congestion_control="bbr"),
        f"the same, {short}, links by netem": madrid_tokyo(network__link_model="netem"),
        f"the same, {short}, every packet stored": madrid_tokyo(observe__packets="all"),
    }, scratch).items():  # fmt: skip
        table += speed_rows(label, runs)

    def access(**changes: str) -> Callable[[Path], Measured]:
        dotted = {key.replace("__", "."): value for key, value in changes.items()}
        return lambda out: measure("starlink.toml", {"run.duration": short, **dotted}, out)

    mobile = f"{round(600 * share)} s"
    for label, runs in compared({
        f"Starlink profile, peak, {short}, BBR (250 Mbit/s)": access(flows__0__congestion_control="bbr"),
        f"the same, {short}, CUBIC without isolated loss": access(access__residual_loss="0 %"),
        f"the same, {short}, CUBIC": access(),
        f"mobile channel, 7 dB, {mobile}, CUBIC": lambda out: measure("mobile.toml", {"run.duration": mobile}, out),
    }, scratch).items():  # fmt: skip
        table += speed_rows(label, runs)
    for label, runs in compared({
        "648 satellites, +Grid, all instantiated, 1 s": constellation("oneweb-study"),
        "1,584 satellites, +Grid, all instantiated, 1 s": constellation("starlink-shell1"),
        "4,408 satellites, +Grid, all instantiated, 1 s": constellation("starlink-gen1"),
    }, scratch).items():  # fmt: skip
        table += [
            (label, "CPU time: build-up and one second", f"{spread([m.cpu_s for m in runs], '.1f')} s"),
            ("", "memory, peak", f"{max(m.peak_memory_bytes for m in runs) / 2**20:.0f} MiB"),
        ]
    return table + large_rows(scratch, share)


def large_rows(scratch: Path, share: float) -> list[tuple[str, str, str]]:
    """Measure runs of a thousand flows over Starlink's first generation. Some runs have all satellites. The other runs
    have only satellites that are on a path."""
    whole = f"{round(10 * share)} s"

    def large(**changes: str) -> Callable[[Path], Measured]:
        return lambda out: measure(LARGE, {"run.duration": whole, **changes}, out)

    table: list[tuple[str, str, str]] = []
    for label, runs in compared({
        f"1,000 flows, 1 Gbit/s in all, 4,408 satellites, all instantiated, {whole}, packet truth": large(),
        "the same, only satellites that some path uses": large(**{"network.instantiate": "used"}),
    }, scratch).items():  # fmt: skip
        table += [
            (label, "CPU time of the guest", f"{spread([m.guest_cpu_s for m in runs], '.1f')} s"),
            ("", "CPU time of all, metrics included", f"{spread([m.all_cpu_s for m in runs], '.1f')} s"),
            ("", "memory, peak", f"{max(m.peak_memory_bytes for m in runs) / 2**20:.0f} MiB"),
        ]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the virtual time; the page stays as it is")
    quick = parser.parse_args().quick
    where = machine()
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as scratch:
        table = rows(Path(scratch), 0.1 if quick else 1.0)
    lines = [f"Measured on: {where}. Median of {REPEATS} (smallest to largest).", "", "| case | what | value |",
             "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in table)]  # fmt: skip
    publish("bench", lines, quick=quick)


if __name__ == "__main__":
    main()
