# SPDX-License-Identifier: Apache-2.0
"""Search for the reordering metric of a path that best predicts how much performance a TCP loses. The study
`torres2020` asks for such a metric.

The data are transfers of `torres2020` over jittered paths. The transfers use four TCPs, which distinguish loss from
reordering in different ways. For each metric, isotonic regression fits a monotone curve to the runs with every second
jitter. The remaining runs test this curve.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression
from scipy.stats import spearmanr

from leowarp import TraceError
from leowarp_studies.torres2020.runs import profile_of

SPURIOUS, LOST = "spurious retransmissions", "lost throughput"
"""The two predicted outcomes. The first outcome is the number of spurious retransmissions per packet sent. The second
outcome is the share of throughput that is lost, compared with a run without jitter."""
OUTCOMES = {SPURIOUS: "spurious_ratio", LOST: "lost_ratio"}

NUMBERS = {
    "mean displacement": "mean_displacement_pkts",
    "entropy": "entropy_nats",
    "share reordered": "reordered_ratio",
    "share 3-reordered": "reordered3_ratio",
    "mean extent": "extent_pkts",
    "mean buffer": "buffer_pkts",
    "largest late time / RTT": "late_max_rtts",
    "mean late time / RTT": "late_rtts",
    "share reordered x late time / RTT": "reordered_late_rtts",
    "share 3-reordered x late time / RTT": "reordered3_late_rtts",
}
"""The metrics that are compared. Each is computed from RD, RBD, n-reordering or late time. The four metrics with "RTT"
in their name also use the path's RTT."""
USUAL = ("mean displacement", "entropy")
"""The metrics to which `torres2020` relates throughput."""
CLEAR, GOOD = 0.05, 0.80
"""The thresholds for a useful metric. Such a metric explains at least the share `GOOD` of the variance. It also
explains at least `CLEAR` more than each metric in `USUAL`. The thresholds were set before the first run of the
study."""

_COLUMNS = {
    "mean_displacement_pkts": "flow0_mean_displacement_pkts",
    "entropy_nats": "flow0_entropy_nats",
    "reordered_ratio": "flow0_reordered_ratio",
    "reordered3_ratio": "flow0_reordered3_ratio",
    "extent_pkts": "flow0_reordering_extent_mean_pkts",
    "buffer_pkts": "flow0_buffer_mean_pkts",
    "spurious_ratio": "flow0_spurious_retransmissions_ratio",
    "goodput_bps": "flow0_goodput_in_order_mean_bps",
}


def numbers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run, with the metrics and with the outcomes that the metrics may predict.

    Parameters
    ----------
    rows : DataFrame
        The rows of the study engine: successful runs with packet records.

    Returns
    -------
    DataFrame
        The columns that `NUMBERS` lists, and also `spurious_ratio` and `goodput_bps`. Late time and extent are 0 in
        runs without reordering.

    Raises
    ------
    TraceError
        If a column is missing.
    """
    frame = pd.DataFrame(index=rows.index)
    for name, column in _COLUMNS.items():
        if column not in rows:
            raise TraceError(f"the runs' results have no column {column}", "make the runs anew: --force")
        frame[name] = rows[column].astype("float64")
    rtt_ns = rows["flow0_rtt_min_ns"].astype("float64")
    for name, column in (("late_rtts", "mean"), ("late_max_rtts", "max")):
        frame[name] = (rows[f"flow0_late_time_{column}_ns"].astype("float64") / rtt_ns).fillna(0.0)
    frame["extent_pkts"] = frame["extent_pkts"].fillna(0.0)
    frame["reordered_late_rtts"] = frame["reordered_ratio"] * frame["late_rtts"]
    frame["reordered3_late_rtts"] = frame["reordered3_ratio"] * frame["late_rtts"]
    return frame


def jittered(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the transfers of `torres2020`: the columns of `numbers_of`, and `tcp, congestion_control, distribution,
    jitter_ns, lost_ratio`."""
    rows = rows[rows["status"] == "ok"].reset_index(drop=True)
    frame = numbers_of(rows)
    profiles = zip(rows["tcp_profile"], rows["tcp_sysctl"], strict=True)
    frame["tcp"] = [profile_of(profile, json.loads(sysctl)) for profile, sysctl in profiles]
    for name in ("congestion_control", "distribution", "jitter_ns"):
        frame[name] = rows[name]
    # Transfers are short, and slow start reduces their goodput. Each transfer is therefore compared with a transfer of
    # the same TCP without jitter.
    key = ["tcp", "congestion_control", "distribution"]
    still = frame[frame["jitter_ns"] == 0].groupby(key)["goodput_bps"].median().rename("still_bps").reset_index()
    frame = frame.merge(still, on=key, how="inner")
    frame["lost_ratio"] = 1 - frame["goodput_bps"] / frame["still_bps"]
    return frame


