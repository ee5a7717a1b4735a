# SPDX-License-Identifier: Apache-2.0
"""Read the numbers of a figure back from the drawn figure. Each figure of a page has a CSV file with its numbers.

The numbers are read from matplotlib's drawn objects, not from the run's tables. A figure and its CSV file therefore
always agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import StepPatch

COLUMNS = ("panel", "line", "x", "y", "y_low")

_FLOWS = "# flows: "


def figure_text(figure: Figure, flows: Sequence[int] | None = None) -> str:
    """Return the points of a figure as CSV. Numbers have nine digits. Comments at the top name the axes of each panel.

    The columns are `COLUMNS`: panel (from 1), name in the legend (may be empty), and coordinates of the point. `y_low`
    is the lower end of a bar or a band. For a line, `y_low` is empty. In an image, `y_low` is the value of a cell, and
    `y` is the row.

    flows: The flows that the user chose for this figure. A comment in the CSV text lists these flows, so that the
        figure can be drawn again with them (`flows_of_text`).
    """
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    lines = [] if flows is None else [f"{_FLOWS}{', '.join(map(str, flows))}\n"]
    for number, axes in enumerate(panels, 1):
        # If several panels share an axis, only the last panel has the axis label.
        x_axis = next((each.get_xlabel() for each in panels[number - 1 :] if each.get_xlabel()), "")
        title = axes.get_title("left") or axes.get_title()
        said = f"# panel {number}: {title}; x: {x_axis}; y: {axes.get_ylabel()}"
        lines.append(said.replace("\n", " ") + "\n")
    lines.append(",".join(COLUMNS) + "\n")
    for number, axes in enumerate(panels, 1):
        for name, x, y, y_low in _drawn(axes):
            beginning = f"{number},{'' if name.startswith('_') else _field(name)},"
            points = np.column_stack(np.broadcast_arrays(x, y, y_low)).tolist()
            lines += [beginning + f"{x:.9g},{y:.9g},{low:.9g}\n".replace("nan", "") for x, y, low in points]
    return "".join(lines)


def _field(name: str) -> str:
    """Return a name as a field of CSV (RFC 4180).

    >>> _field('the "first", upwards')
    '"the ""first"", upwards"'
    """
    quoted = name.replace('"', '""')
    return f'"{quoted}"' if any(char in name for char in ',"\n') else name


def flows_of_text(text: str) -> list[int] | None:
    """Read from a figure's `figure_text` which flows the user chose. None means all flows.

    >>> flows_of_text("# flows: 0, 2\\npanel,line,x,y,y_low\\n")
    [0, 2]

    Raises ValueError if the flows are not numbers.
    """
    first, _, _ = text.partition("\n")
    return [int(number) for number in first.removeprefix(_FLOWS).split(",")] if first.startswith(_FLOWS) else None


def _drawn(axes: Axes) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray | float]]:
    """Yield each artist's name, and arrays of x, y and y_low in the panel's coordinates. Lines across the whole panel
    are left out. They mark, for example, route changes."""
    for line in axes.get_lines():
        if line.get_transform() == axes.transData:
            yield str(line.get_label()), *_floats(line.get_xdata(), line.get_ydata()), np.nan
    for container in axes.containers:
        if isinstance(container, BarContainer):
            bars = np.array([(bar.get_x() + bar.get_width() / 2, bar.get_height(), bar.get_y()) for bar in container])
            x, height, low = bars.reshape(-1, 3).T
            yield str(container.get_label()), x, low + height, low
    for patch in axes.patches:
        if isinstance(patch, StepPatch):
            values, edges, baseline = patch.get_data()
            low = np.nan if baseline is None else np.broadcast_to(np.asarray(baseline, dtype=float), np.shape(values))
            yield str(patch.get_label()), *_floats(edges[:-1], values), low
    for collection in axes.collections:
        yield from _of_collection(collection)
    for image in axes.images:
        yield _of_image(image)


def _of_collection(collection: Collection) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray | float]]:
    name = str(collection.get_label())
    if isinstance(collection, PathCollection):
        offsets = _filled(collection.get_offsets())
        yield name, offsets[:, 0], offsets[:, 1], np.nan
    elif isinstance(collection, LineCollection):
        for segment in collection.get_segments():
            yield name, *_floats(segment[:, 0], segment[:, 1]), np.nan
    elif isinstance(collection, QuadMesh):
        corners = np.asarray(collection.get_coordinates(), dtype=float)
        values = _filled(collection.get_array())
        rows, columns = corners.shape[0] - 1, corners.shape[1] - 1
        yield name, corners[:-1, :-1, 0].ravel(), corners[:-1, :-1, 1].ravel(), values.reshape(rows, columns).ravel()
    elif isinstance(collection, PolyCollection):
        for path in collection.get_paths():
            corners = np.asarray(path.vertices, dtype=float)
            yield name, corners[:, 0], corners[:, 1], np.nan


def _of_image(image: AxesImage) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    values = _filled(image.get_array())
    left, right, bottom, top = image.get_extent()
    rows, columns = values.shape[:2]
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    # Row 0 is at the top of the image, or at the bottom if its origin is "lower".
    first, last = (bottom, top) if image.origin == "lower" else (top, bottom)
    y = first + (np.arange(rows) + 0.5) * (last - first) / rows
    return str(image.get_label()), np.tile(x, rows), np.repeat(y, columns), values.reshape(rows * columns, -1)[:, 0]


def _filled(values: Any) -> np.ndarray:
    return np.asarray(np.ma.filled(np.ma.array(values, dtype=float), np.nan), dtype=float)


def _floats(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(x, dtype=float), np.asarray(y, dtype=float)
