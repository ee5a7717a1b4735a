# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve


def test_what_is_left_is_the_rate_less_the_background():
    plan = resolve(load("examples/madrid-tokyo.toml", {"isl.background": "30 Mbit/s"}))
    assert plan.isl.left_bps == 70_000_000
    assert plan.ground.left_bps == plan.ground.rate_bps == 100_000_000
    assert resolve(load("examples/chain.toml", {"chain.rate": "unshaped"})).medium.left_bps is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"isl.background": "100 Mbit/s"}, "100 Mbit/s of a link that carries 100 Mbit/s leave nothing"),
        ({"ground.background": "2 Gbit/s"}, "ground.background: 2 Gbit/s of a link that carries 100 Mbit/s"),
        ({"isl.rate": "unshaped", "isl.background": "1 Mbit/s"}, "isl.background: 1 Mbit/s of a link that is unshaped"),
    ],
)
def test_a_load_above_what_a_link_carries_is_refused(changes, says):
    with pytest.raises(ScenarioError, match=says):
        resolve(load("examples/madrid-tokyo.toml", changes))


def test_traffic_between_cities_has_what_the_background_leaves():
    changes = {"ground.background": "999 Mbit/s"}
    with pytest.raises(ScenarioError, match=r"its access link \(ground.rate\) has 1 Mbit/s for them"):
        resolve(load("examples/city-traffic.toml", {"ground.rate": "1 Gbit/s"} | changes))
