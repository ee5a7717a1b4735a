# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.media.mobile import Mobile

SCENARIO = """\
name = "mobile"
[mobile]
{keys}
[[flows]]
source = "server"
destination = "mobile"
"""


def plan_of(folder, keys: str = ""):
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(keys=keys), encoding="utf-8")
    return resolve(load(path))


def test_the_plan_has_every_key_and_loads_as_itself(tmp_path):
    plan = plan_of(tmp_path, 'snr = "7 dB"\nspeed = "3 km/h"\nfirst_bits = 10704')
    assert (plan.medium.snr_db, plan.medium.first_bits) == (7.0, 10_704)
    assert plan.medium.speed_m_per_s == pytest.approx(3 / 3.6)
    (tmp_path / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    assert resolve(load(tmp_path / "plan.toml")) == plan


def test_packets_are_as_long_as_a_codewords_data(tmp_path):
    plan = plan_of(tmp_path)
    assert plan.network.mtu_bytes == 1115 == Mobile().data_bits // 8
    assert [station.name for station in plan.stations] == ["mobile", "server"]
    for data_bits, mtu_bytes in ((4000, 500), (800, 256), (16_000, 1500)):
        assert plan_of(tmp_path, f"data_bits = {data_bits}").network.mtu_bytes == mtu_bytes


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ("data_bits = 8921", "mobile.data_bits"),
        ("data_bits = 80000", "mobile.data_bits"),
        ("first_bits = 8000", "mobile.first_bits"),
        ('frames = "by-state"\nframe = "5 m"', "mobile.frame"),
        ('resequencing = false\nqueue = "64 kB"', "mobile.queue"),
        ('resequencing = false\nqueue = "unlimited"', "mobile.queue"),
        ('snr = "-90 dB"', "mobile.snr"),
        ("snr = 7", "mobile.snr"),
        ('speed = "-1 m/s"', "mobile.speed"),
        ('threshold = "90 %"', "mobile.threshold"),
        ('rule = "last"', "mobile.rule"),
        ('[network]\nlink_model = "netem"', "network.link_model"),
        ('[isl]\nrule = "range"', "isl.rule"),
        ("[chain]\nhops = 2", "chain"),
    ],
)
def test_wrong_keys_are_refused_by_name(tmp_path, keys, key):
    with pytest.raises(ScenarioError, match=key):
        plan_of(tmp_path, keys)


def test_routes_over_a_constellation_have_defaults_that_the_scenario_overrides(tmp_path):
    sky = '\n[constellation]\npreset = "tauran-study"\n[isl]\nseam = true\n[routing]\nlink_interval = "5 s"\n'
    plan = plan_of(tmp_path, 'delays = "constellation"' + sky)
    assert (plan.constellation.planes * plan.constellation.satellites_per_plane, plan.constellation.altitude_m) == (
        66,
        800_000.0,
    )
    assert (plan.isl.rule, plan.isl.seam, plan.isl.polar_cutoff_deg) == ("plus-grid", True, 60.0)
    assert (plan.ground.rule, plan.ground.min_elevation_deg) == ("min-elevation", 8.2)
    assert (plan.routing.interval_ns, plan.routing.link_interval_ns) == (10_000_000_000, 5_000_000_000)


def test_elements_are_not_routed_over_a_grid_by_default(tmp_path):
    (tmp_path / "some.tle").write_text("1 25544U\n", encoding="utf-8")
    sky = '\n[constellation]\ntle = "some.tle"\nepoch = "2022-09-14T00:00:00Z"\n'
    plan = plan_of(tmp_path, 'delays = "constellation"' + sky)
    assert (plan.isl.rule, plan.ground.rule) == ("range", "min-elevation")
