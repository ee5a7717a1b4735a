# SPDX-License-Identifier: Apache-2.0
"""Tests the power series against the model's closed forms. Each tolerance is a few standard errors. For the tolerances,
each stay in a state counts as one independent sample."""

import dataclasses

import numpy as np
import pytest
from scipy.special import j0

from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.timeline.channel import lms
from leowarp.timeline.channel.lms import LandMobile, power_series
from leowarp.timeline.channel.processes import Blend, Multipath, Shadowing, visits

SECOND = 1_000_000_000


def way(channel, until_m, seed=1):
    model = channel.model()
    return model, visits(
        model.environment.chain, model.environment.state_shares, model.frames_m, until_m, stream(seed, "x")
    )


@pytest.mark.parametrize("frames", ["common", "by-state"])
def test_shares_of_the_way_and_stays_are_those_of_the_chain(frames):
    model, stretches = way(LandMobile(frames=frames), 200_000.0)
    lengths = np.diff(stretches.starts_m)
    for state in range(3):
        own = lengths[stretches.states == state]
        assert own.mean() == pytest.approx(model.dwells_m[state], rel=0.06)
        assert own.sum() / lengths.sum() == pytest.approx(model.way_shares[state], abs=0.02)
        # The number of frames in a stay has a geometric distribution, and is at least one. The standard deviation of
        # this number is sqrt(Pii) / (1 - Pii).
        stays = model.environment.chain[state, state]
        frames_stayed = own / model.frames_m[state]
        assert frames_stayed.min() == pytest.approx(1)
        assert frames_stayed == pytest.approx(np.round(frames_stayed))
        assert frames_stayed.std() == pytest.approx(stays**0.5 / (1 - stays), rel=0.1)
    changes = stretches.states[:-1] * 3 + stretches.states[1:]
    assert not np.isin(changes, (0, 4, 8)).any()
    chain = model.environment.chain
    assert np.mean(changes[stretches.states[:-1] == 0] == 1) == pytest.approx(chain[0, 1] / (1 - chain[0, 0]), abs=0.03)


def test_common_frames_keep_the_published_shares_and_frames_by_state_shift_them():
    common, by_state = LandMobile().model(), LandMobile(frames="by-state").model()
    assert common.way_shares == pytest.approx((0.3929, 0.3571, 0.25), abs=1e-3)
    assert common.frames_m == pytest.approx([5.85] * 3, abs=1e-3)
    assert by_state.frames_m.tolist() == [6.3, 6.3, 4.5]
    assert by_state.way_shares[2] == pytest.approx(0.25 * 4.5 / (0.75 * 6.3 + 0.25 * 4.5), abs=1e-3)


def test_levels_are_distributed_as_the_closed_form_says():
    # The series has steps between states. With slopes, no closed form would hold. The terminal is fast, so that 600 s
    # contain many stays.
    channel = LandMobile(transition_m=0.0, speed_m_per_s=50.0, samples_per_wavelength=4)
    model = channel.model()
    level = np.concatenate([power_series(channel, 600 * SECOND, seed).level_db for seed in (1, 2)])
    for share, within_db in ((0.01, 0.4), (0.1, 0.4), (0.5, 0.3), (0.9, 0.15)):
        expected = lms_quantile(model, share)
        assert float(np.quantile(level, share)) == pytest.approx(expected, abs=within_db)
    assert 10 * np.log10(np.mean(10 ** (level.astype(float) / 10))) == pytest.approx(-2.76, abs=0.1)


def lms_quantile(model, share):
    from leowarp.timeline.channel.loo import mixture_quantile_db

    return mixture_quantile_db(model.environment.states, model.way_shares, share)


def test_within_a_state_levels_are_loos_whatever_the_state_before():
    channel = LandMobile(transition_m=0.0, speed_m_per_s=50.0, samples_per_wavelength=4)
    power = power_series(channel, 600 * SECOND, 3)
    for index, state in enumerate(channel.model().environment.states):
        own = power.level_db[power.states == index]
        for share in (0.1, 0.5, 0.9):
            level_db = float(np.quantile(own, share))
            assert float(state.share_below(level_db)) == pytest.approx(share, abs=0.02), state.name


def test_slopes_between_states_are_straight_and_half_on_either_side():
    blend = Blend(np.array([0.0, -10.0, -4.0]), np.array([0.0, 10.0, 20.0, 40.0]), 4.0)
    places = np.array([0.0, 7.9, 8.0, 9.0, 10.0, 11.0, 12.0, 20.0, 30.0, 41.0])
    assert blend.at(places) == pytest.approx([0, 0, 0, -2.5, -5, -7.5, -10, -7, -4, -4])
    step = Blend(np.array([0.0, -10.0]), np.array([0.0, 10.0, 20.0]), 0.0)
    assert step.at(np.array([0.0, 9.99, 10.0])).tolist() == [0, 0, -10]


