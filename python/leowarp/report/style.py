# SPDX-License-Identifier: Apache-2.0
"""The style of figures: sizes for two-column papers, and colours for colour-blind readers and grey print. Files are
identical for identical data.

Figures are made without pyplot, so they need no display, change no global state, and have no side effect in a notebook.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.transforms import ScaledTranslation

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError

COLUMN_IN, PAGE_IN = 3.5, 7.16
"""The widths of one and of two columns of an IEEE page (IEEE author centre: 3.5 in and 7.16 in)."""

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000")
"""The palette of Okabe and Ito (2008) without its yellow. Readers with any common colour vision deficiency can
distinguish the seven colours."""

LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.2, 1.2, 1.2)), (0, (1.2, 1.2)), (0, (8, 2)),
                          (0, (3, 1, 1, 1, 1, 1)))  # fmt: skip
"""Dash patterns that readers can distinguish in grey print."""

ALGORITHMS = {"cubic": 0, "reno": 1, "bbr": 2}
"""The style number of each algorithm in the reproduced study. An algorithm has the same style in every figure."""

CHANGE_COLOUR = "#CC79A7"
"""The colour of the vertical lines at route changes: pink, as in the study's figures."""

BEFORE, AFTER, BAD = "#0072B2", "#E69F00", "#D55E00"
"""The colour of the old path, the colour of the new path, and the colour of late or lost packets."""

LABEL_IN = 0.36
"""The height of the tick labels and axis label below a panel, in inches. Tick labels have 6.5 points, and axis labels
have 7.5 points."""

FORMATS = ("svg", "pdf", "png")
PAGE_FORMATS = ("svg",)
"""The formats in which a page's figures are always made. PDF and PNG are only made on request. A quarter of a figure's
processor time is for the SVG, and a quarter for the PNG. The PDF takes half of the time, because each PDF has its own
subset of the font."""
PNG_DPI = 200

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # DejaVu Sans is part of matplotlib, so files are the same on every machine
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.35,
    "grid.color": "#d9d9d9",
    "axes.axisbelow": True,
    "lines.linewidth": 1.1,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    # Names are printed as text and never parsed as formulas: a station may be called $\frac$.
    "text.parse_math": False,
    # Without a salt, matplotlib gives clip paths random ids, and two files of one figure would differ.
    "svg.hashsalt": "leowarp",
    # Glyphs are drawn as outlines, so readers need not have the font.
    "svg.fonttype": "path",
    # Fonts in a PDF are embedded as TrueType. IEEE's PDF check rejects Type 3 fonts, which are matplotlib's default.
    "pdf.fonttype": 42,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
    "figure.dpi": 100,
    "savefig.dpi": PNG_DPI,
}


@contextmanager
def styled() -> Iterator[None]:
    """A context in which matplotlib uses its defaults and leowarp's settings. The user's matplotlibrc has no effect.

    At the end of the context, the caller's settings are restored. If contexts are nested, the inner context has no
    effect.
    """
    if _BLOCKS:
        yield
        return
    # The caller's backend is not changed, because `rc_context` does not restore a backend (see its documentation).
    # Reading the backend from `mpl.rcParams` would import pyplot.
    settings: Any = {key: value for key, value in (mpl.rcParamsDefault | RC).items() if key != "backend"}
    with mpl.rc_context(rc=settings):
        _BLOCKS.append(settings)
        try:
            yield
        finally:
            _BLOCKS.clear()


_BLOCKS: list[Any] = []
"""The settings of leowarp while a `styled` context is active, otherwise an empty list."""


class ShownFigure(Figure):
    """A figure that a notebook displays as the result of a cell. IPython displays a matplotlib figure only if pyplot
    made it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return notebook_png(self)


def notebook_png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """Return a figure as a PNG for a notebook, in the resolution of `leowarp report --formats png`. Also return the
    `width` and `height` of the displayed image in CSS pixels (96 per inch)."""
    file = io.BytesIO()
    with styled():
        figure.savefig(file, format="png", metadata={"Software": None})
    width_in, height_in = figure.get_size_inches()
    return file.getvalue(), {"width": round(96 * width_in), "height": round(96 * height_in)}


def new_figure(width_in: float, height_in: float, footer: str) -> Figure:
    """Return an empty figure with `footer` at its bottom: the rules that shape the results, on as many lines as needed.
    The figure uses matplotlib's constrained layout, so no label is cut off. The width is `COLUMN_IN` or `PAGE_IN`."""
    figure = ShownFigure(figsize=(width_in, height_in))
    # The average width of a character of DejaVu Sans at 4.6 points is 0.034 in; digits and capitals are slightly wider.
    text = textwrap.fill(footer, width=int(width_in / 0.0358))
    lines = text.count("\n") + 1
    room = _room_in(lines) / height_in
    figure.set_layout_engine("constrained", rect=(0, room, 1, 1 - room), **PADS)
    figure.text(0.008, 0.03 / height_in, text, fontsize=4.6, color="#555555", va="bottom", linespacing=1.15, gid=RULES)
    return figure


