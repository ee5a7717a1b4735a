# SPDX-License-Identifier: Apache-2.0
"""Draw the route map (fig. 3): a globe with the path before and after a route change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from leowarp.base.errors import TraceError
from leowarp.metrics import ARROW
from leowarp.report.figures.around_changes import shown_change
from leowarp.report.figures.land import LAND_DEG, WATER_DEG
from leowarp.report.labels import footer_of
from leowarp.report.style import AFTER, BEFORE, COLUMN_IN, new_figure
from leowarp.results.run import Run


def route_map(runs: Sequence[Run], *, change_s: float | None = None) -> Figure:
    """Draw the globe, with the path before and after a route change. All satellites on the visible side are shown.

    change_s: The time in s of the change to show. The default is the change with the most late packets.
    Raises TraceError if the run has no constellation, or if its path never changed.
    """
    from leowarp.ephemeris import ephemeris_of

    run, t_ns = shown_change(runs, change_s)
    orbits = ephemeris_of(run.plan)
    if orbits is None:
        raise TraceError(f"cannot draw a route map of {run.path.name}: its plan has no constellation")
    rows = run.changes[run.changes["t_ns"] == t_ns]
    if len(rows) == 0:
        known = ", ".join(f"{t / 1e9:g}" for t in run.changes["t_ns"])
        raise TraceError(f"cannot draw the route change at {change_s} s: there is none", hint=f"there are: {known} s")
    row = rows.iloc[0]
    radius_m = orbits.stations.sphere_radius_m
    satellites_m = orbits.positions_ecef_m(t_ns)
    places = dict(zip(orbits.names, satellites_m, strict=True))
    places |= dict(zip(orbits.stations.names, orbits.stations.positions_ecef_m, strict=True))
    paths = [
        np.array([places[node] for node in text.split(ARROW)]) if isinstance(text, str) else np.zeros((0, 3))
        for text in (row["path_before"], row["path_after"])
    ]
    view = _View(np.concatenate(paths), radius_m)
    figure = new_figure(COLUMN_IN, 3.65, footer_of(runs[:1]))
    axes = figure.subplots()
    _globe(axes, view)
    x, y, shown = view.project(satellites_m)
    axes.plot(x[shown], y[shown], ".", color="#8c8c8c", markersize=2.2, markeredgewidth=0, zorder=3)
    for path, colour, dashes, width, text in (
        (paths[0], BEFORE, "-", 2.4, f"before, {_ms(row['delay_before_ns'])}"),
        (paths[1], AFTER, (0, (2.5, 1)), 1.4, f"after, {_ms(row['delay_after_ns'])}"),
    ):
        if len(path):
            x, y, _ = view.project(path)
            axes.plot(x, y, color=colour, linestyle=dashes, linewidth=width, zorder=5, label=text, marker="o",
                      markersize=3.2, markeredgecolor="white", markeredgewidth=0.4, solid_capstyle="round")  # fmt: skip
    for name, place in zip(orbits.stations.names, orbits.stations.positions_ecef_m, strict=True):
        x, y, shown = view.project(place[None])
        if not shown[0] or name not in (row["source"], row["destination"]):
            continue
        axes.plot(x, y, "^", color="black", markersize=5, zorder=6)
        side = -1 if x[0] < 0 else 1
        axes.annotate(name, (x[0], y[0]), xytext=(0, -9), textcoords="offset points", fontsize=7, zorder=7,
                      ha="left" if side < 0 else "right", bbox={"facecolor": "white", "alpha": 0.75, "pad": 0.6,
                                                                 "linewidth": 0})  # fmt: skip
    # A path near the globe's edge, at 1200 km altitude, extends beyond this edge by a fifth of the radius.
    reach = max(1.02, float(np.abs(np.concatenate([view.xy(path) for path in paths if len(path)])).max()) * 1.03)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    axes.axis("off")
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2,
                  title=f"route change at {t_ns / 1e9:g} s (propagation delay)", title_fontsize=7)  # fmt: skip
    return figure


class _View:
    """An orthographic projection of points onto a plane. The viewer is above the centre of the points. The unit of
    length is the Earth's radius."""

    def __init__(self, points_m: np.ndarray, radius_m: float) -> None:
        self.radius_m = radius_m
        middle = (points_m / np.linalg.norm(points_m, axis=1, keepdims=True)).sum(axis=0)
        self.towards = middle / np.linalg.norm(middle)
        east = np.cross([0.0, 0.0, 1.0], self.towards)
        # At a pole, east is not defined, so a fixed horizontal direction is used.
        self.east = np.array([1.0, 0.0, 0.0]) if np.linalg.norm(east) < 1e-9 else east / np.linalg.norm(east)
        self.north = np.cross(self.towards, self.east)

    def xy(self, points_m: np.ndarray) -> np.ndarray:
        return np.stack([points_m @ self.east, points_m @ self.north], axis=-1) / self.radius_m

    def project(self, points_m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x and y on the plane of the map, and whether a point is visible, that is, not behind the Earth."""
        flat = self.xy(points_m)
        depth = points_m @ self.towards
        # A point on the far side of the Earth's centre is visible if it appears outside of the globe's edge.
        return flat[:, 0], flat[:, 1], (depth > 0) | (np.hypot(flat[:, 0], flat[:, 1]) > 1.0)

    def outline(self, degrees: np.ndarray) -> np.ndarray | None:
        """Return a projected polygon. `degrees` has the polygon's longitudes and latitudes. The result is None if the
        whole polygon is on the far side.

        Points on the far side are moved to the globe's edge, which is accurate enough for filling a coarse outline.
        """
        closed = np.concatenate([degrees, degrees[:1]])
        # A straight line in longitude and latitude is curved in this projection. Intermediate points every 2 degrees
        # make the drawn line follow the curve, and let it end at the globe's edge.
        steps = np.maximum(np.ceil(np.abs(np.diff(closed, axis=0)).max(axis=1) / 2), 1).astype(int)
        dense = np.concatenate([
            closed[i] + np.linspace(0, 1, n, endpoint=False)[:, None] * (closed[i + 1] - closed[i])
            for i, n in enumerate(steps)
        ])  # fmt: skip
        sphere = _on_sphere(dense)
        depth = sphere @ self.towards
        if (depth <= 0).all():
            return None
        flat = self.xy(sphere * self.radius_m)
        behind = depth < 0
        flat[behind] /= np.maximum(np.linalg.norm(flat[behind], axis=1, keepdims=True), 1e-9)
        return flat


def _on_sphere(degrees: np.ndarray) -> np.ndarray:
    lon, lat = np.radians(degrees.T)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def _globe(axes: Axes, view: _View) -> None:
    axes.add_patch(Circle((0, 0), 1, facecolor="#eef4f8", edgecolor="#7a7a7a", linewidth=0.6, zorder=0))
    for polygons, colour in ((LAND_DEG, "#d9d5c7"), (WATER_DEG, "#eef4f8")):
        for degrees in polygons:
            flat = view.outline(degrees)
            if flat is not None:
                axes.add_patch(Polygon(flat, facecolor=colour, edgecolor="#b5b0a0", linewidth=0.25, zorder=1))
    meridians = [np.stack([np.full(181, lon), np.linspace(-90, 90, 181)], 1) for lon in range(-180, 180, 30)]
    parallels = [np.stack([np.linspace(-180, 180, 361), np.full(361, lat)], 1) for lat in range(-60, 90, 30)]
    for degrees in [*meridians, *parallels]:
        sphere = _on_sphere(degrees)
        flat = view.xy(sphere * view.radius_m)
        flat[sphere @ view.towards < 0] = np.nan
        axes.plot(flat[:, 0], flat[:, 1], color="#c4cdd3", linewidth=0.3, zorder=2)


def _ms(delay_ns: object) -> str:
    return "no path" if not isinstance(delay_ns, int | np.integer) else f"{int(delay_ns) / 1e6:.2f} ms"
