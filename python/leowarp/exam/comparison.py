# SPDX-License-Identifier: Apache-2.0
"""Compare the algorithms of several exams by their numbers of passed cases and by their ranks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from statistics import mean
from typing import Any

from leowarp.exam.case import SUITES, Case, cases
from leowarp.exam.page import CLASSES
from leowarp.exam.taken import by_case
from leowarp.exam.verdict import spread_in_words
from leowarp.report import html

MORE_IS_BETTER = {"used", "worst_second", "offered", "least_share", "kept"}
"""The measures for which a larger value is better. For all other measures, a smaller value is better."""


def ranks(case: Case, rows: Mapping[str, dict[str, Any]]) -> dict[str, float]:
    """Return the rank that each algorithm has in a case. Rank 1 is the best. Algorithms with equal values share the
    mean of their ranks.

    Values are printed with three digits. If two values have the same text, they count as equal. An algorithm that never
    reached a value has the last rank.
    """
    sign = -1.0 if case.rule.measure in MORE_IS_BETTER else 1.0
    keys = {name: _key(row, sign) for name, row in rows.items()}
    ordered = sorted(keys.values())
    return {name: (bisect_left(ordered, key) + bisect_right(ordered, key) + 1) / 2 for name, key in keys.items()}


def _key(row: dict[str, Any], sign: float) -> float:
    value = row["value"]
    return float("inf") if value is None else sign * float(f"{value:.3g}")


def mean_ranks(documents: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return each algorithm's mean rank in each suite, over the cases that all the exams have."""
    tables = {name: by_case(document) for name, document in documents.items()}
    found: dict[str, dict[str, list[float]]] = {suite: {name: [] for name in tables} for suite in SUITES}
    for case in cases():
        if all(case.key in table for table in tables.values()):
            for name, rank in ranks(case, {name: table[case.key] for name, table in tables.items()}).items():
                found[case.suite][name].append(rank)
    return {suite: {name: mean(each) for name, each in of.items() if each} for suite, of in found.items()}


def ranks_of_seeds(documents: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, tuple[float, float]]]:
    """For each suite and algorithm, return the smallest and the largest mean rank over the seeds of the exams. The
    result is empty if there is only one seed.

    The mean rank for a seed compares the values of all algorithms with this seed.
    """
    seeds = min((len(row["seeds"]["values"]) for each in documents.values() for row in each["cases"] if "seeds" in row),
                default=0)  # fmt: skip
    of_seeds = [
        mean_ranks({name: _with_seed(document, seed) for name, document in documents.items()}) for seed in range(seeds)
    ]
    if not of_seeds:
        return {}
    return {
        suite: {
            name: (min(of[suite][name] for of in of_seeds), max(of[suite][name] for of in of_seeds)) for name in each
        }
        for suite, each in of_seeds[0].items()
    }


def _with_seed(document: dict[str, Any], seed: int) -> dict[str, Any]:
    return {"cases": [row | {"value": row["seeds"]["values"][seed]} for row in document["cases"]]}


def rank_in_words(suite: str, name: str, ranked: Mapping[str, Mapping[str, float]], spread: Mapping[str, Any]) -> str:
    """Return the mean rank of an algorithm in a suite, as text. With several seeds, the text has the range over the
    seeds: `1.52 (1.45 to 1.6)`."""
    if name not in ranked[suite]:
        return "–"
    words = f"{ranked[suite][name]:.2f}"
    if suite in spread:
        words += " ({:.2f} to {:.2f})".format(*spread[suite][name])
    return words


def comparison_text(documents: Mapping[str, dict[str, Any]], command: str) -> str:
    """Return the page that compares exams, as HTML.

    documents: A dict from the column heading of each exam to the result of this exam's `Exam.document`.
    """
    tables = {name: by_case(document) for name, document in documents.items()}
    of_suites, spread = mean_ranks(documents), ranks_of_seeds(documents)
    overview = [
        (name, *(document["counts"][verdict] for verdict in ("pass", "fail", "measured")),
         *(rank_in_words(suite, name, of_suites, spread) for suite in SUITES))
        for name, document in documents.items()
    ]  # fmt: skip
    header = ["algorithm", "pass", "fail", "measured", *(f"mean rank, {suite}" for suite in SUITES)]
    body = "<h1>Congestion controls side by side</h1>\n"
    caption = "Verdicts, and mean ranks (1 is the best) by suite"
    body += html.table(f"{caption}; in brackets the range over the seeds" if spread else caption, header, overview)
    for suite, heading in SUITES.items():
        rows = [_row(case, tables) for case in cases([suite])]
        body += html.section(suite, heading, html.table(heading, ["case", "what", "limit", *tables], rows,
                             left=frozenset((0, 1, 2)), raw=frozenset(range(3, 3 + len(tables)))))  # fmt: skip
    body += html.section("again", "How to make this again", f"<pre>{html.text(command)}</pre>")
    return html.page("Congestion controls side by side", body)


def _row(case: Case, tables: Mapping[str, Mapping[str, dict[str, Any]]]) -> tuple[str, ...]:
    cells = []
    for table in tables.values():
        row = table.get(case.key)
        if row is None:
            cells.append("–")
        else:
            words = html.text(row["value_in_words"])
            if "seeds" in row:
                words += f"<br><small>{html.text(spread_in_words(case, row))}</small>"
            cells.append(f'<span class="{CLASSES[row["verdict"]]}">{words}</span>')
    return (case.key, case.title, case.rule.in_words(), *cells)
