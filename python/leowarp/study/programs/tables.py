# SPDX-License-Identifier: Apache-2.0
"""The study's table, for the page and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.report import html
from leowarp.study.programs import evidence as ev
from leowarp.study.programs.figures import TITLES
from leowarp.study.programs.runs import MOVING, SHARE, STILL
from leowarp.study.programs.senders import BY_NAME
from leowarp.study.statistics import Middle, middle

CONDITIONS = {MOVING: "as it is", STILL: "control"}


def senders(frames: Mapping[str, Any]) -> str:
    """The one table: a row a path, condition and sender."""
    rows = []
    for group, title in TITLES.items():
        for condition, word in CONDITIONS.items():
            for name in ev.present(frames, group):
                mine = ev.rows(frames, group, condition=condition, sender=name)
                if len(mine):
                    path = title if group == SHARE else f"{title}, {word}"
                    rows.append([path, BY_NAME[name].label, BY_NAME[name].congestion_control, *_cells(mine)])
    header = [
        "path", "sender", "congestion control", "runs", "goodput, Mbit/s", "sent, packets", "lost", "late",
        "taken for lost in vain", "found out by the sender", "missing in 3 s, %", "dip, %", "recovery, ms", "share, %",
    ]  # fmt: skip
    caption = (
        "All senders. Goodput is payload over completion time: median, least and largest of the runs; the other "
        "numbers are means. Missing, dip (of 300 ms) and recovery (until 90 %): after a route change, against the same "
        "sender on the frozen path"
    )
    return html.table(caption, header, rows, left=frozenset((0, 1, 2)))


def _cells(mine: pd.DataFrame) -> list[Any]:
    goodput: Middle = middle(mine["goodput_bps"])
    return [
        len(mine), goodput.text(1e-6, 2), _mean(mine["sent_pkts"]), _mean(mine["lost_pkts"]), _mean(mine["late_pkts"]),
        _mean(mine["spurious_pkts"]), _mean(mine["found_spurious_pkts"]), _mean(mine["missing_ratio"], 100, 1),
        _mean(mine["dip_ratio"], 100), _mean(mine["recovery_ns"], 1e-6), _mean(mine["share_ratio"], 100),
    ]  # fmt: skip


def _mean(values: pd.Series, scale: float = 1.0, digits: int = 0) -> str:
    """Mean of the known values; "-" if none is."""
    mean = pd.to_numeric(values).mean() * scale
    return "-" if mean != mean else f"{mean:,.{digits}f}"