def halves(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the runs into two frames. The first frame has the runs with the smallest jitter, and with every second
    jitter after it. The second frame has the remaining runs."""
    jitters = sorted(frame["jitter_ns"].unique())
    train = frame["jitter_ns"].isin(jitters[::2])
    return frame[train], frame[~train]


def fitted(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Fit a monotonically rising least-squares curve to points, and return the curve's values at `at`. Beyond the
    outermost points, the curve is constant.

    >>> fitted(np.array([0.0, 1, 2]), np.array([0.0, 3, 1]), np.array([0.5, 9]))
    array([1., 2.])
    """
    # Points with the same x become one point. Its weight is the number of these points.
    places, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    level = isotonic_regression(np.bincount(which, weights=y) / counts, weights=counts).x
    return np.interp(at, places, level)


def scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how well each metric predicts each outcome of each TCP. The predictions are tested on runs that were not
    used for the fit.

    Returns
    -------
    DataFrame
        The columns `tcp, outcome, number, explained_ratio, error, rank_correlation, runs`. `explained_ratio` is the
        share of the variance that the prediction explains. It is below 0 if the mean predicts better. `error` is the
        root mean square, in the unit of the outcome. `rank_correlation` is Spearman's rank correlation of predicted and
        true values.
    """
    rows = []
    for tcp, of_tcp in frame.groupby("tcp"):
        for outcome, column in OUTCOMES.items():
            for number, name in NUMBERS.items():
                squares, spreads, guesses, truths = [], [], [], []
                # The throughput that a number of retransmissions costs differs between congestion controls. Each
                # control therefore has its own curve.
                for _, mine in of_tcp.groupby("congestion_control"):
                    train, test = halves(mine)
                    y = test[column].to_numpy()
                    guess = fitted(train[name].to_numpy(), train[column].to_numpy(), test[name].to_numpy())
                    squares.append((guess - y) ** 2)
                    spreads.append((y - y.mean()) ** 2)
                    guesses.append(guess)
                    truths.append(y)
                square, spread = (float(np.concatenate(each).mean()) for each in (squares, spreads))
                # If a TCP never loses performance, there is nothing to predict.
                if spread == 0:
                    continue
                guess, y = np.concatenate(guesses), np.concatenate(truths)
                ranks = float(spearmanr(guess, y).statistic) if len(np.unique(guess)) > 1 else float("nan")
                rows.append({
                    "tcp": tcp, "outcome": outcome, "number": number, "explained_ratio": 1 - square / spread,
                    "error": square**0.5, "rank_correlation": ranks, "runs": len(y),
                })  # fmt: skip
    return pd.DataFrame(rows)


def best(table: pd.DataFrame) -> pd.DataFrame:
    """Return, for each TCP and outcome, the row of `scores` with the largest `explained_ratio`. The index is `tcp,
    outcome`."""
    places = table.groupby(["tcp", "outcome"])["explained_ratio"].idxmax()
    return table.loc[places].set_index(["tcp", "outcome"])