def test_the_direct_signal_is_correlated_over_its_distance_and_stationary_from_the_start():
    process = Shadowing(0.1, 1.5, stream(1, "d"))
    n = np.concatenate([process.block(k) for k in (1, 7, 400_000)])
    # 40 km with a correlation distance of 1.5 m contain some 13,000 independent values.
    assert n.mean() == pytest.approx(0, abs=0.04)
    assert n.var() == pytest.approx(1, abs=0.05)
    for lag in (1, 15, 45):
        assert np.mean(n[:-lag] * n[lag:]) == pytest.approx(np.exp(-lag * 0.1 / 1.5), abs=0.04)
    firsts = [Shadowing(0.1, 1.5, stream(seed, "d")).block(2)[0] for seed in range(400)]
    assert np.var(firsts) == pytest.approx(1, abs=0.2)


def test_the_diffuse_signal_has_clarkes_autocorrelation():
    process = Multipath(1 / 16, stream(1, "m"))
    w = np.concatenate([process.block(k) for k in (5, 300_000)])
    assert np.mean(np.abs(w) ** 2) == pytest.approx(1, abs=0.02)
    assert abs(w.mean()) < 0.02
    for wavelengths in (0.25, 0.3827, 0.5, 1.0, 2.0):
        lag = round(16 * wavelengths)
        correlation = np.mean(w[:-lag] * w[lag:].conj())
        assert correlation == pytest.approx(j0(2 * np.pi * lag / 16), abs=0.03)


def test_cutting_into_blocks_changes_nothing(monkeypatch):
    channel = LandMobile()
    whole = power_series(channel, 20 * SECOND, 4)
    monkeypatch.setattr(lms, "BLOCK_SAMPLES", 5_000)
    cut = power_series(channel, 20 * SECOND, 4)
    assert np.array_equal(whole.states, cut.states)
    assert whole.level_db == pytest.approx(cut.level_db, abs=1e-3)


def test_seeds_and_components_have_streams_of_their_own():
    first, again, other = (power_series(LandMobile(), 30 * SECOND, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.level_db, again.level_db)
    assert not np.array_equal(first.states, other.states)
    # With another carrier frequency, the channel has the same states at the same places.
    high = power_series(LandMobile(carrier_hz=4.4e9), 30 * SECOND, 1)
    at_ns = np.arange(0, 30 * SECOND, SECOND // 7)
    same = high.states[at_ns // high.spacing_ns] == first.states[at_ns // first.spacing_ns]
    assert same.mean() > 0.99


def test_the_grid_resolves_a_wavelength_and_covers_the_run():
    channel = LandMobile()
    power = power_series(channel, 10 * SECOND, 1)
    assert channel.wavelength_m == pytest.approx(0.136269, rel=1e-5)
    assert power.spacing_ns * 1e-9 * channel.speed_m_per_s <= channel.wavelength_m / 16
    assert 10 * SECOND <= power.duration_ns < 10 * SECOND + power.spacing_ns
    assert len(power.states) == len(power.level_db)
    assert np.isfinite(power.level_db).all()


def test_a_terminal_at_rest_sees_one_level_and_another_place_with_another_seed():
    levels = {}
    for seed in range(40):
        power = power_series(LandMobile(speed_m_per_s=0.0), SECOND, seed)
        assert power.frozen
        assert len(set(power.level_db.tolist())) == 1
        levels[seed] = float(power.level_db[0])
    assert len(set(levels.values())) == 40
    assert -8 < np.median(list(levels.values())) < -2


def test_lengths_that_a_table_lacks_must_be_given():
    urban = LandMobile(environment="urban", elevation_deg=40)
    with pytest.raises(ScenarioError, match=r"no correlation distance \(correlation\), no length of states"):
        power_series(urban, SECOND, 1)
    given = dataclasses.replace(urban, correlation_m=2.0, frame_m=5.0, transition_m=3.0)
    assert given.model().frames_m == pytest.approx([5.0] * 3)
    assert power_series(given, SECOND, 1).duration_ns >= SECOND


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"speed_m_per_s": -1.0}, "speed of -1.0 m/s"),
        ({"speed_m_per_s": float("nan")}, "speed of nan"),
        ({"carrier_hz": 0.0}, "carrier of 0.0 Hz"),
        ({"correlation_m": 0.0}, "correlation_m"),
        ({"transition_m": -1.0}, "transition_m"),
        ({"frames": "own"}, "frames = 'own'"),
        ({"frames": "by-state", "frame_m": 5.0}, "goes with the common frame"),
        ({"samples_per_wavelength": 1}, "would not be resolved"),
    ],
)
def test_wrong_parameters_are_refused(wrong, message):
    with pytest.raises(ScenarioError, match=message):
        LandMobile(**wrong)


def test_a_series_too_long_to_hold_is_refused_before_it_is_made():
    with pytest.raises(ScenarioError, match="the limit is"):
        power_series(LandMobile(carrier_hz=9e11, samples_per_wavelength=64), 600 * SECOND, 1)
