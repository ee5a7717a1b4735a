# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from leowarp.media.access.delays import jitter_rows
from support.probes import SECOND_NS, passed, pings, plan_of, profile_for

QUIET = {"jitter_ns": 0, "jitter_up_ns": 0, "outage_share_ratio": 0.0, "residual_loss_ratio": 0.0,
         "residual_loss_up_ratio": 0.0}  # fmt: skip


def test_without_jitter_a_probe_meets_the_base_and_half_a_frame_each_way():
    profile = profile_for(1, **QUIET)
    t_ns = np.array([5, 20, 33, 50], dtype=np.int64) * SECOND_NS
    expected_ns = 2 * (profile.slots.base_at_ns(t_ns) + 666_666)
    assert np.array_equal(pings(profile, t_ns), expected_ns)


def test_a_held_packet_leaves_when_the_handover_ends():
    profile = profile_for(1, **QUIET)
    begin_ns, lasts_ns = profile.slots.begin_ns[1], profile.drawn.handover_ns[1]
    base_ns = 2 * (profile.slots.base_ns[1] + 666_666)
    assert pings(profile, np.array([begin_ns]))[0] == base_ns + lasts_ns
    assert pings(profile, np.array([begin_ns + lasts_ns - 1_000_000]))[0] == base_ns + 1_000_000
    assert pings(profile, np.array([begin_ns + lasts_ns]))[0] == base_ns


def test_a_handover_can_be_a_spike_and_hold_nothing():
    profile = profile_for(1, handover="spike", **QUIET)
    assert (profile.down.rate_bps > 0).all()
    begin_ns, spike_ns = profile.slots.begin_ns[1], profile.drawn.spike_ns[1]
    assert 30_000_000 <= spike_ns <= 50_000_000
    base_ns = 2 * (profile.slots.base_ns[1] + 666_666)
    top_ns = pings(profile, np.array([begin_ns]))[0]
    # The reply of a ping passes the link some time after the request, when the spike is already lower.
    assert base_ns + spike_ns <= top_ns < base_ns + 1.7 * spike_ns
    assert pings(profile, np.array([begin_ns + profile.drawn.handover_ns[1]]))[0] == base_ns


def test_frames_can_be_a_sawtooth_of_the_same_mean():
    steps = profile_for(0.5, frame_steps=8, **QUIET)
    t_ns = np.arange(SECOND_NS, 2 * SECOND_NS, 7_919, dtype=np.int64)
    waiting_ns = passed(steps.up, t_ns, np.random.default_rng(1))[0] - t_ns - steps.slots.base_at_ns(t_ns)
    # Probes that are sent one after another all arrive with the last probe of their frame. On average, a probe in a
    # series waits half a step longer than a single probe would.
    assert waiting_ns.mean() == pytest.approx(1e9 / 750 * (1 / 2 + 1 / 16), rel=0.05)
    assert waiting_ns.min() < 1e9 / 750 / 8
    assert waiting_ns.max() > 1e9 / 750 * 7 / 8


@pytest.mark.parametrize("way", ["up", "down"])
def test_jitter_has_the_mean_and_the_steps_that_were_asked_for(way):
    # The plan has no handovers and outages and only one slot, because these would add rows to the table.
    profile = profile_for(
        30, outage_share_ratio=0.0, base_step_min_ns=0, base_rtt_min_ns=20_000_000, base_rtt_max_ns=20_000_000
    )
    table = getattr(profile, way)
    lasts_ns = np.diff(np.append(table.channel_t_ns, 30 * 60 * SECOND_NS))
    jitter_ms = (table.delay_ns - 10_000_000 - 666_666) / 1e6
    mean_ms, step_ms = (10.5, 6.0) if way == "up" else (2.2, 28.0)
    assert np.average(jitter_ms, weights=lasts_ns) == pytest.approx(mean_ms, rel=0.02)
    assert lasts_ns.mean() / 1e6 == pytest.approx(step_ms, rel=0.05)
    frames = table.channel_t_ns * 750 / 1e9
    assert np.abs(frames - np.rint(frames)).max() < 1e-5
    assert jitter_ms.min() >= 0
    if way == "up":
        assert jitter_ms.max() <= 21
    else:
        # In a public trace with 10 ms samples (SpaceNetLab/LeoCC at 867e673), the correlation is 0.70 after 10 ms and
        # 0.34 after 30 ms.
        at = np.searchsorted(table.channel_t_ns, np.arange(0, 1700 * SECOND_NS, 10_000_000), side="right") - 1
        samples = jitter_ms[at] - jitter_ms[at].mean()
        for lag, expected in ((1, 0.70), (3, 0.34)):
            assert (samples[lag:] * samples[:-lag]).mean() / samples.var() == pytest.approx(expected, abs=0.05)


def test_a_plan_without_its_preset_is_refused():
    with pytest.raises(ValueError, match="not a resolved plan"):
        profile_for(1, residual_loss_ratio=None)


def test_a_run_shorter_than_a_slot_has_one():
    profile = profile_for(0.1)
    assert profile.slots.begin_ns.tolist() == [-3 * SECOND_NS]
    assert plan_of(0.1).run.duration_ns == 6 * SECOND_NS
    assert profile.up.channel_t_ns[-1] < 6 * SECOND_NS


def test_the_jitter_up_may_be_without_a_bound():
    access = plan_of(60, jitter_up_shape="exponential").medium
    _, values_ns = jitter_rows(access, "up", 1, 3600 * SECOND_NS, np.zeros(1, dtype=np.int64))
    assert values_ns.mean() == pytest.approx(10.5e6, rel=0.01)
    # In an exponential distribution, a share e^-3 of the values is above three times the mean. In a uniform
    # distribution, no value is above twice the mean.
    assert (values_ns > 31.5e6).mean() == pytest.approx(np.exp(-3), rel=0.05)


@pytest.mark.parametrize("way", ["up", "down"])
def test_slots_have_a_jitter_of_their_own_if_it_spreads(way):
    slots_ns = np.arange(0, 3600 * SECOND_NS, 15 * SECOND_NS, dtype=np.int64)
    plain, spread = (
        jitter_rows(plan_of(60, jitter_spread_ratio=ratio).medium, way, 1, 3600 * SECOND_NS, slots_ns)
        for ratio in (0.0, 0.4)
    )
    assert np.array_equal(plain[0], spread[0])
    factors = spread[1][plain[1] > 100_000] / plain[1][plain[1] > 100_000]
    slot = np.searchsorted(slots_ns, plain[0][plain[1] > 100_000], side="right") - 1
    logs = np.array([np.log(factors[slot == one]).mean() for one in range(len(slots_ns))])
    within = np.array([np.log(factors[slot == one]).std() for one in range(len(slots_ns))])
    assert within.max() < 1e-3
    # The normal distribution is truncated at two standard deviations, which reduces its standard deviation to 0.88.
    assert logs.std() == pytest.approx(0.4 * 0.88, rel=0.15)
    assert np.abs(logs).max() <= 0.8 + 1e-3
