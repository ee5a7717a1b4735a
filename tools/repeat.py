# SPDX-License-Identifier: Apache-2.0
"""Check whether runs with programs are repeatable: run each scenario several times, and compare the results.

    python tools/repeat.py --times 20 iperf3 nginx quic

A scenario is a file or the name of an example. The output has a line per scenario. The line says how many runs have the
same trace as the first run, byte for byte, and how many have the same program outputs. Exit status 1 means that a run
differs. The script prints the differences.
"""

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

import leowarp as lw
from leowarp.base.errors import LeowarpError
from leowarp.base.layout import PROGRAMS, TRACE


def main() -> int:
    """Run the scenarios that the command line names. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="+")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    return max(repeated(scenario, given.times, given.set) for scenario in given.scenarios)


def repeated(scenario: str, times: int, changes: list[str]) -> int:
    """Run a scenario several times, and print the result. Return 1 if a run differs from the first run, otherwise 0."""
    first: dict[str, str] = {}
    same = {TRACE: 0, PROGRAMS: 0}
    for number in range(times):
        with tempfile.TemporaryDirectory() as folder:
            run = lw.run(_file(scenario), changes, Path(folder) / "run", report=False, progress=False, trust=True)
            found = {f"{part}/{file}": digest for part in same for file, digest in _files(run.path / part).items()}
        first = first or found
        for part in same:
            differs = sorted(
                name for name in {*first, *found} if name.startswith(part) and first.get(name) != found.get(name)
            )
            same[part] += not differs
            if differs:
                print(f"{scenario}, run {number + 1}: {', '.join(differs)} differ", flush=True)
    print(
        f"{scenario}: of {times} runs {same[TRACE]} have the same trace, {same[PROGRAMS]} the same outputs", flush=True
    )
    return int(min(same.values()) < times)


def _file(scenario: str) -> Path:
    example = Path(__file__).parents[1] / "examples" / f"{scenario}.toml"
    return example if example.exists() else Path(scenario)


def _files(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file below a folder, by its relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LeowarpError as error:
        sys.exit(f"error: {error}")
