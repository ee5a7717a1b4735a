# SPDX-License-Identifier: Apache-2.0
"""Tests how base delays are drawn from quantiles. Also tests slots that keep the previous base delay."""

import numpy as np

from support.probes import profile_for


def bases_ms(**keys):
    return profile_for(15 * 24, base_rtts=("20 ms", "30 ms", "60 ms"), **keys).slots.base_ns * 2 / 1e6


def test_bases_follow_their_quantiles():
    found = bases_ms()
    assert found.min() >= 20
    assert found.max() <= 60
    assert abs(np.median(found) - 30) < 2
    assert abs(np.quantile(found, 0.75) - 45) < 3


def test_a_share_of_reconfigurations_keeps_the_base():
    steps = np.diff(bases_ms(base_kept_ratio=0.3))
    assert abs((steps == 0).mean() - 0.3) < 0.04
    assert (np.diff(bases_ms()) != 0).all()


def test_a_base_between_bounds_is_kept_too():
    steps = np.abs(np.diff(profile_for(15 * 24, base_kept_ratio=0.3).slots.base_ns * 2 / 1e6))
    assert abs((steps == 0).mean() - 0.3) < 0.04
    assert steps[steps > 0].min() >= 2.99
