# SPDX-License-Identifier: Apache-2.0
"""The study's data sets for claims and figures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leowarp import TraceError
from leowarp.base.units import TIME
from leowarp_studies.huston2024 import groups, runs

SESSION_COLUMNS = {
    "goodput_bps": "flow0_goodput_mean_bps",
    "rtt_p99_ns": "flow0_rtt_p99_ns",
    "rtt_p50_ns": "flow0_rtt_p50_ns",
    "recovery_p50_ns": "flow0_recovery_p50_ns",
    "recovered_ratio": "flow0_recovered_ratio",
    "marked_pkts": "flow0_delivered_ce_pkts",
    "retransmissions_pkts": "flow0_sender_retransmissions_pkts",
    "spurious_pkts": "flow0_spurious_retransmissions_pkts",
    "sent_pkts": "flow0_sent_pkts",
    "lost_pkts": "flow0_lost_pkts",
    "recoveries": "flow0_sender_recoveries",
    "undos": "flow0_sender_undos",
    "timeouts": "flow0_sender_timeouts",
    "cwnd_p50_pkts": "flow0_cwnd_p50_pkts",
    "dropped_queue_pkts": "drops_queue_pkts",
    "dropped_loss_pkts": "drops_loss_pkts",
}
"""The columns of a session, with their names in `summary.json`."""

SHARE_COLUMNS = {"share_ratio": "flow0_share_ratio", "jain_index": "fairness_jain_index"}
BESIDE_COLUMNS = {"beside_goodput_bps": "flow1_goodput_mean_bps"}


def sessions(rows: pd.DataFrame, preset: str = groups.PEAK) -> pd.DataFrame:
    """Return `variant, preset, seed, cpu_s` and `SESSION_COLUMNS`, from rows of the study engine. Rows of failed runs
    are left out.

    `preset`: The preset that is used if `rows` has no column `preset`.
    `retransmitted_ratio`: The number of retransmissions divided by the number of packets sent. `recovery_p50_ns`: The
        median recovery time, or infinite if most windows never recovered.
    """
    rows = rows[rows["status"] == "ok"]
    # Failed runs have no scalars. With failed runs, every median would have missing values.
    frame = _picked(rows, SESSION_COLUMNS)
    presets = rows["preset"] if "preset" in rows else pd.Series(preset, index=rows.index)
    frame.insert(0, "variant", rows["name"])
    frame.insert(1, "preset", presets)
    # If only the median recovery time is missing, goodput recovered after fewer than half of the reconfigurations. If
    # both the median recovery time and the share of recoveries are missing, no reconfiguration was examined.
    never = frame["recovery_p50_ns"].isna() & frame["recovered_ratio"].notna()
    frame["recovery_p50_ns"] = frame["recovery_p50_ns"].mask(never, np.inf)
    # The divisor `sent_pkts` counts all packets sent, including retransmissions, so the ratio cannot exceed 1.
    frame["retransmitted_ratio"] = frame["retransmissions_pkts"] / frame["sent_pkts"]
    return frame.reset_index(drop=True)


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run in which two flows share the link. The columns are `variant, seed`, the variant's share of
    the total goodput, Jain's index, and both goodputs.

    Shares and indices are from 0 to 1, and goodputs in bit/s.
    """
    rows = rows[rows["status"] == "ok"]
    frame = _picked(rows, SHARE_COLUMNS | {"goodput_bps": "flow0_goodput_mean_bps"} | BESIDE_COLUMNS)
    frame.insert(0, "variant", rows["name"])
    return frame.reset_index(drop=True)


def shared(rows: pd.DataFrame, customers: int) -> pd.DataFrame:
    """Return `variant` (the congestion control), `customers`, `seed`, goodput and 99th percentile of the RTT. The
    values are those of the first flow. The argument `customers` is the number of flows of other customers beside this
    flow.
    """
    rows = rows[rows["status"] == "ok"]
    frame = _picked(rows, {name: SESSION_COLUMNS[name] for name in ("goodput_bps", "rtt_p99_ns")})
    frame.insert(0, "variant", rows["congestion_control"])
    frame.insert(1, "customers", customers)
    return frame.reset_index(drop=True)


