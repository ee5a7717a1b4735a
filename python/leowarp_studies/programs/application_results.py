# SPDX-License-Identifier: Apache-2.0
"""The results of page loads and films for claims and figures, one row per run. Values come from the client's
measurements and from the run's packets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from leowarp import Run
from leowarp_studies.programs.application_runs import PAGES, VIDEOS
from leowarp_studies.programs.runs import made_runs, parts_of

PAGE_COLUMNS = ("path", "sample", "condition", "way", "load_ns", "object_mean_ns", "sent_pkts", "lost_pkts",
                "late_pkts", "run")  # fmt: skip
VIDEO_COLUMNS = ("path", "sample", "condition", "player", "way", "startup_ns", "stalls", "stalled_ns", "bitrate_bps",
                 "switches", "latency_ns", "sent_pkts", "lost_pkts", "late_pkts", "run")  # fmt: skip


def pages_of(rows: Mapping[str, pd.DataFrame], folder: Path) -> pd.DataFrame:
    """Return all page loads.

    rows: The rows of the study engine, by group.
    Returns: `PAGE_COLUMNS`. `path`: as in `application_runs.PAGES`. `load_ns`: time from the client's first packet to
        the last byte of the last object, or infinite if the load was given up. `object_mean_ns`: the time from the
        load's start to the last byte of an object, averaged over the objects, or infinite if `load_ns` is infinite.
        `run`: directory of the run. All other columns are numbers of packets or datagrams from the server, over all
        connections.
    """
    return _frame(rows, folder, PAGES, PAGE_COLUMNS, _page)


def videos_of(rows: Mapping[str, pd.DataFrame], folder: Path) -> pd.DataFrame:
    """Return all films and live streams, with the parameters of `pages_of`.

    Returns: `VIDEO_COLUMNS`. `startup_ns`: infinite if no picture was displayed. `stalls`: number of stalls.
        `stalled_ns`: their total time. `bitrate_bps`: mean bit rate, or null if no segment arrived. `switches`: number
        of changes of the bit rate. `latency_ns`: median latency over segments, or null unless the stream is live. The
        columns with numbers of packets have the same meaning as in `pages_of`.
    """
    return _frame(rows, folder, VIDEOS, VIDEO_COLUMNS, _video)


def _frame(
    rows: Mapping[str, pd.DataFrame], folder: Path, groups: Mapping[str, str], columns: tuple[str, ...], measured: Any
) -> pd.DataFrame:
    found = []
    for path, group in groups.items():
        for name, directory in made_runs(rows, folder, group):
            sample, condition, who = parts_of(name)
            run = Run(directory)
            known = {"path": path, "sample": sample, "condition": condition, "run": str(directory)}
            found.append(known | measured(run, who) | _packets(run))
    return pd.DataFrame(found, columns=list(columns))


def _page(run: Run, way: str) -> dict[str, Any]:
    load_ns = run.summary["flows"][0]["page_load_p50_ns"]
    if load_ns is None:
        return {"way": way, "load_ns": math.inf, "object_mean_ns": math.inf}
    (start_ns,) = run.measures(0, "page")["start_ns"]
    there_ns = run.measures(0, "object")["end_ns"].astype("float64") - start_ns
    return {"way": way, "load_ns": float(load_ns), "object_mean_ns": float(there_ns.mean())}


def _video(run: Run, who: str) -> dict[str, Any]:
    player, _, way = who.partition("-")
    flow = run.summary["flows"][0]
    startup_ns = flow["startup_ns"]
    return {
        "player": player, "way": way, "startup_ns": math.inf if startup_ns is None else float(startup_ns),
        "stalls": flow["stalls"], "stalled_ns": flow["stalled_ns"], "bitrate_bps": flow["bitrate_mean_bps"],
        "switches": flow["bitrate_switches"], "latency_ns": flow["live_latency_p50_ns"],
    }  # fmt: skip


def _packets(run: Run) -> dict[str, int]:
    """Return the numbers of packets over all connections of the program."""
    flows = run.summary["flows"][1:]
    return {name: sum(flow[name] for flow in flows) for name in ("sent_pkts", "lost_pkts", "late_pkts")}
