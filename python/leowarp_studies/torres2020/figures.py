# SPDX-License-Identifier: Apache-2.0
"""The reproduced figures 2 to 8 of the study, and figures that show the effect of TCP mechanisms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.report.curves.densities import Shares, draw_density
from leowarp.report.style import COLUMN_IN, PAGE_IN, line_style, new_figure
from leowarp.study import DrawnFigure, drawing
from leowarp.study.drawing import Kind
from leowarp_studies.torres2020 import evidence as ev
from leowarp_studies.torres2020 import simulation
from leowarp_studies.torres2020.claims_metrics import STUDY_MD_PKTS
from leowarp_studies.torres2020.runs import ALGORITHMS, FOURTH, SHAPE_US
from leowarp_studies.torres2020.simulation import DISTRIBUTIONS, THRESHOLD_PKTS

PATH_RULES = (
    "path: 100 Mbit/s counting IP + 14 B, netem 100 ms + jitter per packet (standard deviation), limit 5000 packets, "
    "in the data's direction alone"
)
PROBE_RULES = f"probe: 65,535 ICMP echo requests of 1500 B IP at 8235 packets/s, no replies; D_T = {THRESHOLD_PKTS}"
TCP_RULES = (
    "TCP: 120 MB a transfer, SACK and DSACK, buffers up to 4 MiB (sending) and 6 MiB, ACKs not delayed by the path; "
    "throughput: bytes delivered over the time they took; MD and E_r: of the probe with the same jitter"
)

# Series have different marker shapes and colours, so that they can be distinguished in a grey print.
DOTS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class Rules:
    """The facts about the runs that are in the text below figures: the kernel, and the number of seeds."""

    kernel: str
    seeds: int

    def footer(self, *rules: str) -> str:
        return " · ".join((*rules, f"kernel: {self.kernel}"))

    @property
    def spread(self) -> str:
        """Return a sentence that explains the lines and areas of throughput."""
        return (
            f"line: mean of {self.seeds} seeds; thin line: median; band: their middle half"
            if self.seeds > 1
            else "one seed"
        )


def draw(frames: Mapping[str, Any], folder: Path, rules: Rules) -> list[DrawnFigure]:
    """Draw all figures into `folder`. If a figure's data are missing, the figure's `DrawnFigure` gives the reason."""
    return drawing.draw(KINDS, frames, folder, rules)


def pdfs(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 2: the distributions of one-way delays at `SHAPE_US`. Filled areas show the delays without the
    shaper. Outlines show the delays after the shaper."""
    figure = new_figure(COLUMN_IN, 2.6, rules.footer(PATH_RULES, PROBE_RULES))
    axes = figure.subplots()
    sigma_ms = SHAPE_US / 1e3
    # The exponential distribution begins one sigma below its mean, and has a long tail above its mean. The axis
    # therefore extends further to the right than to the left.
    x_ms = np.linspace(100 - 4 * sigma_ms, 100 + 6 * sigma_ms, 2001)
    # After the shaper, packets are 0.121 ms apart. A bin is twice as wide as the distance between two packets.
    edges = np.arange(x_ms[0], x_ms[-1], 2e3 / simulation.PROBE_RATE_PKTS_PER_S)
    for place, name in enumerate(DISTRIBUTIONS):
        style, shape = line_style(place), frames["shapes"][name]
        bars, outline = (_share_per_ms(delay_ns, edges) for delay_ns in (shape.netem_delay_ns, shape.delay_ns))
        axes.stairs(bars, edges, fill=True, color=style["color"], alpha=0.3, linewidth=0)
        axes.stairs(outline, edges, color=style["color"], linewidth=0.4)
        axes.plot(x_ms, simulation.pdf(name, (x_ms - 100) / sigma_ms) / sigma_ms, label=name, **style)
    axes.set_xlim(x_ms[0], x_ms[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("one-way delay, ms")
    axes.set_ylabel("density, 1/ms")
    axes.legend(title=f"sigma = {sigma_ms:g} ms", title_fontsize=6.5)
    return figure


def _share_per_ms(delay_ns: np.ndarray, edges_ms: np.ndarray) -> np.ndarray:
    """Return the density of delays, in 1/ms."""
    return np.histogram(delay_ns / 1e6, edges_ms)[0] / len(delay_ns) / np.diff(edges_ms)


def densities(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 3: the RD at the jitter of figure 2."""
    figure = new_figure(COLUMN_IN, 2.6, rules.footer(PATH_RULES, PROBE_RULES))
    axes = figure.subplots()
    shares = [
        Shares(frames["shapes"][name].displacement_pkts, frames["shapes"][name].share, name) for name in DISTRIBUTIONS
    ]
    draw_density(axes, shares, y_scale="linear")
    # The axis has the same range as the study's figure. A few packets of the exponential tail are outside the axis; the
    # data contain them.
    axes.set_xlim(-45, 65)
    axes.legend(title=f"sigma = {SHAPE_US / 1e3:g} ms", title_fontsize=6.5)
    return figure


def displacement(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 4: MD as a function of jitter, with the closed forms. The inset shows the study's values at 1 ms."""
    figure = new_figure(COLUMN_IN, 2.7, rules.footer(PATH_RULES, PROBE_RULES))
    axes = figure.subplots()
    table = ev.pivot(frames["probes"], "mean_displacement_pkts")
    _by_distribution(axes, table)
    ends_ms = np.array([0.0, table.index.max()])
    inset = axes.inset_axes((0.6, 0.09, 0.38, 0.4))
    # Lines extend to 2 ms, so that they cross the inset completely; the inset's axis ends at 1.3 ms.
    _by_distribution(inset, table[table.index <= 2])
    for place, name in enumerate(DISTRIBUTIONS):
        closed = [simulation.closed_form_pkts(name, end_ms / 1e3) for end_ms in ends_ms]
        axes.plot(ends_ms, closed, color=line_style(place)["color"], linewidth=0.5, linestyle=":", zorder=1)
        inset.plot(1.0, STUDY_MD_PKTS[name], zorder=5, **_CROSS)
    # The crosses themselves are only in the inset. A line without points therefore adds them to the legend.
    axes.plot([], [], label="the study, at 1 ms", **_CROSS)
    axes.plot([], [], color="#555555", linewidth=0.5, linestyle=":", label="closed form, no threshold")
    inset.tick_params(labelsize=5)
    inset.set_xlim(0.7, 1.3)
    inset.set_ylim(4, 9.5)
    axes.set_xlabel("jitter, ms (standard deviation)")
    axes.set_ylabel("mean displacement MD, packets")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(loc="upper left")
    return figure


_CROSS: dict[str, Any] = {"marker": "x", "markersize": 4, "color": "black", "linestyle": "none"}


def entropy(frames: Mapping[str, Any], rules: Rules) -> Figure:
    figure = new_figure(PAGE_IN, 2.6, rules.footer(PATH_RULES, PROBE_RULES))
    left, right = figure.subplots(1, 2, sharey=True)
    table = ev.pivot(frames["probes"], "entropy_nats")
    _by_distribution(left, table)
    # A logarithmic axis cannot show 0.
    _by_distribution(right, table[table.index > 0])
    right.set_xscale("log")
    right.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    left.set_xlim(left=0)
    left.set_ylim(bottom=0)
    left.set_ylabel("entropy E_r, nats")
    left.set_xlabel("jitter, ms (standard deviation)")
    right.set_xlabel("jitter, ms, logarithmic")
    left.legend(loc="lower right")
    return figure


def throughput_by_displacement(frames: Mapping[str, Any], rules: Rules) -> Figure:
    return _by_metric(frames, rules, "mean_displacement_pkts", "mean displacement MD, packets")


def throughput_by_entropy(frames: Mapping[str, Any], rules: Rules) -> Figure:
    return _by_metric(frames, rules, "entropy_nats", "entropy E_r, nats")


def four_algorithms(frames: Mapping[str, Any], rules: Rules) -> Figure:
    figure = new_figure(COLUMN_IN, 2.7, rules.footer(PATH_RULES, TCP_RULES, rules.spread))
    axes = figure.subplots()
    every = pd.concat([frames["transfers"], frames["yeah"]], ignore_index=True)
    for place, algorithm in enumerate((*ALGORITHMS, FOURTH)):
        line = ev.curve(every, frames["probes"], "normal", algorithm)
        _throughput(axes, line, "entropy_nats", ev.NAMES[algorithm], place)
    _throughput_axes(axes, "entropy E_r, nats (normal jitter)")
    return figure


def mechanisms(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the throughput of the four algorithms on each TCP, with normal jitter."""
    figure = new_figure(PAGE_IN, 2.5, rules.footer(PATH_RULES, TCP_RULES, _PROFILE_RULES))
    panels = figure.subplots(1, 4, sharey=True)
    for axes, algorithm in zip(panels, (*ALGORITHMS, FOURTH), strict=True):
        _by_profile(axes, frames, "normal", algorithm)
        axes.set_title(ev.NAMES[algorithm], loc="left", pad=3)
        axes.set_xlabel("entropy E_r, nats")
    panels[0].set_ylabel("mean throughput, Mbit/s")
    _legend_above(figure, panels[0])
    return figure


def mechanisms_by_distribution(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the throughput of BIC with the three distributions, in one panel per TCP. Figure 7 of the study shows these
    curves for a single TCP."""
    profiles = ev.profiles_of(frames["mechanisms"])
    figure = new_figure(PAGE_IN, 4.2, rules.footer(PATH_RULES, TCP_RULES, _PROFILE_RULES))
    grid = figure.subplots(-(-len(profiles) // _PANELS_A_ROW), _PANELS_A_ROW, sharey=True, sharex=True, squeeze=False)
    panels = grid.ravel()
    for axes, profile in zip(panels, profiles, strict=False):
        for place, name in enumerate(DISTRIBUTIONS):
            line = ev.curve(frames["mechanisms"], frames["probes"], name, "bic", profile)
            axes.plot(line["entropy_nats"], line["mean_bps"] / 1e6, marker=DOTS[place], markersize=2.5, label=name,
                      **line_style(place))  # fmt: skip
        axes.set_title(profile, loc="left", pad=3)
        axes.set_ylim(0, 100)
    for axes in panels[len(profiles) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("entropy E_r, nats")
    for axes in grid[:, 0]:
        axes.set_ylabel("mean throughput (BIC), Mbit/s")
    _legend_above(figure, panels[0])
    return figure


def _by_distribution(axes: Axes, table: pd.DataFrame) -> None:
    for place, name in enumerate(DISTRIBUTIONS):
        axes.plot(
            table.index, table[name], marker=DOTS[place], markersize=1.8, linewidth=0.9, label=name, **line_style(place)
        )


def _by_metric(frames: Mapping[str, Any], rules: Rules, column: str, label: str) -> Figure:
    figure = new_figure(COLUMN_IN, 2.7, rules.footer(PATH_RULES, TCP_RULES, rules.spread))
    axes = figure.subplots()
    for place, name in enumerate(DISTRIBUTIONS):
        line = ev.curve(frames["transfers"], frames["probes"], name, "bic")
        _throughput(axes, line, column, name, place)
    _throughput_axes(axes, f"{label} (BIC)")
    return figure


def _throughput(axes: Axes, line: pd.DataFrame, column: str, label: str, place: int) -> None:
    style = line_style(place)
    # Points are sorted by the metric instead of by jitter. If points were sorted by jitter, the line would run
    # backwards wherever the metric does not grow with jitter.
    line = line.sort_values(column, kind="stable")
    x = line[column]
    axes.fill_between(x, line["q1_bps"] / 1e6, line["q3_bps"] / 1e6, color=style["color"], alpha=0.2, linewidth=0)
    axes.plot(x, line["median_bps"] / 1e6, color=style["color"], linewidth=0.4)
    axes.plot(x, line["mean_bps"] / 1e6, marker=DOTS[place], markersize=2.2, linewidth=0.9, label=label, **style)
    # If some transfers took longer than their run, the mean depends on when the run ended. Such points are marked.
    late = line[line["unfinished"] > 0]
    if len(late):
        axes.plot(late[column], late["mean_bps"] / 1e6, **_CROSS)


def _throughput_axes(axes: Axes, label: str) -> None:
    axes.set_xlabel(label)
    axes.set_ylabel("throughput, Mbit/s")
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    axes.legend(loc="best")


def _by_profile(axes: Axes, frames: Mapping[str, Any], distribution: str, algorithm: str) -> None:
    for place, profile in enumerate(ev.profiles_of(frames["mechanisms"])):
        line = ev.curve(frames["mechanisms"], frames["probes"], distribution, algorithm, profile)
        axes.plot(line["entropy_nats"], line["mean_bps"] / 1e6, marker=DOTS[place], markersize=2.5, label=profile,
                  **line_style(place))  # fmt: skip
    axes.set_ylim(0, 100)


def _legend_above(figure: Figure, axes: Axes) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=len(names))


_PROFILE_RULES = (
    "linux: RACK; dupthresh: duplicate ACKs, threshold adapts up to 300; norack: threshold 3; classic: threshold 3, no "
    "DSACK, no timestamps, so nothing is undone; rack-draft: RACK of 2016, a window of 1 ms until reordering was seen, "
    "and duplicate ACKs; rack-4.14: that of Linux 4.11 to 4.14"
)
_PANELS_A_ROW = 3

_BAND = (
    "Line with marks: mean over seeds, as in the study; thin line: median; band: middle half of the seeds. A black "
    "cross: some transfers were not done at the end of their run and count with what they had delivered."
)

KINDS: Sequence[Kind[Rules]] = (
    Kind("fig2-pdf", "Fig. 2: the three distributions",
         "Lines: density around 100 ms with a standard deviation of 1.2475 ms. Areas: delays that netem gave the "
         "probe's packets (the same probe without a shaper). Thin outlines: with the shaper, whose queue and "
         "serialisation lengthen them and change no order.", ("shapes",), pdfs),
    Kind("fig3-density", "Fig. 3: reorder density",
         "RD of the three probes with a jitter of 1.2475 ms: share of packets by how many places they came late "
         "(positive) or early.", ("shapes",), densities),
    Kind("fig4-displacement", "Fig. 4: mean displacement",
         "MD of each probe. Dotted: sqrt(3)/2, sqrt(2/pi) and 2/e times jitter over spacing. Above some 4 ms packets "
         "displaced by more than 200 count as lost, which bends the lines of the distributions with long tails.",
         ("probes",), displacement),
    Kind("fig5-entropy", "Fig. 5: entropy",
         "E_r of each probe, over jitter and over its logarithm.", ("probes",), entropy),
    Kind("fig6-throughput-displacement", "Fig. 6: throughput over MD", f"BIC. {_BAND}", ("transfers", "probes"),
         throughput_by_displacement),
    Kind("fig7-throughput-entropy", "Fig. 7: throughput over E_r", f"BIC. {_BAND}", ("transfers", "probes"),
         throughput_by_entropy),
    Kind("fig8-algorithms", "Fig. 8: four congestion controls", f"Normal jitter. {_BAND}",
         ("transfers", "yeah", "probes"), four_algorithms),
    Kind("mechanisms", "Which mechanism decides: four algorithms",
         "The same transfers on TCPs that distinguish loss from reordering differently, normal jitter, coarser grid.",
         ("mechanisms", "probes"), mechanisms),
    Kind("mechanisms-distributions", "Which mechanism decides: three distributions",
         "BIC: what figure 7 is on each TCP, coarser grid.", ("mechanisms", "probes"),
         mechanisms_by_distribution),
)  # fmt: skip
