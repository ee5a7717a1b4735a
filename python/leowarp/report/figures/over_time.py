# SPDX-License-Identifier: Apache-2.0
"""Draw series of a run over any part of its time, one panel per series: `leowarp report --plot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.metrics import SERIES, Series, series_of
from leowarp.report.figures import FIGURES, Runs, views
from leowarp.report.labels import MOST_LINES, footer_of, labels, numbers_of, styles, worded
from leowarp.report.style import PAGE_IN, highest_of, mark_changes, new_figure, styled
from leowarp.results.run import Run

MOST_PANELS = 8
"""On the page of a paper, at most this many panels fit below each other."""

_SHOWN = {"bit/s": ("Mbit/s", 1e6), "ns": ("ms", 1e6), "us": ("ms", 1e3), "bytes": ("kB", 1e3), "pkts": ("packets", 1)}
"""For each unit of a series: the unit that the axis shows, and its size in the series' unit."""


def plot(
    runs: Runs, names: Sequence[str], *, flow: int | str | Sequence[int | str] | None = None, from_s: float = 0.0,
    to_s: float | None = None,
) -> Figure:  # fmt: skip
    """Draw series over time, with one panel per series and one line per flow. The panels are below each other.

    Parameters
    ----------
    runs : path, Run, or a sequence of them
        The run directories.
    names : sequence of str
        The names of the series (`leowarp.metrics.SERIES`). A name may be given without its unit.
    flow : int or str, or a sequence of them, optional
        The numbers or names of the flows to draw, in each run. By default, if at most eight flows have the series, all
        of them are drawn.
    from_s, to_s : float
        The first and the last time that the figure shows, on the run's clock. The default of `to_s` is the end of the
        run.

    Raises
    ------
    ScenarioError
        If there is no such series or flow, if a reader could not distinguish the lines, or if `to_s` is not after
        `from_s`.
    TraceError
        If the runs did not record a requested series.
    """
    chosen = _chosen(names)
    many = views(runs)
    end_s = max(run.end_ns for run in many) / 1e9
    until_s = end_s if to_s is None else min(to_s, end_s)
    if not 0 <= from_s < until_s:
        raise ScenarioError(
            f"cannot draw {from_s:g} s to {until_s if to_s is None else to_s:g} s: the run lasts {end_s:g} s",
            hint="a time within the run, the earlier one first: --from 29s --to 32s",
        )
    lines = [run.of_flow(number) for run in many for number in _flows(run, chosen, flow)]
    if len(lines) > MOST_LINES:
        raise ScenarioError(
            f"cannot tell {len(lines)} lines apart in one panel; {MOST_LINES} at most",
            hint="name some: --flow 0 --flow 3; `leowarp show RUN` says which are the worst and the best",
        )
    with styled():
        figure = new_figure(PAGE_IN, 0.85 + 1.25 * len(chosen) + 0.12 * (len(lines) // 3), footer_of(lines))
        panels = figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0]
        for axes, series in zip(panels, chosen, strict=True):
            _draw(axes, series, _having(series, lines, all_of_them=flow is not None), from_s, until_s)
        panels[0].set_xlim(from_s, until_s)
        panels[-1].set_xlabel(worded(many, "time, s (vertical lines: route changes)"))
        if len(lines) > 1:
            # Legend entries come from all panels, because a flow may lack the series of some panel.
            entries = [axes.get_legend_handles_labels() for axes in panels]
            shown = {text: handle for each in entries for handle, text in zip(*each, strict=True)}
            figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=3)
        else:
            panels[0].set_title(f"{lines[0].name}, {lines[0].flow_names[lines[0].main_flow]}", loc="left", pad=3)
    return figure


def _chosen(names: Sequence[str]) -> list[Series]:
    found = []
    for name in names:
        try:
            found.append(series_of(name))
        except ScenarioError as error:
            if name in FIGURES:
                hint = f'it is a figure of the report: leowarp report RUN --figures {name}, run.figure("{name}")'
                raise ScenarioError(error.message, hint=hint) from None
            raise
    chosen = list(dict.fromkeys(found))
    if not 1 <= len(chosen) <= MOST_PANELS:
        hint = f"1 to {MOST_PANELS}: leowarp report RUN --plot cwnd,srtt"
        raise ScenarioError(f"cannot draw {len(chosen)} series", hint=hint)
    return chosen


