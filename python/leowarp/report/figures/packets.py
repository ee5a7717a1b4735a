# SPDX-License-Identifier: Apache-2.0
"""Draw the packet diagram of one route change (fig. 2): when each packet left and arrived, and on which path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leowarp.base.errors import TraceError
from leowarp.metrics import ACK, DATA
from leowarp.metrics.inputs.tables import floats, truths
from leowarp.report.figures.around_changes import shown_change
from leowarp.report.labels import algorithm_of, footer_of, worded
from leowarp.report.style import AFTER, BAD, BEFORE, CHANGE_COLOUR, PAGE_IN, new_figure
from leowarp.results.run import Run

MARKS = 110
"""A reader can distinguish at most this number of marks of one kind on a page. If there are more marks, only every
second (third, ...) mark is drawn."""

TRACKS = 60
"""For about this many packets, a line is drawn from sending to arrival."""

NEAR_S = 1.0
"""The maximum time in s between a drawn change and the nearest sent packet. While a sender waits for a timeout, it
sends nothing for seconds. There may therefore be no packet near a change."""


@dataclass(frozen=True)
class _Around:
    """The numbered packets of a run's main flow that were sent within 3 s of a route change."""

    t_ns: int
    data: pd.DataFrame
    acks: pd.DataFrame
    zero: float
    mss: float

    @property
    def late(self) -> pd.DataFrame:
        return self.data[truths(self.data["is_late"])]

    def numbered_from(self, zero: float) -> _Around:
        """Return the packets with new numbers. The packet with sequence number `zero` gets the number 0."""
        return replace(self, zero=zero, data=self.data.assign(number=(self.data["seq"] - zero) / self.mss))

    def frame(self) -> tuple[float, float, float, float]:
        """Return the limits of the axes: lowest and highest number, begin and end in ms. The axes cover the late
        packets, the packets that overtook them, and the first retransmissions."""
        data, late, t_ns, zero = self.data, self.late, self.t_ns, self.zero
        if len(late) == 0:
            away_ns = (data["sent_ns"] - t_ns).abs()
            # A sender with a small window may send no packet within 60 ms of the change. In this case, the axis extends
            # 200 ms beyond the nearest packet. This time is about one round trip.
            reach_ns = 60e6 if (away_ns < 60e6).any() else float(away_ns.min()) + 200e6
            near = data[away_ns < reach_ns]
            low, high = float(near["number"].min()), float(near["number"].max())
            first_ms, last_ms = ((float(each) - t_ns) / 1e6 for each in (near["sent_ns"].min(), near["sent_ns"].max()))
            return low - 1, high + 1, min(-80.0, first_ms - 20), max(160.0, last_ms + 80)
        last_late_ns = float(late["received_ns"].max())
        overtook = data[(data["received_ns"] <= last_late_ns) & (data["sent_ns"] >= t_ns)]
        # Without the minimum of 10 packets, a few late packets would fill the panel's height, and the packets around
        # them would not be visible.
        spread = max(float(late["number"].max()), 10.0)
        high = max(float(overtook["number"].max()) if len(overtook) else spread, spread) + 0.55 * spread
        again = data[truths(data["is_retransmission"])]
        resent = again[(again["sent_ns"] >= t_ns) & (again["seq"] >= zero) & (again["seq"] <= late["seq"].max())]
        # The axis ends with the ninth decile of the retransmissions, so the latest tenth of them may lie outside. If
        # the axis included a retransmission after a timeout, the change would be compressed into a corner.
        end_ns = max(last_late_ns, float(resent["received_ns"].quantile(0.9)) if len(resent) else 0.0)
        left = (float(late["sent_ns"].min()) - t_ns) / 1e6
        right = (end_ns - t_ns) / 1e6
        margin = 0.06 * (right - left)
        return -0.25 * spread, high, left - margin, right + margin

    def draw(self, axes: Axes, limits: tuple[float, float, float, float], runs: Sequence[Run]) -> None:
        low, high, left_ms, right_ms = limits
        axes.set_xlim(left_ms, right_ms)
        axes.set_ylim(low, high)
        axes.set_xlabel(worded(runs, "time after the route change, ms"))
        data, t_ns = self.data, self.t_ns
        sent = (data["sent_ns"].to_numpy() - t_ns) / 1e6
        received = (floats(data["received_ns"]) - t_ns) / 1e6
        number = data["number"].to_numpy()
        # Only marks within the limits of the axes count towards `MARKS`.
        inside = (number >= low) & (number <= high)
        late, again = truths(data["is_late"]), truths(data["is_retransmission"])
        lost = np.isnan(received)
        # A packet's sending time determines its path: packets sent at or after the change take the new path.
        old = sent < 0
        near = np.flatnonzero(~lost & ~again & (np.abs(sent) < 200))
        for index in near[:: max(len(near) // TRACKS, 1)]:
            axes.plot([sent[index], received[index]], [number[index]] * 2, color=BEFORE if old[index] else AFTER,
                      linewidth=0.4, alpha=0.7, zorder=1)  # fmt: skip
        for keep, marker, colour, size, name in (
            (~again, "|", "#8c8c8c", 1.8, "sent"),
            (old & ~late & ~again, "o", BEFORE, 1.6, "arrived, old path"),
            (~old & ~late & ~again, "s", AFTER, 1.6, "arrived, new path"),
            (late, "x", BAD, 2.6, "arrived late (overtaken)"),
        ):
            when = sent if name == "sent" else received
            keep = _thinned(keep & inside)
            axes.plot(when[keep], number[keep], marker, color=colour, markersize=size, markeredgewidth=0.5, label=name,
                      zorder=3, linestyle="none")  # fmt: skip
        again = _thinned(again & inside)
        if again.any():
            axes.plot(sent[again], number[again], "^", color="black", markersize=2.6, markeredgewidth=0, zorder=4,
                      label="retransmission sent", linestyle="none")  # fmt: skip
            axes.plot(received[again], number[again], "v", markerfacecolor="none", color="black", markersize=2.6,
                      markeredgewidth=0.4, zorder=4, label="retransmission arrived", linestyle="none")  # fmt: skip
        if lost.any():
            axes.plot(sent[lost], number[lost], "D", color="black", markersize=2.4, zorder=4, label="lost", ls="none")
        arrived = self.acks.dropna(subset=["received_ns", "ack"]).sort_values("received_ns", kind="stable")
        if len(arrived):
            # ACKs can be overtaken as well, but the highest sequence number that the sender knows to be acknowledged
            # never decreases.
            level, when = np.maximum.accumulate(floats(arrived["ack"])), floats(arrived["received_ns"])
            axes.step((when - t_ns) / 1e6, (level - self.zero) / self.mss, where="post", color="#444444", linewidth=0.9,
                      linestyle="--", label="acknowledged at the sender", zorder=2)  # fmt: skip
        axes.axvline(0, color=CHANGE_COLOUR, linewidth=1.0, zorder=0.5, label=worded(runs, "route change"))


def packet_diagram(runs: Sequence[Run], *, change_s: float | None = None) -> Figure:
    """Draw sequence numbers over time around one route change: packets, late packets, retransmissions, and ACKs. The
    colour of an arrival shows whether the packet took the old or the new path.

    If a run has several flows, the diagram shows the flow that has the most late packets at a single change.

    change_s: The time of the change to show, in s. The default is the change with the most late packets.
    Raises TraceError if the packets around the change were not stored.
    """
    run, t_ns = shown_change(runs, change_s)
    around = _around(run, t_ns)
    figure = new_figure(PAGE_IN, 3.6, footer_of(runs[:1]))
    axes = figure.subplots()
    around.draw(axes, around.frame(), runs)
    axes.set_ylabel("packet number, from the first late one" if len(around.late) else "packet number, from the change")
    what = f"change at {t_ns / 1e9:g} s: {len(around.late)} packets overtaken"
    whose = run.flow_names[run.main_flow] if len(run.observed_plan.flows) > 1 else algorithm_of(run)
    axes.set_title(f"{run.name}, {whose}, {what}", loc="left")
    figure.legend(loc="outside upper center", ncols=5, markerscale=1.8, columnspacing=1.4)
    return figure


def packets_beside(runs: Sequence[Run], names: Sequence[str], *, change_s: float) -> Figure:
    """Draw the `packet_diagram` of one change in several runs, side by side, with the same packet numbers and axes.

    The runs must be equal until the change, so that each packet has the same number in all runs. Packet 0 is the first
    late packet of the first run.
    """
    t_ns = round(change_s * 1e9)
    everything = [_around(run, t_ns) for run in runs]
    everything = [around.numbered_from(everything[0].zero) for around in everything]
    frames = np.array([around.frame() for around in everything if len(around.late)] or [everything[0].frame()])
    limits = (frames[:, 0].min(), frames[:, 1].max(), frames[:, 2].min(), frames[:, 3].max())
    figure = new_figure(PAGE_IN, 3.4, footer_of(runs[:1]))
    panels = figure.subplots(1, len(runs), sharex=True, sharey=True, squeeze=False)[0]
    for axes, around, name in zip(panels, everything, names, strict=True):
        around.draw(axes, limits, runs)
        axes.set_title(f"{name}: {len(around.late)} packets overtaken", loc="left")
    panels[0].set_ylabel("packet number")
    # Legend entries are collected from all panels, because a mark may occur in only one of them.
    marks = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(marks.values(), marks.keys(), loc="outside upper center", ncols=5, markerscale=1.8, columnspacing=1.4)
    return figure


def _around(run: Run, t_ns: int) -> _Around:
    """Return the packets of a run that were sent around a change. The first late packet has number 0."""
    packets = run.tables.packets
    mine = packets[(packets["flow"] == run.main_flow) & (packets["sent_ns"] - t_ns).abs().le(3e9)]
    # The sort is stable, because segments that were cut from one large segment leave at the same time and must keep
    # their order.
    data = mine[(mine["direction"] == DATA) & (mine["len_bytes"] > 0)].sort_values("sent_ns", kind="stable")
    if len(data) == 0:
        raise TraceError(
            f"cannot draw the packets around {t_ns / 1e9:g} s of {run.path.name}: none were stored",
            hint='ask for them: --set observe.packets="changes"',
        )
    away_s = float((data["sent_ns"] - t_ns).abs().min()) / 1e9
    if away_s > NEAR_S:
        raise TraceError(
            f"cannot draw the packets around {t_ns / 1e9:g} s of {run.path.name}: none stored within {NEAR_S:g} s of it"
            f" (the nearest is {away_s:.1f} s away)",
            hint='choose another change (change_s), or store more packets: --set observe.packets="changes"',
        )
    mss = float(data["len_bytes"].max())
    late = data[truths(data["is_late"])]
    after = data[data["sent_ns"] >= t_ns]
    # There may be no packet after the change, because the sender may be waiting for a timeout.
    zero = float((late if len(late) else after if len(after) else data)["seq"].min())
    return _Around(t_ns, data, mine[mine["direction"] == ACK], zero, mss).numbered_from(zero)


def _thinned(keep: np.ndarray) -> np.ndarray:
    """Return a mask that keeps every n-th True value of `keep`, about `MARKS` in total."""
    chosen = np.flatnonzero(keep)
    few = np.zeros(len(keep), dtype=bool)
    few[chosen[:: -(-len(chosen) // MARKS) or 1]] = True
    return few
