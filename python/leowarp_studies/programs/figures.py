# SPDX-License-Identifier: Apache-2.0
"""The figures of the study: goodput by sender and path, spurious declarations of loss, and single packets at a
change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp import Run, TraceError
from leowarp.report.style import AFTER, BAD, BEFORE, OKABE_ITO, PAGE_IN, new_figure
from leowarp.study.drawing import Kind
from leowarp_studies.cures.changes import BEFORE_S
from leowarp_studies.programs import evidence as ev
from leowarp_studies.programs.rules import Rules
from leowarp_studies.programs.runs import CHANGES, MOBILE, MOVING, SHARE, STARLINK, STILL
from leowarp_studies.programs.senders import BY_NAME, NGTCP2, QUIC, QUINN, SENDERS

TITLES = {CHANGES: "Route change", STARLINK: "Profile starlink", MOBILE: "Mobile channel", SHARE: "Beside CUBIC"}
CONDITIONS = {
    MOVING: {"color": BEFORE, "marker": "o", "label": "as it is"},
    STILL: {"color": AFTER, "marker": "s", "markerfacecolor": "white", "label": "control: nothing changes, order kept"},
}
"""The styles of the conditions. Marker shapes and colours differ, so that series can be distinguished in a grey
print."""
CLOSE = (QUINN, NGTCP2)
"""The stacks for which a figure shows single packets."""
CLOSE_S = (-0.15, 0.45)
"""The first and last time that the figure of single packets shows, in s relative to the path change."""


def goodput(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw the goodput of each sender, with one panel per path and one marker per run."""
    names = [sender.name for sender in SENDERS if sender.name in set(frames["runs"]["sender"])]
    groups = [group for group in TITLES if len(ev.rows(frames, group, condition=None))]
    drawn = new_figure(
        PAGE_IN, 1.1 + 0.2 * len(names), rules.footer("transfers of 20 MB, over the mobile channel of 6 MB")
    )
    panels = drawn.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for axes, group in zip(panels, groups, strict=True):
        for place, (condition, style) in enumerate(CONDITIONS.items()):
            mine = ev.rows(frames, group, condition=condition)
            rows = mine["sender"].map(names.index).to_numpy() + (place - 0.5) * 0.3
            values = mine["share_ratio"] * 100 if group == SHARE else mine["goodput_bps"] / 1e6
            axes.plot(
                values.to_numpy(dtype="float64"), rows, linestyle="none", markersize=3.4, markeredgewidth=0.8, **style
            )
        axes.set_title(TITLES[group], loc="left")
        axes.set_xlabel("share of the link, %" if group == SHARE else "goodput, Mbit/s")
        axes.set_xlim(0, 100 if group == SHARE else 1.08 * max(axes.get_xlim()[1], 0.1))
        if group == SHARE:
            axes.axvline(50, color="0.75", linewidth=0.8, zorder=0)
    _rows(panels[0], names)
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return drawn


def in_vain(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """For each sender, draw the mean number of late packets, packets declared lost, and losses that the sender found
    spurious.

    Raises TraceError if no packet was late.
    """
    names = [sender.name for sender in SENDERS if sender.name in set(frames["runs"]["sender"])]
    groups = [group for group in (CHANGES, MOBILE) if ev.rows(frames, group)["late_pkts"].sum() > 0]
    if not groups:
        raise TraceError("no packet was late in any run")
    drawn = new_figure(PAGE_IN, 1.0 + 0.24 * len(names), rules.footer("means over runs"))
    panels = drawn.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    kinds = (("late_pkts", "late", "0.8", ""), ("spurious_pkts", "of these taken for lost", BAD, ""),
             ("found_spurious_pkts", "which the sender found out", OKABE_ITO[2], "///"))  # fmt: skip
    for axes, group in zip(panels, groups, strict=True):
        means = ev.rows(frames, group).groupby("sender")[[column for column, *_ in kinds]].mean()
        for place, (column, label, colour, hatch) in enumerate(kinds):
            shown = [name for name in names if name in means.index and not np.isnan(means.loc[name, column])]
            axes.barh([names.index(name) + (place - 1) * 0.26 for name in shown], means.loc[shown, column], 0.24,
                      color=colour, hatch=hatch, edgecolor="white", linewidth=0.4, label=label)  # fmt: skip
        axes.set_title(TITLES[group], loc="left")
        axes.set_xlabel("packets a transfer")
    _rows(panels[0], names)
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return drawn


def close(frames: Mapping[str, Any], rules: Rules) -> Figure:
    """Draw one route change for two stacks. The figure shows when every datagram was sent, and when it arrived.

    Raises TraceError if the runs of both stacks are missing.
    """
    shown = {name: run for name in CLOSE if (run := _first_run(frames, name)) is not None}
    if not shown:
        raise TraceError(f"the runs of {' and '.join(BY_NAME[name].label for name in CLOSE)} are missing")
    drawn = new_figure(PAGE_IN, 3.1, rules.footer("the first change, Madrid to Tokyo"))
    panels = drawn.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, run) in zip(panels, shown.items(), strict=True):
        _close_panel(axes, _datagrams(run))
        axes.set_title(BY_NAME[name].label, loc="left")
        axes.set_xlabel("after the change, ms")
    panels[0].set_ylabel("datagram, from the first one after the change")
    # The legend is taken from the panel with the most entries, because a panel without losses has no entry for lost
    # packets.
    fullest = max(panels, key=lambda axes: len(axes.get_legend_handles_labels()[1]))
    drawn.legend(*fullest.get_legend_handles_labels(), loc="outside upper right", ncols=4)
    return drawn


