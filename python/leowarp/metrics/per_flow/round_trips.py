# SPDX-License-Identifier: Apache-2.0
"""The round-trip times of a flow's packets. These times are computed from packet truth, not from the sender's RTT
filter.

The round trip of a data packet that arrived is the packet's own delay plus the delay of its answer. Retransmissions
have round trips, too. The answer is the first packet that is sent back after the packet's arrival and is not lost. A
round trip contains the time in links and queues, but neither the receiver's delay of ACKs nor a wait for missing
packets.

In current runs, the guest computes this round trip for every packet (`metrics/per_flow/delays.py`). Runs of older
versions contain only two things: the delays of stored packets, and sums of delays per bin. In an older run, a round
trip is exact if the packet and its answer are both stored. For all other packets, an older run has only the number of
packets and the sum of their delays. There is one number and one sum per 50 ms of sending time. For such a packet, the
round trip is estimated as the mean delay in the packet's bin plus the mean delay in the answer's bin. The means do not
show the variation within 50 ms, so `rtt_error_ns` is null.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.metrics.inputs.series import weighted_quantile, whole
from leowarp.metrics.inputs.tables import ACK, DATA, Tables, floats
from leowarp.metrics.per_flow.delays import QUANTILES, ROUND_TRIP, delays
from leowarp.scalars import names
from leowarp.scalars.of_flows import ROUND_TRIPS

BIN_NS = 50_000_000
"""The length of a bin in the table `bins`."""


def round_trip_scalars(tables: Tables, flow: int) -> dict[str, Any]:
    """Return the scalars of a flow's round trips (`scalars.of_flows.ROUND_TRIPS`), in whole ns."""
    row: dict[str, Any] = dict.fromkeys(names(ROUND_TRIPS))
    counted = delays(tables, flow, ROUND_TRIP)
    if counted is not None:
        return row | counted.scalars("rtt")
    rtt_ns, weight, exact = round_trips(tables, flow)
    if len(rtt_ns) == 0:
        return row
    order = np.argsort(rtt_ns, kind="stable")
    rtt_ns, weight = rtt_ns[order], weight[order]
    for name, q in QUANTILES.items():
        row[f"rtt_{name}_ns"] = whole(weighted_quantile(rtt_ns, weight, q))
    row["rtt_min_ns"], row["rtt_max_ns"] = round(float(rtt_ns[0])), round(float(rtt_ns[-1]))
    row["rtt_mean_ns"] = round(float(np.average(rtt_ns, weights=weight)))
    row["rtt_error_ns"] = 0 if exact.all() else None
    return row


def round_trips(tables: Tables, flow: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the round trips of a flow's stored data packets, and mean round trips per bin of 50 ms for its other
    packets.

    Returns: three arrays of shape (n,): the unsorted round trips in ns, the number of packets of each, and whether each
        is exact. They are empty without packet truth, or if no packet arrived in one of the directions.
    """
    nothing = (np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool))
    if not tables.has("bins"):
        return nothing
    data, back = _Way(tables, flow, DATA), _Way(tables, flow, ACK)
    if len(data.mean_ns) == 0 or len(back.mean_ns) == 0:
        return nothing
    # Sometimes only the late, lost and retransmitted packets of a bin are stored. These packets are then not used,
    # because the bin's mean already includes them.
    whole = data.is_whole(data.stored_sent)
    arrived = data.stored_sent[whole] + data.stored_delay[whole]
    answer, exact = back.answer_ns(arrived)
    rest = ~data.is_bin_whole
    # The packets of a bin are assumed to have been sent at its middle.
    middle = data.bin_ns[rest] + BIN_NS // 2
    of_bins = data.mean_ns[rest] + back.mean_at(middle + data.mean_ns[rest])
    return (
        np.concatenate([data.stored_delay[whole] + answer, of_bins]),
        np.concatenate([np.ones(len(answer)), data.delivered[rest]]),
        np.concatenate([exact, np.zeros(len(of_bins), dtype=bool)]),
    )


class _Way:
    """The one-way delays in one direction of a flow: the mean of each bin, and the delay of each stored packet."""

    def __init__(self, tables: Tables, flow: int, direction: int) -> None:
        bins = tables.of_flow("bins", flow)
        bins = bins[bins["direction"].to_numpy() == direction]
        sent, delivered = floats(bins["sent_pkts"]), floats(bins["delivered_pkts"])
        starts = bins["t_ns"].to_numpy(dtype="int64")
        packets = tables.of_flow("packets", flow)
        mine = packets["direction"].to_numpy() == direction
        stored = packets["sent_ns"].to_numpy(dtype="int64")[mine]
        received = floats(packets["received_ns"])[mine]
        # A bin is stored completely if it has as many stored packets as sent packets; no column of the tables says this
        # directly.
        kept = np.bincount(np.searchsorted(starts, stored, side="right"), minlength=len(starts) + 1)[1:]
        # If no packet of a bin arrived, the bin has no delay. Its packets were lost or are in flight.
        some = delivered > 0
        self.bin_ns, self.delivered = starts[some], delivered[some]
        self.mean_ns = floats(bins["owd_sum_ns"])[some] / delivered[some]
        self.is_bin_whole = kept[some] == sent[some]
        arrived = ~np.isnan(received)
        order = np.argsort(stored[arrived], kind="stable")
        self.stored_sent = stored[arrived][order]
        self.stored_delay = received[arrived][order] - self.stored_sent
        # For each bin, the number of earlier bins that are not stored completely. Bins from which no packet arrived are
        # included.
        self._starts, self._gaps = starts, np.append(0, np.cumsum(kept != sent))

    def is_whole(self, sent_ns: np.ndarray) -> np.ndarray:
        """Return, for each instant, whether every packet of the instant's bin is stored."""
        place = np.searchsorted(self.bin_ns, sent_ns, side="right") - 1
        return (place >= 0) & self.is_bin_whole[np.maximum(place, 0)]

    def mean_at(self, t_ns: np.ndarray) -> np.ndarray:
        """Return the mean delay for each instant. Among the bins with arrivals, the first bin that ends after the
        instant gives the mean. If there is no such bin, the last bin with arrivals is used."""
        place = np.searchsorted(self.bin_ns + BIN_NS, t_ns, side="right")
        return self.mean_ns[np.minimum(place, len(self.mean_ns) - 1)]

    def answer_ns(self, t_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each instant, return the delay of the first packet sent at or after it. Also return whether each delay is
        exact and not a mean."""
        if len(self.stored_sent) == 0:
            return self.mean_at(t_ns), np.zeros(len(t_ns), dtype=bool)
        first = np.searchsorted(self.stored_sent, t_ns, side="left")
        is_stored = first < len(self.stored_sent)
        first = np.minimum(first, len(self.stored_sent) - 1)
        # Consider the first stored packet after an instant. If all bins up to this packet are stored completely, no
        # packet was sent between the instant and this packet.
        here = np.maximum(np.searchsorted(self._starts, t_ns, side="right") - 1, 0)
        there = np.searchsorted(self._starts, self.stored_sent[first], side="right")
        exact = is_stored & (self._gaps[np.maximum(there, here)] == self._gaps[here])
        return np.where(exact, self.stored_delay[first], self.mean_at(t_ns)), exact
