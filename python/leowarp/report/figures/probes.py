# SPDX-License-Identifier: Apache-2.0
"""Draw pings as in figures 3 to 5 of `huston2024`: all replies, replies around a route change, and round trips between
changes.

`draw_probes` and `draw_minima` draw `Probes` from any source into an axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.base.errors import TraceError
from leowarp.metrics import NEAR_NS, Probes, probes, slots
from leowarp.metrics.inputs.tables import floats
from leowarp.report.figures.manyflows import draw_bands, hit_hardest, shown_apart
from leowarp.report.labels import by_run, footer_of, identity, labels, run_labels, worded
from leowarp.report.style import (
    AFTER,
    BAD,
    BEFORE,
    COLUMN_IN,
    PAGE_IN,
    legend_below,
    line_style,
    mark_changes,
    new_figure,
)
from leowarp.results.run import Run


def draw_probes(axes: Axes, found: Probes, changes_s: np.ndarray, *, zero_s: float = 0.0) -> None:
    """Draw the round-trip time of each probe. The x axis shows the sending time. Lost probes are ticks on the time
    axis. Changes are pink lines.

    zero_s: The time of the axis' origin on the run's clock, in s.
    """
    # Many dots are drawn smaller, so that all dots together cover about the same share of the figure.
    size = float(np.clip(60 / np.sqrt(max(len(found.sent_ns), 1)), 1.2, 4))
    mark_changes(axes, changes_s - zero_s)
    sent_s = found.sent_ns / 1e9 - zero_s
    axes.plot(sent_s, found.delay_ns / 1e6, ".", color=BEFORE, markersize=size, markeredgewidth=0, rasterized=True)
    lost_s = sent_s[found.is_lost]
    if len(lost_s):
        # The height of the ticks for lost probes is in axes coordinates, so the ticks are at the bottom for every scale
        # of the axis.
        axes.plot(lost_s, np.full(len(lost_s), 0.012), "|", color=BAD, markersize=6, markeredgewidth=0.8,
                  transform=axes.get_xaxis_transform(), clip_on=False)  # fmt: skip
    axes.set_ylabel("round-trip time, ms")


def draw_minima(axes: Axes, found: Probes, changes_ns: np.ndarray, end_ns: int, guard_ns: int) -> None:
    """Draw a step curve. Each step is the smallest round-trip time of the probes between two successive route changes.

    guard_ns: Probes are ignored if they were sent within this time before or after a change.
    """
    frame = slots(found, changes_ns, end_ns, guard_ns)
    edges_s = np.append(frame["t_ns"].to_numpy(), frame["until_ns"].to_numpy()[-1:]) / 1e9
    values = frame["rtt_min_ns"].to_numpy() / 1e6
    if len(values):
        axes.stairs(values, edges_s, baseline=None, color=AFTER, linewidth=1.3, label="smallest of each slot")


def ping_over_time(runs: Sequence[Run], *, start_s: float = 0.0, end_s: float | None = None) -> Figure:
    """Draw the round-trip time of every probe, one panel per run and flow (fig. 3). If lines cannot distinguish all
    flows, the flows with the most losses are shown.

    start_s, end_s: The shown part of the run, in s. The default is the whole run.
    Raises TraceError if a run has no ping flow with replies.
    """
    until_s = end_s or _end_s(runs)

    def panel(axes: Axes, run: Run, number: int) -> None:
        shown = _probes(run, number).between(round(start_s * 1e9), round(until_s * 1e9))
        draw_probes(axes, shown, run.change_instants_ns(number) / 1e9)
        axes.set_xlim(start_s, until_s)
        axes.set_title(f"{_title(run, runs)}{_counted(shown)}", loc="left", pad=3)

    return _panels(runs, 1.5, panel, "time of sending, s (pink: route changes; on the axis: lost)")


def ping_around_change(
    runs: Sequence[Run], *, change_s: float | None = None, before_s: float = 2.0,
    after_s: float = 2.0,
) -> Figure:  # fmt: skip
    """Draw the round-trip times of probes just before and after one route change (fig. 4).

    change_s: The time in s of the change to show. By default, it is the route change with the largest round-trip time
        within 1 s before or after it. With several runs, the time of this change in the first run is used for all runs.
    """

    changed = [run for run in runs if run.ping_flows and len(run.change_instants_ns(_ping(run)))]
    # Only flows whose path ever changed are drawn. If no flow's path changed, the first flow's panel says that its path
    # did not change.
    runs = changed if changed and any(run.chosen_flow is not None for run in runs) else runs

    at_s = change_s
    if at_s is None and len(by_run(runs)) > 1 and len(first_ns := runs[0].change_instants_ns(_ping(runs[0]))):
        at_s = _highest(runs[0], _probes(runs[0], _ping(runs[0])), first_ns)

    def panel(axes: Axes, run: Run, number: int) -> None:
        found, instants_ns = _probes(run, number), run.change_instants_ns(number)
        t_s = _highest(run, found, instants_ns) if at_s is None else at_s
        first_ns, last_ns = round((t_s - before_s) * 1e9), round((t_s + after_s) * 1e9)
        shown = found.between(first_ns, last_ns)
        draw_probes(axes, shown, instants_ns[(instants_ns >= first_ns) & (instants_ns < last_ns)] / 1e9, zero_s=t_s)
        axes.set_xlim(-before_s, after_s)
        axes.set_title(f"{_title(run, runs)}change at {t_s:g} s{_counted(shown, ', ')}", loc="left", pad=3)

    return _panels(runs, 1.9, panel, "time of sending after the change, s", width_in=COLUMN_IN)


def ping_between_changes(
    runs: Sequence[Run], *, start_s: float = 0.0, end_s: float | None = None,
    guard_s: float = NEAR_NS / 1e9,
) -> Figure:  # fmt: skip
    """Draw the round-trip times, and the smallest round-trip time of each slot as steps (fig. 5). Round-trip times near
    route changes are left out.

    start_s, end_s: The shown part of the run, in s. The default is the whole run.
    guard_s: Probes are left out if they are within this time in s before or after a change.
    Raises TraceError if a run has no ping flow with replies.
    """
    guard_ns, until_s = round(guard_s * 1e9), end_s or _end_s(runs)

    def panel(axes: Axes, run: Run, number: int) -> None:
        found, instants_ns = _probes(run, number), run.change_instants_ns(number)
        shown = found.between(round(start_s * 1e9), round(until_s * 1e9)).without(instants_ns, guard_ns)
        draw_probes(axes, shown, instants_ns / 1e9)
        draw_minima(axes, found, instants_ns, run.end_ns, guard_ns)
        axes.set_xlim(start_s, until_s)
        # Differences across a change do not count as variation, because the path's delay differs between slots.
        steps = np.abs(np.diff(shown.delay_ns[~shown.is_lost]))
        steps = steps[np.diff(np.searchsorted(instants_ns, shown.sent_ns[~shown.is_lost])) == 0]
        mean = f"mean step from reply to reply {steps.mean() / 1e6:.2f} ms" if len(steps) else "no two replies"
        axes.set_title(f"{_title(run, runs)}{mean}", loc="left", pad=3)
        axes.legend(loc="upper right")

    words = f"time of sending, s (pink: route changes; {guard_s:g} s on either side cut out)"
    return _panels(runs, 1.5, panel, words)


def probe_delays(runs: Sequence[Run]) -> Figure:
    """Draw the one-way delay and round-trip time of each ping or UDP packet over its sending time, one panel per run.
    Diamonds on the time axis are lost packets. If there are too many flows for lines, the figure has bands: quantiles
    of the one-way delays of all flows, for every 10 ms.

    Raises TraceError if a run has no ping or udp flow.
    """
    for run in runs:
        if not run.probe_flows:
            raise TraceError(f"cannot draw this figure of {run.path.name}: the run has no ping or udp flow")
    groups, of_runs = by_run(runs), run_labels(runs)
    # Each flow has two entries in the legend: one for the one-way delay, one for the round trip.
    lines = sum(len(group) if shown_apart(group) else 1 for group in groups)
    figure = new_figure(PAGE_IN, 0.55 + 1.5 * len(groups) + 0.14 * lines, footer_of(runs))
    panels = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for axes, group in zip(panels, groups, strict=True):
        run = group[0]
        mark_changes(axes, sorted({t_ns / 1e9 for t_ns in run.numbers.route_changes["t_ns"]}))
        number = 0
        of_flows = []
        for view in group:
            flow = view.probe_flows[0] if view.chosen_flow is None else view.chosen_flow
            echoes = run.tables.echoes[run.tables.echoes["flow"] == flow]
            sent = floats(echoes["sent_ns"])
            for column, name, marker in (("received_ns", "one way", "."), ("reply_ns", "there and back", "x")):
                delay_ms = (floats(echoes[column]) - sent) / 1e6
                if np.isfinite(delay_ms).any() and shown_apart(group):
                    what = f"{run.flow_names[flow]}, {name}"
                    colour = line_style(number)["color"]
                    axes.plot(sent / 1e9, delay_ms, marker, color=colour, markersize=2, label=what, rasterized=True)
                    number += 1
                elif column == "received_ns":
                    # Probes of two flows are never sent at the same ns. Quantiles over the flows need equal times, so
                    # times are rounded down to 10 ms.
                    of_flows.append((np.floor(sent / 1e7) / 100, delay_ms))
            lost = sent[np.isnan(floats(echoes["received_ns"]))]
            # Without lost probes, nothing is plotted, because matplotlib would place an empty unclipped artist at the
            # lower left corner of the figure.
            if len(lost):
                axes.plot(lost / 1e9, np.zeros(len(lost)), "D", color=BAD, markersize=2.5, clip_on=False)
        if not shown_apart(group):
            draw_bands(axes, of_flows)
            number = 1
        axes.set_ylabel("delay, ms")
        axes.set_ylim(bottom=0)
        what = f", one way, {len(group)} flows" if not shown_apart(group) else ""
        axes.set_title(f"{of_runs[identity(run)] if len(groups) > 1 or len(group) > 1 else labels(runs)[0]}{what} "
                       "(diamonds on the axis: lost)", loc="left", pad=3)  # fmt: skip
        if number:
            legend_below(axes, has_label=axes is panels[-1], ncols=2 if shown_apart(group) else 4, markerscale=2)
    panels[-1].set_xlim(0, _end_s(runs))
    panels[-1].set_xlabel(worded(runs, "time of sending, s (vertical lines: route changes)"))
    return figure


def _panels(
    runs: Sequence[Run], height_in: float, draw: Callable[[Axes, Run, int], None],
    words: str, width_in: float = PAGE_IN,
) -> Figure:  # fmt: skip
    for run in runs:
        if not run.ping_flows:
            raise TraceError(f"cannot draw this figure of {run.path.name}: the run has no ping flow with replies")
    runs, what = hit_hardest(runs, [float(_probes(run, _ping(run)).is_lost.sum()) for run in runs])
    figure = new_figure(width_in, 0.55 + height_in * len(runs), footer_of(runs))
    if what:
        figure.suptitle(f"The {what} that lost most", x=0.01, ha="left", fontsize=7.5)
    panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, run in zip(panels, runs, strict=True):
        draw(axes, run, _ping(run))
    # A margin below the smallest value separates the dots from the marks of lost packets.
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(max(0.0, low - 0.06 * (high - low)), high)
    panels[-1].set_xlabel(worded(runs, words))
    return figure


def _end_s(runs: Sequence[Run]) -> float:
    return max(run.end_ns for run in runs) / 1e9


def _probes(run: Run, flow: int) -> Probes:
    return probes(run.tables, flow, run.end_ns)


def _ping(run: Run) -> int:
    return run.ping_flows[0] if run.chosen_flow is None else run.chosen_flow


def _highest(run: Run, found: Probes, instants_ns: np.ndarray) -> float:
    if len(instants_ns) == 0:
        several = len(run.ping_flows) > 1
        whose = f"the path of none of its {len(run.ping_flows)} ping flows changed" if several else None
        raise TraceError(
            f"cannot draw this figure of {run.path.name}: {whose or 'the path never changed'}", hint="make a longer run"
        )
    heights = []
    for t_ns in instants_ns:
        delay = found.between(int(t_ns) - NEAR_NS, int(t_ns) + NEAR_NS).delay_ns
        # If all probes near a change are lost, the change gets the height 0. nanmax would give a warning in this case,
        # and leowarp's tests treat warnings as errors.
        heights.append(np.nanmax(delay) if np.isfinite(delay).any() else 0.0)
    return float(instants_ns[int(np.argmax(heights))] / 1e9)


def _title(run: Run, runs: Sequence[Run]) -> str:
    return f"{labels(runs)[list(runs).index(run)]}: " if len(runs) > 1 else ""


def _counted(shown: Probes, lead: str = "") -> str:
    return f"{lead}{len(shown.sent_ns)} probes, {int(shown.is_lost.sum())} lost"
