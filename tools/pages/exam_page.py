# SPDX-License-Identifier: Apache-2.0
"""Make the reference page of the exam from its cases and its stored results.

``python tools/pages/exam_page.py FILE`` writes the page. ``--check FILE`` reports whether FILE is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from generated import write_or_check
from leowarp.exam.case import SUITES, cases, left_out
from leowarp.exam.comparison import mean_ranks
from leowarp.exam.measures import MEASURES
from leowarp.exam.references import references
from leowarp.exam.taken import by_case


def exam_page() -> str:
    """Return the page as Markdown. The text depends only on the cases and the stored results."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    stored = references()
    tables = {name: by_case(document) for name, document in stored.items()}
    yield from _INTRODUCTION.splitlines()
    yield ""
    heads = ["algorithm", "kernel", "pass", "fail", "measured", *(f"mean rank, {suite}" for suite in SUITES)]
    yield from _head(heads)
    ranked = mean_ranks(stored)
    for name, document in stored.items():
        counts = [str(document["counts"][verdict]) for verdict in ("pass", "fail", "measured")]
        means = [f"{ranked[suite][name]:.2f}" for suite in SUITES]
        kernel = f"{document['kernel']['kernel']} ({document['kernel']['linux_version']})"
        yield f"| {' | '.join([name, kernel, *counts, *means])} |"
    for suite, heading in SUITES.items():
        yield from ("", f"## {heading}", "")
        yield from _head(["case", "what, and where it is asked for", "measure", "limit, and where it is from", *tables])
        for case in cases([suite]):
            cells = [_cell(table.get(case.key)) for table in tables.values()]
            limit = case.rule.source if case.rule.limit is None else f"{case.rule.in_words()}. {case.rule.source}"
            asked = f"**{case.title}.** {case.asked}"
            yield f"| `{case.key}` | {asked} | `{case.rule.measure}` | {limit} | {' | '.join(cells)} |"
    yield from ("", "## Measures", "")
    yield from _head(["measure", "meaning"])
    for name, measure in MEASURES.items():
        yield f"| `{name}` | {measure.about} |"
    yield from ("", "## Left out", "")
    yield from _head(["what", "why"])
    for what, why in left_out():
        yield f"| {what} | {why} |"


def _head(names: list[str]) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"


def _cell(row: dict[str, str] | None) -> str:
    if row is None:
        return "–"
    return f"**{row['value_in_words']}, fails**" if row["verdict"] == "fail" else row["value_in_words"]


_INTRODUCTION = """\
# The exam's cases

<!-- Made by `python tools/pages/exam_page.py`; do not edit. -->

The tables list each case of [`leowarp exam`](../guides/exam.md) with its source, its measure, its limit, and the
results of CUBIC, Reno and BBR. A run's result is the same on every machine. Numbers of a failed case are bold. Ranks
compare the algorithms of this page: rank 1 is the best, and algorithms with equal numbers share the mean of their
ranks.\
"""


if __name__ == "__main__":
    sys.exit(write_or_check(exam_page(), "tools/pages/exam_page.py", None))
