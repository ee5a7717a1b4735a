# SPDX-License-Identifier: Apache-2.0
"""The tables of the study's page: results of all variants, and causes of the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.report import html
from leowarp.study.statistics import HOW, Middle
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024.figures_table import COLUMNS, cell_of
from leowarp_studies.huston2024.groups import CLEAN_PEAK, OFF_PEAK, PEAK
from leowarp_studies.huston2024.traces import KINDS, NO_LOSS
from leowarp_studies.huston2024.variants import VARIANTS, Variant


def table(frames: Mapping[str, Any]) -> str:
    """Return the table with one row per variant at peak. Further tables for off-peak and for peak without isolated loss
    follow, and then an explanation of the columns."""
    rows = []
    sessions: pd.DataFrame = frames["sessions"]
    # A variant has no row if it has no runs, for example because its kernel is not built.
    for variant in _those_in(sessions):
        cells = [cell_of(frames, column, variant.name).text(column.scale, column.digits) for column in COLUMNS]
        rows.append([variant.label, _share(frames, variant.name, PEAK), _of_plain(frames, variant, PEAK), *cells])
    heads = ["variant", "of the capacity, %", "goodput of the plain one's"]
    header = [*heads, *(column.heading for column in COLUMNS)]
    first = html.table(f"At peak; {HOW}", header, rows)
    mine = [column for column in COLUMNS if column.frame == "sessions"]
    others = []
    # Tables of other presets have fewer columns, because sessions beside another flow exist only at peak.
    for preset, caption in ELSEWHERE.items():
        here = sessions[sessions["preset"] == preset]
        rows = []
        for variant in _those_in(here):
            cells = [_cell(here, variant.name, column.name).text(column.scale, column.digits) for column in mine]
            rows.append(
                [variant.label, _share(frames, variant.name, preset), _of_plain(frames, variant, preset), *cells]
            )
        if rows:
            header = [*heads, *(column.heading for column in mine)]
            others.append(html.table(caption, header, rows))
    return f"{first}{''.join(others)}<p>{html.text(MEANING)}</p>"


ELSEWHERE = {
    OFF_PEAK: "Off-peak, where isolated loss is a tenth and handovers weigh more",
    CLEAN_PEAK: "At peak without any isolated loss: what handovers alone do",
}

MEANING = (
    "Goodput: bytes in order at the receiver over 60 s; of the capacity: of the payload that this session's link could "
    "have carried; of the plain one's: of the same congestion control with nothing changed, seed by seed on the same "
    "path. RTT: what data packets met on their way, and the next packet back on its own, without what waits in "
    "the hosts. Retransmitted: of all packets sent. Recovery: from a reconfiguration until three 50 ms bins of goodput "
    "in a row are at 90 % of the second before, median over those of a session (one that was mostly not back within 5 "
    "s counts as never); back: share of the reconfigurations after which it was. Share and Jain's index: a run beside "
    "one CUBIC flow that starts with it; settings of a host (SACK, RACK, ECN, pacing) and queues hold for both."
)


def frame(frames: Mapping[str, Any]) -> pd.DataFrame:
    """Return the table in a form for programs, with one row per variant, preset and quantity: `variant, preset,
    quantity, median, low, high, count` (of seeds). The name of a quantity contains its unit."""
    rows = []
    sessions: pd.DataFrame = frames["sessions"]
    for variant in _those_in(sessions):
        for column in COLUMNS:
            cell = cell_of(frames, column, variant.name)
            rows.append({"variant": variant.name, "preset": PEAK, "quantity": column.name} | cell.numbers())
    for preset in ELSEWHERE:
        here = sessions[sessions["preset"] == preset]
        for variant in _those_in(here):
            for column in (column for column in COLUMNS if column.frame == "sessions"):
                cell = _cell(here, variant.name, column.name)
                rows.append({"variant": variant.name, "preset": preset, "quantity": column.name} | cell.numbers())
    return pd.DataFrame(rows)


def causes(frames: Mapping[str, Any]) -> str:
    """Return a table with the mean numbers of losses and cuts per session. The means are over the seeds whose traces
    are stored.

    Returns: The HTML text. Cells without events are empty.
    """
    rows = []
    for (variant, preset), traces in frames["traces"].items():
        lost, cut, back = ev.loss_counts(traces), ev.cut_counts(traces), ev.regrowth(traces)
        rows.append([
            f"{ev.label(variant)}, {preset}", *(lost[kind] for kind in KINDS),
            *(cut[kind] for kind in (*KINDS, NO_LOSS)), back["apart_p50_s"], back["after_p50_pkts"],
            100 * back["grown_ratio"], back["grown_p50_s"], back["needed_p50_s"],
        ])  # fmt: skip
    header = [
        "session", *(f"lost: {ev.KIND_TEXT[kind]}" for kind in KINDS),
        *(f"cuts: {ev.KIND_TEXT[kind]}" for kind in (*KINDS, NO_LOSS)), "cut to cut, s", "window after, packets",
        "grown back, %", "after, s", "K, s",
    ]  # fmt: skip
    caption = "Lost packets and cuts of the window a session, means over seeds; times and windows are medians"
    shown = [[_known(value) for value in row] for row in rows]
    note = (
        "A cut counts for the first loss in the half second before it. At a handover: within 1 s of a "
        "reconfiguration. Grown back: the window was what it had been before the next cut; K: how long CUBIC takes for "
        "that by itself, cbrt(0.3 W / 0.4) (RFC 9438). BBR does not cut: its losses are there for comparison."
    )
    return f"{html.table(caption, header, shown)}<p>{html.text(note)}</p>"


def _those_in(rows: pd.DataFrame) -> list[Variant]:
    """Return the variants in a data set, in the order of the table."""
    there = set(rows["variant"])
    return [variant for variant in VARIANTS if variant.name in there]


def _of_plain(frames: Mapping[str, Any], variant: Variant, preset: str) -> str:
    """Return, as a text, a variant's goodput divided by the goodput of the unmodified congestion control with the same
    seed. The text is empty if the variant is the unmodified congestion control."""
    if variant.name == variant.plain:
        return ""
    return ev.gain(frames, variant.name, variant.plain, preset=preset).text(1, 2)


def _share(frames: Mapping[str, Any], variant: str, preset: str) -> str:
    """Return the goodput relative to the capacity of the same session, in percent."""
    return ev.used_ratio(frames, variant, preset).text(100, 0) if "traces" in frames else "unknown"


def _cell(rows: pd.DataFrame, variant: str, column: str) -> Middle:
    """Return a cell of the tables for other presets. The cell is "unknown" if the runs lack the column."""
    return ev.over_seeds(rows if column in rows else rows.assign(**{column: None}), variant, column)


def _known(value: Any) -> Any:
    """Return a number of the table, or None for nan, which is an empty cell."""
    return None if isinstance(value, float) and value != value else value
