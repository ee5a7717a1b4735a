# SPDX-License-Identifier: Apache-2.0
"""The study's data sets for claims and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leowarp import TraceError
from leowarp.metrics import Tables
from leowarp_studies.torres2020.runs import PROFILES, profile_of

TRANSFER_COLUMNS = (
    "distribution", "jitter_ns", "congestion_control", "profile", "seed", "bytes", "finished", "duration_s",
    "throughput_bps",
)  # fmt: skip
"""The columns of a transfer. `throughput_bps` is the number of received bits divided by the duration of the transfer.
If a transfer was not complete at the end of its run (`finished` is false), the duration is the run's duration."""

WHOLE_RUN, DENSITY = 0, 0
"""In the table `densities`, only rows with this scope and this kind are used. Both are numbers (design/interfaces.md,
section 10)."""

PROBE_COLUMNS = {
    "mean_displacement_pkts": "flow0_mean_displacement_pkts",
    "entropy_nats": "flow0_entropy_nats",
    "density_beyond_pkts": "flow0_density_beyond_pkts",
}
"""The columns of a probe's data set. Each key is the name that this module uses."""

MORE_COLUMNS = {
    "retransmissions_pkts": "flow0_retransmissions_pkts",
    "spurious_pkts": "flow0_spurious_retransmissions_pkts",
    "lost_pkts": "flow0_lost_pkts",
    "dsacks_pkts": "flow0_dsacks_pkts",
    "recoveries": "flow0_sender_recoveries",
    "undos": "flow0_sender_undos",
    "timeouts": "flow0_sender_timeouts",
    "reordering_events": "flow0_sender_reordering_events",
    "reordering_pkts": "flow0_sender_reordering_pkts",
    "own_entropy_nats": "flow0_entropy_nats",
    "own_extent_pkts": "flow0_reordering_extent_max_pkts",
}
"""These columns show how the sender's loss detection reacted, and how the transfer's own packets were reordered. Runs
without stored packets lack these columns."""


@dataclass(frozen=True)
class Shape:
    """One probe of figures 2 and 3.

    displacement_pkts, share: arrays of shape (n,). The RD of the probe. `displacement_pkts` is positive for late
        packets, and `share` is the share of packets at each displacement.
    delay_ns: int64 array of shape (packets,). The one-way delay of each packet, in ns.
    netem_delay_ns: int64 array of shape (packets,). The one-way delay of each packet in ns, without the shaper after
        netem.
    """

    displacement_pkts: np.ndarray
    share: np.ndarray
    delay_ns: np.ndarray
    netem_delay_ns: np.ndarray


@dataclass(frozen=True)
class Counted:
    """The RD of a probe, in numbers of packets instead of shares. Packets beyond the threshold are counted separately.

    displacement_pkts, pkts: int64 arrays of shape (n,). The displacements, which are positive for late packets, and the
        number of packets with each displacement.
    received_pkts, beyond_pkts: The number of packets that arrived, and the number of packets displaced by more than the
        threshold.
    """

    displacement_pkts: np.ndarray
    pkts: np.ndarray
    received_pkts: int
    beyond_pkts: int

    @property
    def mean_pkts(self) -> float:
        """Return the mean of the displacements with their signs: sum i RD[i], equation (4) of the study."""
        return float((self.displacement_pkts * self.pkts).sum() / self.pkts.sum())


def counted(tables: Tables) -> Counted:
    """Return the RD of a probe over its whole run, as numbers of packets."""
    rd = tables.of_flow("densities", 0)
    rd = rd[(rd["scope"] == WHOLE_RUN) & (rd["kind"] == DENSITY)].sort_values("index")
    scopes = tables.of_flow("reordering", 0)
    whole = scopes[scopes["scope"] == WHOLE_RUN].iloc[0]
    return Counted(
        rd["index"].to_numpy(dtype="int64"), rd["pkts"].to_numpy(dtype="int64"), int(whole["received_pkts"]),
        int(whole["density_beyond_pkts"]),
    )  # fmt: skip


