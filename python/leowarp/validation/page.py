# SPDX-License-Identifier: Apache-2.0
"""The page of `leowarp validate`. It has a table and distributions for each recording, and a list of skipped
recordings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from leowarp.base import plainfiles
from leowarp.fitting.written import preset_text
from leowarp.report import html
from leowarp.report.style import PAGE_IN, legend_below, line_style, new_figure, save, styled
from leowarp.validation.compared import LIMIT_RATIO, Row, Skipped, Validated

FIGURES_FOLDER = "figures"
MEDIA = ("replay", "fitted", "default")

_LEAD = (
    "Each line is one quantity of a recording's second half beside the same measurement made in the guest. The fitted "
    "profile was fitted to the first half, and has not seen the second. Distances are those of Kolmogorov and Smirnov: "
    "0, the same distribution; 1, nothing in common. Floor: the recording's first half against its second. Noise: what "
    "independent samples of one distribution stay below in 95 of 100 cases; successive samples are not independent, so "
    f"that it is a lower bound. A fitted profile holds up to {LIMIT_RATIO:g}."
)


HEADS = ("quantity", "verdict", "n", *(f"distance, {name}" for name in MEDIA), "floor", "noise")
"""The headings of the columns of `cells`."""


def cells(row: Row) -> tuple[object, ...]:
    """Return the cells of a row in the table of verdicts."""
    distances = (_rounded(row.distances.get(name)) for name in MEDIA)
    return (row.quantity, row.verdict, row.count, *distances, _rounded(row.floor), _rounded(row.noise))


def write_page(found: Sequence[Validated | Skipped], folder: Path, command: str) -> Path:
    """Write `index.html` and its figures, and return the page's path."""
    (folder / FIGURES_FOLDER).mkdir(parents=True, exist_ok=True)
    parts: list[tuple[str, str, str]] = []
    for one in found:
        if not isinstance(one, Validated):
            continue
        content = "".join(f'<p class="quiet">{html.text(note)}</p>' for note in one.notes)
        content += html.table(one.source, HEADS, (cells(row) for row in one.rows), left=frozenset((0, 1)))
        made = ("recording", *MEDIA)
        quantiles = ((row.quantity, *(_quantiles(row, name) for name in made)) for row in one.rows)
        content += html.table("10, 50 and 90 % of the values are at or below", ("quantity", *made), quantiles)
        with styled():
            figure = _distributions(one)
        stem = folder / FIGURES_FOLDER / one.name
        save(figure, stem, ("svg", "png"))
        content += html.picture(stem, one.name, "Distributions, recorded and made", FIGURES_FOLDER)
        if one.fit is not None:
            content += (
                f"<details><summary>The fitted profile</summary><pre>{html.text(preset_text(one.fit))}</pre></details>"
            )
        parts.append((f"of-{len(parts)}", one.name, content))
    skipped = [(one.name, one.why, one.fetch) for one in found if isinstance(one, Skipped)]
    if skipped:
        table = html.table(
            "Not compared", ("recording", "why", "the line that fetches it"), skipped, left=frozenset((0, 1, 2))
        )
        parts.append(("skipped", "Skipped", table))
    parts.append(("again", "How to make this again", f"<pre>{html.text(command)}</pre>"))
    title = "Recordings of real links beside the guest"
    body = f"<h1>{title}</h1>\n<p>{html.text(_LEAD)}</p>" + html.sections(parts)
    plainfiles.write(folder / "index.html", html.page(title, body).encode())
    return folder / "index.html"


def _distributions(one: Validated) -> Figure:
    """Draw a cumulative distribution for each quantity that has samples, one per panel."""
    rows = [row for row in one.rows if row.count > 1]
    columns = min(len(rows), 3)
    lines = -(-len(rows) // columns)
    figure = new_figure(PAGE_IN, 0.5 + 2.0 * lines, f"{one.source}; distances are in the table")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, row in zip(panels, rows, strict=False):
        for number, (name, samples) in enumerate(one.samples.items()):
            values = np.sort(samples.get(row.quantity, np.empty(0)))
            if len(values):
                shares = np.arange(1, len(values) + 1) / len(values)
                # With more than a thousand steps, each step of a distribution would be narrower than its line.
                kept = np.unique(np.linspace(0, len(values) - 1, 1000).astype(int))
                axes.step(values[kept], shares[kept], where="post", label=name, **line_style(number))
        axes.set_xlim(0.0, max(row.quantiles["recording"][-1] * 2.0, 1e-3))
        axes.set_ylim(0.0, 1.0)
        axes.set_xlabel(row.quantity)
    for axes in panels[len(rows) :]:
        axes.remove()
    panels[0].set_ylabel("share at or below")
    legend_below(panels[0], ncols=2)
    return figure


def _quantiles(row: Row, name: str) -> str | None:
    found = row.quantiles.get(name, ())
    return ", ".join(f"{value:.3g}" for value in found) if found else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
