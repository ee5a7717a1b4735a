# SPDX-License-Identifier: Apache-2.0
"""Run some examples and the guest's tests with each kernel that comes with leowarp.

    python tools/shelf.py every kernel that comes with leowarp; missing ones are built
    python tools/shelf.py --kernel 6.12+net only this kernel; the option may be repeated
    python tools/shelf.py --page                 also rewrites the table of design/shelf.md
    python tools/shelf.py -- tests/guest/ipv6_test.py -n 1     other arguments for pytest than all tests of the guest

Some examples (`CASES`) run twice with each kernel, and once with the default kernel. The script compares the results.
After that, the tests run with the kernel of the shelf instead of the default kernel (`pytest --kernel NAME`). Exit
status 1 means that a run is not repeatable, or that a test fails without a reason in tools/shelf_reasons.toml.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from same_cases import Case, examples
from same_results import differences, fingerprint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "design" / "shelf.md"
REASONS = ROOT / "tools" / "shelf_reasons.toml"
BEGIN, END = "<!-- shelf: begin -->\n", "<!-- shelf: end -->"
CASES = ("chain", "chain fq_codel", "madrid-tokyo", "two-changes drop", "starlink", "mobile-tcp", "jittered-transfer")
"""The examples of tools/same_cases.py that the script runs. Together they cover each medium, and a route change."""
OVER_IPV6 = {"network.family": "ipv6"}
NETEM = {"network.link_model": "netem"}
TESTS = ("-m", "guest", "tests/guest", "-n", "auto", "--dist", "worksteal")


@dataclass(frozen=True)
class Outcome:
    """The results for one kernel.

    repeats: The number of cases whose two runs gave the same bytes, and the number of all cases.
    as_default: The number of cases in which both runs gave the same bytes as the default kernel's run.
    passed, skipped: The numbers of tests.
    failed: The tests that failed, as a dict from the name of a test to the first line of its message.
    """

    repeats: tuple[int, int]
    as_default: int
    passed: int
    skipped: int
    failed: Mapping[str, str]


def main() -> int:
    """Test each kernel that the command line selects. Returns: The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", action="append", metavar="NAME", help="of the shelf; default: all of leowarp's own")
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.relative_to(ROOT)}")
    parser.add_argument("pytest", nargs="*", default=TESTS, help="arguments of pytest, behind --")
    given = parser.parse_args()
    from leowarp.guest.building import shelf

    names = given.kernel or [kernel.name for kernel in shelf.shelf() if not kernel.is_own]
    known = reasons()
    found: dict[str, Outcome] = {}
    wrong = []
    for name in names:
        found[name] = outcome(name, given.pytest)
        print("\n".join(lines_of(name, found[name], known)), flush=True)
        wrong += [f"{name}: a run does not repeat"] if found[name].repeats[0] != found[name].repeats[1] else []
        wrong += [f"{name}: {test}: no reason" for test in found[name].failed if reason_of(known, name, test) is None]
    if given.page:
        text = PAGE.read_text()
        before, rest = text.split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n".join(table(found, known)) + "\n" + END + rest.split(END)[1])
    print("\n".join(wrong) or "every run repeats, and every failure has a reason")
    return 1 if wrong else 0


def outcome(name: str, arguments: Sequence[str]) -> Outcome:
    """Build a kernel, and repeat and test runs with it."""
    subprocess.run([sys.executable, "-m", "leowarp", "kernel", "build", name], check=True, stdout=subprocess.DEVNULL)
    same = as_default = 0
    cases = cases_of(name)
    for case, (scenario, changes) in cases.items():
        once, again = (fingerprint((scenario, changes), name) for _ in range(2))
        # The result of a failed run is only an error. Two equal errors do not show that a run is repeatable
        repeats = "error" not in once and not list(differences({case: once}, {case: again}))
        same += repeats
        if repeats and OVER_IPV6.items() - changes.items():
            as_default += not list(differences({case: once}, {case: fingerprint((scenario, changes))}))
        if not repeats:
            print(f"{name}: {case}: {once.get('error', 'two runs differ')}", flush=True)
    with tempfile.TemporaryDirectory(prefix="leowarp-shelf-") as scratch:
        report = Path(scratch) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--kernel", name, f"--junit-xml={report}", *arguments]
        subprocess.run(command, cwd=ROOT, check=False)
        passed, skipped, failed = counts(report)
    return Outcome((same, len(cases)), as_default, passed, skipped, failed)


def cases_of(name: str) -> dict[str, Case]:
    """Return the cases for the kernel `name`. The kernel `stock` gets only cases with netem links. The kernel with IPv6
    gets an additional case."""
    known = {case: examples()[case] for case in CASES}
    if name == "stock":
        return {case: (scenario, {**changes, **NETEM}) for case, (scenario, changes) in known.items()}
    if name == "6.12+net":
        chain, changes = known["chain"]
        known["chain over IPv6"] = (chain, {**changes, **OVER_IPV6})
    return known


def counts(report: Path) -> tuple[int, int, dict[str, str]]:
    """Return the numbers of passed and skipped tests, and the first message line of each failed test."""
    passed = skipped = 0
    failed = {}
    for case in ElementTree.parse(report).iter("testcase"):
        # File and name of the test, from "tests.guest.ipv6_test" and the test's name
        test = f"{case.get('classname', '').rpartition('.')[2]}.py::{case.get('name')}"
        trouble = case.find("failure") if case.find("failure") is not None else case.find("error")
        if trouble is not None:
            failed[test] = (trouble.get("message") or "").partition("\n")[0][:160]
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, skipped, failed


def reasons() -> list[dict[str, str]]:
    """Return the entries of tools/shelf_reasons.toml: `kernel`, `tests` (a regular expression), `why`."""
    return tomllib.loads(REASONS.read_text(encoding="utf-8")).get("reason", [])


def reason_of(known: list[dict[str, str]], kernel: str, test: str) -> str | None:
    """Return the listed reason for which a test fails with a kernel. None means no reason."""
    fitting = (each["why"] for each in known if each["kernel"] == kernel and re.search(each["tests"], test))
    return next(fitting, None)


def lines_of(name: str, out: Outcome, known: list[dict[str, str]]) -> list[str]:
    """Return the lines to print about a kernel."""
    head = f"{name}: {out.repeats[0]} of {out.repeats[1]} runs repeat, {out.as_default} as the default kernel's; "
    head += f"{out.passed} tests passed, {out.skipped} skipped, {len(out.failed)} failed"
    return [head, *(f"  {test}: {reason_of(known, name, test) or said}" for test, said in out.failed.items())]


def table(found: Mapping[str, Outcome], known: list[dict[str, str]]) -> list[str]:
    """Return the tables of the page, in Markdown."""
    lines = ["| kernel | runs that repeat | as the default kernel's | tests passed | skipped | failed |"]
    lines.append("|---|---|---|---|---|---|")
    for name, out in found.items():
        repeats = f"{out.repeats[0]} of {out.repeats[1]}"
        row = (f"`{name}`", repeats, out.as_default, out.passed, out.skipped, len(out.failed))
        lines.append("| " + " | ".join(map(str, row)) + " |")
    lines += ["", "| kernel | tests that fail | why |", "|---|---|---|"]
    for name, out in found.items():
        by_reason: dict[str, list[str]] = {}
        for test in out.failed:
            by_reason.setdefault(reason_of(known, name, test) or "not known", []).append(test.partition("::")[0])
        for why, tests in by_reason.items():
            files = ", ".join(f"`{file}` ({tests.count(file)})" for file in sorted(set(tests)))
            lines.append(f"| `{name}` | {files} | {why} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
