# SPDX-License-Identifier: Apache-2.0
"""Tests plans from presets, and plans with several shells."""

from fractions import Fraction
from pathlib import Path

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import GOOD, write
from leowarp.scenario.names.presets import PRESETS
from leowarp.scenario.plan_test import SHELLS


def test_kuipers_phasing_puts_odd_planes_half_a_slot_ahead():
    preset = PRESETS["kuiper-630"].keys
    planes, slots, phasing = preset["planes"], preset["satellites_per_plane"], preset["phasing"]
    offsets = [Fraction(phasing * plane, planes * slots) * slots % 1 for plane in range(planes)]
    assert offsets == [Fraction(plane % 2, 2) for plane in range(planes)]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_every_preset_resolves(tmp_path, preset):
    constellation = resolve(load(write(tmp_path, GOOD), [f"constellation.preset={preset}"])).constellation
    assert constellation is not None
    assert constellation.preset == preset
    assert constellation.patterns
    assert all(one.phasing < one.planes for one in constellation.patterns)


def test_a_plan_of_several_shells_spells_each_out_and_gives_itself(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SHELLS)
    plan = resolve(load(tmp_path / "a.toml"))
    assert plan.constellation is not None
    assert [(one.planes, one.altitude_m) for one in plan.constellation.shells] == [(5, 550e3), (3, 1200e3)]
    assert plan.constellation.planes is None
    (tmp_path / "b.toml").write_text(plan.to_toml())
    again = resolve(load(tmp_path / "b.toml"))
    assert again == plan
    assert again.to_toml() == plan.to_toml()
    changed = resolve(load(tmp_path / "b.toml", ["constellation.shells.1.planes=4"]))
    assert changed.constellation is not None
    assert changed.constellation.shells[1].planes == 4
    one = resolve(load(tmp_path / "b.toml", ["constellation.preset=iridium"]))
    assert one.constellation is not None
    assert not one.constellation.shells
    assert one.constellation.planes == 6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("planes = 5\n", "planes = 0\n", "constellation.shells.0.planes: 0 is out of range"),
        ("planes = 5\n", "", "constellation.shells.0.planes: is missing"),
        ("phasing = 2", "phasing = 5", "constellation.shells.0.phasing: 5 is not below the number of planes (5)"),
        ("phasing = 2", "phasin = 2", "constellation.shells.0.phasin: there is no such key"),
        ("[constellation]", "[constellation]\nplanes = 5", "constellation.planes: has no effect"),
        ("[constellation]", "[isl]\nrule = 'plus-grid'\nacross_shells = true\n[constellation]", "isl.across_shells"),
    ],
)
def test_shells_that_cannot_be_are_refused_with_their_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SHELLS.replace(old, new, 1)
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(ScenarioError) as refused:
        load(tmp_path / "a.toml")
    assert message in str(refused.value)
    assert f"{tmp_path / 'a.toml'}:" in str(refused.value)


def test_starlinks_first_generation_has_4408_satellites_in_five_shells(tmp_path: Path) -> None:
    text = SHELLS.split("[[stations]]", 1)[1]
    (tmp_path / "a.toml").write_text('name = "a"\n[constellation]\npreset = "starlink-gen1"\n[[stations]]' + text)
    sky = resolve(load(tmp_path / "a.toml")).constellation
    assert sky is not None
    assert [one.satellites for one in sky.shells] == [1584, 1584, 720, 348, 172]
