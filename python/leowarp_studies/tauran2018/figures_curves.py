# SPDX-License-Identifier: Apache-2.0
"""Figures over the SNR, with and without delayed ACKs (figures 3, 4, 5 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.report.style import AFTER, BEFORE, PAGE_IN, new_figure
from leowarp.study.statistics import Middle
from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018.rules import SESSION_RULES, STUDY_TCP, Rules
from leowarp_studies.tauran2018.runs import ALGORITHMS, OFF, ON

STYLES: dict[str, dict[str, Any]] = {
    ON: {"color": BEFORE, "linestyle": "-", "marker": "o", "label": "delayed ACKs on (40 ms)"},
    OFF: {"color": AFTER, "linestyle": (0, (5, 1.5)), "marker": "s", "markerfacecolor": "white",
          "label": "off: every segment acknowledged"},
}  # fmt: skip
"""The marker, dash and colour of each series. The series can be distinguished even in a grey print."""


@dataclass(frozen=True)
class Row:
    """A row of panels.

    column: The column of the data set `sessions` that the row shows.
    scale: The factor by which the values are multiplied.
    label: The label of the axis, with the unit.
    """

    column: str
    scale: float
    label: str


GOODPUT = Row("goodput_bps", 1e-3, "goodput,\nkbit/s")
TIMEOUTS = Row("timeouts_ratio", 100, "timeouts,\n% of packets")
DUPLICATES = Row("duplicate_acks_ratio", 100, "duplicate ACKs,\n% of packets")
SPURIOUS = Row("spurious_ratio", 100, "spurious re-\ntransmissions,\n% of packets")
BY_TIMEOUT = Row("timeout_retransmissions_ratio", 100, "retransmitted by\ntimeout, % of packets")


def goodput(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 3 of the study, with a further panel for Hybla."""
    return _grid(frames, rules, (GOODPUT,), ALGORITHMS, resequencing=False, height_in=2.2)


def signs(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 4 of the study."""
    return _grid(frames, rules, (TIMEOUTS, DUPLICATES, SPURIOUS), ALGORITHMS, resequencing=False, height_in=4.6)


def resequencing(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 5 of the study."""
    rows = (GOODPUT, TIMEOUTS, DUPLICATES, SPURIOUS)
    return _grid(frames, rules, rows, ALGORITHMS, resequencing=True, height_in=5.8)


def timeouts(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 7 of the study."""
    return _grid(frames, rules, (BY_TIMEOUT,), ALGORITHMS, resequencing=True, height_in=2.2)


def timers(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the variation of the RTT, and the RTO."""
    rows = (Row("rttvar_us", 1e-3, "RTT variation,\nms"), Row("rto_us", 1e-3, "RTO, ms"))
    return _grid(frames, rules, rows, ALGORITHMS[:2], resequencing=True, height_in=3.4)


def _grid(
    frames: Mapping[str, Any], rules: Rules, rows: Sequence[Row], algorithms: Sequence[str], *, resequencing: bool,
    height_in: float,
) -> Figure:  # fmt: skip
    """Draw panels with a row for each quantity and a column for each congestion control."""
    order = "packets put in order by the link" if resequencing else "packets not put in order"
    drawn = new_figure(PAGE_IN, height_in, rules.footer(SESSION_RULES, STUDY_TCP, order, rules.counted))
    panels = drawn.subplots(len(rows), len(algorithms), sharex=True, squeeze=False)
    snrs_db = np.array(ev.snrs_db(frames))
    for row, quantity in zip(panels, rows, strict=True):
        for axes, control in zip(row, algorithms, strict=True):
            for place, delayed in enumerate((ON, OFF)):
                values = ev.curve(frames, quantity.column, control, resequencing=resequencing, delayed_ack=delayed)
                # Points are shifted by 0.06 dB to the left or right, so that the intervals with and without delayed
                # ACKs do not hide each other.
                _line(axes, snrs_db + 0.06 * (2 * place - 1), values, quantity.scale, STYLES[delayed])
            axes.margins(y=0.08)
            # Axes start at 0, so that a change of some per cent looks small.
            axes.set_ylim(0, max(1.02 * axes.get_ylim()[1], axes.dataLim.y1 * 1.08))
        row[0].set_ylabel(quantity.label)
    for axes, control in zip(panels[0], algorithms, strict=True):
        axes.set_title(ev.label(control), loc="left", pad=3)
    for axes in panels[-1]:
        axes.set_xlabel("SNR, dB")
        axes.set_xticks(snrs_db, [f"{snr_db:g}" for snr_db in snrs_db])
    handles, texts = panels[0][0].get_legend_handles_labels()
    drawn.legend(handles, texts, loc="outside upper right", ncols=2)
    return drawn


def _line(axes: Axes, x: np.ndarray, values: Sequence[Middle], scale: float, style: Mapping[str, Any]) -> None:
    """Draw medians with their intervals. A point without a value leaves a gap."""
    medians = np.array([value.median for value in values]) * scale
    spread = np.array([[value.median - value.low, value.high - value.median] for value in values]).T * scale
    axes.errorbar(x, medians, yerr=spread, markersize=3.2, markeredgewidth=0.8, capsize=1.8, elinewidth=0.7, **style)