@contextmanager
def without_rules(figure: Figure) -> Iterator[str]:
    """Hide the rules at the bottom of a figure, for a page that shows the rules of its figures only once. The context
    manager returns the text of the rules.

    The figure's height shrinks by the height of the rules, so the panels keep their size.
    """
    (rules,) = [each for each in figure.texts if each.get_gid() == RULES]
    room_in, height_in = _room_in(rules.get_text().count("\n") + 1), figure.get_figheight()
    rules.set_visible(False)
    figure.set_size_inches(figure.get_figwidth(), height_in - room_in)
    figure.set_layout_engine("constrained", rect=(0, 0, 1, 1), **PADS)
    yield rules.get_text().replace("\n", " ")
    rules.set_visible(True)
    figure.set_size_inches(figure.get_figwidth(), height_in)
    room = room_in / height_in
    figure.set_layout_engine("constrained", rect=(0, room, 1, 1 - room), **PADS)


RULES = "rules"
"""The group id of the text at the bottom of a figure."""

PADS = {"w_pad": 0.03, "h_pad": 0.03}
"""The padding of matplotlib's constrained layout, in inches."""


def _room_in(lines: int) -> float:
    return lines * 0.078 + 0.05


def line_style(index: int) -> dict[str, Any]:
    """Return the colour and dashes of the line with number `index`, from 0. There are seven colours and six patterns,
    so styles repeat after 42 lines."""
    return {"color": OKABE_ITO[index % len(OKABE_ITO)], "linestyle": LINES[index % len(LINES)]}


def mark_changes(axes: Axes, instants_s: Sequence[float] | np.ndarray, label: str | None = None) -> None:
    """Draw pink vertical lines at route changes, behind the data. A legend has one entry for all lines together."""
    for index, t_s in enumerate(instants_s):
        axes.axvline(t_s, color=CHANGE_COLOUR, linewidth=0.7, zorder=0.5, label=label if index == 0 else None)


def legend_below(
    axes: Axes, handles: Sequence[Artist] | None = None, names: Sequence[str] | None = None, *, has_label: bool = True,
    **look: Any,
) -> Legend:  # fmt: skip
    """Add a legend below a panel, under its axis labels.

    handles, names: The entries of the legend. By default, the legend has all labelled items of the panel.
    has_label: Whether the panel has tick labels and an axis label. The legend must leave space for them.
    **look: The arguments of `Axes.legend`, such as ncols and fontsize.
    """
    # The distance between panel and legend is set in inches. If the distance were relative to the panel's height, the
    # legend would overlap the axis label of a low panel. The legend of a high panel would be far below the panel.
    drop_in = LABEL_IN if has_label else 0.06
    assert axes.figure is not None
    place = axes.transAxes + ScaledTranslation(0, -drop_in, axes.figure.dpi_scale_trans)
    if handles is None or names is None:
        handles, names = axes.get_legend_handles_labels()
    return axes.legend(
        handles, names, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place, borderaxespad=0, **look
    )


def highest_of(*panels: Axes) -> float:
    """Return the largest y value in any of the panels, or 1 if no value is above 0, because an axis needs a height."""
    tops = [float(axes.dataLim.ymax) for axes in panels]
    return max((top for top in tops if np.isfinite(top) and top > 0), default=1.0)


def draw_file(file: Path, option: str, draw: Callable[[], Figure]) -> None:
    """Write the figure that `draw` returns into a file, whose suffix sets the format: .svg, .pdf or .png.

    option: The command-line option with which the user chose the file. The message names it.
    Raises ScenarioError if the format is none of `FORMATS`. Nothing is drawn in this case.
    """
    kind = file.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ScenarioError(f"{option} {file}: cannot draw {kind or 'a file without an ending'}",
                            f"end its name in one of .{', .'.join(FORMATS)}")  # fmt: skip
    with styled():
        figure = draw()
    save(figure, file.with_suffix(""), [kind])


def save(figure: Figure, stem: Path, formats: Sequence[str] = FORMATS, description: str = "") -> list[Path]:
    """Write a figure in each of `formats`. Equal figures give identical files: a file contains no date and no version,
    and the ids of an SVG are fixed.

    Parameters
    ----------
    figure : Figure
        The figure. `save` computes and fixes the layout of the figure.
    stem : path
        The path of the file without its suffix.
    formats : sequence of {"svg", "pdf", "png"}
    description : str
        The text for the metadata of an SVG or PNG.

    Returns
    -------
    paths : list of Path
        The paths of the written files, in the order of the formats.

    Raises
    ------
    LeowarpError
        If a file is a symbolic link. leowarp never writes through links.
    """
    written = []
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": None, **({"Description": description} if description else {})},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "png": {"Software": None, **({"Description": description} if description else {})},
    }
    with styled():
        # The layout is computed once for all formats, because it takes longer than the drawing.
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine("none")
        for kind in formats:
            path = stem.with_name(f"{stem.name}.{kind}")
            plainfiles.refuse_link(path)
            if kind == "svg":
                # `savefig` first draws the figure once without output, for layouts that change while they are drawn
                # (matplotlib.backend_bases.print_figure). The layout of leowarp's figures is fixed, so the first
                # drawing is skipped, which gives the same file in half the time.
                shown_dpi = figure.dpi
                figure.dpi = PNG_DPI
                FigureCanvasSVG(figure).print_svg(path, metadata=metadata[kind])
                figure.dpi = shown_dpi
            else:
                figure.savefig(path, format=kind, metadata=metadata[kind])
            written.append(path)
    return written
