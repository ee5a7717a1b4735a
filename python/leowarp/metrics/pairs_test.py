# SPDX-License-Identifier: Apache-2.0
"""Flows by their ends, against sums by hand."""

import pandas as pd

from leowarp.metrics import PAIR_COLUMNS, pairs


def flow(source, destination, goodput_bps, rtt_ns, sent, lost, kind="tcp"):
    return {
        "kind": kind, "source": source, "destination": destination, "goodput_mean_bps": goodput_bps,
        "rtt_p50_ns": rtt_ns, "sent_pkts": sent, "lost_pkts": lost, "retransmissions_pkts": lost,
    }  # fmt: skip


def test_flows_of_one_pair_are_added_up():
    found = pairs([
        flow("A", "B", 3e6, 10, 100, 5), flow("B", "A", 1e6, 30, 50, 0), flow("A", "B", 4e6, 20, 300, 15),
        flow("A", "B", 1.0, 1, 1, 1, kind="ping"),
    ])  # fmt: skip
    assert list(found.columns) == list(PAIR_COLUMNS)
    assert found[["source", "destination", "flows"]].to_numpy().tolist() == [["A", "B", 2], ["B", "A", 1]]
    assert found["goodput_mean_bps"].tolist() == [7e6, 1e6]
    assert found["rtt_p50_ns"].tolist() == [15.0, 30.0]
    assert found["lost_ratio"].tolist() == [20 / 400, 0.0]


def test_what_one_flow_does_not_know_is_missing_of_its_pair():
    (row,) = pairs([flow("A", "B", 3e6, None, None, None), flow("A", "B", 4e6, 20, 300, 15)]).itertuples()
    assert row.goodput_mean_bps == 7e6
    assert all(value is pd.NA for value in (row.rtt_p50_ns, row.sent_pkts, row.lost_pkts, row.lost_ratio))


def test_a_pair_that_sent_nothing_lost_no_share():
    assert pairs([flow("A", "B", 0.0, None, 0, 0)])["lost_ratio"].isna().all()


def test_without_tcp_there_is_no_pair():
    assert len(pairs([flow("A", "B", 1.0, 1, 1, 1, kind="ping")])) == 0