def jitter(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `variant` (`questions.NO_JITTER` or `MEAN_KEPT`), `preset`, `seed`, and `goodput_bps` of CUBIC without
    jitter."""
    rows = rows[rows["status"] == "ok"]
    frame = _picked(rows, {"goodput_bps": SESSION_COLUMNS["goodput_bps"]})
    frame.insert(0, "variant", rows["name"])
    # The path of runs without isolated loss is the path of the group `clean`.
    clean = rows["residual_loss_ratio"].astype("float64") == 0
    frame.insert(1, "preset", clean.map({True: groups.CLEAN_PEAK, False: groups.PEAK}))
    return frame.reset_index(drop=True)


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `variant` (the congestion control), `loss_ratio, seed, goodput_bps`.

    `loss_ratio` is from 0 to 1 and is equal in both directions.
    """
    rows = rows[rows["status"] == "ok"]
    frame = _picked(rows, {"goodput_bps": "flow0_goodput_mean_bps"})
    frame.insert(0, "variant", rows["congestion_control"])
    frame.insert(1, "loss_ratio", rows["loss_ratio"].astype("float64"))
    return frame.reset_index(drop=True)


def phases(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the columns `variant, late_s, seed, goodput_bps, retransmissions_pkts`. `late_s` is the time by which the
    assumed schedule is late.

    The figure divides each goodput by the goodput of the unmodified congestion control with the same seed.
    """
    rows = rows[rows["status"] == "ok"]
    names = ("goodput_bps", "retransmissions_pkts", "rtt_p99_ns")
    frame = _picked(rows, {name: SESSION_COLUMNS[name] for name in names})
    frame.insert(0, "variant", rows["congestion_control"])
    # The phases of both modules vary together (`runs._phases`), so either module's column can be used.
    phases_s = [TIME.parse(text) / 1e9 - runs.FIRST_RECONFIGURATION_S for text in rows["phase_bbr_handover"]]
    frame.insert(1, "late_s", pd.Series(phases_s, index=rows.index, dtype="float64"))
    return frame.reset_index(drop=True)


def capacity(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `test, at` (UTC), `down_bps, up_bps` of each capacity test, sorted by time. `down_link_bps, up_link_bps`
    are the payload rates that the link was able to carry during the test.

    The rate of a test is the bytes received in order by all connections of a direction, divided by the sending time.
    Data that are still in the queue when sending ends also count, so the rate may exceed the capacity of the link.
    """
    rows = rows[rows["status"] == "ok"].sort_values("test", kind="stable")
    if not len(rows):
        return pd.DataFrame(columns=["test", "at", "down_bps", "down_link_bps", "up_bps", "up_link_bps", "hour"])
    # The number of a test is used as its seed (`runs._capacity`).
    frame = pd.DataFrame({"test": rows["test"].astype("int64")})
    frame["at"] = pd.to_datetime(rows["clock"], utc=True)
    for name, flows in (("down_bps", runs.DOWN_FLOWS), ("up_bps", runs.UP_FLOWS)):
        carried = sum(_column(rows, f"flow{flow}_bytes") for flow in flows)
        frame[name] = carried * 8 / runs.TEST_S
        # All connections of a direction have the same duration and path, so the capacity of the first connection is
        # used.
        frame[name.replace("_bps", "_link_bps")] = _column(rows, f"flow{flows[0]}_path_capacity_mean_bps")
    frame["hour"] = frame["at"].dt.hour
    return frame.reset_index(drop=True)


def joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate several groups of sessions."""
    return pd.concat(frames, ignore_index=True)


def _picked(rows: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    """Return the column `seed`, and the selected columns under their short names. The cost of each run is included if
    it is known."""
    frame = pd.DataFrame({"seed": rows["seed"].astype("int64")})
    for name, column in columns.items():
        frame[name] = _column(rows, column)
    if "cpu_s" in rows:
        frame["cpu_s"] = rows["cpu_s"].astype("float64")
    return frame


def _column(rows: pd.DataFrame, name: str) -> pd.Series:
    """Return a column of the results as float64, with nan for missing values.

    Raises TraceError if the runs lack the scalar because an older version of leowarp made them.
    """
    if name not in rows and len(rows) == 0:
        # If every run failed, the results have only the columns that all studies have.
        return pd.Series(dtype="float64")
    if name not in rows:
        raise TraceError(f"the runs' results have no column {name}", "make the runs anew: --force")
    return rows[name].astype("float64")
