# SPDX-License-Identifier: Apache-2.0
"""Tests the scalars of probes against known results. The scalars are about differences of delays, bursts of lost
probes, probes near a route change, and slots."""

import numpy as np
import pandas as pd
import pytest

from leowarp.metrics.per_flow.probes import Probes, loss_runs, near, probe_scalars, probes, quantile, slots
from leowarp.scalars import names
from leowarp.scalars.of_flows import REPLIES

MS, S = 1_000_000, 1_000_000_000


def made(delays_ms, interval_ns=S):
    delays = np.array([np.nan if delay is None else delay * MS for delay in delays_ms], dtype="float64")
    return Probes(np.arange(len(delays), dtype="int64") * interval_ns, delays)


def test_scalars_of_known_probes():
    row = probe_scalars(made([40, 42, None, None, 39, None, 50, 50]), np.array([3 * S]))
    assert set(row) == set(names(REPLIES))
    assert (row["replies_pkts"], row["replies_lost_pkts"]) == (5, 3)
    # Probes are lost at 2, 3 and 5 s, and the change is at 3 s.
    assert row["replies_lost_near_changes_pkts"] == 2
    assert (row["rtt_min_ns"], row["rtt_p50_ns"], row["rtt_max_ns"]) == (39 * MS, 42 * MS, 50 * MS)
    assert row["rtt_mean_ns"] == round((40 + 42 + 39 + 50 + 50) * MS / 5)
    assert row["rtt_step_mean_ns"] == (2 + 3 + 11 + 0) * MS / 4
    assert (row["loss_runs"], row["loss_run_mean_pkts"], row["loss_run_max_pkts"]) == (2, 1.5, 2)


def test_without_a_reply_nothing_is_a_number_but_the_losses():
    row = probe_scalars(made([None, None]), np.zeros(0))
    assert (row["replies_pkts"], row["replies_lost_pkts"], row["loss_run_max_pkts"]) == (0, 2, 2)
    assert all(row[name] is None for name in names(REPLIES) if name.startswith("rtt_"))
    assert set(probe_scalars(None, np.zeros(0)).values()) == {None}


def test_quantiles_are_values_that_were_met():
    values = np.arange(1, 1001, dtype="float64")
    assert [quantile(values, q) for q in (0.0, 0.5, 0.99, 0.999, 1.0)] == [1, 500, 990, 999, 1000]
    assert quantile(np.zeros(0), 0.5) is None


def test_runs_of_losses_at_both_ends():
    assert loss_runs(np.array([True, True, False, True])).tolist() == [2, 1]
    assert loss_runs(np.zeros(3, dtype=bool)).tolist() == []


@pytest.mark.parametrize(("t_s", "expected"), [(0.9, False), (1.0, True), (2.5, True), (3.1, False), (19.5, True)])
def test_near_a_change(t_s, expected):
    assert near(np.array([t_s * S]), np.array([2 * S, 20 * S])).tolist() == [expected]


def test_nothing_is_near_no_change():
    assert not near(np.array([0, S]), np.zeros(0)).any()


def test_slots_step_at_the_changes_and_leave_the_spikes_out():
    # The delay is 30 ms for 15 s, and 80 ms for the probe at the change (a spike). After the spike, the delay is 45 ms
    # for 15 s. Every second probe has a delay that is 2 ms longer.
    delays = [30 + 2 * (k % 2) for k in range(15)] + [80] + [45 + 2 * (k % 2) for k in range(14)]
    delays[14] = None
    frame = slots(made(delays), np.array([15 * S]), 30 * S)
    assert frame["t_ns"].tolist() == [0, 15 * S]
    assert frame["rtt_min_ns"].tolist() == [30 * MS, 45 * MS]
    assert frame["lost_pkts"].tolist() == [1, 0]
    assert frame["rtt_step_mean_ns"].tolist() == [2 * MS, 2 * MS]
    assert frame["rtt_deviation_ns"].iloc[0] == pytest.approx(MS)


@pytest.mark.slow
def test_what_is_under_way_at_the_end_is_not_lost(tables):
    from dataclasses import replace

    # The longest round trip is 80 ms, and the run ends at 3.05 s. The reply to the probe at 3 s may come after the end,
    # so this probe is excluded. The probe at 2 s is lost.
    echoes = pd.DataFrame({"flow": 0, "index": range(4), "sent_ns": [0, S, 2 * S, 3 * S],
                           "received_ns": [40 * MS, S + 40 * MS, 2 * S + 40 * MS, np.nan],
                           "reply_ns": [80 * MS, S + 70 * MS, np.nan, np.nan]})  # fmt: skip
    own = replace(tables, echoes=echoes)
    found = probes(own, 0, 3 * S + 50 * MS)
    assert found.sent_ns.tolist() == [0, S, 2 * S]
    assert found.is_lost.tolist() == [False, False, True]
    assert len(probes(own, 0, 4 * S).sent_ns) == 4
    assert not probes(own, 0, 3 * S + 20 * MS, one_way=True).is_lost.any()
