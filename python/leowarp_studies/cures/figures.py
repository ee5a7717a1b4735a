# SPDX-License-Identifier: Apache-2.0
"""Draws the study's figures: late packets per cure, effects on senders, and costs. One figure shows all packets around
one change, with and without each cure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp import Run, TraceError
from leowarp.report import save
from leowarp.report.figures.packets import packets_beside
from leowarp.report.style import AFTER, BAD, BEFORE, OKABE_ITO, PAGE_IN, new_figure, styled
from leowarp.study import DrawnFigure, drawing
from leowarp.study.drawing import Kind
from leowarp.study.statistics import Middle, middle
from leowarp_studies.cures import evidence as ev
from leowarp_studies.cures import scalar
from leowarp_studies.cures.changes import BEFORE_S
from leowarp_studies.cures.rules import Rules
from leowarp_studies.cures.runs import LOADS, SATURATED
from leowarp_studies.cures.variants import BY_NAME, FROZEN, NONE, SHOWN, TCP_LABELS, TCPS

HOW = "medians over changes, with intervals of 95 % confidence between two order statistics"
STYLES: tuple[dict[str, Any], ...] = (
    {"color": BEFORE, "marker": "o"}, {"color": AFTER, "marker": "s", "markerfacecolor": "white"},
    {"color": OKABE_ITO[2], "marker": "^"}, {"color": BAD, "marker": "D", "markerfacecolor": "white"},
)  # fmt: skip
"""The marker shape and colour of each series. The series can be distinguished even in a grey print."""
PLACES = {True: "the sender's satellite changes", False: "other changes"}
"""The labels of the two kinds of route changes. The key says whether the sender's satellite changes. The two kinds
differ, because on a saturated path the queue is at the sender's own station."""
BESIDE = (NONE, *SHOWN)
"""The variants that are rows of the figures: first no cure, then each cure."""


def draw(frames: Mapping[str, Any], folder: Path, rules: Rules) -> list[DrawnFigure]:
    """Draw all figures into `folder`. If a figure's data are missing, its result gives the reason."""
    return [*drawing.draw(KINDS, frames, folder, rules), *_close(frames.get("close", {}), folder)]


def late(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the late packets per change for all TCPs, with one panel per load. Route changes at which the sender's
    station switches satellites are drawn separately."""
    loads = [load for load in LOADS if len(ev.rows(frames, NONE, load=load))]
    names = ev.present(frames, BESIDE)
    drawn = new_figure(PAGE_IN, 0.9 + 0.155 * len(names), rules.footer("all TCPs together"))
    panels = drawn.subplots(1, len(loads), sharey=True, squeeze=False)[0]
    for axes, load in zip(panels, loads, strict=True):
        for place, (at_sender, label) in enumerate(PLACES.items()):
            values = {name: ev.median(frames, name, "late_pkts", load=load, at_sender=at_sender) for name in names}
            _dots(axes, names, values, place, len(PLACES), label)
        _counts(axes)
        axes.set_title(load if load == SATURATED else f"{load} load", loc="left")
        axes.set_xlabel("late packets a change")
    _rows(panels[0], names)
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return drawn


def senders(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw three values for each TCP. Only changes at which the sender's station switches satellites are used. The
    values are spurious retransmissions, the payload that is missing compared with the oracle, and the depth of the dip
    in goodput."""
    names = ev.present(frames, BESIDE)
    which = {"at_sender": True}
    quantities = (
        (
            "spurious retransmissions a change",
            lambda name, tcp: ev.median(frames, name, "spurious_pkts", tcp=tcp, **which),
            1.0,
        ),
        (
            "payload lost in 5 s, %",
            lambda name, tcp: ev.lost_ratio(frames, name, ev.reference_of(name), tcp=tcp, **which),
            100.0,
        ),
        ("depth of the dip, %", lambda name, tcp: ev.median(frames, name, "dip_ratio", tcp=tcp, **which), 100.0),
    )
    drawn = new_figure(PAGE_IN, 0.9 + 0.22 * len(names), rules.footer("saturated", PLACES[True]))
    panels = drawn.subplots(1, len(quantities), sharey=True)
    for axes, (label, value, scale) in zip(panels, quantities, strict=True):
        tcps = [tcp for tcp in TCPS if len(ev.rows(frames, NONE, tcp=tcp))]
        for place, tcp in enumerate(tcps):
            _dots(axes, names, {name: value(name, tcp) for name in names}, place, len(tcps), TCP_LABELS[tcp], scale)
        axes.set_xlabel(label)
    _counts(panels[0])
    _rows(panels[0], names)
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=4)
    return drawn


