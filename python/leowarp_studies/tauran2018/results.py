# SPDX-License-Identifier: Apache-2.0
"""The study's data sets for claims and figures."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from leowarp import TraceError
from leowarp.media.mobile import rows_of
from leowarp.scenario import load, resolve
from leowarp.scenario.names.examples import example_file
from leowarp.scenario.schema import Mobile
from leowarp_studies.tauran2018 import runs

COLUMNS = {
    "goodput_bps": "flow0_goodput_mean_bps",
    "sent_pkts": "flow0_sent_pkts",
    "lost_pkts": "flow0_lost_loss_pkts",
    "dropped_pkts": "flow0_lost_queue_pkts",
    "late_pkts": "flow0_late_pkts",
    "retransmissions_pkts": "flow0_sender_retransmissions_pkts",
    "retransmitted_pkts": "flow0_retransmissions_pkts",
    "spurious_pkts": "flow0_spurious_retransmissions_pkts",
    "timeouts": "flow0_timeouts",
    "recoveries": "flow0_sender_recoveries",
    "undos": "flow0_sender_undos",
    "duplicate_acks_ratio": "flow0_duplicate_acks_ratio",
    "spurious_ratio": "flow0_spurious_retransmissions_ratio",
    "timeout_retransmissions_ratio": "flow0_timeout_retransmissions_ratio",
    "acks_per_segment_ratio": "flow0_acks_per_segment_ratio",
    "long_waits_ratio": "flow0_ack_waits_long_ratio",
    "srtt_us": "flow0_srtt_p50_us",
    "rttvar_us": "flow0_rttvar_p50_us",
    "rto_us": "flow0_rto_p50_us",
    "cwnd_pkts": "flow0_cwnd_p50_pkts",
}
"""The columns of a session, with their names in `summary.json`. The number of retransmissions is the sender's own
count. The numbers of retransmitted packets and of spurious retransmissions come from the trace."""


def sessions(rows: pd.DataFrame) -> pd.DataFrame:
    """Select and rename the columns of the study engine's rows, without failed runs.

    Columns: `congestion_control, delayed_ack, resequencing, profile, snr_db, seed` and the columns in `COLUMNS`. Three
        further columns are ratios. `timeouts_ratio` is timeouts per sent packet. `lost_ratio` is the number of packets
        that the link lost, divided by the number that it transmitted. `late_ratio` is the share of sent packets that
        later packets overtook. `spurious_of_retransmitted_ratio` is a share, or nan if nothing was retransmitted.
        `link_of_lost_ratio` is a share, or nan if nothing was lost.

    Raises TraceError if a column is missing because an older version of leowarp made the runs.
    """
    rows = rows[rows["status"] == "ok"]
    frame = pd.DataFrame({"congestion_control": rows["congestion_control"], "delayed_ack": rows["delayed_ack"]})
    frame["resequencing"] = rows["resequencing"].astype(bool)
    frame["profile"] = rows.get("profile", runs.STUDY_PROFILE)
    frame["snr_db"] = rows["snr_db"].astype("float64")
    frame["seed"] = rows["seed"].astype("int64")
    frame["setting"] = rows.get("name", runs.BASE)
    for name, column in COLUMNS.items():
        if column not in rows:
            raise TraceError(f"the runs' results have no column {column}", "make the runs anew: --force")
        frame[name] = rows[column].astype("float64")
    frame["timeouts_ratio"] = frame["timeouts"] / frame["sent_pkts"]
    frame["late_ratio"] = frame["late_pkts"] / frame["sent_pkts"]
    # The divisor leaves out packets that the link's queue dropped, because they never reached the channel.
    frame["lost_ratio"] = frame["lost_pkts"] / (frame["sent_pkts"] - frame["dropped_pkts"])
    frame["spurious_of_retransmitted_ratio"] = frame["spurious_pkts"] / frame["retransmitted_pkts"]
    frame["link_of_lost_ratio"] = frame["lost_pkts"] / (frame["lost_pkts"] + frame["dropped_pkts"])
    return frame.reset_index(drop=True)


def complete(frame: pd.DataFrame) -> bool:
    """Return whether the rows have all SNRs for every combination of congestion control, packet order and delayed-ACK
    setting."""
    points = frame.groupby(["congestion_control", "resequencing", "delayed_ack", "snr_db"]).ngroups
    return points == len(runs.ALGORITHMS) * 2 * 2 * frame["snr_db"].nunique()


def codewords(snrs_db: Sequence[float], seeds: Sequence[int], duration: str = f"{runs.DURATION_S} s") -> pd.DataFrame:
    """Return the outcomes of all codewords on the channel, including codewords that carry no packet.

    Columns: `snr_db, seed, lost_ratio`, and `decoded0_ratio` to `decoded3_ratio` (decoded after this number of
        retransmissions).

    The computation needs no run, because the channel is a function of the plan and the seed.
    """
    rows = []
    for snr_db in snrs_db:
        for seed in seeds:
            # The plan has the same seed and duration as the sessions, so the fading is exactly the same.
            overrides = {"mobile.snr": runs.snr_text(snr_db), "run.seed": seed, "run.duration": duration}
            plan = resolve(load(example_file(runs.SCENARIO), overrides))
            assert isinstance(plan.medium, Mobile), "the study's path is a mobile channel"
            _, outcomes = rows_of(plan, plan.medium)
            shares = outcomes.decoded_shares(plan.medium.retransmissions)
            rows.append({"snr_db": float(snr_db), "seed": seed, "lost_ratio": outcomes.loss_ratio}
                         | {f"decoded{again}_ratio": share for again, share in enumerate(shares)})  # fmt: skip
    return pd.DataFrame(rows)


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate several groups of sessions."""
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
