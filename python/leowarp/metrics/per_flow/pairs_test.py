# SPDX-License-Identifier: Apache-2.0
"""Tests the sums over the flows of each pair of stations against sums computed by hand."""

import numpy as np
import pandas as pd
import pytest

from leowarp.metrics import PAIR_COLUMNS, metrics, pairs
from support.synthetic.star import MS, PAYLOAD_BYTES, S, Transfer, in_order_bytes, star


def flow(source, destination, goodput_bps, rtt_ns, sent, lost, kind="tcp", start_ns=0, stop_ns=S):
    return {
        "kind": kind, "source": source, "destination": destination, "goodput_mean_bps": goodput_bps,
        "start_ns": start_ns, "stop_ns": stop_ns,
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


def test_flows_one_behind_the_other_are_no_faster_together():
    (row,) = pairs([
        flow("A", "B", 3e6, 1, 1, 1), flow("A", "B", 6e6, 1, 1, 1, start_ns=2 * S, stop_ns=4 * S),
        flow("A", "B", 2e6, 1, 1, 1, start_ns=3 * S, stop_ns=5 * S), flow("A", "B", None, 1, 1, 1, stop_ns=0),
    ]).itertuples()  # fmt: skip
    assert row.goodput_mean_bps == (3e6 * 1 + 6e6 * 2 + 2e6 * 2) / 4


def test_what_one_flow_does_not_know_is_missing_of_its_pair():
    (row,) = pairs([flow("A", "B", 3e6, None, None, None), flow("A", "B", 4e6, 20, 300, 15)]).itertuples()
    assert row.goodput_mean_bps == 7e6
    assert all(value is pd.NA for value in (row.rtt_p50_ns, row.sent_pkts, row.lost_pkts, row.lost_ratio))


def test_a_pair_that_sent_nothing_lost_no_share():
    assert pairs([flow("A", "B", 0.0, None, 0, 0)])["lost_ratio"].isna().all()


def test_without_tcp_there_is_no_pair():
    assert len(pairs([flow("A", "B", 1.0, 1, 1, 1, kind="ping")])) == 0


FLOWS, STATIONS, RATE_BPS, END_NS = 1000, 12, 20_000_000, 12 * S


@pytest.fixture(scope="module")
def crowd():
    """Return 1,000 short flows between twelve stations. Some flows are not complete when the run ends."""
    rng = np.random.default_rng(7)
    names = [f"S{place}" for place in range(STATIONS)]
    transfers = []
    for start_ns in np.sort(rng.integers(0, END_NS, FLOWS)).tolist():
        source, destination = rng.choice(names, 2, replace=False)
        size_bytes = int(np.clip(rng.lognormal(9.6, 1.2), 1, 400_000))
        lost = frozenset(rng.integers(0, 200, 2).tolist())
        transfers.append(
            Transfer(source, destination, start_ns, int(rng.integers(MS // 2, 5 * MS)), size_bytes, lost=lost)
        )
    run = star(transfers, RATE_BPS, END_NS)
    return run, metrics(run.tables, run.plan).summary["flows"]


@pytest.mark.slow
def test_of_a_thousand_flows_each_number_is_a_sum_over_its_packets(crowd):
    run, flows = crowd
    packets = {number: mine for number, mine in run.data.groupby("flow")}
    complete = 0
    for number, (found, planned) in enumerate(zip(flows, run.plan.flows, strict=True)):
        # Some of the last flows had not begun when the run ended.
        mine = packets.get(number, run.data[:0])
        came = mine.dropna(subset="received_ns").sort_values("received_ns").drop_duplicates("number")
        last_ns = int(came["received_ns"].iloc[-1]) if len(came) else None
        is_complete = came["len_bytes"].sum() == planned.size_bytes and last_ns is not None
        assert found["completion_ns"] == (last_ns - planned.start_ns if is_complete else None)
        is_in_time = is_complete and last_ns <= END_NS
        assert found["stop_ns"] == (last_ns if is_in_time else END_NS)
        complete += is_in_time
        carried = int(in_order_bytes(mine, np.array([found["stop_ns"]]))[0])
        assert found["goodput_mean_bps"] == pytest.approx(carried * 8e9 / (found["stop_ns"] - planned.start_ns))
        assert found["goodput_mean_bps"] <= RATE_BPS * PAYLOAD_BYTES / (PAYLOAD_BYTES + 66)
        assert found["capacity_used_ratio"] <= 1
        assert (found["sent_pkts"], found["lost_pkts"]) == (len(mine), mine["received_ns"].isna().sum())
    # Most flows are complete and some are cut off, so both cases are tested.
    assert FLOWS > complete > 0.9 * FLOWS


@pytest.mark.slow
def test_pairs_of_a_thousand_flows_are_sums_over_their_packets(crowd):
    run, flows = crowd
    found = pairs(flows)
    ends = pd.DataFrame([(flow.source, flow.destination) for flow in run.plan.flows], columns=["source", "destination"])
    assert found["flows"].sum() == FLOWS
    assert len(found) == len(ends.drop_duplicates())
    for row in found.itertuples():
        numbers = ends.index[(ends["source"] == row.source) & (ends["destination"] == row.destination)]
        assert row.flows == len(numbers)
        lives = [(run.plan.flows[number].start_ns, flows[number]["stop_ns"]) for number in numbers]
        carried = sum(
            int(in_order_bytes(run.data[run.data["flow"] == number], np.array([stop_ns]))[0])
            for number, (_, stop_ns) in zip(numbers, lives, strict=True)
        )
        # For each millisecond, whether at least one flow lived in it.
        alive = np.zeros(END_NS // MS + 1, dtype=bool)
        for start_ns, stop_ns in lives:
            alive[start_ns // MS : -(-stop_ns // MS)] = True
        assert row.goodput_mean_bps == pytest.approx(carried * 8e3 / alive.sum(), rel=2 * len(numbers) / alive.sum())
        assert row.goodput_mean_bps <= RATE_BPS
        mine = run.data[run.data["flow"].isin(numbers)]
        assert (row.sent_pkts, row.lost_pkts) == (len(mine), mine["received_ns"].isna().sum())
        assert row.retransmissions_pkts == mine["is_retransmission"].sum()