def _first_run(frames: Mapping[str, Any], sender: str) -> Path | None:
    mine = ev.rows(frames, CHANGES, sender=sender)
    mine = mine[mine["run"].map(lambda path: Path(path).is_dir())]
    return Path(mine["run"].iloc[0]) if len(mine) else None


def _datagrams(run: Path) -> pd.DataFrame:
    """Return the packets that the transfer's source sent on its connection, sorted by `number`. Number 0 is the first
    packet after the change. The columns are `sent_ms, received_ms` relative to the change, and `is_late`. Packets sent
    outside of `CLOSE_S` are left out."""
    opened = Run(run)
    flow = max((flow for flow in opened.summary["flows"] if flow["kind"] == "udp"), key=lambda flow: flow["sent_pkts"])
    echoes = opened.echoes(flow["flow"]).sort_values("sent_ns")
    frame = pd.DataFrame({
        "sent_ms": (echoes["sent_ns"].to_numpy(dtype="float64") - BEFORE_S * 1e9) / 1e6,
        "received_ms": (echoes["received_ns"].to_numpy(dtype="float64", na_value=np.nan) - BEFORE_S * 1e9) / 1e6,
    })  # fmt: skip
    frame["number"] = np.arange(len(frame)) - int((frame["sent_ms"] < 0).sum())
    # A packet was overtaken if a packet that was sent later arrived earlier.
    frame["is_late"] = frame["received_ms"] > frame["received_ms"][::-1].cummin()[::-1]
    shown = [frame[column].between(1e3 * CLOSE_S[0], 1e3 * CLOSE_S[1]) for column in ("sent_ms", "received_ms")]
    return frame[shown[0] | shown[1]]


def _close_panel(axes: Axes, frame: pd.DataFrame) -> None:
    late, lost = frame["is_late"], frame["received_ms"].isna()
    dots: dict[str, Any] = {"linestyle": "none", "markersize": 1.6, "markeredgewidth": 0}
    axes.plot(frame["sent_ms"], frame["number"], marker="o", color="0.6", label="sent", **dots)
    axes.plot(frame["received_ms"][~late], frame["number"][~late], marker="o", color=BEFORE, label="arrived", **dots)
    axes.plot(frame["received_ms"][late], frame["number"][late], marker="s", color=BAD, label="arrived late",
              **dots | {"markersize": 2.2})  # fmt: skip
    if lost.any():
        axes.plot(frame["sent_ms"][lost], frame["number"][lost], marker="x", color="black", label="dropped",
                  **dots | {"markersize": 3, "markeredgewidth": 0.7})  # fmt: skip
    axes.axvline(0, color="0.75", linewidth=0.8, zorder=0)
    axes.set_xlim(1e3 * CLOSE_S[0], 1e3 * CLOSE_S[1])


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [BY_NAME[name].label for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)


KINDS: Sequence[Kind[Rules]] = (
    Kind("goodput", "What each sender gets",
         "Payload over completion time, a mark a run. Control: routes frozen, no reconfiguration, resequencing. Beside "
         "CUBIC, over the frozen path: share of what arrives of both.", ("runs",), goodput),
    Kind("in-vain", "What is taken for lost and is only late",
         "TCP: spurious retransmissions. QUIC: packets declared lost, less those lost on the way. quinn does not tell "
         "what it found out; of TCP it is not asked.", ("runs",), in_vain),
    Kind("close", "One change, packet by packet",
         "Every datagram of the transfer. What waits at the abandoned first link arrives after what was sent over the "
         f"new one. {' and '.join(BY_NAME[name].label for name in QUIC if name in CLOSE)}.", ("runs",), close),
)  # fmt: skip
