# SPDX-License-Identifier: Apache-2.0
"""Tests the load of links over time against the synthetic run's packets and the totals of its links."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from leowarp.metrics import link_loads, read_tables
from leowarp.scenario import plan_of
from support.synthetic.run import (
    DROPPED_PKTS,
    END_NS,
    FRAME_BYTES,
    LINKS,
    QUEUE_PKTS,
    RATE_BPS,
    S,
    write_synthetic_run,
)

ACK_BYTES = 66
QUEUED = 2 * LINKS.index(("s-00-00", "s-01-00"))
DROPS = 2 * LINKS.index(("Madrid", "s-03-00"))
BEHIND = 2 * LINKS.index(("s-03-00", "s-04-00"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    run_dir = write_synthetic_run(tmp_path_factory.mktemp("runs") / "one")
    return read_tables(run_dir), plan_of(run_dir / "00-plan.toml").flows


def loads(tables, flows, step_ns=S):
    return link_loads(tables, flows, END_NS, step_ns).set_index(["direction", "step"])


@pytest.fixture(scope="module")
def found(made):
    return loads(*made)


def test_a_link_of_the_path_is_as_busy_as_the_sender_makes_it(found):
    # one packet per millisecond
    assert found.loc[(QUEUED, 5), "busy_ratio"] == pytest.approx(1000 * FRAME_BYTES * 8 / RATE_BPS)
    # the receiver sends one acknowledgement for every second packet
    assert found.loc[(QUEUED + 1, 5), "busy_ratio"] == pytest.approx(500 * ACK_BYTES * 8 / RATE_BPS)


def test_a_link_that_no_path_has_any_more_is_not_told(found):
    assert found.loc[QUEUED].index.max() == 20  # Second 20 is the last one with packets in the link's queue.
    assert found.loc[(QUEUED, 20), "busy_ratio"] == 0
    assert found.loc[BEHIND].index.tolist() == list(range(40, 60))


def test_the_longest_queue_of_a_step_is_that_of_its_samples(found):
    assert found["queue_max_pkts"][QUEUED].tolist() == [0] * 19 + [QUEUE_PKTS] * 2
    assert found.drop(QUEUED)["queue_max_pkts"].max() == 0


def test_what_waits_unchanged_waits_in_every_step(made):
    tables, flows = made
    rows = pd.DataFrame(
        {"t_ns": [2 * S, 8 * S], "direction": QUEUED, "queue_pkts": [7, 0], "queue_bytes": 0, "queue_max_pkts": [9, 7]}
    )
    queue = loads(dataclasses.replace(tables, links=rows), flows)["queue_max_pkts"][QUEUED]
    # The sample at 2 s contains the maximum since the previous sample, so the value of second 1 rises.
    assert queue.reindex(range(10)).tolist() == [0, 9, 7, 7, 7, 7, 7, 7, 0, 0]


def test_what_is_dropped_is_counted_where_it_was_and_not_carried_from_there_on(found):
    assert found["dropped_pkts"][found["dropped_pkts"] > 0].to_dict() == {(DROPS, 50): DROPPED_PKTS}
    # The three lost packets are retransmitted in the same second, so the load is as usual.
    for direction in (DROPS, BEHIND):
        assert found.loc[(direction, 50), "busy_ratio"] == pytest.approx(1000 * FRAME_BYTES * 8 / RATE_BPS)


@pytest.mark.parametrize("step_ns", [S, 4 * S])
def test_over_the_run_the_sums_are_the_totals_of_the_links(made, step_ns):
    tables, flows = made
    frame = loads(tables, flows, step_ns)
    told_bytes = (frame["busy_ratio"] * RATE_BPS * step_ns / 1e9 / 8).groupby("direction").sum()
    totals = tables.linktotals.set_index("direction")
    for direction, wanted in (totals["delivered_bytes"] + totals["held_bytes"]).items():
        if direction % 2 == 0:  # in this run, acknowledgements are as long as data
            assert told_bytes.get(direction, 0) == pytest.approx(wanted, abs=1)


def test_drops_in_the_step_after_the_sending_take_from_the_one_before(made):
    tables, flows = made
    late = tables.drops.assign(t_ns=END_NS - 1)
    sent = tables.bins[tables.bins["t_ns"] < 59 * S]
    frame = loads(dataclasses.replace(tables, drops=late, bins=sent), flows)
    # The dropped packets were sent in an earlier second, so nothing was sent in the last second.
    assert frame.loc[(DROPS, 59), ["busy_ratio", "dropped_pkts"]].tolist() == [0, DROPPED_PKTS]
    assert frame.loc[(DROPS, 58), "busy_ratio"] == pytest.approx((1000 - DROPPED_PKTS) * FRAME_BYTES * 8 / RATE_BPS)


def test_what_was_not_recorded_is_unknown(made):
    tables, flows = made
    without = dataclasses.replace(tables, links=tables.links.iloc[:0], missing=frozenset({"links"}))
    assert loads(without, flows)["queue_max_pkts"].isna().all()
    without = dataclasses.replace(tables, bins=tables.bins.iloc[:0], missing=frozenset({"bins"}))
    frame = loads(without, flows)
    assert frame["busy_ratio"].isna().all()
    assert frame.index.get_level_values("direction").unique().tolist() == [QUEUED, DROPS]
    nothing = dataclasses.replace(without, links=tables.links.iloc[:0], drops=tables.drops.iloc[:0])
    assert loads(nothing, flows).columns.tolist() == ["busy_ratio", "queue_max_pkts", "dropped_pkts"]


def test_an_unshaped_link_has_no_share(made):
    tables, flows = made
    events = tables.timeline[~((tables.timeline["event"] == "rate") & (tables.timeline["a"] == "s-00-00"))]
    frame = loads(dataclasses.replace(tables, timeline=events), flows)
    assert np.isnan(frame.loc[(QUEUED, 5), "busy_ratio"])
    assert not np.isnan(frame.loc[(QUEUED + 1, 5), "busy_ratio"])
