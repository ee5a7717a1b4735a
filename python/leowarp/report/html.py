# SPDX-License-Identifier: Apache-2.0
"""Pieces of a self-contained HTML page: one file, no network, readable on paper and by a screen reader."""

from __future__ import annotations

import base64
import html
import re
import struct
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from leowarp.printable import visible
from leowarp.report.style import PNG_DPI

LARGEST_SVG_BYTES = 400_000
"""Above this a page takes the PNG: thousands of marks make a vector picture heavier than its pixels."""

HALF_WIDTH_IN = 5.0
"""A figure less wide than this, a column of a paper, stands beside another one."""

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: #1c1c1c; background: #fff;
       max-width: 1080px; margin: 0 auto; padding: 1.2rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .4rem 0; } .quiet { color: #555; }
.warnings { border-left: 5px solid #d55e00; background: #fff4ec; padding: .5rem .9rem; margin: 1rem 0; }
.warnings ul { margin: .2rem 0 .2rem 1.1rem; padding: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; margin: .4rem 0; }
caption { text-align: left; color: #555; padding: .2rem 0; }
th, td { padding: .22rem .6rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top;
         font-variant-numeric: tabular-nums; }
th { border-bottom: 1.5px solid #666; font-weight: 600; } tbody th { border-bottom: 1px solid #ddd; font-weight: 500; }
th.left, td.left, tbody th { text-align: left; } td:not(.left) { white-space: nowrap; }
figure { margin: 1.3rem 0; } figure img { width: 100%; height: auto; display: block; }
.figures { display: flex; flex-wrap: wrap; gap: 0 1.5rem; } .figures figure { flex: 1 1 100%; }
.figures figure.half { flex: 0 1 calc(50% - .8rem); min-width: min(20rem, 100%); }
.figures figure.alone { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
.figures figure.alone img { flex: 0 1 calc(50% - .8rem); width: calc(50% - .8rem); min-width: min(20rem, 100%); }
.figures figure.alone figcaption { flex: 1 1 16rem; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem 1.2rem;
           margin: 1rem 0; }
.numbers div { border-left: 3px solid #0072b2; padding-left: .6rem; display: flex; flex-direction: column-reverse;
               justify-content: flex-end; }
.numbers dd { margin: 0; font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.numbers dt { color: #555; font-size: .86rem; }
figcaption { font-size: .86rem; color: #444; max-width: 56rem; margin-top: .3rem; }
nav a { margin-right: .9rem; } code, pre { font: .85em/1.45 "DejaVu Sans Mono", ui-monospace, monospace; }
pre { background: #f6f6f6; padding: .7rem .9rem; overflow-x: auto; }
details summary { cursor: pointer; font-weight: 600; margin: 1rem 0 .3rem; }
.long { max-height: 26rem; overflow-y: auto; } .long thead th { position: sticky; top: 0; background: #fff; }
.sortable tbody th { white-space: nowrap; } th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid #0072b2; }
th[aria-sort=descending] button::after { content: " \\25BE"; }
th[aria-sort=ascending] button::after { content: " \\25B4"; }
.chart { min-height: 200px; }
.holds { color: #00613f; font-weight: 600; } .partly { color: #8a5a00; font-weight: 600; }
.fails { color: #a33c00; font-weight: 600; } .unknown { color: #555; font-weight: 600; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav, .screen { display: none; }
  figure, tr { break-inside: avoid; } details > * { display: block; } .scroll { overflow: visible; max-height: none; }
  table { font-size: 7pt; } th, td { padding: .1rem .25rem; } }
"""

_SORTING = (resources.files("leowarp.report") / "sort.js").read_text(encoding="utf-8")


def page(title: str, body: str) -> str:
    """A whole document.

    Parameters
    ----------
    title : str
        Of the window; escaped here.
    body : str
        HTML.

    Returns
    -------
    html : str
        With its style inside: nothing is loaded, so that the file can be mailed.
    """
    script = f"<script>{_SORTING}</script>\n" if 'class="sortable"' in body else ""
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head>\n<body>\n{body}\n{script}</body></html>\n"
    )


def text(value: object) -> str:
    """Escaped text; what does something instead of showing something is shown as in `printable`."""
    return html.escape(visible(str(value)))


def section(name: str, heading: str, content: str) -> str:
    """A part of the page that the navigation can point to.

    Parameters
    ----------
    name : str
        Its id.
    heading : str
    content : str
        HTML.
    """
    return f'<section id="{text(name)}"><h2>{text(heading)}</h2>\n{content}\n</section>\n'


def navigation(entries: Iterable[tuple[str, str]]) -> str:
    """Links to the sections."""
    links = "".join(f'<a href="#{text(name)}">{text(heading)}</a>' for name, heading in entries)
    return f'<nav aria-label="Sections">{links}</nav>\n'


def warning_box(warnings: Sequence[str]) -> str:
    """What to check before trusting the page; empty if there is nothing."""
    if not warnings:
        return ""
    items = "".join(f"<li>{text(warning)}</li>" for warning in warnings)
    lead = "<strong>Check before you trust the result</strong>"
    return f'<div class="warnings" role="note">{lead}<ul>{items}</ul></div>\n'


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, left: frozenset[int] = frozenset((0,)),
    raw: frozenset[int] = frozenset(), sortable: bool = False,
) -> str:  # fmt: skip
    """A table whose first column heads its rows.

    Parameters
    ----------
    left : frozenset of int
        Columns of text, aligned left.
    raw : frozenset of int
        Columns whose cells are HTML already.
    sortable : bool
        Whether the reader can sort it by a column (`sort.js`); then it scrolls by itself where it is long.
    """
    head = "".join(
        f'<th scope="col"{" class=left" if place in left else ""}>'
        + (f'<button type="button">{text(name)}</button></th>' if sortable else f"{text(name)}</th>")
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
                is_number = sortable and isinstance(value, int | float) and value == value
                number = f' data-v="{value!r}"' if is_number else ""
                cells.append(f"<td{' class=left' if place in left else ''}{number}>{shown}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    kinds = (' long" tabindex="0', ' class="sortable"') if sortable else ("", "")
    return (
        f'<div class="scroll{kinds[0]}"><table{kinds[1]}><caption>{text(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>{chr(10).join(lines)}</tbody></table></div>\n"
    )


def cell(value: object) -> str:
    """A value as a cell shows it: missing as a dash, never as 0.

    Returns
    -------
    text : str
        Whole numbers with separators, others with four digits, truth as yes or no.
    """
    if value is None or value != value:  # nan is the only value that is not itself
        return "–"
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
    """Whether a figure is a column wide, so that two stand in a row."""
    return _width_in(stem.with_suffix(".svg"), stem.with_suffix(".png")) < HALF_WIDTH_IN


def picture(stem: Path, title: str, caption: str, folder: str) -> str:
    """A figure out of its files, embedded; the files of all formats are named below it.

    Parameters
    ----------
    stem : path
        The files without their ending; the PNG must be there.
    title, caption : str
        Also the text for who does not see it.
    folder : str
        Where the links lead, from the page.
    """
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    if svg.exists() and svg.stat().st_size <= LARGEST_SVG_BYTES:
        source = "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()
    else:
        source = "data:image/png;base64," + base64.b64encode(png.read_bytes()).decode()
    half = ' class="half"' if is_half(stem) else ""
    kinds = [kind for kind in ("svg", "pdf", "png") if stem.with_suffix(f".{kind}").exists()]
    files = ", ".join(f'<a href="{folder}/{stem.name}.{kind}">{stem.name}.{kind}</a>' for kind in kinds)
    return (
        f'<figure{half} id="figure-{text(stem.name)}"><img src="{source}" alt="{text(f"{title}. {caption}")}">'
        f"<figcaption><strong>{text(title)}.</strong> {text(caption)} Files: {files}.</figcaption></figure>\n"
    )


def _width_in(svg: Path, png: Path) -> float:
    """Width of a figure in inches: what its SVG says in points, or its PNG at `style.PNG_DPI` in pixels."""
    # matplotlib writes <svg ... width="515.52pt" ...> into the first lines.
    found = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', svg.read_bytes()[:2000]) if svg.exists() else None
    if found is not None:
        return float(found[1]) / 72
    # The width is the first field of the header chunk: PNG specification, 11.2.2 (IHDR).
    return struct.unpack(">I", png.read_bytes()[16:20])[0] / PNG_DPI
