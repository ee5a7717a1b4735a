# SPDX-License-Identifier: Apache-2.0
"""The results of each run, for claims and tables. The results show how well the load performed, and what happened to
its packets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.study.statistics import Middle, middle
from leowarp_studies.gaps.arms import BY_NAME, CALL, PAGE, RATE_BPS
from leowarp_studies.gaps.runs import parts_of

PAYLOAD_BPS = RATE_BPS * 1448 / 1514
"""The largest payload rate of a transfer over the link, in bit/s. Each packet has 1514 bytes, of which 1448 are
payload."""
MEASURES = {"missing_ms": "ms", "slowest_ms": "ms", "lost_frames": "frames", "frozen_ms": "ms", "load_ms": "ms"}
"""The measures of the loads, with their units. A larger value is worse. For a transfer, the measure is the time that
its missing data would take at the link's rate. The missing data are the data that the link could have delivered since
the transfer's start, minus the delivered data. Delivered data are those that the SACK-aware goodput of the sender's
socket counts. In-order goodput is not used: with a packet missing at the end of a run, all later data would count as
missing. A call has three measures: the delay of the slowest frame, the number of frames that never arrived completely,
and the time in freezes. For a page load, the measure is the load time."""
MAIN = {CALL: "slowest_ms", PAGE: "load_ms"}
"""The measure that the table shows for each load. A transfer has `missing_ms`."""
COUNTS = {
    "late_pkts": "late_pkts", "lost_in_gap_pkts": "lost_loss_pkts", "spurious_pkts": "spurious_retransmissions_pkts",
    "timeouts": "sender_timeouts",
}  # fmt: skip
"""The columns that only transfers have, each with the name of its scalar."""


def frame_of(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return all runs that succeeded.

    rows: The rows of the study engine, by group.
    Returns: The columns `route, at_s, arm, load, family`, the columns of `MEASURES`, and the columns of `COUNTS`. A
        value is null if the run's load does not have this measure or count.
    """
    found: list[dict[str, Any]] = []
    for part in rows.values():
        for row in part[part["status"] == "ok"].to_dict("records"):
            route, at_s, arm, load = parts_of(row["name"])
            known = {"route": route, "at_s": at_s, "arm": arm, "load": load, "family": BY_NAME[arm].family}
            found.append(known | _measured(row, load))
    return pd.DataFrame(found, columns=["route", "at_s", "arm", "load", "family", *MEASURES, *COUNTS])


def _measured(row: Mapping[str, Any], load: str) -> dict[str, Any]:
    if load == CALL:
        return {
            "slowest_ms": row["flow0_frame_delay_p99_ns"] / 1e6, "lost_frames": row["flow0_frames_lost"],
            "frozen_ms": row["flow0_frozen_ns"] / 1e6,
        }  # fmt: skip
    if load == PAGE:
        return {"load_ms": row["flow0_page_load_p50_ns"] / 1e6}
    lasts_s = (row["flow0_stop_ns"] - row["flow0_start_ns"]) / 1e9
    missing_s = lasts_s * (1 - row["flow0_goodput_sacked_mean_bps"] / PAYLOAD_BPS)
    return {"missing_ms": missing_s * 1e3} | {name: row[f"flow0_{scalar}"] for name, scalar in COUNTS.items()}


def values(frame: pd.DataFrame, route: str, arm: str, load: str, measure: str | None = None) -> pd.Series:
    """Return the values of a measure in the runs of an arm, by sample."""
    mine = frame[(frame["route"] == route) & (frame["arm"] == arm) & (frame["load"] == load)]
    return mine.set_index("at_s")[measure or MAIN.get(load, "missing_ms")].astype("float64")


def extra(
    frame: pd.DataFrame, route: str, arm: str, load: str, measure: str | None = None, *, control: str | None = None
) -> Middle:
    """Return the measure of an arm minus the measure of its control, as a median over samples. Arm and control are
    compared at the same change.

    measure: The name of a measure, by default the load's `MAIN`.
    control: The name of an arm, by default the arm's own control.
    """
    against = BY_NAME[arm].control if control is None else control
    return middle((values(frame, route, arm, load, measure) - values(frame, route, against, load, measure)).dropna())
