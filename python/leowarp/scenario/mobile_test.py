# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.mobile import Mobile

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
    assert (plan.mobile.snr_db, plan.mobile.first_bits) == (7.0, 10_704)
    assert plan.mobile.speed_m_per_s == pytest.approx(3 / 3.6)
    (tmp_path / "plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    assert resolve(load(tmp_path / "plan.toml")) == plan


def test_packets_are_as_long_as_a_codewords_data(tmp_path):
    plan = plan_of(tmp_path)
    assert plan.network.mtu_bytes == 1115 == Mobile().data_bits // 8
    assert [station.name for station in plan.stations] == ["mobile", "server"]


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
        ("[isl]\nrule = \"range\"", "isl.rule"),
        ('[chain]\nhops = 2', "chain"),
    ],
)  # fmt: skip
def test_wrong_keys_are_refused_by_name(tmp_path, keys, key):
    with pytest.raises(ScenarioError, match=key):
        plan_of(tmp_path, keys)
