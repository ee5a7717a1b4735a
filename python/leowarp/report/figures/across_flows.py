# SPDX-License-Identifier: Apache-2.0
"""Draw many flows: a matrix by source and destination, and plots with one point per flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from leowarp.metrics import pairs
from leowarp.metrics.inputs.tables import floats
from leowarp.report.labels import MOST_LINES, footer_of, labels
from leowarp.report.style import PAGE_IN, line_style, new_figure
from leowarp.results.run import Run

FEWEST_PAIRS = 4
"""A matrix is drawn only for at least this number of station pairs. Fewer pairs are clearer in a list."""

MOST_NUMBERS = 12
"""The cells of a matrix contain numbers if each axis has at most this many stations."""

QUANTITIES: tuple[tuple[str, str, float, str, str], ...] = (
    ("goodput_mean_bps", "goodput, Mbit/s", 1e6, "Blues", "{:.3g}"),
    ("rtt_p50_ns", "median round trip, ms", 1e6, "Oranges", "{:.0f}"),
    ("lost_ratio", "lost, %", 0.01, "Reds", "{:.2g}"),
)
"""The quantities that the matrix shows. Each tuple has a column of `PAIR_COLUMNS`, a label, a unit, a colour map, and a
number format."""


def matrix(runs: Sequence[Run]) -> Figure:
    """Draw matrices of the goodput, round-trip time and loss of the first run's TCP flows. Rows are sources, and
    columns are destinations. If a pair has no flow, its cell has no colour."""
    (run, *_) = runs
    found = pairs(run.summary["flows"])
    order = [station.name for station in run.plan.stations]
    sources = [name for name in order if name in set(found["source"])]
    destinations = [name for name in order if name in set(found["destination"])]
    longest = max(len(name) for name in (*sources, *destinations))
    # With few columns, a cell would be too high without the limit of 0.28 in.
    row_in = min(0.28, (PAGE_IN / 3 - 0.3 - 0.02 * longest) / len(destinations))
    figure = new_figure(PAGE_IN, 0.8 + 0.055 * longest + row_in * len(sources), footer_of(runs))
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (column, name, unit, colours, text) in zip(panels, QUANTITIES, strict=True):
        values = np.full((len(sources), len(destinations)), np.nan)
        for row, value in zip(found.itertuples(index=False), floats(found[column]), strict=True):
            values[sources.index(row.source), destinations.index(row.destination)] = value / unit
        _cells(axes, values, colours, text)
        axes.set_title(name, pad=3)
        axes.set_xticks(range(len(destinations)), destinations, rotation=90)
        axes.set_yticks(range(len(sources)), sources)
    panels[0].set_ylabel("from")
    panels[1].set_xlabel("to")
    return figure


def _cells(axes: Axes, values: np.ndarray, colours: str, text: str) -> None:
    known = values[np.isfinite(values)]
    if not len(known):
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", va="center", color="#555555")
    top = float(known.max()) if len(known) and known.max() > 0 else 1.0
    shades = colormaps[colours]
    # Only the lighter part of the colour map is used, because a dark cell would hide its number.
    axes.imshow(values, cmap=shades, vmin=0, vmax=1.4 * top, aspect="auto")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    if max(values.shape) > MOST_NUMBERS:
        return
    size = min(6.0, 46 / values.shape[1])
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        axes.text(column, row, text.format(values[row, column]), ha="center", va="center", fontsize=size)


def distribution(runs: Sequence[Run]) -> Figure:
    """Draw goodput, median round-trip time and loss as step curves. Each curve shows the share of flows with at most
    the value on the x axis. With a single run, each congestion control has a curve. Otherwise, each run has a curve."""
    named = _named(runs, [_flows(run) for run in runs])
    figure = new_figure(PAGE_IN, 2.5, footer_of(runs))
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (column, name, unit, _, _) in zip(panels, QUANTITIES, strict=True):
        for place, (label, mine) in enumerate(named):
            values = np.sort(mine[column].dropna().to_numpy() / unit)
            if len(values):
                share = np.arange(1, len(values) + 1) / len(values)
                axes.plot(np.insert(values, 0, values[0]), np.insert(share, 0, 0.0), drawstyle="steps-post", marker=".",
                          markersize=3, label=f"{label}, {len(mine)} flows", **line_style(place))  # fmt: skip
        axes.set_xlabel(f"{name}, of a flow")
        axes.set_xlim(left=0)
    panels[0].set_ylabel("share of the flows at or below")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def completion(runs: Sequence[Run]) -> Figure:
    """Draw each flow's completion time over its size, with logarithmic axes. Medians of flows with similar sizes are
    drawn, too.

    A hollow triangle is a flow that was not complete at its stop time or at the end of the run. The triangle is drawn
    at the time that the flow lasted so far. The flow's completion time is longer than this time. With a single run,
    each congestion control has its own colour. Otherwise, each run has its own colour.
    """
    named = _named(runs, [_sized(run) for run in runs])
    figure = new_figure(PAGE_IN, 3.2, footer_of(runs))
    axes = figure.subplots()
    for place, (label, mine) in enumerate(named):
        colour = line_style(place)["color"]
        done = mine[mine["is_complete"]]
        axes.plot(done["size_kbytes"], done["took_s"], ".", markersize=3.5, color=colour, alpha=0.6,
                  label=f"{label}, {len(done)} flows")  # fmt: skip
        rest = mine[~mine["is_complete"]]
        if len(rest):
            axes.plot(rest["size_kbytes"], rest["took_s"], "^", markersize=4, markerfacecolor="none", color=colour,
                      markeredgewidth=0.7, label=f"{label}, {len(rest)} not done, took longer")  # fmt: skip
        size_kbytes, median_s = _medians(mine)
        if len(size_kbytes) > 1:
            axes.plot(size_kbytes, median_s, linewidth=1.2, label=f"{label}, median", **line_style(place))
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("size of a flow, kB")
    axes.set_ylabel("time to completion, s")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=min(4, len(named) * 2))
    return figure


BINS_PER_DECADE = 3
"""The number of bins per decade of flow sizes."""

FEWEST_IN_BIN = 5
"""If a bin has fewer flows than this number, no median is drawn for it."""


def _medians(flows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """For each bin of sizes, return the median size and the median completion time of its flows. A bin is left out if
    half or more of its flows were not complete."""
    bins = np.floor(np.log10(flows["size_kbytes"]) * BINS_PER_DECADE)
    size_kbytes, median_s = [], []
    for _, mine in flows.groupby(bins):
        # If a flow was not complete, it takes longer than the recorded time. For the median, its time is infinite.
        took_s = mine["took_s"].where(mine["is_complete"], np.inf).median()
        if len(mine) >= FEWEST_IN_BIN and np.isfinite(took_s):
            size_kbytes.append(mine["size_kbytes"].median())
            median_s.append(took_s)
    return np.array(size_kbytes), np.array(median_s)


def _sized(run: Run) -> pd.DataFrame:
    """Return one row per TCP flow with a size: `size_kbytes, took_s, is_complete, congestion_control`."""
    rows = []
    for number in run.tcp_flows:
        planned, found = run.observed_plan.flows[number], run.summary["flows"][number]
        if planned.size_bytes is None:
            continue
        end_ns = min(run.plan.run.duration_ns, planned.stop_ns or run.plan.run.duration_ns)
        took_ns = found["completion_ns"]
        rows.append({
            "size_kbytes": planned.size_bytes / 1e3,
            "took_s": (end_ns - planned.start_ns if took_ns is None else took_ns) / 1e9,
            "is_complete": took_ns is not None,
            "congestion_control": found["congestion_control"],
        })  # fmt: skip
    return pd.DataFrame(rows)


def has_sizes(run: Run) -> bool:
    """Return whether the figure of completion times over sizes has enough TCP flows. Only flows with a size count."""
    return sum(run.observed_plan.flows[number].size_bytes is not None for number in run.tcp_flows) > MOST_LINES


def _named(runs: Sequence[Run], frames: Sequence[pd.DataFrame]) -> list[tuple[str, pd.DataFrame]]:
    """Return the groups of flows that share a colour, each with its name in the legend. With one run, a group is a
    congestion control. With several runs, each run is one group."""
    if len(runs) == 1:
        return [(str(name), mine) for name, mine in frames[0].groupby("congestion_control", sort=False)]
    return list(zip(labels(runs), frames, strict=True))


def _flows(run: Run) -> pd.DataFrame:
    """Return one row per TCP flow, as float64. Unknown values are nan."""
    rows = []
    for flow in run.summary["flows"]:
        if flow["kind"] == "tcp":
            sent, lost = flow["sent_pkts"], flow["lost_pkts"]
            rows.append(flow | {"lost_ratio": lost / sent if sent and lost is not None else None})
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name, *_ in QUANTITIES}
    found = pd.DataFrame({name: pd.Series(values, dtype="float64") for name, values in columns.items()})
    found["congestion_control"] = [row["congestion_control"] for row in rows]
    return found


def has_pairs(run: Run) -> bool:
    """Return whether enough pairs of stations have TCP flows for a matrix."""
    ends = {
        (run.observed_plan.flows[number].source, run.observed_plan.flows[number].destination)
        for number in run.tcp_flows
    }
    return len(ends) >= FEWEST_PAIRS
