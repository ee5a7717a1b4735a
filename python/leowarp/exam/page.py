# SPDX-License-Identifier: Apache-2.0
"""Write the page of an exam. The failed cases come first. Then come a table that compares other algorithms, and a card
for each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leowarp.exam.case import SUITES, left_out
from leowarp.exam.taken import Exam, by_case, changed
from leowarp.exam.verdict import Judged, spread_in_words
from leowarp.report import html

CLASSES = {"pass": "holds", "fail": "fails", "measured": "unknown"}
"""The CSS class that gives each verdict its colour on the page."""


def page_text(
    exam: Exam, command: str, beside: Mapping[str, dict[str, Any]], baseline: dict[str, Any] | None,
    figures: Mapping[str, str],
) -> str:  # fmt: skip
    """Return the page of an exam as HTML.

    beside: The result of `Exam.document` for each of the other algorithms, which are columns of the table.
    baseline: The document of an earlier exam, with which the page compares this exam.
    figures: The figure of each case as SVG, by the case's name.
    """
    counts = ", ".join(
        f'<span class="{CLASSES[verdict]}">{number} {verdict}</span>' for verdict, number in exam.counts.items()
    )
    title = f"Exam of {exam.subject.algorithm}"
    kernel = (
        f"{exam.kernel['kernel']}, Linux {exam.kernel['linux_version']}" if exam.kernel else "unknown, no run was made"
    )
    lead = (
        f"{len(exam.judged)} cases: {counts}. Kernel: {html.text(kernel)}; leowarp {html.text(exam.leowarp_version)}."
    )
    sections = []
    if baseline is not None:
        sections.append(("baseline", "Against the baseline", _baseline(exam, baseline)))
    sections.append(("table", "All cases", _table(exam, beside)))
    for suite, heading in SUITES.items():
        mine = [each for each in exam.judged if each.case.suite == suite]
        if mine:
            cards = "".join(_card(exam, each, figures.get(each.case.key, "")) for each in mine)
            sections.append((suite, heading, cards))
    sections.append(("left-out", "Left out", html.table("Examples that are no case", ["what", "why"], left_out(),
                                                        left=frozenset((0, 1)))))  # fmt: skip
    sections.append(("again", "How to take it again", f"<pre>{html.text(command)}</pre>"))
    body = f"<h1>{html.text(title)}</h1>\n<p>{lead}</p>\n" + _failures(exam) + html.warning_box(exam.warnings)
    body += html.sections(sections)
    return html.page(title, body)


def _failures(exam: Exam) -> str:
    items = "".join(
        f'<li><a href="#case-{each.case.key}">{each.case.key}</a>: {html.text(each.case.title)}. '
        f"{html.text(_told(exam, each))}</li>"
        for each in exam.failed
    )
    return f'<div class="warnings" role="note"><strong>Failed</strong><ul>{items}</ul></div>\n' if items else ""


def _told(exam: Exam, each: Judged) -> str:
    row = each.row(exam.path)
    return f"{row['value_in_words']}, limit {row['limit_in_words']}: {each.decided}"


def _table(exam: Exam, beside: Mapping[str, dict[str, Any]]) -> str:
    others = {name: by_case(document) for name, document in beside.items() if name != exam.subject.algorithm}
    rows = []
    for each, row in zip(exam.judged, exam.rows(), strict=True):
        link = f'<a href="#case-{each.case.key}">{html.text(each.case.key)}</a>'
        verdict = f'<span class="{CLASSES[each.verdict]}">{each.verdict}</span>'
        cells = [_beside(found.get(each.case.key)) for found in others.values()]
        spread = [spread_in_words(each.case, row)] if exam.repeats else []
        told = (row["value_in_words"], row["limit_in_words"], *spread)
        rows.append((link, html.text(each.case.title), verdict, *told, *cells))
    of_seeds = [f"over {1 + len(exam.repeats)} seeds"] if exam.repeats else []
    header = ["case", "what", "verdict", exam.subject.algorithm, "limit", *of_seeds, *others]
    raw = frozenset((0, 1, 2, *range(5 + len(of_seeds), len(header))))
    return html.table(
        "Every case, beside other algorithms of the kernel", header, rows, left=frozenset((0, 1, 2)), raw=raw
    )


def _beside(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    return f'<span class="{CLASSES[row["verdict"]]}">{html.text(row["value_in_words"])}</span>'


def _baseline(exam: Exam, baseline: dict[str, Any]) -> str:
    rows = changed([each.row(exam.path) for each in exam.judged], baseline)
    of = f"{baseline['algorithm']}, leowarp {baseline['leowarp_version']}"
    if not rows:
        return f"<p>The same verdicts and the same numbers as the baseline ({html.text(of)}).</p>"
    caption = f"Cases that differ from the baseline ({of})"
    return html.table(caption, ["case", "baseline", "now"], rows, left=frozenset((0, 1, 2)))


def _card(exam: Exam, each: Judged, figure: str) -> str:
    row, kind = each.row(exam.path), CLASSES[each.verdict]
    rule = each.case.rule
    of = [("Asked", each.case.asked), ("Measured", f"{rule.how.about} {_arguments(rule.arguments)}"),
          ("Limit", f"{rule.in_words()}. {rule.source}")]  # fmt: skip
    if each.run is not None:
        of.append(("Look closer", f"leowarp report {exam.path / str(row['run'])}"))
    lines = "".join(f"<p><strong>{html.text(name)}:</strong> {html.text(words)}</p>" for name, words in of)
    return (
        f'<article class="claim is-{kind}" id="case-{html.text(each.case.key)}">'
        f'<p><span class="{kind}">{each.verdict}</span> · <strong>{html.text(each.case.key)}</strong> '
        f"{html.text(each.case.title)}</p>"
        f"<p><strong>{html.text(row['value_in_words'])}</strong>, limit {html.text(row['limit_in_words'])}: "
        f"{html.text(each.decided)}</p>{figure}<details><summary>How it was tested</summary>{lines}</details>"
        "</article>\n"
    )


def _arguments(arguments: Mapping[str, Any]) -> str:
    parts: Sequence[str] = [
        f"{name.removesuffix('_ns')} = {value / 1e9:g} s" if name.endswith("_ns") else f"{name} = {value}"
        for name, value in arguments.items()
    ]
    return f"({', '.join(parts)})"
