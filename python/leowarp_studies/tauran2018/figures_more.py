# SPDX-License-Identifier: Apache-2.0
"""Draws figure 6 of the study. Further figures show packets lost after HARQ, waiting times of ACKs, other TCPs, and the
effect of the assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp import TraceError
from leowarp.report.style import AFTER, BAD, BEFORE, OKABE_ITO, PAGE_IN, new_figure
from leowarp.study.statistics import Middle, middle
from leowarp_studies.tauran2018 import evidence as ev
from leowarp_studies.tauran2018.claims_link import packets_lost
from leowarp_studies.tauran2018.figures_curves import STYLES
from leowarp_studies.tauran2018.rules import SESSION_RULES, STUDY_TCP, UNFADED_RULES, Rules
from leowarp_studies.tauran2018.runs import (
    ADAPTIVE,
    ALGORITHMS,
    ASSUMPTIONS,
    BASE,
    BY_ACKS,
    OFF,
    ON,
    OTHER_TCPS,
    STUDY_PROFILE,
    setting,
)

BDP_PKTS = 40e6 * 0.18 / 8 / 1115
"""The path's bandwidth-delay product in packets, for a round trip of 180 ms and no HARQ."""

WINDOW_S = 5.0
"""The time axis of figure 6 ends at this time at the latest, in s."""

STUDY_LOST = ((7, 0.04), (13, 0.005))
"""Pairs from the study's text (claim 4.1). A pair is the SNR in dB, and the share of packets lost after all
retransmissions."""

ORDERED: dict[bool, dict[str, Any]] = {
    True: {"color": BEFORE, "marker": "o", "label": "with resequencing"},
    False: {"color": BAD, "marker": "^", "markerfacecolor": "white", "label": "without"},
}
"""The styles of sessions with and without resequencing, which differ in marker shape and colour."""


