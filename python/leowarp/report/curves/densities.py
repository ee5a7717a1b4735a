# SPDX-License-Identifier: Apache-2.0
"""Draw reordering: the reorder density (RD), the reorder buffer-occupancy density (RBD), and n-reordering.

Each figure is about an integer such as the displacement. For each value of the integer, it shows the share of packets
that have this value.

>>> drawn = figure_of(draw_density, [Shares([-1, 0, 1], [0.1, 0.8, 0.1])], footer="threshold: 200 packets")
>>> drawn.savefig("density.pdf")     # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from leowarp.base.errors import TraceError
from leowarp.report.style import COLUMN_IN, line_style, new_figure, styled

WIDE_ENOUGH_FOR_LOG = 50.0
"""The axis is logarithmic if the largest share divided by the smallest share exceeds this value. On a linear axis the
smallest bars would be invisible."""


@dataclass(frozen=True)
class Shares:
    """One curve of a figure, which shows shares of packets.

    index: int array of shape (n,). The integer on the x axis: the displacement in packets (positive for late packets),
        the number of packets in the buffer, or n of n-reordering. Each integer occurs only once.
    share: float array of shape (n,). For each integer in `index`, the share of the packets that have this value, from 0
        to 1.
    label: The name in the legend, or "" for no entry.
    style: The colour and line style for matplotlib. If `style` is empty, the n-th density gets the n-th style of the
        palette.
    """

    index: ArrayLike
    share: ArrayLike
    label: str = ""
    style: dict[str, Any] = field(default_factory=dict)

    def nonzero(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the index and share of all entries with a share above 0, sorted by index."""
        index, share = np.asarray(self.index, dtype="int64"), np.asarray(self.share, dtype="float64")
        order = np.argsort(index)
        index, share = index[order], share[order]
        return index[share > 0], share[share > 0]


def draw_density(axes: Axes, densities: Sequence[Shares], *, y_scale: str = "auto") -> None:
    """Draw RD: the share of packets at each displacement from their sending order (RFC 5236, 3.6).

    densities: The shares by displacement. One density is drawn as bars. Several densities are drawn as outlines.
    y_scale: {"auto", "linear", "log"}. "auto" is "log" if the smallest share is less than a fiftieth of the largest,
        otherwise "linear".
    Raises TraceError if no density has a packet.
    """
    _draw_bars(axes, densities, y_scale)
    axes.set_xlabel("displacement, packets (negative: early; positive: late)")
    axes.set_ylabel("share of packets")


def draw_buffer_density(axes: Axes, densities: Sequence[Shares], *, y_scale: str = "auto") -> None:
    """Draw RBD (RFC 5236, 3.11). For each number of packets, RBD is the share of arrivals after which a reordering
    buffer holds this number. Parameters and errors are the same as for `draw_density`."""
    _draw_bars(axes, densities, y_scale)
    axes.set_xlabel("packets in the buffer that restores the order")
    axes.set_ylabel("share of arrivals")


def draw_n_reordering(axes: Axes, densities: Sequence[Shares], *, y_scale: str = "auto") -> None:
    """Draw n-reordering. It is the share of packets that arrive directly after n packets that were sent later (RFC
    4737, 5).

    densities: For each n, the share of the packets that are n-reordered. If no packet is n-reordered, the panel shows a
        text instead.
    """
    smallest, largest = _range(densities)
    for number, shares in enumerate(densities):
        index, share = shares.nonzero()
        style = {**line_style(number), **shares.style}
        axes.plot(index, share, marker="o", markersize=3, label=shares.label or None, **style)
    _share_axis(axes, smallest, largest, y_scale)
    axes.set_xlim(
        0.5, max((int(np.max(shares.index)) for shares in densities if np.size(shares.index)), default=10) + 0.5
    )
    axes.set_xlabel("n, packets")
    axes.set_ylabel("share of packets n-reordered")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if not largest:
        axes.text(0.5, 0.5, "none is n-reordered", transform=axes.transAxes, ha="center", va="center", color="#555555")
    _legend(axes, densities)


