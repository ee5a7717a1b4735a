# SPDX-License-Identifier: Apache-2.0
"""``python -m leowarp_conformance PACKETDRILL`` runs all scripts on their kernels and prints a table of results.

The exit status is 1 if a script fails without a known reason. It is also 1 if a script passes although `reasons.toml`
says that it fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from leowarp.base.errors import LeowarpError
from leowarp.base.machine.cgroups import usable_cores
from leowarp.guest.building.kernel import kernel
from leowarp_conformance import packetdrill, page, reasons
from leowarp_conformance.attempt import Laboratory, attempt, check_host, init_program
from leowarp_conformance.ladder import Outcome, climb
from leowarp_conformance.scripts import PLACES, ScriptSet, googles, selftests, unpacked_selftests


def say(text: str) -> None:
    """Print a line of progress."""
    print(text, file=sys.stderr, flush=True)


def sets(sources: Path, only: str, kernels: Sequence[str] | None = None) -> list[ScriptSet]:
    """Return all sets of scripts: the scripts of each origin, on each of the kernels. None means all kernels. Only
    scripts whose path contains `only` are included.

    Raises HostError for the same reasons as `unpacked_selftests` and `selftests`.
    """
    top = unpacked_selftests(say)
    places = [place for place in PLACES if kernels is None or place[0] in kernels]
    found = [selftests(top, *place) for place in places]
    for place in places:
        scripts = googles(sources, *place)
        if scripts.scripts:
            found.append(scripts)
        else:
            say(f"{scripts.name}: {sources} has no scripts for it, so these tests are skipped")
    chosen = [replace(each, scripts=tuple(name for name in each.scripts if only in name)) for each in found]
    return [each for each in chosen if each.scripts]


def run(laboratory: Laboratory, scripts: ScriptSet) -> list[Outcome]:
    """Run each script of a set, with one guest per processor, and report each outcome as soon as the script has
    ended."""

    def outcome(script: str) -> Outcome:
        return climb(script, lambda tolerance_us: attempt(laboratory, scripts, script, tolerance_us))

    outcomes = []
    # Threads are enough, because each thread only waits for a guest, which is a separate process.
    with ThreadPoolExecutor(usable_cores()) as pool:
        for each in pool.map(outcome, scripts.scripts):
            say(told(scripts, each))
            outcomes.append(each)
    return outcomes


def told(scripts: ScriptSet, each: Outcome) -> str:
    """Return an outcome as one line of text."""
    came_to = f"passes at {each.tolerance_us} us" if each.failure is None else f"fails: {each.failure.why}"
    return f"{scripts.name}: {each.script} {came_to}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests that the command line selects, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m leowarp_conformance")
    parser.add_argument("packetdrill", nargs="?", help=f"a checkout of {packetdrill.ADDRESS}")
    parser.add_argument("--only", metavar="TEXT", default="", help="only scripts with this in their path")
    names = sorted({name for name, _ in PLACES})
    parser.add_argument("--kernel", action="append", choices=names, help="only on this kernel; may be repeated")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a directory for what failing scripts print")
    parser.add_argument("--page", type=Path, metavar="FILE", help="a page whose tables are renewed")
    given = parser.parse_args(arguments)
    try:
        return conformance(given)
    except LeowarpError as error:
        say(f"leowarp: error: {error}")
        return error.exit_code


def conformance(given: argparse.Namespace) -> int:
    """Run the tests with these options, and return the exit status.

    Raises LeowarpError if something that the tests need is missing.
    """
    sources = packetdrill.checked(given.packetdrill)
    check_host()
    chosen = sets(sources, given.only, given.kernel)
    laboratory = Laboratory(
        packetdrill.compiled(sources, say),
        init_program(say),
        {name: kernel(name, on_message=say) for name in dict.fromkeys(each.kernel for each in chosen)},
    )
    listed = [each for each in reasons.reasons() if given.only in each.script]
    verdicts = []
    for scripts in chosen:
        outcomes = run(laboratory, scripts)
        verdicts.append(reasons.verdict(scripts, outcomes, listed))
        if given.keep:
            keep(given.keep, verdicts[-1])
    print(page.tables(verdicts))
    if given.page:
        page.renew(given.page, verdicts)
    faults = [fault for each in verdicts for fault in each.faults()]
    for fault in faults:
        say(fault)
    return 1 if faults else 0


def keep(directory: Path, verdict: reasons.Verdict) -> None:
    """Write the output of each failing script into a separate file."""
    for each in verdict.failed:
        assert each.failure is not None
        file = directory / verdict.scripts.name.replace(", ", "-") / f"{each.script}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{each.failure.why}\n\n{each.failure.printed}")


if __name__ == "__main__":
    sys.exit(main())
