# SPDX-License-Identifier: Apache-2.0
"""Draw the mobile channel during a run: received power, outcomes of codewords, and goodput over the same time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray

from leowarp.media.mobile import harq_of
from leowarp.metrics import goodput
from leowarp.report.curves.fading import draw_states
from leowarp.report.figures.manyflows import draw_bands
from leowarp.report.labels import MOST_LINES, footer_of, mobile_of
from leowarp.report.style import BAD, BEFORE, PAGE_IN, highest_of, line_style, mark_changes, new_figure
from leowarp.results.run import Run
from leowarp.timeline.channel import Harq, PowerSeries, Realisation
from leowarp.timeline.channel.mutual_information import BITS_PER_SYMBOL, snr_for

PIXELS = 700
"""The number of pixel columns in which the power is drawn."""

MOST_BINS = 300
BINS_S = (0.1, 1, 2, 5, 10, 30, 60, 300, 900, 3600)

TOLD_APART = 4
"""Codewords with at least this number of retransmissions share one colour."""

BLUES = ("#deebf7", "#9ecae1", "#4292c6", "#08519c", "#04264d")


def channel_over_time(runs: Sequence[Run]) -> Figure:
    """Draw three panels of the first run: the received Es/N0, the outcomes of codewords, and the goodput.

    Raises TraceError for the same reasons as `Run.realisation`.
    """
    run = runs[0]
    found, end_s = run.realisation, run.end_ns / 1e9
    mobile = mobile_of(run)
    assert mobile is not None, "else it has no realisation"
    bin_s = bin_length_s(end_s)
    # A run that has only pings has a mobile channel, but no goodput.
    has_goodput = bool(run.tcp_flows) and run.plan.observe.sockets_ns is not None and run.tables.has("sockets")
    heights = (0.12, 1.5, 1.2, 1.0)[: 4 if has_goodput else 3]
    figure = new_figure(PAGE_IN, 0.95 + 1.12 * sum(heights), footer_of(runs[:1]))
    panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    changes_s = sorted({t_ns / 1e9 for t_ns in run.numbers.route_changes["t_ns"]})
    for axes in panels[1:]:
        mark_changes(axes, changes_s)
    draw_power(panels[0], panels[1], found.power, mobile.snr_db)
    draw_thresholds(panels[1], harq_of(mobile), found.outcomes.first_bits)
    draw_codewords(panels[2], found, mobile.retransmissions, end_s, bin_s)
    if has_goodput:
        _draw_goodput(panels[3], run, bin_s)
    panels[-1].set_xlim(0, end_s)
    panels[-1].set_xlabel("time, s (pink: route changes)" if changes_s else "time, s")
    return figure


def bin_length_s(end_s: float) -> float:
    """Return the shortest length in `BINS_S` with which there are at most `MOST_BINS` bins."""
    return next((length for length in BINS_S if end_s / length <= MOST_BINS), end_s / MOST_BINS)


def draw_power(strip: Axes, axes: Axes, power: PowerSeries, snr_db: float) -> None:
    """Draw the median and the middle 90 % of the received Es/N0 in each pixel column. A strip above the curves shows
    the state with the longest duration in each column.

    snr_db: The Es/N0 in dB with a line of sight.
    """
    size = -(-len(power.level_db) // PIXELS)
    columns = -(-len(power.level_db) // size)
    padding = (0, columns * size - len(power.level_db))
    # The last column is padded with copies of the last sample. Padding with zeros would be wrong, because 0 dB is the
    # level with a line of sight.
    level_db = np.pad(power.level_db, padding, mode="edge").reshape(columns, size) + snr_db
    states = np.pad(power.states, padding, mode="edge").reshape(columns, size)
    edges_s = np.arange(columns + 1) * size * power.spacing_ns * 1e-9
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2 if size > 1 else edges_s[:-1]
    if size > 1:
        low_db, high_db = np.quantile(level_db, (0.05, 0.95), axis=1)
        axes.fill_between(middles_s, low_db, high_db, color="#a6cee3", linewidth=0, label="middle 90 %")
    axes.plot(
        middles_s, np.median(level_db, axis=1), color=BEFORE, linewidth=0.8, label="median" if size > 1 else "level"
    )
    most = np.argmax([np.count_nonzero(states == index, axis=1) for index in range(len(power.state_names))], axis=0)
    draw_states(strip, edges_s, most, power.state_names)
    strip.set_title(f"Received Es/N0; at line of sight {snr_db:g} dB", loc="left", pad=3)
    axes.set_ylabel("Es/N0, dB")
    axes.margins(x=0)


def draw_thresholds(axes: Axes, harq: Harq, first_bits: int) -> None:
    """Draw the lowest constant Es/N0 at which the first transmission, and all together, decode a codeword."""
    lines = [(first_bits, 1, "first transmission decodes", "--")]
    if harq.retransmissions and harq.kind == "incremental":
        lines.append((harq.codeword_bits, 1, "whole codeword decodes", ":"))
    elif harq.retransmissions:
        lines.append((first_bits, harq.retransmissions + 1, "all transmissions decode", ":"))
    for bits, times, label, dashes in lines:
        # A codeword can be decoded once the received mutual information is `needed_ratio` times its number of data bits
        # (design/lms-harq.md). Each of the codeword's symbols must carry an equal part of the information that decoding
        # needs.
        symbol = harq.needed_ratio * harq.data_bits / bits * BITS_PER_SYMBOL[harq.modulation]
        # No line is drawn if a symbol cannot carry its part of the information even at an infinite Es/N0.
        if symbol < BITS_PER_SYMBOL[harq.modulation]:
            # Chase combining adds the energy of `times` equal transmissions. Each transmission therefore needs the
            # Es/N0 divided by `times`.
            level_db = 10 * np.log10(snr_for(harq.modulation, symbol) / times)
            words = f"{label}: {level_db:.1f} dB".replace("-", "\N{MINUS SIGN}")
            axes.axhline(level_db, color="#333333", linewidth=0.9, linestyle=dashes, label=words)
    # The lower limit leaves space for the legend below the deepest fade.
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.12 * (high - low), high)
    axes.legend(loc="lower left", ncols=4, frameon=True, framealpha=0.85, edgecolor="none", borderpad=0.2)


def draw_codewords(axes: Axes, found: Realisation, most: int, end_s: float, bin_s: float) -> None:
    """Draw the shares of codewords over their start time, stacked: decoded after 0, 1, ... retransmissions, and lost.

    most: The maximum number of retransmissions of a codeword.
    """
    shares, names = codeword_shares(found, most, end_s, bin_s)
    edges_s = np.minimum(np.arange(shares.shape[1] + 1) * bin_s, end_s)
    low = np.zeros(shares.shape[1])
    for index, (name, share) in enumerate(zip(names, shares, strict=True)):
        lost = name == "lost"
        look: dict[str, Any] = {"hatch": "//////", "edgecolor": "#7a3500", "linewidth": 0} if lost else {}
        axes.stairs(low + share, edges_s, baseline=low, fill=True, color=None if lost else BLUES[index],
                    facecolor=BAD if lost else BLUES[index], label=name, **look)  # fmt: skip
        low = low + share
    axes.set(ylim=(0, 100), ylabel="codewords, %")
    axes.yaxis.set_major_locator(MultipleLocator(25))
    axes.set_title(f"Codewords by retransmissions, {_by(bin_s)}", loc="left", pad=3)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(names), borderaxespad=0.2, handlelength=1.2,
                columnspacing=1.2)  # fmt: skip


def codeword_shares(found: Realisation, most: int, end_s: float, bin_s: float) -> tuple[NDArray[np.float64], list[str]]:
    """Return the percentage of each kind of codeword among those that begin in each bin, of shape (kinds, bins), and
    the names of the kinds. The last name is "lost"."""
    outcomes, told = found.outcomes, min(most, TOLD_APART)
    kinds = np.where(outcomes.lost, told + 1, np.minimum(outcomes.retransmissions, told))
    # A billionth is subtracted: a quotient of floats may be slightly above an integer, which would add an empty bin.
    bins = max(1, int(np.ceil(end_s / bin_s - 1e-9)))
    place = np.minimum(found.starts_ns // round(bin_s * 1e9), bins - 1)
    counts = np.bincount(place * (told + 2) + kinds, minlength=bins * (told + 2)).reshape(bins, told + 2)
    # If no codeword begins in a bin, its shares are undefined. Undefined shares are drawn as 0, because matplotlib
    # cannot draw a stack that contains nan.
    shares = 100 * counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    names = [*map(str, range(told + 1)), "lost"]
    if most > TOLD_APART:
        names[told] += " or more"
    return shares.T, names


def _draw_goodput(axes: Axes, run: Run, bin_s: float) -> None:
    frames = {flow: goodput(run.tables, flow, "in_order", round(bin_s * 1e9)) for flow in run.tcp_flows}
    if len(frames) > MOST_LINES:
        draw_bands(axes, [(frame["t_ns"].to_numpy() / 1e9 + bin_s / 2, frame["goodput_bps"].to_numpy() / 1e6)
                          for frame in frames.values()])  # fmt: skip
        frames = {}
    for number, (flow, frame) in enumerate(frames.items()):
        if len(frame):
            edges_s = np.append(frame["t_ns"] / 1e9, frame["t_ns"].iloc[-1] / 1e9 + bin_s)
            words = run.flow_names[flow]
            axes.stairs(frame["goodput_bps"] / 1e6, edges_s, baseline=None, label=words, **line_style(number))
    axes.set_ylabel("goodput, Mbit/s")
    axes.set_ylim(0, 1.08 * highest_of(axes))
    axes.set_title(f"Goodput in order at the receiver, {_by(bin_s)}", loc="left", pad=3)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)


def _by(bin_s: float) -> str:
    return "by the second" if bin_s == 1 else f"bins of {bin_s:g} s"