def costs(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the costs of the cures: extra delay of a call and a ping, held packets, and extra packets."""
    names = [name for name in ev.present(frames, SHOWN)]
    which = {"at_sender": True}
    quantities = (
        (
            "added to the\ncall's p99, ms",
            lambda name: ev.added(frames, name, NONE, "call_p99_ns", **which),
            1e-6,
        ),
        (
            "added to the\nping's p99, ms",
            lambda name: ev.added(frames, name, NONE, "ping_p99_ns", **which),
            1e-6,
        ),
        ("kept back at one\nnode at most, kB", lambda name: ev.median(frames, name, "held_bytes", **which), 1e-3),
        (
            "markers, notices,\ncopies, kB a change",
            lambda name: ev.median(frames, name, "signalling_bytes", **which),
            1e-3,
        ),
    )
    drawn = new_figure(PAGE_IN, 0.8 + 0.155 * len(names), rules.footer("saturated", PLACES[True], "all TCPs"))
    panels = drawn.subplots(1, len(quantities), sharey=True)
    for axes, (label, value, scale) in zip(panels, quantities, strict=True):
        _dots(axes, names, {name: value(name) for name in names}, 0, 1, "", scale)
        axes.set_xlabel(label)
    for axes in panels[2:]:
        _counts(axes)
    _rows(panels[0], names)
    return drawn


def predictors(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """For each TCP and outcome, draw the share of the variance that each metric explains. The metrics are tested on
    runs that were not used for the fit."""
    table = frames["predictors"]
    names = list(scalar.NUMBERS)
    drawn = new_figure(PAGE_IN, 1.1 + 0.2 * len(names), rules.footer("transfers of torres2020 over jittered paths"))
    panels = drawn.subplots(1, len(scalar.OUTCOMES), sharey=True)
    for axes, outcome in zip(panels, scalar.OUTCOMES, strict=True):
        here = table[table["outcome"] == outcome]
        tcps = sorted(here["tcp"].unique())
        for place, tcp in enumerate(tcps):
            mine = here[here["tcp"] == tcp].set_index("number")["explained_ratio"]
            # A metric that predicts worse than the mean is drawn at 0; the table has the exact value.
            values = {name: middle([max(float(mine[name]), 0.0)]) for name in names if name in mine}
            _dots(axes, names, values, place, len(tcps), tcp, 100.0)
        axes.set_xlim(-3, 103)
        axes.set_title(outcome, loc="left")
        axes.set_xlabel("variance explained on other jitters, %")
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=4)
    return drawn


def _dots(
    axes: Axes, names: Sequence[str], values: Mapping[str, Middle], place: int, series: int, label: str,
    scale: float = 1.0,
) -> None:  # fmt: skip
    """Draw one mark with its interval per row."""
    shown = [(row, values[name]) for row, name in enumerate(names) if name in values and values[name].known]
    if not shown:
        return
    y = np.array([row for row, _ in shown]) + (place - (series - 1) / 2) * 0.62 / series
    medians = np.array([value.median for _, value in shown]) * scale
    spread = np.array([[value.median - value.low, value.high - value.median] for _, value in shown]).T * scale
    axes.errorbar(medians, y, xerr=spread, linestyle="none", markersize=3.2, markeredgewidth=0.8, capsize=1.4,
                  elinewidth=0.7, label=label, **STYLES[place])  # fmt: skip


def _counts(axes: Axes) -> None:
    """Make an axis for numbers from 0 to several hundred: linear up to 1, and logarithmic above 1."""
    axes.set_xscale("symlog", linthresh=1)
    # The axis starts slightly below 0, so that marks at 0 are not cut off. The axis ends at 10 or more, so that at
    # least two tick labels are visible.
    axes.set_xlim(-0.2, max(axes.get_xlim()[1], 10))
    # Station names may contain dollar signs, so formulas are disabled. Tick labels are therefore plain numbers.
    axes.xaxis.set_major_formatter("{x:g}")


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [BY_NAME[name].label for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)


KINDS: Sequence[Kind[Rules]] = (
    Kind("late", "What each cure leaves late",
         f"Late packets of the transfer because of a change, no cure first; {HOW}.", ("around",), late),
    Kind("senders", "What senders make of it",
         "Spurious retransmissions of what the change made late; payload that is missing against moving the queue and "
         "holding (of cures at the end host: against the same sender on a frozen path), over what the path carries in "
         f"5 s; depth of the dip of goodput in order; {HOW}.",
         ("around",), senders),
    Kind("costs", "What each cure costs",
         "A call of 50 packets a second and a ping of as many, from 1 s before to 4 s after the change, against the "
         f"same change without a cure; {HOW}.", ("around",), costs),
    Kind("predictors", "Which number of reordering predicts what TCP suffers",
         "A rising curve is fitted to the runs of every second jitter; shown is what it explains on the others. The "
         "last four numbers use the path's own RTT.", ("predictors",), predictors),
)  # fmt: skip


def _close(views: Mapping[str, Run], folder: Path) -> list[DrawnFigure]:
    """Draw all packets around one route change. Each figure shows a run with a cure beside the run without cures."""
    drawn = []
    for name in (name for name in BY_NAME if name in views and name not in (NONE, FROZEN)):
        variant, missing = BY_NAME[name], None
        try:
            with styled():
                drawn_one = packets_beside(
                    [views[NONE], views[name]], (BY_NAME[NONE].label, variant.label), change_s=BEFORE_S
                )
                save(drawn_one, folder / f"close-{name}")
        except (KeyError, TraceError) as error:
            missing = error.message if isinstance(error, TraceError) else "the run without a cure is missing"
        caption = f"The first change to a longer path, Madrid to Tokyo, CUBIC: {variant.why}."
        drawn.append(DrawnFigure(f"close-{name}", f"Packet by packet: {variant.label}", caption, missing))
    return drawn