def window(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw figure 6 of the study."""
    growth = frames["growth"]
    drawn = new_figure(PAGE_IN, 2.3, rules.footer("one flow", STUDY_TCP, path=UNFADED_RULES))
    controls = [name for name in ("reno", "cubic", *BY_ACKS.values()) if (name, ON) in growth and (name, OFF) in growth]
    panels = drawn.subplots(1, len(controls), sharey=True)
    adaptive = {"color": OKABE_ITO[2], "linestyle": (0, (1.2, 1.2)), "label": "adaptive, as Linux is"}
    # The axis ends when the slowest flow has filled the path and a queue. The queue is as long as the path's
    # bandwidth-delay product. If the slowest flow never fills the path, its time is infinite. The axis then ends at
    # `WINDOW_S`, or at the end of the longest trace if this end is earlier.
    until_s = max(trace.reaches_s(2 * BDP_PKTS) for trace in growth.values())
    until_s = min(1.15 * until_s, WINDOW_S, max(float(trace.t_s[-1]) for trace in growth.values()))
    for axes, control in zip(panels, controls, strict=True):
        for delayed, style in (*STYLES.items(), (ADAPTIVE, adaptive)):
            if (control, delayed) in growth:
                trace = growth[control, delayed]
                # The curves have no markers, because their samples are dense.
                line = {key: value for key, value in style.items() if not key.startswith("marker")}
                axes.plot(trace.t_s, trace.cwnd_pkts, **line)
        axes.axhline(BDP_PKTS, color="#555555", linewidth=0.7, linestyle=":")
        axes.set_title(ev.label(control), loc="left", pad=3)
        axes.set_xlabel("time, s")
        axes.set_xlim(0, until_s)
    panels[0].set_ylabel("window, packets")
    panels[0].set_ylim(0, 2.6 * BDP_PKTS)
    handles, texts = panels[0].get_legend_handles_labels()
    drawn.legend(handles, texts, loc="outside upper right", ncols=3)
    return drawn


def link(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw two panels: the share of lost packets, and the number of retransmissions per codeword."""
    channel: pd.DataFrame = frames["codewords"]
    drawn = new_figure(PAGE_IN, 2.5, rules.footer(SESSION_RULES, STUDY_TCP, rules.counted))
    left, right = drawn.subplots(1, 2)
    lost = packets_lost(frames)
    snrs_db = np.array(list(lost))
    # Points are shifted by 0.06 dB to the left or right, so that the intervals of the two curves do not hide each
    # other.
    _points(left, snrs_db - 0.06, list(lost.values()), color=BEFORE, marker="o", linestyle="-", label="packets of TCP")
    each = [middle(rows["lost_ratio"]) for _, rows in channel.groupby("snr_db")]
    _points(left, np.sort(channel["snr_db"].unique()) + 0.06, each, color=AFTER, marker="s", markerfacecolor="white",
            linestyle=(0, (5, 1.5)), label="all codewords")  # fmt: skip
    left.plot(*np.array([(snr_db, 100 * ratio) for snr_db, ratio in STUDY_LOST]).T, "x", color="black", markersize=5,
              label="the study's text (13 dB: less)")  # fmt: skip
    # Between the lowest and the highest SNR, loss falls by a factor of about ten.
    left.set_yscale("log")
    left.set_yticks([0.2, 0.5, 1, 2, 5, 10, 20], ["0.2", "0.5", "1", "2", "5", "10", "20"])
    left.minorticks_off()
    left.set_ylabel("lost for good, %")
    left.set_xlabel("SNR, dB")
    left.legend(loc="lower left")
    # All seeds have the same number of codewords, so the means of the shares add up to 100 %. Their medians would not.
    shares = channel.groupby("snr_db").mean(numeric_only=True)
    columns = [*(f"decoded{again}_ratio" for again in range(4)), "lost_ratio"]
    names = ["at once", "after 1", "2", "3 retransmissions", "lost"]
    colours = ["#f2f2f2", "#c6dbef", "#6baed6", "#2171b5", BAD]
    start = np.zeros(len(shares))
    for column, name, colour, hatch in zip(columns, names, colours, ["", "", "", "", "////"], strict=True):
        values = 100 * shares[column].to_numpy()
        right.bar(shares.index, values, 0.72, bottom=start, color=colour, edgecolor="#333333", linewidth=0.4,
                  hatch=hatch, label=name)  # fmt: skip
        start += values
    right.set_xticks(shares.index, [f"{snr_db:g}" for snr_db in shares.index])
    right.set_ylim(0, 100)
    right.set_ylabel("codewords, %")
    right.set_xlabel("SNR, dB")
    handles, texts = right.get_legend_handles_labels()
    drawn.legend(handles, texts, loc="outside upper right", ncols=5, title=None)
    return drawn


def _points(axes: Axes, x: np.ndarray, values: Sequence[Middle], **style: Any) -> None:
    """Draw medians in percent with their intervals."""
    medians = np.array([value.median for value in values]) * 100
    spread = np.array([[value.median - value.low, value.high - value.median] for value in values]).T * 100
    axes.errorbar(x, medians, yerr=spread, markersize=3.2, capsize=1.8, elinewidth=0.7, **style)


def waits(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """One delayed ACK acknowledges a pair of packets. Draw the distribution of the time between the two packets."""
    drawn = new_figure(
        PAGE_IN, 2.3, rules.footer(SESSION_RULES, STUDY_TCP, "delayed ACKs on, packets put in order", "seed 1")
    )
    panels = drawn.subplots(1, 2, sharey=True)
    for axes, control in zip(panels, ("reno", "cubic"), strict=True):
        kept = {snr_db: trace for (name, delayed, ordered, snr_db), trace in sorted(frames["traces"].items())
                if (name, delayed, ordered) == (control, ON, True)}  # fmt: skip
        if not kept:
            raise TraceError(f"there is no session of {ev.label(control)} with resequencing and delayed ACKs")
        # The panels show the lowest and the highest SNR. `fromkeys` removes the second SNR if it equals the first.
        for place, snr_db in enumerate(dict.fromkeys((min(kept), max(kept)))):
            wait_ms, count = kept[snr_db].pair_waits()
            later = 100 * (1 - np.cumsum(count) / count.sum())
            axes.step(wait_ms, later, where="post", color=OKABE_ITO[place], linestyle=("-", (0, (5, 1.5)))[place],
                      label=f"{snr_db:g} dB")  # fmt: skip
        # The cross marks the study's value: 10 ms or more in 10 % of the cases (claim 4.10).
        axes.plot(10, 10, "x", color="black", markersize=5, label="the study's text")
        axes.set_yscale("log")
        axes.set_ylim(0.1, 110)
        axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        axes.minorticks_off()
        axes.set_xlim(0, 45)
        axes.set_title(ev.label(control), loc="left", pad=3)
        axes.set_xlabel("waiting time, ms")
    panels[0].set_ylabel("pairs that waited longer, %")
    panels[1].legend(loc="upper right")
    return drawn


def profiles(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the goodput of each TCP profile with and without delayed ACKs. The figure shows a single SNR. Every
    reproduction includes this SNR."""
    rows: pd.DataFrame = frames["profiles"]
    snr_db = 10.0
    here = rows[rows["snr_db"] == snr_db]
    tcps = [(profile, delayed) for profile, delayed in _all_tcps()
            if len(here[(here["profile"] == profile) & (here["delayed_ack"] == delayed)])]  # fmt: skip
    drawn = new_figure(PAGE_IN, 1.0 + 0.2 * len(tcps), rules.footer(SESSION_RULES, f"SNR {snr_db:g} dB", _seeds(rows)))
    panels = drawn.subplots(1, len(ALGORITHMS), sharey=True, sharex=True)
    for axes, control in zip(panels, ALGORITHMS, strict=True):
        for place, (profile, delayed) in enumerate(tcps):
            mine = here[(here["profile"] == profile) & (here["delayed_ack"] == delayed)
                        & (here["congestion_control"] == control)]  # fmt: skip
            for ordered, style in ORDERED.items():
                value = middle(mine.loc[mine["resequencing"] == ordered, "goodput_bps"])
                _dot(axes, place, value, 1e-6, style)
        axes.set_title(ev.label(control), loc="left", pad=3)
        axes.set_xlabel("goodput, Mbit/s")
        axes.set_xscale("log")
        axes.set_xticks(_DECADES, [f"{value:g}" for value in _DECADES])
        axes.minorticks_off()
    low, high = here["goodput_bps"].min() / 1e6, here["goodput_bps"].max() / 1e6
    panels[0].set_xlim(low / 1.3, high * 1.3)
    panels[0].set_yticks(range(len(tcps)), [f"{profile}, delayed ACKs {delayed}" for profile, delayed in tcps])
    panels[0].invert_yaxis()
    _legend_once(drawn, panels[0])
    return drawn


_DECADES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def _all_tcps() -> list[tuple[str, str]]:
    """Return pairs (profile, setting of delayed ACKs) in the order of the figure's rows. The study's TCP comes
    first."""
    order = {ON: 0, OFF: 1, ADAPTIVE: 2}
    tcps = {(STUDY_PROFILE, ON), (STUDY_PROFILE, OFF), *OTHER_TCPS}
    names = ["newreno", "classic", "linux"]
    return sorted(tcps, key=lambda tcp: (names.index(tcp[0]), order[tcp[1]]))


def assumptions(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw how the goodput changes if one assumption at a time is changed. Also draw how the effect of delayed ACKs on
    goodput changes."""
    rows: pd.DataFrame = frames["assumptions"]
    settings = [(BASE, "as in all other figures")] + [
        (setting(each, value), f"{each.label}: {value}") for each in ASSUMPTIONS for value in each.others
    ]
    settings = [(name, text) for name, text in settings if (rows["setting"] == name).any()]
    panels_of = [("reno", "goodput"), ("cubic", "goodput"), ("reno", "change"), ("cubic", "change")]
    panels_of = [(control, what) for control, what in panels_of if _has(rows, control, what)]
    if not panels_of:
        raise TraceError("no run has an assumption changed")
    drawn = new_figure(
        PAGE_IN, 1.0 + 0.16 * len(settings), rules.footer(SESSION_RULES, STUDY_TCP, "SNR 10 dB", _seeds(rows))
    )
    panels = drawn.subplots(1, len(panels_of), sharey=True, squeeze=False)[0]
    for axes, (control, what) in zip(panels, panels_of, strict=True):
        mine = rows[rows["congestion_control"] == control]
        for place, (name, _) in enumerate(settings):
            here = mine[mine["setting"] == name]
            for ordered, style in ORDERED.items():
                there = here[here["resequencing"] == ordered]
                # A quick reproduction has only sessions without delayed ACKs, so the panel of goodput shows these
                # sessions.
                off = there[there["delayed_ack"] == OFF]
                if what == "goodput":
                    _dot(axes, place, middle(off["goodput_bps"]), 1e-6, style)
                else:
                    # Sessions are paired by seed, so both sessions of a pair have the same fading.
                    both = there[there["delayed_ack"] == ON].merge(off, on="seed", suffixes=("_on", "_off"))
                    change = (both["goodput_bps_on"] / both["goodput_bps_off"] - 1) * 100
                    _dot(axes, place, middle(change), 1.0, style)
        if what == "change":
            axes.axvline(0, color="#555555", linewidth=0.6, linestyle=":")
        else:
            axes.set_xlim(left=0)
        axes.set_title(ev.label(control), loc="left", pad=3)
        axes.set_xlabel("goodput, delayed\nACKs off, Mbit/s" if what == "goodput" else "change by\ndelayed ACKs, %")
    panels[0].set_yticks(range(len(settings)), [text for _, text in settings])
    panels[0].invert_yaxis()
    _legend_once(drawn, panels[0])
    return drawn


def _has(rows: pd.DataFrame, control: str, what: str) -> bool:
    """Return true if a panel has runs."""
    changed = rows[(rows["congestion_control"] == control) & (rows["setting"] != BASE)]
    wanted = {OFF} if what == "goodput" else {ON, OFF}
    return wanted <= set(changed["delayed_ack"])


def _dot(axes: Axes, place: float, value: Middle, scale: float, style: Mapping[str, Any]) -> None:
    """Draw a median with its interval. Nothing is drawn if there is no run."""
    if value.known:
        axes.plot([value.low * scale, value.high * scale], [place, place], color=style["color"], linewidth=1.2)
        axes.plot(value.median * scale, place, linestyle="none", markersize=3.6, **style)


def _seeds(rows: pd.DataFrame) -> str:
    """Return a text below a figure about the number of seeds."""
    count = rows["seed"].nunique()
    return "1 seed" if count == 1 else f"up to {count} seeds"


def _legend_once(drawn: Figure, axes: Axes) -> None:
    """Add a legend to a figure that lists each name in the panel `axes` once."""
    handles, texts = axes.get_legend_handles_labels()
    named = dict(zip(texts, handles, strict=True))
    drawn.legend(list(named.values()), list(named), loc="outside upper right", ncols=len(named))
