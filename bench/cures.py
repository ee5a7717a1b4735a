# SPDX-License-Identifier: Apache-2.0
"""Measure the processor time of each cure. For each cure, the script makes pairs of runs. Each pair has one run with
the cure, and one run without it.

    python bench/cures.py [pairs]

Each run is a CUBIC transfer of 35 s from Madrid to Tokyo, with one route change. For each cure, the script prints the
ratio of the guest's processor times with and without the cure. The output shows the median, the smallest and the
largest ratio of the pairs. Other load on the machine affects single pairs. In the row "nothing", no run has a cure.
This row shows how much other load changes the ratio.
"""

import resource
import statistics
import sys
import tempfile
from pathlib import Path

import leowarp as lw

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "two-changes.toml"
PLAIN = {"run.duration": "35 s"}
CURES = {
    "nothing": {},
    "move_queue": {"cures.move_queue": "kept"},
    "hold": {"cures.hold": True},
    "end_marker": {"cures.end_marker": True},
    "duplicate": {"cures.duplicate": "200 ms"},
    "resequence": {"cures.resequence": "flow", "cures.resequence_delay": "80 ms"},
    "advanced": {
        "cures.resequence": "flow",
        "cures.resequence_kind": "advanced",
        "cures.resequence_delay": "80 ms",
    },
    "notify": {"cures.notify": True, "cures.notify_false_interval": "1 s"},
}


def guest_s(keys: dict[str, object]) -> float:
    """Return the processor time in seconds that the guest of a run used."""
    with tempfile.TemporaryDirectory(prefix="leowarp-bench-") as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        lw.run(EXAMPLE, PLAIN | keys, Path(folder) / "run", report=False, progress=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(pairs: int) -> None:
    """Measure all cures, and print a line per cure."""
    ratios: dict[str, list[float]] = {name: [] for name in CURES}
    guest_s({})
    for number in range(pairs):
        for name, keys in CURES.items():
            # In every second pair, the run with the cure comes first. A growing or falling load then favours neither
            # run
            order = (keys, {}) if number % 2 else ({}, keys)
            costs_s = [guest_s(each) for each in order]
            with_s, without_s = costs_s if number % 2 else costs_s[::-1]
            ratios[name].append(with_s / without_s)
    for name, values in ratios.items():
        print(f"{name:12s} {statistics.median(values):.3f}   {min(values):.3f} to {max(values):.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
