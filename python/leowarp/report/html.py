# SPDX-License-Identifier: Apache-2.0
"""The parts of an HTML page. A page is one file, needs no network, and can be printed and read with a screen reader."""

from __future__ import annotations

import base64
import html
import os
import re
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leowarp.base.pagepolicy import policy_tag
from leowarp.base.printable import visible
from leowarp.report.style import PNG_DPI
from leowarp.scalars.overview import Section

LARGEST_SVG_BYTES = 400_000
"""The maximum size of an SVG in a page, in bytes. If the SVG is larger, the page embeds the PNG instead. An SVG with
thousands of marks is larger than a PNG of the same figure."""

_SCRIPTS = ("tables.js", "chart.js")

MOST_ROWS = 300
"""The maximum number of rows of a long table on a page. More rows would make the page several megabytes large."""


def page(title: str, body: str) -> str:
    """Return the HTML of a complete document.

    The document contains its style sheet and loads nothing, so the file can be sent by mail. A browser executes only
    scripts from `own_script` in the document.
    """
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f"{policy_tag([_own(file) for file in _SCRIPTS])}"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_own('pages.css')}</style></head>\n"
        f"<body>\n{body}\n{own_script('tables.js')}</body></html>\n"
    )


def own_script(file: str) -> str:
    """Return one of leowarp's own scripts. The content security policy of the page forbids all other scripts."""
    assert file in _SCRIPTS, f"{file} is not in the page's policy"
    return f"<script>{_own(file)}</script>\n"


@cache
def _own(file: str) -> str:
    return "\n" + resources.files("leowarp.report").joinpath(file).read_text(encoding="utf-8")


def text(value: object) -> str:
    """Return a text in which HTML characters are escaped. Control characters are made visible, as `printable` does."""
    return html.escape(visible(str(value)))


def section(name: str, heading: str, content: str) -> str:
    """Return the HTML of a section of the page. `name` is its id, to which the navigation links."""
    return f'<section id="{text(name)}"><h2>{text(heading)}</h2>\n{content}\n</section>\n'


def sections(parts: Sequence[tuple[str, str, str]]) -> str:
    """Return the HTML of links to the sections, and of the sections."""
    links = "".join(f'<a href="#{text(name)}">{text(heading)}</a>' for name, heading, _ in parts)
    return f'<nav aria-label="Sections">{links}</nav>\n' + "".join(section(*part) for part in parts)


def folded(summary: str, content: str, *, is_open: bool = False) -> str:
    """Return the HTML of content that a reader unfolds, or "" without content."""
    if not content:
        return ""
    state = " open" if is_open else ""
    return f"<details{state}><summary>{text(summary)}</summary>{content}</details>"


