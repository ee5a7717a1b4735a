# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.media.access import Access

SCENARIO = """\
name = "access"
[access]
{keys}
[[flows]]
source = "server"
destination = "dish"
"""


def access_of(folder, keys: str = "", overrides=()) -> Access:
    path = folder / "scenario.toml"
    path.write_text(SCENARIO.format(keys=keys), encoding="utf-8")
    access = resolve(load(path, overrides)).medium
    assert isinstance(access, Access)
    return access


def test_a_preset_fills_what_is_not_given(tmp_path):
    assert access_of(tmp_path).residual_loss_ratio == 1e-4
    off_peak = access_of(tmp_path, 'preset = "off-peak"\nresidual_loss_up = "0.5 %"')
    assert (off_peak.residual_loss_ratio, off_peak.residual_loss_up_ratio) == (1e-5, 0.005)


def test_a_capacity_may_come_from_a_schedule(tmp_path):
    found = access_of(tmp_path, 'capacity = "schedule"\nschedule_median = "80 Mbit/s"')
    assert found.capacity_bps is None
    assert (found.schedule_median_bps, found.capacity_up_bps) == (80_000_000, 15_000_000)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ('base_rtt_min = "40 ms"', "access.base_rtt_min"),
        ('base_step_min = "8 ms"', "access.base_step_min"),
        ('handover_min = "60 ms"', "access.handover_min"),
        ('outage_max = "3 s"', "access.outage_max"),
        ('period = "1 s"\nhandover_max = "1 s"', "access.handover_max"),
        ('capacity = "schedule"\nschedule_median = "400 Mbit/s"', "access.schedule_median"),
        ('schedule_median = "80 Mbit/s"', "access.schedule_median"),
        ('spike_max = "60 ms"', "access.spike_max"),
        ('min_elevation = "30 deg"', "access.min_elevation"),
        ('busy = "50 %"', "access.busy"),
        ('preset = "noon"', "access.preset"),
        ('stall_every = "1 s"', "access.stall_every"),
        ('stalls = ["1 ms", "2 ms"]', "access.stalls"),
        ('stall_every = "1 s"\nstalls = ["2 ms", "1 ms"]', "access.stalls"),
        ('profile = "kuiper"', "access.profile"),
    ],
)
def test_what_keys_say_together_is_checked(tmp_path, keys, key):
    with pytest.raises(ScenarioError, match=key):
        access_of(tmp_path, keys)


def test_setting_the_preset_of_a_plan_takes_its_losses(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO.format(keys='preset = "peak"'), encoding="utf-8")
    (tmp_path / "plan.toml").write_text(resolve(load(path)).to_toml(), encoding="utf-8")
    again = resolve(load(tmp_path / "plan.toml", ["access.preset=off-peak"])).medium
    assert again.residual_loss_ratio == 1e-5
