# SPDX-License-Identifier: Apache-2.0
"""Write the table of verdicts in a study's guide, from the `claims.json` of the study's reproduction.

    python tools/verdicts.py frederiksen2024/claims.json docs/guides/reproducing-frederiksen2024.md

The command replaces the table between the lines `<!-- verdicts -->` and `<!-- /verdicts -->` of the page. With --check,
the command writes nothing. The exit status is then 1 if the table on the page differs. Each column is a sample of the
study. The sample's name says what its runs have in common: TCP stack and links, time of day, or other settings.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- verdicts -->", "<!-- /verdicts -->"
SHORT = {"holds": "holds", "partly": "partly", "does not hold": "**no**", "cannot be told": "?"}
"""A dict from each verdict to its text in a cell of the table."""
NOT_CHECKED = "-"
"""The text of a cell if the claim is about runs that the sample does not have."""
BY_CONSTRUCTION = "¹"
"""The mark of a claim that is true by construction. The test of such a claim compares a value with its own source."""


def table(claims: Sequence[Mapping[str, Any]]) -> str:
    """Return the table as Markdown. It has a row per claim. The last row has the number of true claims in each sample.

    Claims that hold by construction are marked, and counted in a separate line.

    claims: The rows of `claims.json`.
    Returns: The lines, without a blank line at either end.
    """
    names = list(dict.fromkeys(sample["sample"] for row in claims for sample in row["samples"]))
    if not names:
        raise SystemExit("no claim has a verdict: were all runs of the study made?")
    lines = [_row("claim", "the paper says", *names), _row("---", "---", *["---"] * len(names))]
    for row in claims:
        verdict = {sample["sample"]: SHORT[sample["verdict"]] for sample in row["samples"]}
        mark = BY_CONSTRUCTION if row["by_construction"] else ""
        lines.append(_row(row["number"] + mark, row["says"], *(verdict.get(name, NOT_CHECKED) for name in names)))
    measured = [row for row in claims if not row["by_construction"]]
    lines.append(_row("", "*hold, of those checked*", *(_held(measured, name) for name in names)))
    if constructed := [row for row in claims if row["by_construction"]]:
        says = f"*{BY_CONSTRUCTION}by construction: hold, of those checked*"
        lines.append(_row("", says, *(_held(constructed, name) for name in names)))
    return "\n".join(lines)


def _held(claims: Sequence[Mapping[str, Any]], name: str) -> str:
    mine = [sample["verdict"] for row in claims for sample in row["samples"] if sample["sample"] == name]
    return f"{mine.count('holds')} of {len(mine)}" if mine else NOT_CHECKED


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def replaced(page: str, written: str) -> str:
    """In a page, replace the text between the two marks by `written`.

    >>> replaced("a\\n<!-- verdicts -->\\nold\\n<!-- /verdicts -->\\nb", "new")
    'a\\n<!-- verdicts -->\\nnew\\n<!-- /verdicts -->\\nb'
    """
    head, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, tail = rest.partition(f"\n{END}")
    if not begin or not end:
        raise SystemExit(f"the page has no lines {BEGIN} and {END}: write them where the table is to stand")
    return f"{head}{begin}{written}{end}{tail}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the table of one page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("claims", type=Path, help="claims.json of a reproduction")
    parser.add_argument("page", type=Path, help="Markdown page with the two marks")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the page has another table")
    given = parser.parse_args(arguments)
    page = given.page.read_text(encoding="utf-8")
    new = replaced(page, table(json.loads(given.claims.read_text(encoding="utf-8"))["claims"]))
    if given.check:
        if new != page:
            print(f"{given.page} has another table than {given.claims}: run this without --check", file=sys.stderr)
        return int(new != page)
    given.page.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
