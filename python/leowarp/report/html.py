# SPDX-License-Identifier: Apache-2.0
"""Pieces of a self-contained HTML page: one file, no network, readable on paper and by a screen reader."""

from __future__ import annotations

import base64
import html
import re
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from leowarp.base.pagepolicy import policy_tag
from leowarp.base.printable import visible
from leowarp.report.style import PNG_DPI

LARGEST_SVG_BYTES = 400_000
"""Above this a page takes the PNG: thousands of marks make a vector picture heavier than its pixels."""

_SCRIPTS = ("tables.js", "chart.js")

HALF_WIDTH_IN = 5.0
"""A figure less wide than this, a column of a paper, is beside another one."""


def page(title: str, body: str) -> str:
    """A whole document.

    title: Of the window; escaped here.
    Returns: With its style inside: nothing is loaded, so that the file can be mailed. Only scripts by `own_script` run.
    """
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f"{policy_tag([_script_text(file) for file in _SCRIPTS])}"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>\n{_own('pages.css')}</style></head>\n"
        f"<body>\n{body}\n{own_script('tables.js')}</body></html>\n"
    )


def own_script(file: str) -> str:
    """One of leowarp's scripts, which is all that runs on a page."""
    assert file in _SCRIPTS, f"{file} is not in the page's policy"
    return f"<script>{_script_text(file)}</script>\n"


def _script_text(file: str) -> str:
    return f"\n{_own(file)}"


@cache
def _own(file: str) -> str:
    return resources.files("leowarp.report").joinpath(file).read_text(encoding="utf-8")


def text(value: object) -> str:
    """Escaped text; what does something instead of showing something is shown as in `printable`."""
    return html.escape(visible(str(value)))


def section(name: str, heading: str, content: str) -> str:
    """A part of the page that the navigation can point to.

    name: Its id.
    """
    return f'<section id="{text(name)}"><h2>{text(heading)}</h2>\n{content}\n</section>\n'


def navigation(entries: Iterable[tuple[str, str]]) -> str:
    """Links to the sections."""
    links = "".join(f'<a href="#{text(name)}">{text(heading)}</a>' for name, heading in entries)
    return f'<nav aria-label="Sections">{links}</nav>\n'


def warning_box(warnings: Sequence[str]) -> str:
    """Points to check before trusting the page; empty if there is nothing."""
    if not warnings:
        return ""
    items = "".join(f"<li>{text(warning)}</li>" for warning in warnings)
    lead = "<strong>Check before you trust the result</strong>"
    return f'<div class="warnings" role="note">{lead}<ul>{items}</ul></div>\n'


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, left: frozenset[int] = frozenset((0,)),
    raw: frozenset[int] = frozenset(), long: bool = False,
) -> str:  # fmt: skip
    """A table whose first column heads its rows.

    left: frozenset of int. Columns of text, aligned left.
    raw: frozenset of int. Columns whose cells are HTML already.
    long: Whether it scrolls by itself, under its head, where it is higher than half a screen.
    Returns: A reader sorts it by a click on a head (`tables.js`), by the exact numbers, which cells have beside their
        texts.
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


def cell(value: object) -> str:
    """A value as a cell shows it: missing as a dash, never as 0.

    Returns: Whole numbers with separators, others with four digits, truth as yes or no.
    """
    if value is None or value != value:  # nan is the only value that is not itself
        return "–"
    # Before int, of which bool is a subclass.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def number(value: object, unit: float = 1) -> float | int | None:
    """A number of a table, which may be pandas' NA, as `cell` takes it: in `unit`s, whole ones whole."""
    if value is None or pd.isna(value):
        return None
    assert isinstance(value, int | float | np.number), value
    return int(value) if unit == 1 and float(value).is_integer() else float(value) / unit


def numbers(entries: Sequence[tuple[str, str]]) -> str:
    """A few numbers that stand out: (what it is, the number with its unit) each."""
    cells = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in entries)
    return f'<dl class="numbers">{cells}</dl>\n' if entries else ""


def is_half(stem: Path) -> bool:
    """Whether a figure is a column wide, so that two are in a row."""
    return _width_in(stem.with_suffix(".svg"), stem.with_suffix(".png")) < HALF_WIDTH_IN


def picture(stem: Path, title: str, caption: str, folder: str, code: str = "") -> str:
    """A figure out of its files, embedded; the files of all formats, and its numbers, are named below it.

    stem: The files without their ending; the PNG must be there.
    title, caption: Also the text for who does not see it.
    folder: Where the links lead, from the page.
    code: Python that makes it anew.
    """
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    # As an image and not inline: every SVG of matplotlib has the ids figure_1 and axes_1, and a page may have an id
    # once.
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
    """Width of a figure in inches: what its SVG says in points, or its PNG at `style.PNG_DPI` in pixels."""
    # matplotlib writes <svg ... width="515.52pt" ...> into the first lines.
    found = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', svg.read_bytes()[:2000]) if svg.exists() else None
    if found is not None:
        return float(found[1]) / 72
    # The width is the first field of the header chunk: PNG specification, 11.2.2 (IHDR).
    return struct.unpack(">I", png.read_bytes()[16:20])[0] / PNG_DPI
