# SPDX-License-Identifier: Apache-2.0
"""Compare the cost of runs between this checkout and another one.

    python bench/versions.py OTHER            CPU s of whole runs without their report, as a table
    python bench/versions.py OTHER --quick    one pair of shorter runs

OTHER is the directory of another checkout, which has a `.venv` and a built kernel (`make kernel`). The two checkouts
run in turn, each on one processor. The order of the two checkouts alternates, so that a growing or falling load favours
neither.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import ROOT
from machine import machine, spread

PAIRS = 5
# The time is counted by the host's kernel, because the two checkouts may count differently. Orphaned processes become
# children of the measuring process (PR_SET_CHILD_SUBREAPER). With this setting, RUSAGE_CHILDREN includes all processes
# for which the measuring process has waited.
COUNTED = """
import ctypes, importlib, os, resource
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)

def spent_s():
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime

def counted(made):
    began_s = spent_s()
    made()
    # The process that starts guests runs until it is ended. An older checkout has this function elsewhere, or works
    # differently.
    for place in ("leowarp.guest.boot.child", "leowarp.guest.child"):
        try:
            importlib.import_module(place)._OF_THREAD.launcher.end()
        except (ImportError, AttributeError):
            pass
    try:
        while True:
            os.wait()
    except ChildProcessError:
        print(spent_s() - began_s)
"""
RUN = """
import sys
import leowarp
scenario, out, *changes = sys.argv[1:]
changes = dict(each.split("=", 1) for each in changes)
counted(lambda: leowarp.run(scenario, changes, out, force=True, report=False, progress=False))
"""
# The transfers have the size of a study's batch (`LARGEST_BATCH` of study/sweep/outstanding.py), and include all
# algorithms and distributions. The cost of loading modules at first use is subtracted, because a study of 16,740 runs
# has this cost only once.
TRANSFERS = """
import sys, tempfile
from itertools import product
from pathlib import Path
from leowarp import scenario
try:
    from leowarp.running import summaries
except ImportError:
    # An older checkout makes several runs in one boot.
    from leowarp.running import shared_boot as summaries
jitters = ("0 us", "100 us", "300 us", "500 us", "858.5 us", "1600 us", "3250 us")
kinds = product(jitters, ("uniform", "normal", "exponential"), ("bic", "highspeed", "westwood"))
keys = ("jittered.jitter", "jittered.distribution", "flows.0.congestion_control")
plans = [scenario.resolve(scenario.load(Path(sys.argv[1]), dict(zip(keys, kind)))) for kind in kinds][:60]

def made(plans):
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as scratch:
        failed = [str(each.error) for each in summaries.make(plans, Path(scratch)) if each.error is not None]
    if failed:
        sys.exit(failed[0])

made(plans[:1])
counted(lambda: made(plans))
"""


@dataclass(frozen=True)
class Case:
    """A case of the benchmark. Its function makes a run in the directory of a checkout, and returns the CPU seconds of
    the run."""

    name: str
    cpu_s: Callable[[Path, Path], float]


def scenario_case(name: str, file: str, quick: bool, **changes: str) -> Case:
    """Return a case in which both checkouts run a scenario file of this checkout."""
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    if quick:
        dotted["run.duration"] = "20 s"

    def cpu_s(checkout: Path, scratch: Path) -> float:
        changes = [f"{key}={value}" for key, value in dotted.items()]
        return float(answer(checkout, ["-c", COUNTED + RUN, str(ROOT / file), str(scratch / "run"), *changes]))

    return Case(name, cpu_s)


def answer(checkout: Path, arguments: list[str]) -> str:
    """Run code in a checkout's Python. Return its output.

    Raises SystemExit with the output if the code fails.
    """
    program = checkout / ".venv" / "bin" / "python"
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, cwd=checkout)
    if done.returncode:
        sys.exit(f"{checkout}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def cases(quick: bool) -> list[Case]:
    named = {"CUBIC": "cubic", "Reno": "reno", "BBR": "bbr"}
    long = [
        scenario_case(
            f"Madrid-Tokyo, {name}, 200 s",
            "examples/madrid-tokyo.toml",
            quick,
            run__duration="200 s",
            flows__0__congestion_control=cc,
        )
        for name, cc in named.items()
    ]
    transfers = str(ROOT / "examples" / "jittered-transfer.toml")
    return [
        *long,
        scenario_case("dumbbell (`bench/ns3/dumbbell.toml`), CUBIC, 100 s", "bench/ns3/dumbbell.toml", quick),
        scenario_case("`examples/starlink.toml`, 60 s", "examples/starlink.toml", quick),
        Case(
            "60 transfers of `torres2020`",
            lambda checkout, _: float(answer(checkout, ["-c", COUNTED + TRANSFERS, transfers])),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="directory of the other checkout")
    parser.add_argument("--quick", action="store_true", help="one pair of shorter runs")
    arguments = parser.parse_args()
    other, pairs = arguments.other.resolve(), 1 if arguments.quick else PAIRS
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    where, lines = machine(), []
    commit = subprocess.run(
        ["git", "-C", str(other), "log", "-1", "--format=%h, %cs"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as scratch:
        for case in cases(arguments.quick):
            before_s: list[float] = []
            now_s: list[float] = []
            for pair in range(pairs):
                turns = [(other, before_s), (ROOT, now_s)]
                for checkout, costs_s in turns if pair % 2 == 0 else turns[::-1]:
                    costs_s.append(case.cpu_s(checkout, Path(scratch)))
            ratios = [before / now for before, now in zip(before_s, now_s, strict=True)]
            least = min(before_s) / min(now_s)
            lines.append(
                f"| {case.name} | {spread(before_s, '.2f')} | {spread(now_s, '.2f')} | {spread(ratios, '.2f')} "
                f"| {least:.2f} |"
            )
            print(f"{case.name}: {statistics.median(ratios):.2f}", file=sys.stderr, flush=True)
    text = [f"Measured on: {where}. Before: commit {commit}. Pairs: {pairs}. Median (smallest to largest).", "",
            "| what | before, CPU s | now, CPU s | ratio of pairs | of least times |", "|---|---:|---:|---:|---:|",
            *lines]  # fmt: skip
    print("\n".join(text))


if __name__ == "__main__":
    main()
