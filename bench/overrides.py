# SPDX-License-Identifier: Apache-2.0
"""Measure how much processor time each override for speed saves. The results are a table in docs/performance.md.

    python bench/overrides.py TREE            build the kernels, measure, and write the table into docs/performance.md
    python bench/overrides.py TREE --quick    one round, printed only

TREE is a directory of 2 GB for the kernel's source, objects and programs. An existing directory is reused. If a
measurement is interrupted, its complete rounds are in TREE/costs.json.

For each override with purpose "speed" (guest/overrides.toml), the script builds a default kernel without this override
and without the overrides that need it. The kernel `plain` has no overrides for speed. Each round runs every load with
every kernel. Successive rounds begin with different kernels. For this reason, other load on the machine affects all
kernels equally. The table shows the guest's CPU time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import LARGE, ROOT, measure
from machine import machine, publish

from leowarp.guest.building.left_out import SPEED, overrides
from leowarp.guest.building.source import fetch_source, local_source, unpack

# Other work of the machine can only add CPU time. The minimum of many short runs is therefore repeatable, but their
# median is not.
ROUNDS = 9
WHOLE, PLAIN = "default", "plain"
Load = tuple[str, str | Path, dict[str, str | bool]]


LOADS: list[Load] = [
    ("Madrid-Tokyo, CUBIC, 20 s", "madrid-tokyo.toml", {"run.duration": "20 s"}),
    ("1,000 flows, 2 s", LARGE, {"network.instantiate": "used", "run.duration": "2 s"}),
    ("programs: iperf3", "iperf3.toml", {}),
    (
        "4,408 satellites, build-up and 1 s",
        "madrid-tokyo.toml",
        {
            "constellation.preset": "starlink-gen1",
            "isl.rule": "plus-grid",
            "network.instantiate": "all",
            "run.duration": "1 s",
            "ground.rule": "min-elevation",
            "ground.min_elevation": "10 deg",
        },
    ),
]


def kernels(tree: Path) -> dict[str, Path]:
    """Return a dict from override to the binary of the kernel without this override. Missing kernels are built in
    `tree`."""
    source = tree / "source"
    if not source.is_dir():
        growing = tree / "unpacking"
        shutil.rmtree(growing, ignore_errors=True)
        unpack(local_source() or fetch_source(print), growing)
        growing.rename(source)
    (top,) = (path for path in source.iterdir() if path.is_dir())
    listed = [each for each in overrides() if each.purpose == SPEED]
    programs = {}
    for name in [WHOLE, *(each.name for each in listed), PLAIN]:
        programs[name] = tree / "programs" / name
        if not programs[name].is_file():
            choice = [] if name == WHOLE else ["--kernel", PLAIN] if name == PLAIN else ["--without", name]
            build(choice, top, tree / "build", programs[name])
    return programs


def build(choice: list[str], source: Path, objects: Path, program: Path) -> None:
    """Build a kernel by guest/build.sh, with the symbols that the run's watchdog needs."""
    print(f"building {program.name}", file=sys.stderr, flush=True)
    command = ["sh", str(ROOT / "guest" / "build.sh"), *choice, str(source), str(objects), str(objects / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")
    program.parent.mkdir(exist_ok=True)
    growing = program.with_suffix(".growing")
    shutil.copy(objects / "linux", growing)
    growing.rename(program)


def measured(programs: dict[str, Path], rounds: int, kept: Path) -> dict[str, dict[str, list[float]]]:
    """Return the guest's CPU times in seconds, as `[load][kernel][round]`."""
    names = list(programs)
    found = json.loads(kept.read_text()) if kept.is_file() else []
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as scratch:
        for number in range(len(found), rounds):
            began_s = time.monotonic()
            order = names[number * len(names) // rounds :] + names[: number * len(names) // rounds]
            costs: dict[str, dict[str, float]] = {load: {} for load, _, _ in LOADS}
            for load, scenario, changes in LOADS:
                for name in order:
                    chosen = {**changes, "guest.kernel": str(programs[name])}
                    costs[load][name] = measure(scenario, chosen, Path(scratch) / "run").guest_cpu_s
            found.append(costs)
            kept.write_text(json.dumps(found, indent=1))
            left_s = (time.monotonic() - began_s) * (rounds - number - 1)
            print(f"round {number + 1} of {rounds}, {left_s / 60:.0f} min left", file=sys.stderr, flush=True)
    return {load: {name: [costs[load][name] for costs in found[:rounds]] for name in names} for load, _, _ in LOADS}


def table(costs: dict[str, dict[str, list[float]]]) -> list[str]:
    """Return one row for each kernel. It has the smallest CPU time of all runs with this kernel. A saving is 1 - (CPU
    time of the default kernel) / (CPU time of the kernel without the override)."""
    lines = [f"| without | {' | '.join(costs)} |", "|---|" + "---:|" * len(costs)]
    names = next(iter(costs.values()))
    for name in names:
        if name == WHOLE:
            cells = [f"{min(of_load[WHOLE]):.2f} s" for of_load in costs.values()]
        else:
            cells = [f"{100 * (1 - min(of_load[WHOLE]) / min(of_load[name])):.0f} %" for of_load in costs.values()]
        label = {WHOLE: "nothing: CPU time of the guest", PLAIN: "all of these (`plain`)"}.get(name, f"`{name}`")
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="directory for source, objects and kernels")
    parser.add_argument("--quick", action="store_true", help="one round; the page stays as it is")
    given = parser.parse_args()
    given.tree.mkdir(parents=True, exist_ok=True)
    programs = kernels(given.tree.resolve())
    where, rounds = machine(), 1 if given.quick else ROUNDS
    kept = given.tree / ("costs-quick.json" if given.quick else "costs.json")
    costs = measured(programs, rounds, kept)
    head = f"Measured on: {where}. Least CPU time of {rounds} runs of each kernel."
    publish("bench overrides", [head, "", *table(costs)], quick=given.quick)
    # The measured rounds are deleted, so that the next measurement does not continue with them.
    kept.unlink()


if __name__ == "__main__":
    main()
