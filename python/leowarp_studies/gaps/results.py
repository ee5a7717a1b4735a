# SPDX-License-Identifier: Apache-2.0
"""A row per run, as claims and tables take it: what the load got, and what happened to its packets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from leowarp.study.statistics import Middle, middle
from leowarp_studies.gaps.arms import BY_NAME, CALL, PAGE, RATE_BPS
from leowarp_studies.gaps.runs import parts_of

PAYLOAD_BPS = RATE_BPS * 1448 / 1514
"""What a transfer gets of the link: segments of 1448 bytes in packets that count 1514."""
MEASURES = {"missing_ms": "ms", "slowest_ms": "ms", "lost_frames": "frames", "frozen_ms": "ms", "load_ms": "ms"}
"""A transfer's is the time for which the link's rate did not arrive, from the start on, as the sender's socket has it
(SACK-aware). In-order goodput would count a hole at the end of a run for all that came behind it. A call has its
slowest frame, frames that were never whole, and freezes. A page has its load time. Larger is worse."""
MAIN = {CALL: "slowest_ms", PAGE: "load_ms"}
"""The measure of a load in the table; of transfers `missing_ms`."""
COUNTS = {
    "late_pkts": "late_pkts", "lost_in_gap_pkts": "lost_loss_pkts", "spurious_pkts": "spurious_retransmissions_pkts",
    "timeouts": "sender_timeouts",
}  # fmt: skip
"""Columns of transfers, and the scalars of their flow."""


def frame_of(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All runs that were made.

    rows: Of the study engine, by group.
    Returns: Columns `route, at_s, arm, load, family`, those of `MEASURES` and of `COUNTS`; null where a load has
        none.
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
    """A measure of an arm by sample; without one, the load's `MAIN`."""
    mine = frame[(frame["route"] == route) & (frame["arm"] == arm) & (frame["load"] == load)]
    return mine.set_index("at_s")[measure or MAIN.get(load, "missing_ms")].astype("float64")


def extra(
    frame: pd.DataFrame, route: str, arm: str, load: str, measure: str | None = None, *, control: str | None = None
) -> Middle:
    """Median over samples of how much more of a measure an arm has than its control around the same change.

    measure: The load's `MAIN`, if not given.
    control: The arm's own, if not given.
    """
    against = BY_NAME[arm].control if control is None else control
    return middle((values(frame, route, arm, load, measure) - values(frame, route, against, load, measure)).dropna())
