# SPDX-License-Identifier: Apache-2.0
"""Compares the shares and Jain's index of synthetic runs with the runs' packets. A flow counts only while it competes
with another flow."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from leowarp.metrics import ACK, jain_index, share_series, shares
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.sharing.competition import ALWAYS, both, competition
from leowarp.metrics.sharing.shares import CONTROL, NO_RIVAL, NOT_SAMPLED, NOT_TOGETHER, NOTHING, SEVERAL, least_index
from support.synthetic.star import MS, S, Transfer, in_order_bytes, star

RATE_BPS = 4_000_000
END_NS = 20 * S


def made(*transfers, connections=()):
    return star(transfers, RATE_BPS, END_NS, connections=connections)


def found(run, **changed):
    tables = dataclasses.replace(run.tables, **changed)
    return shares(tables, with_connections(run.plan, tables.connections).flows, run.end_ns)


def got_bps(run, flow, from_ns, until_ns):
    """Return the goodput of a flow between two instants, computed from its packets."""
    low, high = in_order_bytes(run.data[run.data["flow"] == flow], np.array([from_ns, until_ns]))
    return float(high - low) * 8e9 / (until_ns - from_ns)


def span(start_s, stop_s):
    return {"start_ns": round(start_s * S), "stop_ns": round(stop_s * S)}


def flow(source, destination, start_s=0.0, stop_s=20.0, gap_ns=20 * MS, **changed):
    return Transfer(source, destination, gap_ns=gap_ns, **span(start_s, stop_s) | changed)


TIMES_S = st.tuples(st.integers(0, 19), st.integers(1, 20)).filter(lambda t: t[0] < t[1])
FLOWS = st.lists(st.tuples(TIMES_S, st.integers(8, 80)), min_size=2, max_size=4)
OTHERS = st.lists(
    st.tuples(st.sampled_from([("B", "A"), ("C", "D"), ("D", "A")]), TIMES_S, st.integers(20, 80)), max_size=3
)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(FLOWS, OTHERS, st.booleans())
def test_a_share_is_among_flows_that_send_the_same_way_at_the_same_time(planned, others, programs):
    same_way = [flow("A", "B", *times_s, gap_ns=gap * MS) for times_s, gap in planned]
    elsewhere = [flow(*ends, *times_s, gap_ns=gap * MS) for ends, times_s, gap in others]
    control = [flow("D", "C", gap_ns=4 * S, size_bytes=3000), flow("D", "C", gap_ns=10 * MS)] if programs else []
    run = made(*same_way, *elsewhere, connections=control)
    mine = found(run)
    alone = found(made(*same_way))
    numbers = range(len(same_way))
    # Flows in the other direction, flows over other links, and control connections change the queues, but must not
    # change the shares.
    assert [mine.reason[number] for number in numbers] == [alone.reason[number] for number in numbers]
    for number, ratio in mine.ratio.items():
        assert (ratio is None) == (mine.reason[number] is not None)
        assert ratio is None or 0 <= ratio <= 1
    if programs:
        assert mine.reason[len(run.plan.flows)] == CONTROL
    lives = [(each.start_ns, each.stop_ns) for each in same_way]
    for number, (start_ns, stop_ns) in enumerate(lives):
        rivals = [
            other
            for other, (low, high) in enumerate(lives)
            if other != number
            and min(high, stop_ns) - max(low, start_ns) >= max(S, 0.1 * max(stop_ns - start_ns, high - low))
        ]
        group = [number, *rivals]
        from_ns, until_ns = max(lives[each][0] for each in group), min(lives[each][1] for each in group)
        longest_ns = max(lives[each][1] - lives[each][0] for each in group)
        if not rivals:
            assert mine.reason[number] == NO_RIVAL
        elif until_ns - from_ns < max(S, 0.1 * longest_ns):
            assert mine.reason[number] == NOT_TOGETHER
        else:
            rates = [got_bps(run, each, from_ns, until_ns) for each in group]
            assert mine.ratio[number] == pytest.approx(rates[0] / sum(rates))


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(8, 80), min_size=2, max_size=5))
def test_shares_of_flows_that_always_compete_add_up_and_have_an_index(gaps):
    run = made(*(flow("A", "B", gap_ns=gap * MS) for gap in gaps))
    mine = found(run)
    rates = [got_bps(run, number, 0, END_NS) for number in range(len(gaps))]
    assert sum(mine.ratio.values()) == pytest.approx(1.0)
    index = mine.fairness["jain_index"]
    assert index == pytest.approx(jain_index(rates))
    assert 1 / len(gaps) <= index <= 1
    assert (mine.fairness["from_s"], mine.fairness["until_s"]) == (0.0, 20.0)


def test_a_download_beside_two_uploads_shares_nothing_with_them():
    # Two flows have different destinations but use the same link out of A. The third flow ends at A.
    run = made(flow("A", "B", 0, 20, 4 * MS), flow("A", "C", 5, 18, 4 * MS), flow("B", "A", 10, size_bytes=300_000))
    mine = found(run)
    assert mine.reason == {0: None, 1: None, 2: NO_RIVAL}
    rates = [got_bps(run, number, 5 * S, 18 * S) for number in (0, 1)]
    assert mine.ratio[1] == pytest.approx(rates[1] / sum(rates))
    assert mine.fairness["jain_index"] == pytest.approx(jain_index(rates))
    assert (mine.fairness["from_s"], mine.fairness["until_s"]) == (5.0, 18.0)


def test_flows_that_only_meet_for_a_moment_have_no_share():
    run = made(flow("A", "B", 0, 20), flow("A", "B", 10, 11.9), flow("A", "B", 19.5, 20))
    assert set(found(run).reason.values()) == {NO_RIVAL}
    assert found(run).fairness == {"jain_index": None, "from_s": None, "until_s": None, "reason": NO_RIVAL}
    longer = found(made(flow("A", "B", 0, 20), flow("A", "B", 10, 12)))
    assert longer.reason == {0: None, 1: None}


def test_competitors_that_never_all_ran_say_so():
    mine = found(made(flow("A", "B"), flow("A", "B", 0, 8), flow("A", "B", 12, 20)))
    assert mine.reason == {0: NOT_TOGETHER, 1: None, 2: None}
    assert mine.fairness["reason"] == SEVERAL


def test_two_groups_have_no_index_together():
    mine = found(made(*(flow(a, b) for a, b in (("A", "B"), ("A", "B"), ("C", "D"), ("C", "D")))))
    assert set(mine.reason.values()) == {None}
    assert mine.fairness["reason"] == SEVERAL
    frame = share_series(
        (run := made(flow("A", "B"), flow("A", "B"), flow("C", "D"), flow("C", "D", gap_ns=80 * MS))).tables,
        run.plan.flows,
        END_NS,
    )
    second = frame[frame["t_ns"] == 5 * S]
    assert second["share_ratio"].tolist() == pytest.approx([0.5, 0.5, 0.8, 0.2], abs=0.02)
    least = least_index(frame)
    assert least["t_ns"].is_unique
    assert least.loc[least["t_ns"] == 5 * S, "jain_index"].iloc[0] == pytest.approx(jain_index([4, 1]), abs=0.02)


def test_a_path_is_shared_only_while_it_is_the_same():
    run = made(flow("A", "B"), flow("A", "C"))
    paths = ((0, ("A", "hub", "C")), (4 * S, ("A", "D", "C")), (12 * S, None))
    rows = [
        {"t_ns": t_ns, "source": "A", "destination": "C", "path": path, "path_id": place}
        for place, (t_ns, path) in enumerate(paths)
    ]
    others = run.tables.routes[run.tables.routes["destination"] != "C"]
    routes = pd.concat([others, pd.DataFrame(rows)], ignore_index=True)
    mine = found(run, routes=routes)
    assert mine.reason == {0: None, 1: None}
    assert (mine.fairness["from_s"], mine.fairness["until_s"]) == (0.0, 4.0)
    assert mine.ratio[0] == pytest.approx(
        got_bps(run, 0, 0, 4 * S) / sum(got_bps(run, number, 0, 4 * S) for number in (0, 1))
    )
    rows[1]["t_ns"] = S
    brief = pd.concat([others, pd.DataFrame(rows)], ignore_index=True)
    assert found(run, routes=brief).reason == {0: NO_RIVAL, 1: NO_RIVAL}
    # Even without routes, flows of the same pair compete.
    nowhere = run.tables.routes[:0]
    assert found(run, routes=nowhere).reason == {0: NO_RIVAL, 1: NO_RIVAL}
    assert found(made(flow("A", "B"), flow("A", "B")), routes=nowhere).ratio[0] == pytest.approx(0.5)


def test_what_was_not_sampled_or_never_came_has_a_reason():
    run = made(flow("A", "B"), flow("A", "B"))
    last = run.tables.sockets.groupby("flow").tail(1)
    # From a single sample at the end, only the goodput over the flow's whole life is known.
    assert found(run, sockets=last).ratio[0] == pytest.approx(0.5)
    later = made(flow("A", "B"), flow("A", "B", 5, 20))
    assert found(later, sockets=later.tables.sockets.groupby("flow").tail(1)).reason == {0: NOT_SAMPLED, 1: NOT_SAMPLED}
    nothing = run.tables.sockets.assign(bytes_received=0, bytes_acked=0)
    assert found(run, sockets=nothing).reason == {0: NOTHING, 1: NOTHING}
    assert found(run, sockets=nothing).fairness["reason"] == NOTHING
    assert found(run, sockets=nothing[:0]).fairness["reason"] == NOT_SAMPLED


def test_one_flow_has_neither_share_nor_reason():
    mine = found(made(flow("A", "B")))
    assert (mine.ratio, mine.reason) == ({0: None}, {0: None})
    assert set(mine.fairness.values()) == {None}


def test_a_control_connection_is_known_by_its_bytes():
    run = made(flow("A", "B"), connections=[flow("A", "B", gap_ns=4 * S), flow("A", "B", gap_ns=10 * MS)])
    flows = with_connections(run.plan, run.tables.connections).flows

    def competing(**changed):
        tables = dataclasses.replace(run.tables, **changed)
        return competition(tables, flows, END_NS)

    # The connections have 5 and 2000 packets.
    assert competing().controls == frozenset({2})
    assert competing().rivals == {0: (3,), 2: (), 3: (0,)}
    # In a download, the source sends requests, and the payload comes back from the destination.
    bins = run.tables.bins.copy()
    back = ((bins["flow"] == 3) & (bins["direction"] == ACK)).to_numpy()
    bins.loc[back, "delivered_bytes"] = bins.loc[back, "delivered_pkts"] * 200_000
    assert competing(bins=bins).controls == frozenset({2, 3})
    assert competing(bins=bins).rivals[0] == ()


def test_the_first_connection_of_iperf3_is_its_control_connection_whatever_it_carries():
    run = made(flow("A", "B"), connections=[flow("A", "B", gap_ns=40 * MS), flow("A", "B")])
    told = pd.DataFrame([{"flow": 1, "kind": "iperf3", "other": '{"received_bytes": 1}'}])
    assert found(run).reason[2] is None
    assert found(run, measures=told, missing=run.tables.missing - {"measures"}).reason[2] == CONTROL


@given(st.lists(st.integers(0, 40), max_size=8, unique=True), st.lists(st.integers(0, 40), max_size=8, unique=True))
def test_both_of_spans_is_what_lies_in_each(one, other):
    assume(len(one) % 2 == len(other) % 2 == 0)
    spans = [np.array(sorted(each), dtype="int64").reshape(-1, 2) for each in (one, other)]
    inside = [{t for low, high in each.tolist() for t in range(low, high)} for each in spans]
    common = both(*spans)
    assert {t for low, high in common.tolist() for t in range(low, high)} == inside[0] & inside[1]
    assert both(ALWAYS, spans[0]).tolist() == spans[0].tolist()
