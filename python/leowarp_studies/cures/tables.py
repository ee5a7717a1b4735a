# SPDX-License-Identifier: Apache-2.0
"""The study's tables, for the page, for a paper and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.report import html
from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures import evidence as ev
from leowarp_studies.cures.variants import BY_NAME, FROZEN, NONE, SHOWN, TCP_LABELS, TCPS

ROWS = (NONE, FROZEN, *SHOWN)
GUIDE_LATE, GUIDE_SPURIOUS = ("reno", "cubic", "bbr"), ("reno", "cubic", "classic")
"""The table of docs/guides/route-changes.md shows late packets for `GUIDE_LATE`, and spurious retransmissions for
`GUIDE_SPURIOUS`."""
QUANTITIES = (
    "late_pkts", "spurious_pkts", "lost_pkts", "dip_ratio", "recovery_ns", "recoveries", "undos", "timeouts",
    "tail_loss_probes", "spike_ns", "ping_p50_ns", "ping_p99_ns", "ping_max_ns", "call_p50_ns", "call_p99_ns",
    "call_max_ns", "held_bytes", "held_ns", "signalling_bytes", "drops_pkts",
)  # fmt: skip
"""The columns whose medians are in the table for programs."""


def cures(frames: Mapping[str, Any]) -> str:
    """Return the main table. It has one row per cure, with values per route change and per hour."""
    tcps = [tcp for tcp in TCPS if len(ev.rows(frames, NONE, tcp=tcp))]
    rows = []
    for name in ev.present(frames, ROWS):
        late = [ev.median(frames, name, "late_pkts", at_sender=at_sender) for at_sender in (True, False)]
        hourly = "cubic" if "cubic" in tcps else tcps[0]
        rows.append([
            BY_NAME[name].label,
            *(value.text(1, 0) for value in late),
            _number(ev.per_hour(frames, name, "late_pkts", tcp=hourly)),
            *(_number(ev.per_hour(frames, name, "spurious_pkts", tcp=tcp)) for tcp in tcps),
            *(ev.lost_ratio(frames, name, ev.reference_of(name), tcp=tcp).text(100, 1) for tcp in tcps),
            ev.added(frames, name, NONE, "call_p99_ns").text(1e-6, 1),
            ev.added(frames, name, NONE, "ping_p99_ns").text(1e-6, 1),
            _number(float(ev.rows(frames, name)["held_bytes"].max()) / 1e3),
            _number(float(ev.rows(frames, name)["held_ns"].max()) / 1e6, 1),
            _number(float(ev.rows(frames, name)["signalling_bytes"].mean())),
        ])  # fmt: skip
    header = [
        "", "late, the sender's satellite changes", "late, other changes", "late an hour (CUBIC)",
        *(f"spurious an hour, {TCP_LABELS[tcp]}" for tcp in tcps),
        *(f"lost in 5 s, %, {TCP_LABELS[tcp]}" for tcp in tcps),
        "call p99, ms more", "ping p99, ms more", "kept back, kB at most", "ms at most", "signalling, bytes a change",
    ]  # fmt: skip
    caption = (
        "All cures at saturation. Medians over changes with their intervals; an hour is the mean of four pairs of "
        "cities; lost: payload missing against moving the queue and holding (of cures at the end host: against the "
        "same sender on a frozen path), of what the path carries in the 5 s after a change"
    )
    return html.table(caption, header, rows)


def guide(frames: Mapping[str, Any]) -> str:
    """Return the table of docs/guides/route-changes.md as Markdown, one row per cure.

    Hourly counts are means over the pairs of cities. The column `lost` is computed as in the function `cures`. Values
    for held packets and signalling are taken over all changes and TCPs. A missing number is shown as `-`.
    """
    rows = []
    for name in ev.present(frames, (NONE, *SHOWN)):
        late, spurious = (
            ", ".join(_number(ev.per_hour(frames, name, column, tcp=tcp)) for tcp in tcps)
            for column, tcps in (("late_pkts", GUIDE_LATE), ("spurious_pkts", GUIDE_SPURIOUS))
        )
        lost = [ev.lost_ratio(frames, name, ev.reference_of(name), tcp=tcp) for tcp in GUIDE_SPURIOUS]
        mine = ev.rows(frames, name)
        held = f"{mine['held_bytes'].max() / 1e3:,.0f} kB, {mine['held_ns'].max() / 1e6:.1f} ms"
        signalling = float(mine["signalling_bytes"].mean())
        rows.append([
            BY_NAME[name].label, late, spurious,
            *(value.text(100, 1) if value.known else "-" for value in lost),
            held if mine["held_bytes"].max() > 0 else "", f"{signalling:,.0f} B" if signalling > 0 else "",
        ])  # fmt: skip
    names = [", ".join(TCP_LABELS[tcp] for tcp in tcps) for tcps in (GUIDE_LATE, GUIDE_SPURIOUS)]
    header = [
        "cure", f"late an hour, {names[0]}", f"spurious an hour, {names[1]}",
        *(f"lost, {TCP_LABELS[tcp]}, %" for tcp in GUIDE_SPURIOUS), "kept back at a node at most",
        "signalling a change",
    ]  # fmt: skip
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def hours() -> str:
    """Return a table with the number of path changes per hour, for the shortest path and for a path that is used until
    it breaks."""
    rows = []
    for margin, how in (("0 %", "shortest"), ("unlimited", "kept until it breaks")):
        for row in route_changes.per_hour(margin).itertuples():
            rows.append([row.pair, how, row.longer, row.shorter, row.at_sender, f"{row.delay_ms:.3f}"])
    header = ["pair", "path", "to a longer path", "to a shorter path", "of both the sender's satellite", "delay, ms"]
    caption = "Route changes in the first hour, and the mean one-way delay"
    return html.table(caption, header, rows, left=frozenset((0, 1)))


def predictors(frames: Mapping[str, Any]) -> str:
    """Return a table that shows how well each metric predicts each outcome of each TCP."""
    table: pd.DataFrame = frames["predictors"]
    rows = [
        [row.outcome, row.tcp, row.number, f"{100 * row.explained_ratio:.1f}", f"{100 * row.error:.2f}",
         f"{row.rank_correlation:.2f}", row.runs]
        for row in table.sort_values(["outcome", "tcp", "explained_ratio"], ascending=[True, True, False]).itertuples()
    ]  # fmt: skip
    header = ["outcome", "TCP", "number", "variance explained, %", "error, points", "rank correlation", "runs"]
    caption = (
        "Judged on every second jitter, fitted to the others; the error is the root of the mean square, in per cent"
    )
    return html.table(caption, header, rows, left=frozenset((0, 1, 2)))


def frame(frames: Mapping[str, Any]) -> pd.DataFrame:
    """Return all medians in a form for programs, with the columns `variant, tcp, load, direction, quantity, median,
    low, high, count`. The name of a quantity contains its unit."""
    rows = []
    keys = ["variant", "tcp", "load", "direction"]
    for values, mine in frames["around"].groupby(keys, sort=True):
        for quantity in QUANTITIES:
            rows.append(
                dict(zip(keys, values, strict=True)) | {"quantity": quantity} | ev.middle(mine[quantity]).numbers()
            )
    return pd.DataFrame(rows)


def _number(value: float, digits: int = 0) -> str:
    return "-" if value != value else f"{value:,.{digits}f}"
