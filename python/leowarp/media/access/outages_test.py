# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.media.access.outages import bursts_ns, merged, outages_ns, stalls_ns
from leowarp.media.access.slots import slots_of
from leowarp.scenario.schema import Access
from support.probes import SECOND_NS, passed, plan_of, profile_for


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=12))
def test_merged_intervals_cover_the_same_and_do_not_touch(intervals):
    begin, lasts = (np.array(column, dtype=np.int64) for column in zip(*intervals, strict=True)) if intervals else (
        np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    )  # fmt: skip
    first, last = merged(begin, begin + lasts)
    covered = {at for b, n in intervals for at in range(b, b + n)}
    assert {at for b, e in zip(first.tolist(), last.tolist(), strict=True) for at in range(b, e)} == covered
    assert (first[1:] > last[:-1]).all()


HOURS = 10


def outages_of_hours(**keys):
    """Return the beginnings and ends of the outages, ns."""
    plan = plan_of(60 * HOURS, **keys)
    return outages_ns(plan.medium, slots_of(plan, plan.medium), seed=1, duration_ns=plan.run.duration_ns)


def test_outages_lie_within_their_reach_on_both_sides_alike():
    begin_s, end_s = ((t_ns / 1e9 - 12 + 7.5) % 15 - 7.5 for t_ns in outages_of_hours())
    assert begin_s.min() >= -1
    assert end_s.max() <= 1
    assert ((begin_s + end_s) / 2).mean() == pytest.approx(0, abs=0.02)


@pytest.mark.slow
def test_every_phase_of_the_second_is_hit_alike():
    begin_ns, end_ns = outages_of_hours()
    at_ns = np.arange(0, HOURS * 3600 * SECOND_NS, 5_000_000, dtype=np.int64)
    out = np.searchsorted(begin_ns, at_ns, side="right") > np.searchsorted(end_ns, at_ns, side="right")
    by_phase = out.reshape(-1, 20, 10).mean(axis=(0, 2))
    # The longer an outage, the narrower the triangular distribution of its middle. The probability of an outage
    # therefore varies by some percent with the phase.
    assert by_phase.max() / by_phase.min() < 1.25


def test_their_lengths_are_uniform_in_the_logarithm():
    # Each reconfiguration has at most one outage, so no outages are merged.
    begin_ns, end_ns = outages_of_hours(outage_again_ratio=0.0)
    quantiles_s = np.quantile((end_ns - begin_ns) / 1e9, [0.0, 0.25, 0.5, 0.75, 1.0])
    assert quantiles_s == pytest.approx(0.005 * 160 ** np.array([0, 0.25, 0.5, 0.75, 1]), rel=0.1)
    assert len(begin_ns) == pytest.approx(0.7 * 240 * HOURS, rel=0.05)


def test_bursts_lose_the_share_that_the_residual_loss_says_and_last_as_long_as_they_should():
    access = Access(residual_loss_ratio=0.01, residual_loss_up_ratio=0.01, loss_burst_ns=6_000_000)
    begin_ns, end_ns = bursts_ns(access, "down", 0.01, seed=1, duration_ns=3600 * SECOND_NS)
    assert abs((end_ns - begin_ns).sum() / (3600 * SECOND_NS) - 0.01) < 0.0006
    assert np.median(end_ns - begin_ns) == 6_000_000
    assert (begin_ns[1:] > end_ns[:-1]).all()
    assert len(bursts_ns(Access(), "down", 0.01, seed=1, duration_ns=SECOND_NS)[0]) == 0


def test_stalls_hold_one_direction_each_as_often_and_as_long_as_they_should():
    access = Access(stall_every_ns=500_000_000, stalls=("20 ms", "40 ms"))
    found = stalls_ns(access, seed=1, duration_ns=3600 * SECOND_NS)
    begin_ns, end_ns = (np.concatenate(both) for both in zip(*found.values(), strict=True))
    assert len(begin_ns) == pytest.approx(7200, rel=0.05)
    assert len(found["up"][0]) == pytest.approx(len(begin_ns) / 2, rel=0.05)
    assert np.quantile(end_ns - begin_ns, [0, 0.5, 1]) == pytest.approx([20e6, 30e6, 40e6], rel=0.03)
    assert all(len(both[0]) == 0 for both in stalls_ns(Access(), seed=1, duration_ns=SECOND_NS).values())


def test_a_probe_in_a_stall_leaves_at_its_end():
    quiet = {"jitter_ns": 0, "jitter_up_ns": 0, "outage_share_ratio": 0.0, "residual_loss_ratio": 0.0,
             "residual_loss_up_ratio": 0.0, "handover_min_ns": 0, "handover_max_ns": 0}  # fmt: skip
    stalled = profile_for(1, stall_every_ns=5 * SECOND_NS, stalls=("40 ms", "40 ms"), **quiet)
    begins_ns = stalled.up.capacity_t_ns[stalled.up.rate_bps == 0]
    assert len(begins_ns) > 2
    assert (
        passed(stalled.up, begins_ns, np.random.default_rng(1))[0].tolist()
        == (begins_ns + 40_000_000 + stalled.slots.base_at_ns(begins_ns + 40_000_000) + 666_666).tolist()
    )
    assert not set(begins_ns.tolist()) & set(stalled.down.capacity_t_ns[stalled.down.rate_bps == 0].tolist())
