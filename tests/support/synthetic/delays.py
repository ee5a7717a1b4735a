# SPDX-License-Identifier: Apache-2.0
"""Compute the table `delays` from known packets, directly from its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.tables import ACK, DATA
from leowarp.metrics.per_flow.delays import ROUND_TRIP

WIDEST_BITS = 13
"""The binary logarithm of the widest bin, in ns."""


def delay_rows(flow: int, data: pd.DataFrame, back: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the table `delays` of a TCP flow.

    data, back: DataFrame with the columns `sent_ns` and `received_ns` (missing if the packet never arrived). Each frame
        contains all packets in its direction.
    """
    rtt_ns, unanswered = exact_round_trips(data, back)
    none = pd.DataFrame({"flow": flow, "quantity": ROUND_TRIP, "pkts": [unanswered]} if unanswered else {})
    pieces = [delay_bins(flow, DATA, one_way_ns(data)), delay_bins(flow, ACK, one_way_ns(back)),
              delay_bins(flow, ROUND_TRIP, rtt_ns), none]  # fmt: skip
    return pd.concat([piece.astype(object) for piece in pieces if len(piece)], ignore_index=True)


def one_way_ns(packets: pd.DataFrame) -> np.ndarray:
    """Return the one-way delays of the packets that arrived, as an int64 array."""
    arrived = packets[packets["received_ns"].notna()]
    return arrived["received_ns"].to_numpy(dtype="int64") - arrived["sent_ns"].to_numpy(dtype="int64")


def exact_round_trips(data: pd.DataFrame, back: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Return the round trip of each data packet that got an answer, and the number of data packets without an answer.

    The answer is the first packet that left in the opposite direction at or after the data packet's arrival. A lost
    packet is no answer.
    """
    answers = back[back["received_ns"].notna()].sort_values("sent_ns", kind="stable")
    left, took = answers["sent_ns"].to_numpy(dtype="int64"), one_way_ns(answers)
    arrived = data.loc[data["received_ns"].notna(), "received_ns"].to_numpy(dtype="int64")
    first = np.searchsorted(left, arrived, side="left")
    answered = first < len(left)
    return one_way_ns(data)[answered] + took[first[answered]], int((~answered).sum())


def delay_bins(flow: int, quantity: int, delay_ns: Any) -> pd.DataFrame:
    """Return rows of the table `delays` for these delays. Each octave has 128 bins, up to a width of `2 ** WIDEST_BITS`
    ns."""
    delay = np.asarray(delay_ns, dtype="int64")
    octave = np.frexp(np.maximum(delay, 1).astype("float64"))[1] - 1
    bits = np.clip(octave - 7, 0, WIDEST_BITS)
    frame = pd.DataFrame({"lower_ns": delay >> bits << bits, "width_ns": 1 << bits, "delay": delay})
    rows = frame.groupby(["lower_ns", "width_ns"])["delay"].size().rename("pkts").reset_index()
    rows = rows.assign(flow=flow, quantity=quantity, upper_ns=rows["lower_ns"] + rows["width_ns"])
    return rows[["flow", "quantity", "lower_ns", "upper_ns", "pkts"]]


def round_trip_ends(data: pd.DataFrame, back: pd.DataFrame) -> dict[str, int | None]:
    """Return the values of those columns of the table `flows` that are about round trips."""
    rtt_ns, _ = exact_round_trips(data, back)
    if len(rtt_ns) == 0:
        return dict.fromkeys(("rtt_min_ns", "rtt_max_ns", "rtt_sum_ns"))
    return {"rtt_min_ns": int(rtt_ns.min()), "rtt_max_ns": int(rtt_ns.max()), "rtt_sum_ns": int(rtt_ns.sum())}
