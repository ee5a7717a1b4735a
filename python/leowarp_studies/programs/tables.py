# SPDX-License-Identifier: Apache-2.0
"""The study's tables for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.report import html
from leowarp.study.statistics import Middle, middle
from leowarp_studies.programs import claims_pages, claims_videos
from leowarp_studies.programs import evidence as ev
from leowarp_studies.programs.application_runs import PAGES
from leowarp_studies.programs.figures import TITLES
from leowarp_studies.programs.runs import MOVING, SHARE, STILL
from leowarp_studies.programs.senders import BY_NAME
from leowarp_studies.programs.ways import BY_NAME as WAYS_BY_NAME
from leowarp_studies.programs.ways import PLAYERS, WAYS

CONDITIONS = {MOVING: "as it is", STILL: "control"}


def senders(frames: Mapping[str, Any]) -> str:
    """Return the main table, with one row per path, condition and sender."""
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


def pages(frames: Mapping[str, Any]) -> str:
    """Return the page load times, with one row per path, condition and protocol."""
    rows = []
    for path in PAGES:
        for condition, word in CONDITIONS.items():
            for way in WAYS:
                mine = claims_pages.loads(frames, path, condition, way.name)
                if len(mine):
                    ratio = claims_pages.longer(frames, path, way.name) if condition == MOVING else None
                    rows.append([
                        f"{TITLES[path]}, {word}", way.label, len(mine), middle(mine["load_ns"]).text(1e-9, 2),
                        "-" if ratio is None or not ratio.known else ratio.text(1, 2),
                        middle(mine["object_mean_ns"]).text(1e-9, 2), _mean(mine["lost_pkts"]),
                        _mean(mine["late_pkts"]),
                    ])  # fmt: skip
    header = ["path", "way", "runs", "load time, s", "over that of the control", "time of an object, s", "lost", "late"]
    caption = (
        "Page loads: the median desktop page of the HTTP Archive, 1.9 MB in 55 objects, asked for "
        "before the change. HTTP/1.1 over six connections, in the clear as HTTP/2. Medians of the runs with the least "
        "and the largest; lost and late packets are means; never: given up"
    )
    return html.table(caption, header, rows, left=frozenset((0, 1)))


def films(frames: Mapping[str, Any]) -> str:
    """Return a table of the players' results, with one row per path, condition, player and protocol."""
    rows = []
    for path in PAGES:
        for condition, word in CONDITIONS.items():
            for player in PLAYERS:
                for way in player.ways:
                    mine = claims_videos.played(frames, path, condition, player.name, way)
                    if len(mine):
                        rows.append([
                            f"{TITLES[path]}, {word}", player.label, WAYS_BY_NAME[way].label, len(mine),
                            middle(mine["bitrate_bps"]).text(1e-6, 2), _mean(mine["stalls"], 1, 1),
                            middle(mine["stalled_ns"]).text(1e-9, 2), middle(mine["startup_ns"]).text(1e-9, 2),
                            _mean(mine["latency_ns"], 1e-9, 2), _mean(mine["switches"], 1, 1), _mean(mine["late_pkts"]),
                        ])  # fmt: skip
    header = [
        "path", "player", "way", "runs", "bit rate, Mbit/s", "stalls", "stalled, s", "startup, s", "live latency, s",
        "switches", "late packets",
    ]  # fmt: skip
    caption = (
        "Films by DASH, watched for 20 s, with dash.js's rule. Medians of the runs with the least and the largest, the "
        "other numbers are means"
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
    """Return the mean of the values that are not missing, or "-" if all are missing."""
    mean = pd.to_numeric(values).mean() * scale
    return "-" if mean != mean else f"{mean:,.{digits}f}"
