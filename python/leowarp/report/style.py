# SPDX-License-Identifier: Apache-2.0
"""Style of figures: two-column paper sizes, colours that are distinct with colour blindness and in grey print, equal
bytes for equal data.

Matplotlib is used without pyplot: no global state, no display, and no side effects in a notebook.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
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
"""Widths of one and two columns of an IEEE page (IEEE author centre: 3.5 in and 7.16 in)."""

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000")
"""Okabe and Ito's palette (2008), distinct with every common colour vision deficiency; without its yellow."""

LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.2, 1.2, 1.2)), (0, (1.2, 1.2)), (0, (8, 2)),
                          (0, (3, 1, 1, 1, 1, 1)))  # fmt: skip
"""Dash patterns that remain distinct in grey print."""

ALGORITHMS = {"cubic": 0, "reno": 1, "bbr": 2}
"""The study's three algorithms always have the same colour and dashes, whatever else is drawn."""

CHANGE_COLOUR = "#CC79A7"
"""Route changes are pink vertical lines, as in the study's figures."""

BEFORE, AFTER, BAD = "#0072B2", "#E69F00", "#D55E00"
"""Colours of the old path, the new path, and late or lost packets."""

LABEL_IN = 0.36
"""Height of the tick labels and the axis label below a panel: 6.5 and 7.5 points, with the gaps around them."""

FORMATS = ("svg", "pdf", "png")
PAGE_FORMATS = ("svg",)
"""Format of a page's figures. The other formats are made when they are requested. The SVG takes a quarter of a figure's
processor time, a PNG another quarter, and a PDF half, because the font's subset is computed for each file."""
PNG_DPI = 200

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same glyphs, and so the same bytes, on every machine
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
    # A station may have the name $\frac$: names are shown as they are, not typeset as formulas.
    "text.parse_math": False,
    # Without a salt, matplotlib gives clip paths random ids, and no two files would be equal.
    "svg.hashsalt": "leowarp",
    # Glyphs are drawn as outlines: a reader's machine need not have the font.
    "svg.fonttype": "path",
    # TrueType; matplotlib's default is Type 3, which IEEE's PDF check rejects.
    "pdf.fonttype": 42,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
    "figure.dpi": 100,
    "savefig.dpi": PNG_DPI,
}


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's defaults with our settings on top, independent of the user's matplotlibrc.

    They apply within a `with` block; afterwards a notebook's own settings are in force again. A block within another
    one costs nothing.
    """
    if _BLOCKS:
        yield
        return
    # The caller's backend is kept: `rc_context` does not restore it (its documentation), so with matplotlib's default a
    # notebook would lose its own.
    settings: Any = mpl.rcParamsDefault | RC | {"backend": mpl.rcParams["backend"]}
    with mpl.rc_context(rc=settings):
        _BLOCKS.append(settings)
        try:
            yield
        finally:
            _BLOCKS.clear()


_BLOCKS: list[Any] = []
"""The settings, while they are in force."""


class ShownFigure(Figure):
    """A figure that a notebook displays: IPython displays matplotlib figures only if pyplot made them."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return notebook_png(self)


def notebook_png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """The PNG of a figure for a notebook.

    Returns png: In the resolution of `leowarp report --formats png`.
    Returns size: `width` and `height` of the display in CSS pixels (96 per inch).
    """
    file = io.BytesIO()
    with styled():
        figure.savefig(file, format="png", metadata={"Software": None})
    width_in, height_in = figure.get_size_inches()
    return file.getvalue(), {"width": round(96 * width_in), "height": round(96 * height_in)}


def new_figure(width_in: float, height_in: float, footer: str) -> Figure:
    """An empty figure with space at the bottom for the rules that shape its result.

    width_in, height_in: Inches; `COLUMN_IN` or `PAGE_IN` wide.
    footer: Set in small type over as many lines as it needs; the rest of the height is for the panels.
    Returns: With matplotlib's constrained layout, which moves panels until no label is cut.
    """
    figure = ShownFigure(figsize=(width_in, height_in))
    # A character of DejaVu Sans at 4.6 points is 0.034 in wide on average, digits and capitals a little more.
    text = textwrap.fill(footer, width=int(width_in / 0.0358))
    lines = text.count("\n") + 1
    room = _room_in(lines) / height_in
    figure.set_layout_engine("constrained", rect=(0, room, 1, 1 - room), **PADS)
    figure.text(0.008, 0.03 / height_in, text, fontsize=4.6, color="#555555", va="bottom", linespacing=1.15, gid=RULES)
    return figure


