# SPDX-License-Identifier: Apache-2.0
"""The HTML page of a study, with its claims, figures and own sections (runs, rules, costs), in this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles
from leowarp.report import html
from leowarp.study.claim import in_words

CLASSES = {"holds": "holds", "partly": "partly", "does not hold": "fails", "cannot be told": "unknown"}
"""The CSS class that colours each verdict on the page, in the order of the numbers of verdicts."""
PLURALS = {"holds": "hold", "does not hold": "do not hold"}
"""The plural forms of verdicts, if they differ from the singular."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure of the study as files (`figures/<stem>.{svg,pdf,png}`), or the reason why it was not drawn.

    Attributes
    ----------
    stem : str
        The name of the files without extension.
    title, caption : str
    missing : str, optional
        The reason why there are no files. None if the files exist.
    """

    stem: str
    title: str
    caption: str
    missing: str | None = None


@dataclass(frozen=True)
class Section:
    """An additional section of a study's page.

    Attributes
    ----------
    name : str
        The target of links to the section (`#runs`).
    heading : str
    content : str
        HTML. Text from files must first be escaped by `html.text`.
    """

    name: str
    heading: str
    content: str


def write_study_page(
    folder: Path, title: str, lead: str, claims: Sequence[Mapping[str, Any]], figures: Sequence[DrawnFigure],
    sections: Sequence[Section], warnings: Sequence[str], command: str,
) -> Path:  # fmt: skip
    """Write `index.html` of a study, and return its path.

    title, lead: The heading and the first paragraph, as plain text.
    claims: The rows of `claims.json`.
    sections: The sections between the figures and the command.
    command: The shell command with which a user can make the page again.
    """
    parts = [
        Section("claims", "Claims", _verdicts(claims) + _claims_list(claims)),
        Section("figures", "Figures", _figures(folder, figures)),
        *sections,
        Section(
            "again", "How to make this again", f"<pre>{html.text(command)}</pre><p>Runs that are complete are kept.</p>"
        ),
    ]
    body = f"<h1>{html.text(title)}</h1>\n<p>{html.text(lead)}</p>\n" + html.warning_box(warnings)
    body += html.sections([(part.name, part.heading, part.content) for part in parts])
    path = folder / "index.html"
    plainfiles.write(path, html.page(title, body).encode())
    return path


def _verdicts(claims: Sequence[Mapping[str, Any]]) -> str:
    measured = [row for row in claims if not row["by_construction"]]
    constructed = [row for row in claims if row["by_construction"]]
    apart = f" Apart from these, {len(constructed)} by construction: {_counted(constructed)}." if constructed else ""
    note = "Each test was written down before its result was known; one changed after a look at short runs says so."
    return f"<p>Of {len(measured)} claims: {_counted(measured)}.{apart} {note}</p>"


def _counted(claims: Sequence[Mapping[str, Any]]) -> str:
    count = {verdict: sum(row["verdict"] == verdict for row in claims) for verdict in CLASSES}
    return ", ".join(
        f'<span class="{CLASSES[verdict]}">{number} {verdict if number == 1 else PLURALS.get(verdict, verdict)}</span>'
        for verdict, number in count.items()
        if number
    )


SHORT = 190
"""The number of characters of the measured result that the page shows before the reader opens the card."""


def _claims_list(claims: Sequence[Mapping[str, Any]]) -> str:
    links = " ".join(
        f'<a class="{CLASSES[row["verdict"]]}" href="#claim-{html.text(row["number"])}">{html.text(row["number"])}</a>'
        for row in claims
    )
    return f'<p class="screen">{links}</p>\n' + "".join(_card(row) for row in claims)


def _card(row: Mapping[str, Any]) -> str:
    kind, others = CLASSES[row["verdict"]], row["samples"][1:]
    short = _shortened(row["measured"])
    verdict = html.text(row["verdict"]) + (" by construction" if row["by_construction"] else "")
    if others:
        same = sum(sample["verdict"] == row["verdict"] for sample in others)
        verdict += f" ({same} of {len(others)} other samples alike)"
    folded = [("Tested as", row["test"])]
    if short != row["measured"]:
        folded.append(("Measured", row["measured"]))
    if row["cause"]:
        folded.append(("Why", row["cause"]))
    folded += [(f"{sample['sample']}: {sample['verdict']}", sample["measured"]) for sample in others]
    lines = "".join(f"<p><strong>{html.text(name)}:</strong> {html.text(words)}</p>" for name, words in folded)
    return (
        f'<article class="claim is-{kind}" id="claim-{html.text(row["number"])}">'
        f'<p><span class="{kind}">{verdict}</span> · <strong>{html.text(row["number"])}</strong> '
        f'{html.text(row["says"])} <span class="quiet">({html.text(in_words(row["figure"]))})</span></p>'
        f"<p>{html.text(short)}</p><details><summary>How it was tested</summary>{lines}</details></article>\n"
    )


def _shortened(measured: str) -> str:
    """Return the text of a measured result, cut at the end of a clause if it is longer than `SHORT`."""
    if len(measured) <= SHORT:
        return measured
    cut = max(measured.rfind(mark, 0, SHORT) for mark in ("; ", ", ", ". "))
    return f"{measured[: cut if cut > 0 else SHORT]} …"


def _figures(folder: Path, figures: Sequence[DrawnFigure]) -> str:
    # A study has about a dozen figures, each in three formats, so the page only links to them.
    blocks = [
        html.picture(folder / "figures" / figure.stem, figure.title, figure.caption, "figures")
        for figure in figures
        if figure.missing is None
    ]
    missing = [figure for figure in figures if figure.missing is not None]
    items = "".join(f"<li>{html.text(figure.title)}: {html.text(figure.missing)}</li>" for figure in missing)
    note = f'<p class="quiet">Not drawn:</p><ul class="quiet">{items}</ul>' if items else ""
    return f'<div class="figures">{"".join(blocks)}</div>{note}'