def _flows(run: Run, chosen: Sequence[Series], flow: int | str | Sequence[int | str] | None) -> list[int]:
    if flow is None:
        of_probes = all(series.needs == "echoes" for series in chosen)
        have = run.probe_flows if of_probes else run.tcp_flows
        if not have:
            kind = "ping or udp" if of_probes else "TCP"
            others = [series.name for series in SERIES.values() if (series.needs == "echoes") != of_probes]
            raise TraceError(
                f"cannot draw {chosen[0].name} of {run.path.name}: the run has no {kind} flow",
                hint=f"it has {', '.join(others)}" if (run.tcp_flows if of_probes else run.probe_flows) else None,
            )
        return have
    return numbers_of(run, flow)


_Line = tuple[Run, str, dict[str, Any], np.ndarray, np.ndarray]
"""A run or flow with its label and line style, and the times and values of its series."""


def _having(series: Series, lines: Sequence[Run], *, all_of_them: bool) -> list[_Line]:
    """For each run or flow in `lines` that has the series, return a line of the figure.

    Raises TraceError if no flow has the series, or if `all_of_them` is true and one flow lacks it.
    """
    found = []
    for run, label, style in zip(lines, labels(lines), styles(lines), strict=True):
        t_ns, value = series.of_flow(run.numbers, run.main_flow)
        if np.isfinite(value).any():
            found.append((run, label, style if len(lines) > 1 else {"color": style["color"]}, t_ns, value))
        elif all_of_them or (not found and run is lines[-1]):
            raise TraceError(
                f"cannot draw {series.name} of {run.flow_names[run.main_flow]} in {run.path.name}: it has none",
                hint=f"it is: {series.definition}",
            )
    return found


def _draw(axes: Axes, series: Series, lines: Sequence[_Line], from_s: float, until_s: float) -> None:
    shown, size = _SHOWN.get(series.unit, ("", 1))
    met: set[int] = set()
    for _, label, look, t_ns, value in lines:
        t_s = t_ns / 1e9
        # The drawn values start with the latest value at or before the beginning. They end with the latest value at or
        # before the end.
        first = max(int(np.searchsorted(t_s, from_s, side="right")) - 1, 0)
        last = int(np.searchsorted(t_s, until_s, side="right"))
        # If the flow's first value is after the end of the shown time, nothing is drawn.
        if last == 0:
            continue
        shown_t_s, shown_value = t_s[first:last], value[first:last] / size
        if series.steps:
            shown_t_s = np.append(np.maximum(shown_t_s, from_s), until_s)
            shown_value = np.append(shown_value, shown_value[-1])
            axes.plot(shown_t_s, shown_value, drawstyle="steps-post", linewidth=0.8, label=label, **look)
        else:
            axes.plot(shown_t_s, shown_value, ".", markersize=2, color=look["color"], label=label)
        if series.words:
            met |= set(shown_value[np.isfinite(shown_value)].astype(int).tolist())
    mark_changes(axes, sorted({t_ns / 1e9 for run, *_ in lines for t_ns in run.change_instants_ns(run.main_flow)}))
    name = series.name.removesuffix("_pkts").removesuffix("_bps").removesuffix("_ns").removesuffix("_us")
    words = name.removesuffix("_bytes").removesuffix("_ratio").replace("_", " ")
    axes.set_ylabel(f"{words},\n{shown}" if shown else words)
    if series.words:
        # The number of a state is only a code, not a quantity. The axis therefore has one tick with a name for each
        # state that occurs.
        axes.set_yticks(sorted(met), [series.word(number) for number in sorted(met)])
        axes.set_ylim(min(met, default=0) - 0.5, max(met, default=0) + 0.5)
        return
    if axes.get_ylim()[0] > 0.5 * axes.get_ylim()[1]:
        # If all values are far from 0, as the delays of a path are, their changes would be invisible on an axis from 0.
        return
    axes.set_ylim(0, 1.06 * highest_of(axes))
