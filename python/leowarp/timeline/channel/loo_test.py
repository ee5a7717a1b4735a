# SPDX-License-Identifier: Apache-2.0
"""Tests Loo's distribution against its density, a Monte Carlo simulation, and quantiles that other code computed."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import i0e, ndtr

from leowarp.timeline.channel.decibels import amplitude_ratio, power_db, power_ratio
from leowarp.timeline.channel.environments import environment, environments
from leowarp.timeline.channel.loo import _NODES, _WEIGHTS, Loo, mixture_quantile_db, mixture_share_below


def test_decibels_of_an_amplitude_are_twice_those_of_a_power():
    assert amplitude_ratio(-20.0) == pytest.approx(0.1)
    assert power_ratio(-20.0) == pytest.approx(0.01)
    levels = np.linspace(-40, 10, 11)
    assert amplitude_ratio(levels) ** 2 == pytest.approx(power_ratio(levels))
    assert power_db(power_ratio(levels)) == pytest.approx(levels)
    assert power_db(0.0) == -np.inf


def amplitude_density(state, r):
    """Return the probability density of the amplitude r by Loo's equation 6. The integral uses the same nodes as the
    tested code.

    r / (b0 sqrt(2 pi d0)) times the integral over z of
    1/z exp(-(ln z - mu)^2 / (2 d0) - (r^2 + z^2) / (2 b0)) I0(r z / b0), with 2 b0 the diffuse signal's power.
    """
    z = amplitude_ratio(state.mean_db + state.deviation_db * _NODES)
    b0 = float(power_ratio(state.multipath_db)) / 2
    # exp(-(r^2 + z^2) / 2 b0) I0(r z / b0) without overflow: i0e is exp(-x) I0(x).
    return float((r / b0 * np.exp(-((r - z) ** 2) / (2 * b0)) * i0e(r * z / b0)) @ _WEIGHTS)


@pytest.mark.parametrize("state", environment("intermediate-tree-shadowed", 40).states, ids=lambda s: s.name)
def test_the_share_below_a_level_is_the_integral_of_loos_density(state):
    for level_db in (-20.0, -8.0, -1.0):
        end = float(amplitude_ratio(level_db))
        integral, _ = quad(lambda r: amplitude_density(state, r), 0, end, epsabs=1e-9, limit=200)
        assert float(state.share_below(level_db)) == pytest.approx(integral, abs=1e-7)


def test_mean_and_quantiles_are_those_of_draws_of_the_definition():
    state = Loo(-8.2, 3.9, -12.7)
    rng = np.random.default_rng(5)
    n = 400_000
    diffuse = rng.normal(0, np.sqrt(0.5), 2 * n).view(complex) * amplitude_ratio(state.multipath_db)
    power = np.abs(amplitude_ratio(state.mean_db + state.deviation_db * rng.standard_normal(n)) + diffuse) ** 2
    assert power.mean() == pytest.approx(state.mean_power, rel=5e-3)
    for share in (0.01, 0.1, 0.5, 0.9, 0.99):
        # The tolerance is four standard errors of a share.
        level_db = np.quantile(power_db(power), share)
        assert float(state.share_below(level_db)) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / n))


def test_without_shadowing_it_is_rice_and_without_a_direct_signal_rayleigh():
    rayleigh = Loo(-200.0, 0.0, -3.0)
    for level_db in (-20.0, -3.0, 2.0):
        ratio = float(power_ratio(level_db) / power_ratio(-3.0))
        assert float(rayleigh.share_below(level_db)) == pytest.approx(-np.expm1(-ratio), rel=1e-9)


# Quantiles in dB, by share, of "intermediate tree shadowing" at 40 degrees, which is a mixture of three states. The
# quantiles are from an independent Monte Carlo simulation of 200,000 samples of the same Loo triplets with shares
# .3929, .3571, .25; their standard error at 1 % is 0.1 dB.
ITS_40_QUANTILES_DB = {0.01: -24.566, 0.05: -17.432, 0.1: -14.303, 0.25: -9.700, 0.5: -4.772, 0.75: -0.703,
                       0.9: 1.091, 0.99: 3.276}  # fmt: skip


@pytest.mark.parametrize("multipath_db", [-60.0, -100.0, -150.0, -200.0])
def test_with_hardly_any_diffuse_signal_it_is_the_direct_one(multipath_db):
    state = Loo(0.0, 1.0, multipath_db)
    levels_db = np.array([-9.0, -1.0, 0.0, 1.0, 5.0])
    # For this narrow Gaussian, the steps of the trapezoidal rule are too large: a step of 0.05 deviations corresponds
    # to a probability of 0.02.
    assert state.share_below(levels_db) == pytest.approx(ndtr(levels_db), abs=0.011)
    assert mixture_quantile_db([state], [1.0], 0.9) == pytest.approx(1.2816, abs=0.05)


def test_quantiles_of_intermediate_tree_shadowing_are_those_of_an_independent_monte_carlo():
    trees = environment("intermediate-tree-shadowed", 40)
    for share, level_db in ITS_40_QUANTILES_DB.items():
        within_db = 0.1 if share < 0.05 else 0.04
        assert mixture_quantile_db(trees.states, trees.state_shares, share) == pytest.approx(level_db, abs=within_db)
    mean = sum(w * s.mean_power for w, s in zip(trees.state_shares, trees.states, strict=True))
    assert 10 * np.log10(mean) == pytest.approx(-2.76, abs=0.02)


def test_a_quantile_is_the_inverse_of_the_share_in_every_environment():
    for entry in environments():
        for share in (1e-3, 0.7):
            level_db = mixture_quantile_db(entry.states, entry.state_shares, share)
            assert float(mixture_share_below(entry.states, entry.state_shares, level_db)) == pytest.approx(
                share, rel=1e-4
            )
    with pytest.raises(ValueError, match="no level"):
        mixture_quantile_db(entry.states, entry.state_shares, 1.0)
