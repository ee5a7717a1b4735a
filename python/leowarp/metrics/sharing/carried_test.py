# SPDX-License-Identifier: Apache-2.0
"""Tests that no flow delivers more than its last link carried. Unmodified synthetic runs pass the check, and modified
runs fail."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import TraceError
from leowarp.metrics import metrics
from leowarp.metrics.per_flow.connections import with_connections
from leowarp.metrics.per_flow.goodput_test import END_NS, RATES_BPS, transfers
from leowarp.metrics.sharing.carried import check_carried
from support.synthetic.star import HUB, MS, S, Transfer, star

RATE_BPS = 10_000_000
IP_BYTES = 1500


def check(run, plan=None, **changed):
    """Check a run. The arguments `changed` replace some of its tables."""
    tables = dataclasses.replace(run.tables, **changed)
    flows = with_connections(run.plan if plan is None else plan, tables.connections).flows
    check_carried(tables, flows, run.end_ns, IP_BYTES)


@pytest.fixture(scope="module")
def full():
    """Return a run with two transfers. The first transfer fills its links for one second. The second transfer is not
    complete when the run ends."""
    size = RATE_BPS // 8 * 1448 // 1514
    return star([Transfer("A", "B", 0, MS, size_bytes=size), Transfer("C", "D", 0, 2 * MS)], RATE_BPS, 2 * S)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(transfers(), transfers(("A", "B"), most=2, least=0), st.sampled_from(RATES_BPS))
def test_no_run_of_packets_over_links_breaks_it(planned, connections, rate_bps):
    # The connections of a program have the same source and the same destination as the program.
    of_one = [dataclasses.replace(each, source="A", destination="B") for each in connections]
    check(star(planned, rate_bps, END_NS, connections=of_one))


def test_a_full_link_is_not_too_much(full):
    check(full)
    metrics(full.tables, full.plan)


def flow_ends(full, **changed):
    frame = full.tables.flows.copy()
    for column, value in changed.items():
        frame.loc[frame["flow"] == 0, column] = value
    return frame


def test_a_completion_that_is_too_early_fails_the_run(full):
    took_ns = float(full.tables.flows["completion_ns"].iloc[0])
    # The check has a small tolerance: a completion that is 20 ms too early passes, but a completion after half of the
    # time does not.
    check(full, flows=flow_ends(full, completion_ns=took_ns - 20 * MS))
    flows = flow_ends(full, completion_ns=took_ns / 2)
    with pytest.raises(TraceError, match=r"flow 0: .* of which hub>B alone carried"):
        check(full, flows=flows)
    with pytest.raises(TraceError, match="delivered more than their last link carried"):
        metrics(dataclasses.replace(full.tables, flows=flows), full.plan)


def test_payload_that_no_link_counted_fails_the_run(full):
    with pytest.raises(TraceError, match="flow 0: "):
        check(full, flows=flow_ends(full, bytes=2 * int(full.tables.flows["bytes"].iloc[0])))
    sockets = full.tables.sockets.copy()
    last = sockets.index[sockets["flow"] == 1][-1]
    check(full, sockets=sockets)
    # The link's count includes packets that are in flight at the end. Fewer than 20 packets are in flight, so the 20
    # packets added here exceed the link's count.
    sockets.loc[last, "bytes_received"] += 20 * 1448
    with pytest.raises(TraceError, match=r"flow 1: .* of which hub>D alone carried"):
        check(full, sockets=sockets)
    # Without the link's counters, only the link's rate sets a limit, and this limit is high enough for the 20 added
    # packets.
    missing = full.tables.missing | {"linktotals"}
    check(full, sockets=sockets, linktotals=full.tables.linktotals[:0], missing=missing)


def test_a_link_that_does_not_count_as_netem_is_taken_by_its_rate(full):
    totals = full.tables.linktotals.assign(offered_pkts=np.nan, delivered_bytes=0)
    check(full, linktotals=totals)
    took_ns = float(full.tables.flows["completion_ns"].iloc[0])
    with pytest.raises(TraceError, match="flow 0"):
        check(full, linktotals=totals, flows=flow_ends(full, completion_ns=took_ns / 2))


def rates(full, *steps):
    """Return changed tables. In the timeline, the rates in `steps` replace the rates from the hub to B. There are no
    link totals, so that only the rates limit a flow."""
    timeline = full.tables.timeline
    other = timeline[~((timeline["event"] == "rate") & (timeline["b"] == "B") & (timeline["a"] == HUB)).to_numpy()]
    mine = pd.DataFrame([{"t_ns": t_ns, "event": "rate", "a": HUB, "b": "B", "rate_bps": rate} for t_ns, rate in steps])
    timeline = pd.concat([other, mine]).sort_values("t_ns", kind="stable")
    silent = full.tables.linktotals.assign(offered_pkts=np.nan)
    return {"timeline": timeline, "linktotals": silent}


def test_the_bound_is_the_integral_of_the_rate(full):
    check(full, **rates(full, (0, RATE_BPS // 2), (S // 2, 2 * RATE_BPS)))
    with pytest.raises(TraceError, match="flow 0"):
        check(full, **rates(full, (0, RATE_BPS), (S // 2, RATE_BPS // 2)))
    # If a link has no rate limit for a part of the time, its capacity is unlimited.
    check(full, **rates(full, (0, RATE_BPS), (S // 2, np.nan), (S // 2 + MS, RATE_BPS // 2)))


def test_what_waits_in_netem_leaves_at_the_rate_that_it_met(full):
    changed = rates(full, (0, RATE_BPS), (S // 2, RATE_BPS // 2))
    netem = changed["timeline"].assign(discipline=None)
    netem.loc[netem["event"] == "link", "discipline"] = "netem"
    check(full, **changed | {"timeline": netem})


def test_a_path_that_changes_may_use_every_link_into_its_destination(full):
    away = pd.DataFrame([{"t_ns": S // 2, "source": "A", "destination": "B", "path": ("A", "D", "B"), "path_id": 1}])
    routes = pd.concat([full.tables.routes, away], ignore_index=True)
    directions = (*full.tables.directions, ("D", "B", "gsl"), ("B", "D", "gsl"))
    more = pd.DataFrame([{"t_ns": 0, "event": "rate", "a": "D", "b": "B", "rate_bps": RATE_BPS}])
    timeline = pd.concat([full.tables.timeline, more])
    counted = full.tables.linktotals.copy()
    last = full.tables.direction_of(HUB, "B")
    counted.loc[counted["direction"] == last, "delivered_bytes"] -= 100_000
    with pytest.raises(TraceError, match="hub>B alone"):
        check(full, linktotals=counted)
    rest = pd.DataFrame([{"direction": len(directions) - 2, "offered_pkts": 100, "delivered_bytes": 110_000}])
    changed = {"routes": routes, "directions": directions, "timeline": timeline}
    check(full, **changed, linktotals=pd.concat([counted, rest]))
    with pytest.raises(TraceError, match="its 2 last links together"):
        check(full, **changed, linktotals=pd.concat([counted, rest.assign(delivered_bytes=50_000)]))
    # No link from the source to the destination has a rate limit, so nothing limits the flow.
    wires = pd.DataFrame([{"t_ns": 0, "event": "rate", "a": "A", "b": "B", "rate_bps": np.nan}])
    open_ = {"directions": (*directions, ("A", "B", "wire")), "timeline": pd.concat([timeline, wires])}
    check(full, **changed | open_, linktotals=counted)


def test_datagrams_are_counted_one_by_one():
    run = star([Transfer("A", "B", 0, 2 * MS)], RATE_BPS, S)
    udp = dataclasses.replace(run.plan, flows=(dataclasses.replace(run.plan.flows[0], kind="udp"),))
    check(run, udp)
    twice = run.tables.bins.assign(delivered_bytes=run.tables.bins["delivered_bytes"] * 2)
    with pytest.raises(TraceError, match=r"flow 0: .* are at least 4"):
        check(run, udp, bins=twice)
    program = dataclasses.replace(run.plan, flows=(dataclasses.replace(run.plan.flows[0], kind="program"),))
    check(run, program, bins=twice)
