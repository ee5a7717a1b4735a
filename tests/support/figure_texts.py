# SPDX-License-Identifier: Apache-2.0
"""Find unreadable parts of a figure. These are texts that overlap, texts that the edge cuts off, and panels that are
too small."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from leowarp.report.style import styled

SLACK_PX = 1.0
"""An overlap of this size in px is invisible, because the box of a text includes space for descenders.
"""

LEAST_PX = 3.0
"""Axes that are narrower or lower than this do not count as panels. A colour bar is 4 px wide, and a strip of states is
13 px high, so both count."""


def troubles(figure: Figure) -> list[str]:
    """Return a sentence for each unreadable part of a figure.

    Returns: The sentences, or an empty list if no text touches another text, the figure's edge, or another panel.
    """
    # The style must be active, because Matplotlib chooses the ticks by the size of their labels.
    with styled():
        return _troubles(figure)


def _troubles(figure: Figure) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    sentences = [f"matplotlib: {warning.message}" for warning in caught]
    boxes = [(text, text.get_window_extent()) for text in _texts(figure)]
    edge = figure.bbox
    for text, box in boxes:
        if box.x0 < edge.x0 - SLACK_PX or box.x1 > edge.x1 + SLACK_PX:
            sentences.append(f"{_said(text)} is cut at a side")
        if box.y0 < edge.y0 - SLACK_PX or box.y1 > edge.y1 + SLACK_PX:
            sentences.append(f"{_said(text)} is cut at the top or the bottom")
    for (text, box), (other, other_box) in itertools.combinations(boxes, 2):
        if _overlap(box, other_box):
            sentences.append(f"{_said(text)} stands over {_said(other)}")
    panels = [axes for axes in figure.axes if axes.get_visible()]
    for axes in panels:
        place = axes.get_window_extent()
        if min(place.width, place.height) < LEAST_PX:
            sentences.append(f"a panel has only {place.width:.0f} x {place.height:.0f} px")
        for text, box in boxes:
            if text.axes is not axes and _overlap(box, place):
                sentences.append(f"{_said(text)} stands over a panel that is not its own")
    return list(dict.fromkeys(sentences))


def _texts(figure: Figure) -> Iterator[Text]:
    """Yield all texts that Matplotlib draws. Invisible texts, empty texts, and tick labels outside the axis are left
    out."""
    hidden = {id(text) for axes in figure.axes for text in _undrawn(axes)}
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden:
            yield text


def _undrawn(axes: Axes) -> Iterator[Text]:
    """Yield the texts that belong to an axes object, but that Matplotlib does not draw."""
    place = axes.get_window_extent()
    for axis, first, last in ((axes.xaxis, place.x0, place.x1), (axes.yaxis, place.y0, place.y1)):
        if not (axes.get_visible() and axes.axison and axis.get_visible()):
            yield from (text for text in axis.findobj(Text) if isinstance(text, Text))
            continue
        for label in (*axis.get_majorticklabels(), *axis.get_minorticklabels()):
            box = label.get_window_extent()
            middle = (box.x0 + box.x1) / 2 if axis is axes.xaxis else (box.y0 + box.y1) / 2
            if not first - SLACK_PX <= middle <= last + SLACK_PX:
                yield label
    if not axes.get_visible():
        yield from (text for text in axes.findobj(Text) if isinstance(text, Text))


def _overlap(box: Bbox, other: Bbox) -> bool:
    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
    high = min(box.y1, other.y1) - max(box.y0, other.y0)
    return wide > SLACK_PX and high > SLACK_PX


def _said(text: Text) -> str:
    words = " ".join(text.get_text().split())
    return f'"{words if len(words) <= 60 else words[:57] + "..."}"'
