# SPDX-License-Identifier: Apache-2.0
"""Charts to zoom into, with plotly.js inside the page: goodput, window, smoothed RTT and queue over one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leowarp.metrics import goodput, queue_series
from leowarp.metrics.changes import hops, pair_routes
from leowarp.metrics.tables import floats
from leowarp.report.style import CHANGE_COLOUR
from leowarp.report.view import RunView, labels, styles

DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot")
ROWS = ("goodput, Mbit/s", "window, packets", "smoothed RTT, ms", "queue, packets")


def chart(runs: Sequence[RunView], div_id: str) -> str:
    """A `div` and the script that draws it; `library()` must stand before it on the page."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=4, cols=1, shared_xaxes=True, vertical_spacing=0.03)
    colours = [style["color"] for style in styles(runs)]
    for place, (run, label, colour) in enumerate(zip(runs, labels(runs), colours, strict=True)):
        for row, (t_s, value) in enumerate(_series(run), start=1):
            figure.add_trace(
                go.Scatter(
                    **_evenly(t_s), y=value.astype("float32"), name=label, legendgroup=label,
                    showlegend=row == 1, mode="lines",
                    line={"color": colour, "width": 1.2, "dash": DASHES[place % len(DASHES)] if row > 1 else "solid"},
                    hovertemplate="%{y:.4g} at %{x:.2f} s",
                ), row=row, col=1,
            )  # fmt: skip
    instants = sorted({int(t) for run in runs for t in run.changes["t_ns"]})
    if len(instants) <= 400:
        # As shapes of each row, not one trace: they stay behind the data and out of the legend.
        shapes = [
            {"type": "line", "xref": "x", "yref": f"y{row if row > 1 else ''} domain", "x0": t / 1e9, "x1": t / 1e9,
             "y0": 0, "y1": 1, "layer": "below", "line": {"color": CHANGE_COLOUR, "width": 1}}
            for row in (1, 2, 3, 4) for t in instants
        ]  # fmt: skip
        figure.update_layout(shapes=shapes)
    for row, name in enumerate(ROWS, start=1):
        figure.update_yaxes(title_text=name, rangemode="tozero", row=row, col=1, title_font_size=11)
    figure.update_xaxes(title_text="time, s", row=4, col=1)
    figure.update_layout(
        height=760, margin={"l": 60, "r": 10, "t": 30, "b": 40}, template="simple_white", hovermode="x unified",
        legend={"orientation": "h", "y": 1.04}, font={"size": 12},
    )  # fmt: skip
    return figure.to_html(
        full_html=False, include_plotlyjs=False, div_id=div_id, config={"displaylogo": False, "responsive": True}
    )


def library() -> str:
    """plotly.js itself, once a page."""
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>\n"


def _evenly(t_s: np.ndarray) -> dict[str, Any]:
    """x values of a trace; evenly spaced ones (all series of a run are) as start and step, which halves the page."""
    steps = np.diff(t_s)
    if len(steps) and np.allclose(steps, steps[0], rtol=0, atol=1e-9):
        return {"x0": float(t_s[0]), "dx": float(steps[0])}
    return {"x": t_s.astype("float64")}


def _series(run: RunView) -> list[tuple[np.ndarray, np.ndarray]]:
    flow = run.main_flow
    rate = goodput(run.tables, flow, "in_order", 50_000_000)
    samples = run.tables.sockets[run.tables.sockets["flow"] == flow]
    t_s = samples["t_ns"].to_numpy() / 1e9
    return [
        (rate["t_ns"].to_numpy() / 1e9, rate["goodput_bps"].to_numpy() / 1e6),
        (t_s, floats(samples["cwnd_pkts"])),
        (t_s, floats(samples["srtt_us"]) / 1e3),
        _path_queue(run),
    ]


def _path_queue(run: RunView) -> tuple[np.ndarray, np.ndarray]:
    """Packets waiting on all links of the path in force together, at each queue sample."""
    end_ns, step_ns = run.metrics.end_ns, max(int(run.plan.observe.queues_ns), run.metrics.end_ns // 20_000)
    grid = np.arange(0, end_ns, step_ns, dtype="int64")
    total = np.zeros(len(grid))
    main = run.plan.flows[run.main_flow]
    routes = pair_routes(run.tables, (main.source, main.destination))
    known: dict[int, Any] = {}
    for index, (t_ns, path) in enumerate(zip(routes["t_ns"], routes["path"], strict=True)):
        until_ns = routes["t_ns"].iloc[index + 1] if index + 1 < len(routes) else end_ns
        inside = (grid >= t_ns) & (grid < until_ns)
        for link in hops(path or ()):
            direction = run.tables.direction_of(*link)
            if direction is None:
                continue
            if direction not in known:
                series = queue_series(run.tables, direction, end_ns)
                place = np.searchsorted(series["t_ns"], grid, side="right") - 1
                known[direction] = series["queue_pkts"].to_numpy()[np.maximum(place, 0)]
            total[inside] += known[direction][inside]
    return grid / 1e9, total
