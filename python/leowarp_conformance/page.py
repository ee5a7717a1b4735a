# SPDX-License-Identifier: Apache-2.0
"""The tables of a conformance run, for the terminal and for docs/accuracy.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from leowarp.base.errors import ScenarioError
from leowarp_conformance.ladder import DEFAULT_US, RUNGS_US
from leowarp_conformance.reasons import KINDS, Reason, Verdict

_TITLES = {
    "kernel": "the kernel's selftests (`tools/testing/selftests/net/packetdrill`)",
    "google": "packetdrill's own scripts (`gtests/net/tcp`)",
}
_MARKED = re.compile(r"(?<=<!-- conformance -->\n).*?(?=<!-- end of conformance -->)", re.DOTALL)


def tables(verdicts: Sequence[Verdict]) -> str:
    """Return Markdown with three tables. The first has one row per set. The others list scripts that need more than the
    smallest tolerance, and failed scripts."""
    lines = [
        "| scripts | kernel | IP | passed | "
        + " | ".join(f"at {rung:,} us" for rung in RUNGS_US[::-1])
        + " | failed |",
        "|---|---|---|---|" + "---|" * (len(RUNGS_US) + 1),
    ]
    for each in verdicts:
        kinds = Counter(each.reasons[o.script].kind if o.script in each.reasons else "unknown" for o in each.failed)
        failed = ", ".join(f"{kinds[kind]} {kind}" for kind in (*KINDS, "unknown") if kinds[kind])
        at = " | ".join(str(each.passed(rung)) for rung in RUNGS_US[::-1])
        lines.append(
            f"| {_TITLES[each.scripts.origin]} | `{each.scripts.kernel}` | {each.scripts.ip} "
            f"| {each.passed(DEFAULT_US)} of {len(each.outcomes)} | {at} | {failed or 'none'} |"
        )
    lines += ["", *_needing_more(verdicts), *_failing(verdicts)]
    return "\n".join(lines) + "\n"


def _needing_more(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a table of the scripts that need more than 1 us of tolerance in at least one set. The table has the
    smallest tolerance in each set."""
    needed: dict[tuple[str, str], dict[str, int]] = {}
    for each in verdicts:
        for outcome in each.outcomes:
            if outcome.tolerance_us is not None and outcome.tolerance_us > RUNGS_US[0]:
                where = f"`{each.scripts.kernel}`, {each.scripts.ip}"
                needed.setdefault((each.scripts.origin, outcome.script), {})[where] = outcome.tolerance_us
    if not needed:
        return []
    lines = ["| script | smallest tolerance at which it passes (all others: 1 us) |", "|---|---|"]
    for (origin, script), by_place in sorted(needed.items(), key=lambda item: (item[0][0] != "kernel", item[0])):
        lines.append(f"| {_script(origin, script)} | {_by_place(by_place, len(_places(verdicts, origin)))} |")
    return [*lines, ""]


def _failing(verdicts: Sequence[Verdict]) -> list[str]:
    failing: dict[Reason, dict[str, None]] = {}
    for each in verdicts:
        for outcome in each.failed:
            if outcome.script in each.reasons:
                where = f"`{each.scripts.kernel}`, {each.scripts.ip}"
                failing.setdefault(each.reasons[outcome.script], {})[where] = None
    if not failing:
        return []
    # Scripts that fail for the same reason are in one row.
    rows: dict[tuple[str, str, str], list[str]] = {}
    for reason, places in failing.items():
        everywhere = len(places) == len(_places(verdicts, reason.origin))
        key = (reason.kind, reason.reason, "everywhere" if everywhere else "; ".join(places))
        rows.setdefault(key, []).append(_script(reason.origin, reason.script))
    lines = ["| scripts that fail | where | kind | reason |", "|---|---|---|---|"]
    for (kind, reason_text, where), scripts in sorted(rows.items(), key=lambda row: (KINDS.index(row[0][0]), row[1])):
        lines.append(f"| {', '.join(scripts)} | {where} | {kind} | {reason_text} |")
    return lines


def _places(verdicts: Sequence[Verdict], origin: str) -> list[Verdict]:
    return [each for each in verdicts if each.scripts.origin == origin]


def _by_place(by_place: dict[str, int], places: int) -> str:
    values = set(by_place.values())
    if len(values) == 1 and len(by_place) == places:
        return f"{values.pop():,} us"
    return "; ".join(f"{value:,} us ({where})" for where, value in by_place.items())


def _script(origin: str, script: str) -> str:
    return f"`{script.removeprefix('tcp/') if origin == 'google' else script}`"


def renew(file: Path, verdicts: Sequence[Verdict]) -> None:
    """Replace the tables in a documentation page. Marks in the page show where these tables begin and end.

    Raises ScenarioError if the page does not contain these marks.
    """
    text = file.read_text(encoding="utf-8")
    found = _MARKED.search(text)
    if found is None:
        raise ScenarioError(f"writing the tables into {file}: it has no <!-- conformance --> mark")
    file.write_text(text[: found.start()] + tables(verdicts) + text[found.end() :], encoding="utf-8")