def transfers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return `TRANSFER_COLUMNS` from rows of the study engine. Failed runs are left out.

    `MORE_COLUMNS` are included if the runs have them.

    rows: The rows of the groups `transfers`, `yeah` or one of the mechanisms. A run without a profile has the TCP of
        default Linux.
    Returns: `TRANSFER_COLUMNS`, then `MORE_COLUMNS` (float64, nan where missing).
    """
    rows = rows[rows["status"] == "ok"]
    frame = pd.DataFrame(
        {
            "distribution": rows["distribution"],
            "jitter_ns": rows["jitter_ns"].astype("int64"),
            "congestion_control": rows["congestion_control"],
            "profile": _profiles(rows),
            "seed": rows["seed"].astype("int64"),
            "bytes": rows["flow0_bytes"].astype("int64"),
            "finished": rows["flow0_completion_ns"].notna(),
            # If a transfer was not complete at the end of the run, its throughput is the delivered data divided by the
            # duration of the run. Incomplete transfers are included, because the mean would otherwise omit the slowest
            # transfers.
            "duration_s": rows["flow0_completion_ns"].astype("float64").div(1e9).fillna(rows["virtual_s"]),
        }
    )
    frame["throughput_bps"] = frame["bytes"] * 8 / frame["duration_s"]
    for name, column in MORE_COLUMNS.items():
        if column in rows:
            frame[name] = rows[column].astype("float64")
    return frame.reset_index(drop=True)


def probes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per probe, computed from rows of the study engine. The columns are `distribution, jitter_ns` and
    `PROBE_COLUMNS`.

    rows: The rows of the group `probes`. Failed runs are left out.
    Returns: The MD in packets, the E_r in nats, and the number of packets beyond the threshold, for each distribution
        and jitter.
    Raises TraceError if the rows lack a column because an older version of leowarp made them.
    """
    rows = rows[rows["status"] == "ok"]
    # Runs of older versions may lack columns that claims now need.
    missing = [column for column in PROBE_COLUMNS.values() if column not in rows]
    if missing:
        raise TraceError(f"the probes' results have no column {', '.join(missing)}", "make the probes anew: --force")
    frame = pd.DataFrame({"distribution": rows["distribution"], "jitter_ns": rows["jitter_ns"].astype("int64")})
    for name, column in PROBE_COLUMNS.items():
        frame[name] = rows[column].astype("float64")
    # Without jitter no packet is displaced, so RD has one entry. The entropy of an RD with one entry is 0, but the
    # computation gives -0.
    frame["entropy_nats"] = frame["entropy_nats"].abs()
    return frame.sort_values(["distribution", "jitter_ns"], kind="stable").reset_index(drop=True)


def shape(shaped: Tables, unshaped: Tables) -> Shape:
    """Return the RD and the delays of a probe's whole run, and the delays of the same probe without the shaper.

    shaped, unshaped: Two runs with the same seed. In the run `unshaped`, netem is not followed by a shaper.
    """
    rd = shaped.of_flow("densities", 0)
    rd = rd[(rd["scope"] == WHOLE_RUN) & (rd["kind"] == DENSITY)].sort_values("index")
    pkts = rd["pkts"].to_numpy(dtype="float64")
    return Shape(rd["index"].to_numpy(dtype="int64"), pkts / pkts.sum(), _delays_ns(shaped), _delays_ns(unshaped))


def _delays_ns(tables: Tables) -> np.ndarray:
    """Return the one-way delays of a probe's packets that arrived, in the order of sending, as an int64 array."""
    echoes = tables.of_flow("echoes", 0)
    echoes = echoes[echoes["received_ns"].notna()]
    return (echoes["received_ns"] - echoes["sent_ns"]).to_numpy(dtype="int64")


def _profiles(rows: pd.DataFrame) -> pd.Series:
    """Return the TCP of each row, as a name in `runs.PROFILES`. The TCP is found from the run's scenario keys."""
    if "tcp_sysctl" not in rows:
        return pd.Series(PROFILES[0], index=rows.index)
    detections = rows.get("tcp_loss_detection", pd.Series("kernel", index=rows.index))
    return pd.Series(
        [
            profile_of(profile, json.loads(sysctl), detection)
            for profile, sysctl, detection in zip(rows["tcp_profile"], rows["tcp_sysctl"], detections, strict=True)
        ],
        index=rows.index,
    )


def joined(parts: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Concatenate several groups of runs and renumber the rows."""
    return pd.concat(list(parts.values()), ignore_index=True)
