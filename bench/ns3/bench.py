# SPDX-License-Identifier: Apache-2.0
"""Compare leowarp with ns-3, and with netem in real time: tables, figure and numbers of docs/benchmark.md.

    python bench/ns3/bench.py            measure, print, and write the page (an hour of processor time)
    python bench/ns3/bench.py --quick    one pair of short runs, printed only
    python bench/ns3/bench.py --page write the page again, from the stored numbers

`NS3_PREFIX` names the ns-3 installation. Without this variable, the first call installs PyPI's wheel below build/.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import page
from installed import ns3, program
from sides import Case, Outcome, as_json, leowarp_run, ns3_run
from wall_clock import over_netem

import leowarp as lw
from leowarp.base.errors import LeowarpError

ROOT = Path(__file__).resolve().parents[2]
# This directory comes before bench/ on the path, so that the module name `bench` means this file.
sys.path.append(str(ROOT / "bench"))
from machine import machine  # noqa: E402

PAIRS, PAIRS_OF_OTHERS = 3, 1
"""How often a case runs in both simulators. The first number is for CUBIC cases, and the second is for other cases.
ns-3 needs minutes of processor time for Madrid-Tokyo."""
DUMBBELL = ROOT / "bench" / "ns3" / "dumbbell.toml"
MADRID_TOKYO = ROOT / "examples" / "two-changes.toml"
CHANGE_NS = 60_000_000_000
BEFORE_NS, AFTER_NS = 1_000_000_000, 4_000_000_000


def cases(*, quick: bool) -> list[tuple[Case, int]]:
    """Return all cases. With each case, return how many pairs of runs are made."""
    if quick:
        return [(Case("dumbbell", DUMBBELL, "cubic", 5), 1), (Case("Madrid-Tokyo", MADRID_TOKYO, "cubic", 5), 1)]
    return [
        (Case("dumbbell", DUMBBELL, "cubic", 100), PAIRS),
        (Case("Madrid-Tokyo", MADRID_TOKYO, "cubic", 65), PAIRS),
        (Case("Madrid-Tokyo", MADRID_TOKYO, "reno", 65), PAIRS_OF_OTHERS),
        (Case("Madrid-Tokyo", MADRID_TOKYO, "bbr", 65), PAIRS_OF_OTHERS),
    ]


def pair(case: Case, scratch: Path, played: Path) -> dict[str, Outcome]:
    """Run leowarp, and then ns-3 with the timeline of leowarp's run."""
    directory = scratch / "run"
    made = {"leowarp": leowarp_run(case, directory)}
    made["ns3"] = ns3_run(case, directory, played)
    spent = ", ".join(f"{side} {outcome.cpu_s:.1f} CPU s" for side, outcome in made.items())
    print(f"{case.name}, {case.congestion_control}: {spent}", file=sys.stderr, flush=True)
    return made


def around_change(case: Case, made: dict[str, Outcome]) -> dict[str, Any]:
    """Return the results around the route change at 60 s, from one second before to four seconds after."""
    shown: dict[str, Any] = {
        "name": case.name, "congestion_control": case.congestion_control, "change_ns": CHANGE_NS,
    }  # fmt: skip
    for side, outcome in made.items():
        near = outcome.series["t_ns"].between(CHANGE_NS - BEFORE_NS, CHANGE_NS + AFTER_NS)
        rows = outcome.series[near]
        shown[side] = {
            "t_ns": [int(each) for each in rows["t_ns"]],
            "window_pkts": [round(float(each), 1) for each in rows["window_pkts"]],
            "goodput_bps": [round(float(each)) for each in rows["goodput_bps"]],
        }
    return shown


def rounds(scratch: Path, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Run all cases once per round, so that other load on the machine affects all cases alike. Yield the page's data
    after each round."""
    where, installed = machine(), ns3()
    played = program(installed)
    netem = over_netem(5 if quick else 100)
    wanted = cases(quick=quick)
    made: dict[Case, list[dict[str, Outcome]]] = {case: [] for case, _ in wanted}
    changes = {}
    for number in range(max(pairs for _, pairs in wanted)):
        for case, pairs in wanted:
            if number < pairs:
                made[case].append(pair(case, scratch, played))
        around = next(case for case in made if case.scenario == MADRID_TOKYO)
        changes = changes or around_change(around, made[around][0])
        facts = lw.open(scratch / "run").manifest
        yield {
            "machine": where, "leowarp": facts["leowarp_version"], "linux": facts["kernel"]["linux_version"],
            "ns3": installed.version, "ns3_origin": installed.origin,
            "cases": [numbers_of(case, repetitions) for case, repetitions in made.items()],
            "netem": netem, "change": changes,
        }  # fmt: skip


def numbers_of(case: Case, repetitions: list[dict[str, Outcome]]) -> dict[str, Any]:
    return {
        "name": case.name, "congestion_control": case.congestion_control, "duration_s": case.duration_s,
        **{side: as_json([each[side] for each in repetitions]) for side in page.SIDES},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--quick", action="store_true", help="one pair of short runs; the page stays as it is")
    either.add_argument("--page", action="store_true", help="measure nothing: the page anew from docs/benchmark.json")
    given = parser.parse_args()
    try:
        if given.page:
            page.write(page.read())
            return
        with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as scratch:
            for made in rounds(Path(scratch), quick=given.quick):
                if not given.quick:
                    page.write(made)
    except LeowarpError as error:
        sys.exit(f"bench/ns3: {error}")
    print(page.tables(made))


if __name__ == "__main__":
    main()
