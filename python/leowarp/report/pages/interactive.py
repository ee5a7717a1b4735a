# SPDX-License-Identifier: Apache-2.0
"""The interactive chart of a page: goodput, window, smoothed RTT and queue over a common time axis, with zoom.

`chart.js`, a script of leowarp with 150 lines, draws the chart. plotly.js would add 5 MB to every page, and a study has
about two dozen pages.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from leowarp.metrics import goodput, path_queues
from leowarp.metrics.inputs.tables import floats
from leowarp.metrics.per_flow.goodput import life
from leowarp.report.figures.goodputs import top_mbps
from leowarp.report.labels import MOST_LINES, identity, labels, styles
from leowarp.report.style import OKABE_ITO
from leowarp.results.run import Run

POINTS = 40_000
"""The maximum number of points per line, which is more than a screen can show. If there are more than `MOST_LINES`
flows, all lines together have at most `POINTS * MOST_LINES` points."""

ROWS = ("goodput, Mbit/s", "window, packets", "smoothed RTT, ms", "queue, packets")


def chart(runs: Sequence[Run], element: str) -> str:
    """Return the HTML of one chart, or "" if no row has data. The page must contain `chart.js` after the last chart.

    runs: The views of TCP flows. In each of the chart's four `ROWS`, each view has one line. With more than
        `MOST_LINES` views, the chart starts with the lowest, the median and the highest mean goodput among flows that
        lived at least half as long as the longest flow.
    """
    # The limit keeps the page small: a line of 40,000 points takes 213 kB in base64.
    most = POINTS * MOST_LINES // max(len(runs), MOST_LINES)
    queues: dict[tuple[int, str, str], tuple[np.ndarray, np.ndarray]] = {}
    lines = [_series(run, most, queues) for run in runs]
    rows = [row for row in range(len(ROWS)) if any(_says_something(*line[row]) for line in lines)]
    if not rows:
        return ""
    series = [
        {"label": label, "colour": style["color"], "rows": [_row(*line[row]) for row in rows]}
        for line, label, style in zip(lines, labels(runs), styles(runs), strict=True)
    ]
    top = top_mbps(runs)
    tops = [top if row == 0 and np.isfinite(top) else None for row in rows]
    empty = [ROWS[row].split(",")[0] for row in range(len(ROWS)) if row not in rows]
    means = [run.numbers.summary["flows"][run.main_flow].get("goodput_mean_bps") or 0.0 for run in runs]
    order = sorted(range(len(runs)), key=lambda place: means[place])
    # A flow that ended at once has no line.
    lives = [_life_ns(run) for run in runs]
    order = [place for place in order if lives[place] >= max(lives) / 2]
    first = list(dict.fromkeys([order[0], order[(len(order) - 1) // 2], order[-1]]))
    first = first if len(runs) > MOST_LINES else list(range(len(runs)))
    whose = ", ".join(labels(runs)) if len(runs) <= MOST_LINES else f"{len(runs)} flows"
    data = {
        "label": f"{', '.join(ROWS)} over time of {whose}; the figures below show the same",
        "rows": [ROWS[row] for row in rows],
        "tops": tops,
        "series": series,
        "first": first,
        "colours": list(OKABE_ITO),
        "changes": sorted({int(t_ns) / 1e9 for run in runs for t_ns in run.changes["t_ns"]}),
        "end_s": max(run.end_ns for run in runs) / 1e9,
    }
    # "<" is escaped, because "</script" in the data would end the script, and after "<!--" the browser would ignore the
    # script's real end.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    left_out = f'<p class="quiet">0 in the whole run, or not recorded: {", ".join(empty)}.</p>\n' if empty else ""
    return (
        f'{left_out}<div id="{element}" class="chart"></div>\n'
        f'<script type="application/json" class="chart-data" data-of="{element}">{text}</script>\n'
    )


def _life_ns(run: Run) -> int:
    lived = life(run.tables, run.main_flow, run.observed_plan.flows[run.main_flow], run.end_ns)
    return lived.stop_ns - lived.start_ns


def _says_something(t_s: np.ndarray, value: np.ndarray) -> bool:
    # A run without sampling still has one sample per socket, the last one, which is not enough for a line.
    return len(t_s) > 1 and bool(np.any(np.nan_to_num(value)))


def _row(t_s: np.ndarray, value: np.ndarray) -> dict[str, Any]:
    """Return a series as the chart's script reads it: start, step and values. Missing samples become nan, and the chart
    shows a gap there."""
    if len(t_s) < 2:
        return {"t0": 0.0, "dt": 1.0, "y": ""}
    step = float(np.min(np.diff(t_s)))
    place = np.round((t_s - t_s[0]) / step).astype("int64")
    # Storing the start and the step takes half as much space as storing a time with each value. A value of 4 bytes has
    # 7 digits, which is more than a screen can show. Values are little-endian, because `chart.js` reads them in this
    # order.
    grid = np.full(int(place[-1]) + 1, np.nan, dtype="<f4")
    grid[place] = value
    return {"t0": float(t_s[0]), "dt": step, "y": base64.b64encode(grid.tobytes()).decode()}


def _series(
    run: Run, most: int, queues: dict[tuple[int, str, str], tuple[np.ndarray, np.ndarray]]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the chart's rows for a flow, each as (times in s, values). `queues` caches the queue of a path, so that
    all flows of the same pair can use it."""
    flow = run.main_flow
    # Bins are longer than 50 ms if the run is very long or has many flows.
    bin_ns = max(50_000_000, int(run.end_ns) // most // 50_000_000 * 50_000_000)
    rate = goodput(run.tables, flow, "in_order", bin_ns)
    samples = run.tables.of_flow("sockets", flow)
    samples = samples.iloc[:: max(len(samples) // most, 1)]
    t_s = samples["t_ns"].to_numpy() / 1e9
    key = (identity(run), run.observed_plan.flows[flow].source, run.observed_plan.flows[flow].destination)
    # Flows of the same pair of stations have the same path, so the queue is computed once for all of them.
    if key not in queues:
        queues[key] = _path_queue(run, most)
    return [
        (rate["t_ns"].to_numpy() / 1e9, rate["goodput_bps"].to_numpy() / 1e6),
        (t_s, floats(samples["cwnd_pkts"])),
        (t_s, floats(samples["srtt_us"]) / 1e3),
        queues[key],
    ]


def _path_queue(run: Run, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At each sample, return the number of packets in all queues of the current path. The result is empty without
    samples."""
    sampled_ns = run.plan.observe.queues_ns
    if sampled_ns is None:
        return np.zeros(0), np.zeros(0)
    end_ns, step_ns = run.end_ns, max(sampled_ns, run.end_ns * 2 // most)
    grid = np.arange(0, end_ns, step_ns, dtype="int64")
    total = np.zeros(len(grid))
    main = run.observed_plan.flows[run.main_flow]
    for in_force, waiting_pkts in path_queues(run.tables, (main.source, main.destination), end_ns, grid):
        total[in_force] += waiting_pkts[in_force]
    return grid / 1e9, total
