# SPDX-License-Identifier: Apache-2.0
"""The study's data sets for claims and figures. The columns' names contain the units."""

from __future__ import annotations

import pandas as pd

from leowarp import TraceError
from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures.changes import AFTER_S, IDENTITY
from leowarp_studies.cures.runs import CHANGES, LOADED_CHANGES, RATES
from leowarp_studies.cures.variants import parts_of

COLUMNS = {
    "late_pkts": "flow0_late_by_changes_pkts",
    "spurious_pkts": "flow0_spurious_by_changes_pkts",
    "lost_pkts": "flow0_lost_by_changes_pkts",
    "bytes": "flow0_bytes",
    "capacity_bps": "flow0_path_capacity_mean_bps",
    "goodput_bps": "flow0_goodput_in_order_mean_bps",
    "dip_ratio": "flow0_goodput_dip_p50_ratio",
    "recovery_ns": "flow0_recovery_p50_ns",
    "spike_ns": "flow0_spike_p50_ns",
    "recoveries": "flow0_sender_recoveries",
    "undos": "flow0_sender_undos",
    "timeouts": "flow0_sender_timeouts",
    "tail_loss_probes": "flow0_sender_tail_loss_probes",
    "ping_p50_ns": "flow1_rtt_p50_ns",
    "ping_p99_ns": "flow1_rtt_p99_ns",
    "ping_max_ns": "flow1_rtt_max_ns",
    "call_p50_ns": "flow2_owd_p50_ns",
    "call_p99_ns": "flow2_owd_p99_ns",
    "call_max_ns": "flow2_owd_max_ns",
    "call_late_pkts": "flow2_late_pkts",
    "call_lost_pkts": "flow2_probes_lost_pkts",
    "drops_pkts": "drops_pkts",
    "route_changes": "route_changes",
    "held_max_bytes": "node_held_max_bytes",
    "held_longest_ns": "held_back_longest_ns",
    "hold_full_pkts": "hold_full_pkts",
    "waiting_max_bytes": "order_waiting_max_bytes",
    "waiting_longest_ns": "order_longest_ns",
    "merge_longest_ns": "merge_longest_ns",
    "signals_bytes": "signals_bytes",
    "copied_bytes": "copied_bytes",
}
"""The columns that are copied from the study engine's data set. Each key is the column's name in this module."""

COUNTED = ("held_max_bytes", "held_longest_ns", "hold_full_pkts", "waiting_max_bytes", "waiting_longest_ns",
           "merge_longest_ns", "signals_bytes", "copied_bytes")  # fmt: skip
"""Each of these columns belongs to a cure. In runs without this cure, the column is null. If no run of a data set has
the cure, the data set lacks the column."""


def around_changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Select and rename the columns of the study engine's rows. Failed runs are left out.

    Returns
    -------
    DataFrame
        The columns `variant, tcp, load` (as in `runs.LOADS`), `change` (its name), `pair, direction, step_ns`,
        `at_sender` (true if the sender's own station switches satellites), and the columns of `COLUMNS`. `held_bytes`
        is the largest number of bytes that any cure held at a node. `held_ns` is the longest time in ns that a cure
        held a packet. Without a cure, `held_bytes` and `held_ns` are 0. `signalling_bytes` counts the bytes of markers,
        notices and copies.

    Raises
    ------
    TraceError
        If a column is missing because an older version of leowarp made the runs.
    """
    rows = rows[rows["status"] == "ok"]
    known = {change.identity: change for each in (CHANGES, LOADED_CHANGES) for change in route_changes.changes(each)}
    mine = [known[key] for key in rows[list(IDENTITY.values())].itertuples(index=False, name=None)]
    loads = {rate: load for load, rate in RATES.items()}
    frame = pd.DataFrame({
        "variant": [parts_of(name)[0] for name in rows["name"]],
        "tcp": [parts_of(name)[1] for name in rows["name"]],
        "load": [loads[rate] for rate in rows["load"]],
        "change": [f"{change.pair.name}-{change.at_s}" for change in mine],
        "pair": [change.pair.name for change in mine],
        "direction": [change.direction for change in mine],
        "step_ns": [change.step_ns for change in mine],
        "at_sender": [change.node_place == 0 for change in mine],
    })  # fmt: skip
    for name, column in COLUMNS.items():
        if column in rows:
            frame[name] = rows[column].to_numpy(dtype="float64", na_value=float("nan"))
        elif name in COUNTED:
            frame[name] = float("nan")
        else:
            raise TraceError(f"the runs' results have no column {column}", "make the runs anew: --force")
    # Where packets are held depends on the cure: at the node that switches, at the node where the paths meet, or at the
    # last node.
    frame["held_bytes"] = frame[["held_max_bytes", "waiting_max_bytes"]].max(axis=1).fillna(0.0)
    longest = ["held_longest_ns", "waiting_longest_ns", "merge_longest_ns"]
    frame["held_ns"] = frame[longest].max(axis=1).fillna(0.0)
    frame["signalling_bytes"] = frame["signals_bytes"].fillna(0.0) + frame["copied_bytes"].fillna(0.0)
    # Payload in bytes that the path can carry in the time after the change. Lost throughput is given as a share of the
    # payload that the path can carry.
    frame["room_bytes"] = frame["capacity_bps"] * AFTER_S / 8
    return frame.reset_index(drop=True)


def complete(frame: pd.DataFrame) -> bool:
    """Return true if, for each load, every pair of variant and TCP has a run for every change."""
    wanted = frame.groupby("load")["change"].nunique()
    have = frame.groupby(["load", "variant", "tcp"])["change"].nunique().reset_index()
    return bool((have["change"].to_numpy() == wanted.loc[have["load"]].to_numpy()).all())
