# SPDX-License-Identifier: Apache-2.0
"""Tests presets of an access link that come from a user's own file."""

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve

SCENARIO = 'name = "x"\n[access]\n{keys}\n[[flows]]\nsource = "server"\ndestination = "dish"\n'
PRESET = '[access]\njitter = "4 ms"\nresidual_loss = "0.2 %"\nbase_rtts = ["20 ms", "30 ms"]\n'


def written(folder, keys: str = "", preset: str = PRESET):
    (folder / "dish.toml").write_text(preset, encoding="utf-8")
    (folder / "scenario.toml").write_text(SCENARIO.format(keys=keys), encoding="utf-8")
    return folder / "scenario.toml"


def test_a_preset_in_a_file_fills_what_the_scenario_does_not_give(tmp_path):
    access = resolve(load(written(tmp_path, 'preset = "dish.toml"\nresidual_loss = "1 %"'))).medium
    assert (access.jitter_ns, access.residual_loss_ratio) == (4_000_000, 0.01)
    # A value comes from the named preset if neither the scenario nor the preset file gives it.
    assert access.residual_loss_up_ratio == 1e-4
    assert access.preset == "peak"


def test_set_names_a_preset_from_where_it_is_typed(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert resolve(load(path, ["access.preset=dish.toml"])).medium.jitter_ns == 4_000_000


def test_another_preset_takes_all_that_the_file_filled_in_away(tmp_path):
    path = written(tmp_path, 'preset = "dish.toml"')
    plain = resolve(load(written(tmp_path, 'preset = "off-peak"'))).medium
    path = written(tmp_path, 'preset = "dish.toml"')
    assert resolve(load(path, ["access.preset=off-peak"])).medium == plain


@pytest.mark.parametrize(
    ("keys", "preset", "message"),
    [
        ('preset = "nowhere.toml"', PRESET, "there is no file"),
        ('preset = "dish.toml"', PRESET + '[run]\nduration = "1 s"\n', "run has no place in a preset"),
        ('preset = "dish.toml"', "", r"has no \[access\]"),
        ('preset = "dish.toml"', '[access]\npreset = "other.toml"\n', "cannot name another file"),
        ('preset = "dish.toml"', '[access]\njiter = "1 ms"\n', "there is no such key"),
        ('preset = "dish.toml"', '[access]\nbase_rtts = ["20 ms"]\n', "one quantile"),
        ('preset = "dish.toml"', '[access]\nbase_rtts = ["20 ms", "10 ms"]\n', "descend"),
        ('preset = "dish.toml"', PRESET + 'base_rtt_min = "10 ms"\n', "has no effect with base_rtts"),
    ],
)
def test_what_is_wrong_with_a_preset_is_said(tmp_path, keys, preset, message):
    with pytest.raises(ScenarioError, match=message):
        load(written(tmp_path, keys, preset))


DISH = """
name = "x"
[constellation]
preset = "oneweb-study"
[[stations]]
name = "Madrid"
[stations.access]
{keys}
[[stations]]
name = "Tokyo"
[[flows]]
source = "Madrid"
destination = "Tokyo"
"""


def dish_of(folder, keys: str, overrides=()):
    (folder / "dish.toml").write_text(PRESET + 'base_kept = "10 %"\n', encoding="utf-8")
    (folder / "scenario.toml").write_text(DISH.format(keys=keys), encoding="utf-8")
    return resolve(load(folder / "scenario.toml", overrides))


def test_a_dish_of_a_station_takes_a_preset_file_without_its_round_trips(tmp_path, monkeypatch):
    plan = dish_of(tmp_path, 'preset = "dish.toml"\nresidual_loss = "1 %"')
    dish = plan.dishes["Madrid"]
    assert (dish.jitter_ns, dish.residual_loss_ratio, dish.base_rtts, dish.base_kept_ratio) == (4_000_000, 0.01, (), 0)
    assert dish.preset_file.startswith("dish.toml ")
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    (tmp_path / "dish.toml").unlink()
    assert resolve(load(tmp_path / "plan.toml")) == plan
    monkeypatch.chdir(tmp_path)
    typed = dish_of(tmp_path, 'jitter = "1 ms"', ["stations.0.access.preset=dish.toml"]).dishes["Madrid"]
    assert (typed.jitter_ns, typed.residual_loss_ratio) == (4_000_000, 0.002)


def test_another_preset_of_a_dish_takes_all_that_the_file_filled_in_away(tmp_path):
    again = dish_of(tmp_path, 'preset = "dish.toml"', ["stations.Madrid.access.preset=off-peak"])
    assert again == dish_of(tmp_path, 'preset = "off-peak"')


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('preset = "nowhere.toml"', "there is no file"),
        ('preset = "dish.toml"\nbase_kept = "20 %"', "base_kept: has no effect"),
    ],
)
def test_what_is_wrong_with_a_preset_of_a_dish_is_said(tmp_path, keys, message):
    with pytest.raises(ScenarioError, match=message):
        dish_of(tmp_path, keys)


def test_a_profile_other_than_starlink_fills_its_values_below_those_given(tmp_path):
    path = written(tmp_path, 'profile = "oneweb"\ncapacity = "50 Mbit/s"')
    access = resolve(load(path)).medium
    assert (access.capacity_bps, access.capacity_up_bps) == (50_000_000, 20_000_000)
    assert access.stall_every_ns == 415_000_000
    assert access.preset_file.startswith("oneweb.toml ")
    # The text of the plan contains all values; loading it gives the same plan.
    (tmp_path / "again.toml").write_text(resolve(load(path)).to_toml(), encoding="utf-8")
    assert resolve(load(tmp_path / "again.toml")).medium == access
    plain = resolve(load(written(tmp_path, ""))).medium
    assert resolve(load(tmp_path / "again.toml", ["access.profile=starlink"])).medium == plain


def test_the_profile_of_a_plan_can_be_set(tmp_path):
    (tmp_path / "plan.toml").write_text(resolve(load(written(tmp_path, ""))).to_toml(), encoding="utf-8")
    other = resolve(load(tmp_path / "plan.toml", ["access.profile=oneweb"])).medium
    assert other == resolve(load(written(tmp_path, 'profile = "oneweb"'))).medium


def test_a_preset_goes_over_the_profile_that_it_names(tmp_path):
    preset = '[access]\nprofile = "oneweb"\njitter = "4 ms"\n'
    access = resolve(load(written(tmp_path, 'preset = "dish.toml"', preset))).medium
    assert (access.jitter_ns, access.stall_every_ns, access.profile) == (4_000_000, 415_000_000, "oneweb")
    assert access.preset_file.startswith("dish.toml ")


def test_a_profile_follows_a_constellation_s_ranges(tmp_path):
    keys = 'profile = "oneweb"\ngeometry = "constellation"\n[constellation]\npreset = "oneweb"'
    access = resolve(load(written(tmp_path, keys))).medium
    assert access.base_rtts == ()
    assert access.stall_every_ns == 415_000_000
