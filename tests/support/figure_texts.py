# SPDX-License-Identifier: Apache-2.0
"""What in the layout of a figure cannot be read: texts over one another, over a panel that is not theirs, or cut at the
edge, and panels without room.
"""

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
"""Boxes of texts hold the room for descenders, so two that touch by so much cannot be seen to. At 100 px an inch a
line of the smallest text is 7 px high.
"""

LEAST_PX = 3.0
"""A bar of colours is 4 px wide, a strip of states 13 px high; what is less than this is no panel."""


def troubles(figure: Figure) -> list[str]:
    """What cannot be read in a figure, a sentence each; it is laid out for it, not drawn.

    Returns: Empty if all texts stand apart, inside the figure, and off the panels of others.
    """
    # Ticks are chosen by the size of their texts: asked for without the style of the figure, they are others.
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
    """All texts that are drawn: visible, not empty, and of the ticks those inside the axis."""
    hidden = {id(text) for axes in figure.axes for text in _undrawn(axes)}
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden:
            yield text


def _undrawn(axes: Axes) -> Iterator[Text]:
    """Texts of an axes that matplotlib keeps and does not draw."""
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
