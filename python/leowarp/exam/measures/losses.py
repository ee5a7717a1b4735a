# SPDX-License-Identifier: Apache-2.0
"""Measures of lost packets, of spurious retransmissions, and of packets sent into a path without capacity."""

from __future__ import annotations

from leowarp.exam.measures.reading import BIN_NS, SECOND_NS, Measured, at, data_bins
from leowarp.results.run import Run


def lost(run: Run, *, flow: int, from_ns: int, until_ns: int) -> Measured:
    """The share of lost packets among the data packets sent in an interval."""
    rows = data_bins(run, flow)
    mine = rows[(rows["t_ns"] >= from_ns) & (rows["t_ns"] < until_ns)]
    sent, gone = int(mine["sent_pkts"].sum()), int(mine["lost_pkts"].sum())
    if sent == 0:
        return Measured(None, f"nothing was sent from {at(from_ns)} to {at(until_ns)}")
    if gone == 0:
        return Measured(0.0, f"none of {sent:,} packets")
    packets = run.packets(flow)
    mine_lost = packets[
        (packets["direction"] == "data") & packets["received_ns"].isna() & packets["drop_cause"].notna()
        & (packets["sent_ns"] >= from_ns) & (packets["sent_ns"] < until_ns)
    ]  # fmt: skip
    if len(mine_lost) == 0:
        worst = mine.loc[mine["lost_pkts"].idxmax()]
        t_ns = int(worst["t_ns"])
        text = f"{gone:,} of {sent:,} packets; the most within 50 ms from {at(t_ns)}: {int(worst['lost_pkts']):,}"
        return Measured(gone / sent, text, t_ns)
    first = mine_lost.iloc[0]
    t_ns = int(first["sent_ns"])
    decided = (
        f"{gone:,} of {sent:,} packets; the first held byte {int(first['seq']):,}, sent at {at(t_ns)}, lost by "
        f"{first['drop_cause']}"
    )
    return Measured(gone / sent, decided, t_ns)


def spurious(run: Run, *, flow: int) -> Measured:
    """The share of a flow's data packets retransmitted although the original arrived. The first one decided."""
    sent = int(data_bins(run, flow)["sent_pkts"].sum())
    if sent == 0:
        return Measured(None, "nothing was sent")
    packets = run.packets(flow)
    again = packets[packets["is_spurious"].fillna(False).astype(bool)]
    if len(again) == 0:
        return Measured(0.0, f"none of {sent:,} packets")
    first = again.iloc[0]
    t_ns = int(first["sent_ns"])
    decided = f"{len(again):,} of {sent:,} packets; the first held byte {int(first['seq']):,}, sent at {at(t_ns)}"
    return Measured(len(again) / sent, decided, t_ns)


def sent_rate(run: Run, *, flow: int, from_ns: int, until_ns: int) -> Measured:
    """The data packets (with retransmissions) that a flow sent per second in an interval, and the busiest 50 ms."""
    rows = data_bins(run, flow)
    mine = rows[(rows["t_ns"] >= from_ns) & (rows["t_ns"] < until_ns)]
    sent = int(mine["sent_pkts"].sum())
    if sent == 0:
        return Measured(0.0, f"nothing was sent from {at(from_ns)} to {at(until_ns)}")
    busiest = mine.loc[mine["sent_pkts"].idxmax()]
    t_ns = int(busiest["t_ns"])
    decided = (
        f"{sent:,} packets; the most within {BIN_NS // 1_000_000} ms from {at(t_ns)}: {int(busiest['sent_pkts']):,}"
    )
    return Measured(sent * SECOND_NS / (until_ns - from_ns), decided, t_ns)