def warning_box(warnings: Sequence[str]) -> str:
    """Return an HTML box with warnings that a reader must check before trusting the page, or "" without warnings."""
    if not warnings:
        return ""
    items = "".join(f"<li>{text(warning)}</li>" for warning in warnings)
    lead = "<strong>Check before you trust the result</strong>"
    return f'<div class="warnings" role="note">{lead}<ul>{items}</ul></div>\n'


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, left: frozenset[int] = frozenset((0,)),
    raw: frozenset[int] = frozenset(), long: bool = False,
) -> str:  # fmt: skip
    """Return the HTML of a table whose first column contains the row headers.

    left: The numbers of the columns that contain text, which is aligned left.
    raw: The numbers of the columns whose cells are already HTML.
    long: Whether a table scrolls below its header if it is higher than half a screen. A click on a column header sorts
        the table (`tables.js`). A cell with a number also contains the exact number for the sort.
    """
    head = "".join(
        f'<th scope="col"{" class=left" if place in left else ""}>{text(name)}</th>'
        for place, name in enumerate(header)
    )
    lines = []
    for row in rows:
        cells = []
        for place, value in enumerate(row):
            shown = str(value) if place in raw else text(cell(value))
            if place == 0:
                cells.append(f'<th scope="row">{shown}</th>')
            else:
                is_number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
                number = f' data-v="{value!r}"' if is_number else ""
                cells.append(f"<td{' class=left' if place in left else ''}{number}>{shown}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    scroll = 'class="scroll long" tabindex="0"' if long else 'class="scroll"'
    return (
        f"<div {scroll}><table><caption><span>{text(caption)}</span></caption><thead><tr>{head}</tr></thead>\n"
        f"<tbody>{chr(10).join(lines)}</tbody></table></div>\n"
    )


def section_table(section: Section) -> str:
    """Return the HTML of a table of the overview."""
    return table(section.title, ["", *section.columns], [(name, *texts) for name, texts in section.rows])


def arrow(before: Any, after: Any, scale: float) -> str:
    """Return the text of a change, in which a missing value is "none". With the scale 1, values are whole numbers."""
    texts = [
        "none" if pd.isna(value) else f"{value / scale:.2f}" if scale != 1 else f"{int(value)}"
        for value in (before, after)
    ]
    return " → ".join(texts)


def link(shown: str, page: Path | None, folder: Path) -> str:
    """Return a link from a page in `folder` to another page, with the HTML `shown`. Without a page, return `shown`."""
    if page is None:
        return shown
    # Symbolic links are resolved first. After a symbolic link, ".." means the directory above the link's target, not
    # the directory that contains the link.
    address = Path(os.path.relpath(page.resolve(), folder.resolve())).as_posix()
    return f'<a href="{text(address)}">{shown}</a>'


def cell(value: object) -> str:
    """Return the text of a cell: whole numbers with separators, other numbers with four digits, booleans as yes or no.
    A missing value is shown as a dash, never as 0."""
    if value is None or value != value:  # nan is the only value that is not equal to itself.
        return "–"
    # bool is a subclass of int, so this check must come before the check for int.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def number(value: object, unit: float = 1) -> float | int | None:
    """Return a table's value, divided by `unit`, as a number for `cell`, or None if it is missing, for instance NA.
    With the unit 1, whole numbers become int."""
    if value is None or pd.isna(value):
        return None
    assert isinstance(value, int | float | np.number), value
    return int(value) if unit == 1 and float(value).is_integer() else float(value) / unit


def numbers(entries: Sequence[tuple[str, str]]) -> str:
    """Return the HTML of a few prominent numbers. Each entry is (label, number with its unit)."""
    cells = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in entries)
    return f'<dl class="numbers">{cells}</dl>\n' if entries else ""


def is_half(stem: Path) -> bool:
    """Return whether two such figures fit into a row. Figures that are as wide as one column of a paper do."""
    return _width_in(stem.with_suffix(".svg"), stem.with_suffix(".png")) < 5.0


def picture(stem: Path, title: str, caption: str, folder: str, code: str = "") -> str:
    """Return the HTML of a figure, with the image embedded. Links below the figure lead to its files in all formats and
    to the CSV file with its numbers.

    stem: The path of the files without their suffix. The PNG must exist.
    folder: The folder of the files, relative to the page.
    code: The Python code that draws the figure again.
    """
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    # The SVG is embedded as an image, not inline, because every SVG of matplotlib has the ids figure_1 and axes_1, and
    # ids on a page must be unique.
    if svg.exists() and svg.stat().st_size <= LARGEST_SVG_BYTES:
        source = "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()
    else:
        source = "data:image/png;base64," + base64.b64encode(png.read_bytes()).decode()
    half = ' class="half"' if is_half(stem) else ""
    kinds = [kind for kind in ("svg", "pdf", "png") if stem.with_suffix(f".{kind}").exists()]
    files = ", ".join(f'<a href="{folder}/{stem.name}.{kind}">{stem.name}.{kind}</a>' for kind in kinds)
    if stem.with_suffix(".csv").exists():
        files += f'; its numbers: <a href="{folder}/{stem.name}.csv">{stem.name}.csv</a>'
    again = f"<details><summary>Make it in Python</summary><pre>{text(code)}</pre></details>" if code else ""
    return (
        f'<figure{half} id="figure-{text(stem.name)}"><div class="drawn">'
        f'<img src="{source}" alt="{text(f"{title}. {caption}")}"></div>'
        f"<figcaption><strong>{text(title)}.</strong> {text(caption)} Files: {files}.{again}</figcaption></figure>\n"
    )


def _width_in(svg: Path, png: Path) -> float:
    # matplotlib writes <svg ... width="515.52pt" ...> into the first lines.
    found = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', svg.read_bytes()[:2000]) if svg.exists() else None
    if found is not None:
        return float(found[1]) / 72
    # The width is the first field of the header chunk (PNG specification, 11.2.2, IHDR).
    return struct.unpack(">I", png.read_bytes()[16:20])[0] / PNG_DPI