def figure_of(
    draw: Callable[..., None], densities: Sequence[Shares], *, footer: str, title: str = "", **options: Any
) -> Figure:
    """Return a figure with the panel of `draw`, which is one of the functions above.

    footer: The text below the figure. It says how the shares were computed, and names the thresholds.
    """
    with styled():
        figure = new_figure(COLUMN_IN, 2.4, footer)
        axes = figure.subplots()
        draw(axes, densities, **options)
        if title:
            axes.set_title(title, loc="left", pad=4)
        return figure


def _draw_bars(axes: Axes, densities: Sequence[Shares], y_scale: str) -> None:
    smallest, largest = _range(densities)
    if not largest:
        raise TraceError("cannot draw a density of no packets")
    log = _share_axis(axes, smallest, largest, y_scale)
    floor = axes.get_ylim()[0] if log else 0.0
    for number, shares in enumerate(densities):
        index, share = shares.nonzero()
        if not len(index):
            continue
        # A logarithmic axis has no 0, so bars start at its lower end. An integer without packets gets the height
        # `floor`, so its bar is invisible.
        heights = np.full(index[-1] - index[0] + 1, floor)
        heights[index - index[0]] = share
        edges = np.arange(index[0], index[-1] + 2) - 0.5
        style = {**line_style(number), **shares.style}
        if len(densities) == 1:
            # Each bar has a narrow edge in its own colour. Without its edge, a bar could be thinner than a pixel in a
            # wide figure.
            axes.stairs(heights, edges, baseline=floor, fill=True, facecolor=style["color"], linewidth=0)
            # All edges are drawn as one path. `vlines` would write one SVG element per edge, and a run may have a
            # thousand different displacements.
            edge = np.stack([np.full(len(index), floor), share, np.full(len(index), np.nan)], axis=1)
            axes.plot(np.repeat(index, 3), edge.ravel(), color=style["color"], linewidth=0.5, solid_capstyle="butt")
        else:
            axes.stairs(heights, edges, baseline=floor, label=shares.label or None, linewidth=1.0, **style)
    ends = [shares.nonzero()[0][[0, -1]] for shares in densities if len(shares.nonzero()[0])]
    lowest, highest = min(first for first, _ in ends), max(last for _, last in ends)
    margin = max(0.3, 0.02 * (highest - lowest))
    axes.set_xlim(lowest - 0.5 - margin, highest + 0.5 + margin)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    _legend(axes, densities)


def _range(densities: Sequence[Shares]) -> tuple[float, float]:
    """Return the smallest and largest share above 0, or (0, 0) if all shares are 0."""
    values = np.concatenate([np.zeros(0), *(shares.nonzero()[1] for shares in densities)])
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


def _share_axis(axes: Axes, smallest: float, largest: float, y_scale: str) -> bool:
    """Set the scale of the y axis, and return whether it is logarithmic."""
    log = largest > 0 and (y_scale == "log" or (y_scale == "auto" and largest > WIDE_ENOUGH_FOR_LOG * smallest))
    if log:
        axes.set_yscale("log")
        # The axis starts at a power of ten that is at most 10^-0.3 (about half) of the smallest share. If the axis
        # started at the smallest share, the bar of this share would have no height. The margin above the largest share
        # is a twentieth of the decades between the smallest and the largest share.
        axes.set_ylim(
            10.0 ** np.floor(np.log10(smallest) - 0.3), 10.0 ** (0.05 * np.log10(largest / smallest)) * largest
        )
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("e-0", "e-")))
        axes.minorticks_off()
    else:
        axes.set_ylim(0, 1.06 * largest if largest else 1.0)
    return log


def _legend(axes: Axes, densities: Sequence[Shares]) -> None:
    if len(densities) > 1 and any(shares.label for shares in densities):
        axes.legend(loc="best")