def without_rules(figure: Figure) -> str:
    """Remove the rules from a figure's foot, for a page that states them once, and return them.

    The figure's height is reduced accordingly, so its panels keep their size; it is laid out again when it is saved.
    """
    (rules,) = [each for each in figure.texts if each.get_gid() == RULES]
    rules.remove()
    lines = rules.get_text().count("\n") + 1
    figure.set_size_inches(figure.get_figwidth(), figure.get_figheight() - _room_in(lines))
    figure.set_layout_engine("constrained", rect=(0, 0, 1, 1), **PADS)
    return rules.get_text().replace("\n", " ")


RULES = "rules"
"""Group id of the text at a figure's foot."""

PADS = {"w_pad": 0.03, "h_pad": 0.03}
"""Padding of matplotlib's constrained layout, in inches."""


def _room_in(lines: int) -> float:
    return lines * 0.078 + 0.05


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of the n-th line.

    index: From 0. Seven colours and six patterns: the pair repeats after 42 lines.
    Returns: `color` and `linestyle`.
    """
    return {"color": OKABE_ITO[index % len(OKABE_ITO)], "linestyle": LINES[index % len(LINES)]}


def mark_changes(axes: Axes, instants_s: Sequence[float] | np.ndarray, label: str | None = None) -> None:
    """Draw pink vertical lines behind the data.

    instants_s: Positions in the axis' seconds.
    label: Name in the legend, once.
    """
    for index, t_s in enumerate(instants_s):
        axes.axvline(t_s, color=CHANGE_COLOUR, linewidth=0.7, zorder=0.5, label=label if index == 0 else None)


def legend_below(
    axes: Axes, handles: Sequence[Artist] | None = None, names: Sequence[str] | None = None, *, has_label: bool = True,
    **look: Any,
) -> Legend:  # fmt: skip
    """A legend below a panel, placed below the axis labels.

    handles, names: Entries; by default everything in the panel with a label.
    has_label: Whether tick labels and an axis label lie between the panel and the legend.
    **look: Arguments of `Axes.legend`: ncols, fontsize.
    """
    # The distance is in inches: as a share of the panel's height, the legend would overlap the label of a low panel and
    # lie far from a high one.
    drop_in = LABEL_IN if has_label else 0.06
    assert axes.figure is not None
    place = axes.transAxes + ScaledTranslation(0, -drop_in, axes.figure.dpi_scale_trans)
    if handles is None or names is None:
        handles, names = axes.get_legend_handles_labels()
    return axes.legend(
        handles, names, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place, borderaxespad=0, **look
    )


def highest_of(*panels: Axes) -> float:
    """The largest number shown in any of the panels, in the units of their y axes.

    Returns: 1 if no panel shows a number above 0, as for a flow that delivered nothing: an axis needs some height.
    """
    tops = [float(axes.dataLim.ymax) for axes in panels]
    return max((top for top in tops if np.isfinite(top) and top > 0), default=1.0)


def format_of(file: Path, option: str) -> str:
    """The format given by the suffix of a figure's file.

    option: The option that named the file, for the message.
    Returns: {"svg", "pdf", "png"}
    Raises ScenarioError if it is none of `FORMATS`.
    """
    kind = file.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ScenarioError(f"{option} {file}: cannot draw {kind or 'a file without an ending'}",
                            f"end its name in one of .{', .'.join(FORMATS)}")  # fmt: skip
    return kind


def save(figure: Figure, stem: Path, formats: Sequence[str] = FORMATS, description: str = "") -> list[Path]:
    """Write a figure in each format; equal figures give equal bytes (no date, no version, fixed SVG ids).

    Parameters
    ----------
    figure : Figure
        It is laid out here; its layout is fixed afterwards.
    stem : path
        The file without its suffix.
    formats : sequence of {"svg", "pdf", "png"}
    description : str
        Stored in the metadata of an SVG.

    Returns
    -------
    paths : list of Path
        In the order of the formats.

    Raises
    ------
    LeowarpError
        If a file there is a link: leowarp never writes through links.
    """
    written = []
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None, "Creator": None, **({"Description": description} if description else {})},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
        "png": {"Software": None},
    }
    with styled():
        # The layout is computed once instead of once per format, because it takes longer than the drawing.
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine("none")
        for kind in formats:
            path = stem.with_name(f"{stem.name}.{kind}")
            plainfiles.refuse_link(path)
            if kind == "svg":
                # `savefig` first draws once with rendering switched off, for layouts that change while they are drawn
                # (matplotlib.backend_bases.print_figure). This layout is fixed: the same bytes in half the time.
                shown_dpi = figure.dpi
                figure.dpi = PNG_DPI
                FigureCanvasSVG(figure).print_svg(path, metadata=metadata[kind])
                figure.dpi = shown_dpi
            else:
                figure.savefig(path, format=kind, metadata=metadata[kind])
            written.append(path)
    return written
