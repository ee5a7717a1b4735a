# SPDX-License-Identifier: Apache-2.0
"""Tests which hosts get false notices, and when."""

import numpy as np

from leowarp.guest.setup.input import false_notices
from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import GOOD, write


def notices(tmp_path, *keys):
    plan = resolve(load(write(tmp_path, GOOD), ["cures.notify=true", "run.duration=1000 s", *keys]))
    names = sorted({name for flow in plan.flows for name in (flow.source, flow.destination)})
    return false_notices(plan, {f"host:{name}": number for number, name in enumerate(names)})


def test_both_ends_of_a_flow_are_told_at_random_instants_of_that_mean_interval(tmp_path):
    told = notices(tmp_path, "cures.notify_false_interval=500 ms")
    assert told == sorted(told)
    for pair in ((0, 1), (1, 0)):
        t_ns = np.array([t for t, *who in told if tuple(who) == pair])
        gaps_s = np.diff(t_ns, prepend=0) / 1e9
        # There are 2000 samples with mean 0.5 s, so the standard deviation of the sample mean is 0.5 / sqrt(2000) =
        # 0.011 s.
        assert abs(gaps_s.mean() - 0.5) < 4 * 0.012
        # The standard deviation of an exponential distribution equals its mean.
        assert abs(gaps_s.std() - 0.5) < 0.1
    assert {tuple(who) for _, *who in told} == {(0, 1), (1, 0)}


def test_another_seed_has_other_instants_and_without_an_interval_there_are_none(tmp_path):
    assert notices(tmp_path) == []
    assert notices(tmp_path, "cures.notify_false_interval=5 s") != notices(
        tmp_path, "cures.notify_false_interval=5 s", "run.seed=9"
    )
