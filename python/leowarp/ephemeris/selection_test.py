# SPDX-License-Identifier: Apache-2.0
"""The satellites that a plan uses. Each satellite in use has one element set, and has an orbit during the run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import Ephemeris, ephemeris_of
from leowarp.ephemeris.sgp4_orbits import Sgp4Orbits
from leowarp.scenario import load, resolve
from leowarp.scenario.schema import Constellation
from leowarp.scenario.text.key import InputFile
from support.element_sets import OMM, as_json, line_1, line_2, lines_of, written
from support.plans import plan

EPOCH = "2025-10-27T12:00:00Z"  # day 300.5 of the year


def falling(number: str = "70001", day: str = "292.12407234") -> list[str]:
    """Return the elements of a satellite shortly before it decays. From day 4 after the epoch on, SGP4 returns wrong
    positions for this satellite without an error."""
    return [
        line_1(number, day=day, derivative=" .09435527", second=" 24934+0", drag=" 44853-1"),
        line_2(number, inclination=" 98.5849", node="110.9278", motion="15.92146194"),
    ]


def sky(path: Path, epoch: str = EPOCH, duration_s: float = 60, **keys: Any) -> Ephemeris:
    file = InputFile(name=path.name, sha256="0" * 64, path=path)
    found = ephemeris_of(plan(Constellation(tle=file, epoch=epoch, earth="wgs84", **keys), duration_s=duration_s))
    assert found is not None
    return found


@pytest.mark.parametrize("days", [-20, -9, -5, -4, 1, 2, 3, 4, 5, 8, 10, 20])
def test_elements_that_sgp4_flings_away_are_refused_before_and_after_their_epoch(tmp_path: Path, days: int) -> None:
    path = written(tmp_path, "FINE", *lines_of(1), "FALLING", *falling(day=f"{300.5 - days:012.8f}"))
    with pytest.raises(ScenarioError, match=r"set\.tle:5: 1 of 2 satellites have no orbit during the run: FALLING"):
        sky(path)
    left = sky(path, leave_out=("decayed",))
    assert left.names == ["FINE"]
    assert any("1 of 2 satellites have no orbit during the run and are left out: FALLING" in w for w in left.warnings)


def test_a_run_that_reaches_the_fall_is_refused_though_it_begins_before(tmp_path: Path) -> None:
    path = written(tmp_path, *falling(day="300.50000000"))
    assert sky(path).names == ["sat-70001"]
    with pytest.raises(ScenarioError, match=r"decayed: SGP4 has it below 100 km 0\.\d days after the epoch"):
        sky(path, duration_s=86_400)


def test_positions_that_are_on_no_orbit_are_refused_at_each_instant(tmp_path: Path) -> None:
    orbits = sky(written(tmp_path, *falling(day="300.50000000"))).orbits
    with pytest.raises(ScenarioError, match=r"flings it away from the Earth, without an error"):
        orbits.positions_ecef_m(np.array([0, 10 * 86_400_000_000_000]))


def test_all_lost_satellites_are_named_at_once_with_what_to_type(tmp_path: Path) -> None:
    lines = ["FINE", *lines_of(1)]
    for number in range(3):
        lines += [f"LOST {number}", *falling(f"7000{number}")]
    with pytest.raises(ScenarioError, match=r"3 of 4 satellites") as raised:
        sky(written(tmp_path, *lines))
    for number in range(3):
        assert f"LOST_{number} (line {5 + 3 * number}, elements of 2025-10-19T02:58:39Z)" in raised.value.message
    assert 'constellation.leave_out = ["decayed"]' in str(raised.value.hint)
    assert '["LOST_0", "LOST_1", "LOST_2"]' in str(raised.value.hint)


@pytest.mark.parametrize("word", ["SAT_2", "SAT 2", "2"])
def test_satellites_are_left_out_by_name_or_number(tmp_path: Path, word: str) -> None:
    path = written(tmp_path, "SAT 1", *lines_of(1), "SAT 2", *lines_of(2))
    found = sky(path, leave_out=(word,))
    assert found.names == ["SAT_1"]
    assert found.warnings == ("set.tle: 1 of 2 satellites left out by name: SAT_2",)


def test_a_name_that_no_satellite_has_is_refused_and_so_is_an_empty_sky(tmp_path: Path) -> None:
    path = written(tmp_path, "SAT 1", *lines_of(1))
    with pytest.raises(ScenarioError, match="has no satellite called 'SAT_3'") as raised:
        sky(path, leave_out=("SAT_3",))
    assert "SAT_1" in str(raised.value.hint)
    with pytest.raises(ScenarioError, match="leaves no satellite"):
        sky(path, leave_out=("SAT_1",))


def test_a_date_of_decay_in_the_file_is_obeyed(tmp_path: Path) -> None:
    down = {"DECAY_DATE": "2025-10-27", "OBJECT_NAME": "DOWN"}
    path = written(tmp_path, as_json([OMM, OMM | down | {"NORAD_CAT_ID": 2}]))
    with pytest.raises(ScenarioError, match=r"DOWN .*it came down on 2025-10-27, as the file says"):
        sky(path)
    assert sky(path, epoch="2025-10-26T00:00:00Z").names == ["TEST-A", "DOWN"]


def history(tmp_path: Path, *days: str) -> Path:
    lines: list[str] = []
    for number in ("00001", "00002"):
        for day in days:
            lines += [f"SAT-{number}", line_1(number, day=day), line_2(number, anomaly=f"{float(day):8.4f}")]
    return written(tmp_path, *lines)


def test_of_several_sets_the_nearest_is_used_on_either_side_and_of_two_the_earlier(tmp_path: Path) -> None:
    path = history(tmp_path, "290.50000000", "299.50000000", "301.50000000", "310.50000000")
    with pytest.raises(ScenarioError, match="8 element sets of 2 satellites") as raised:
        sky(path)
    assert '"nearest epoch"' in str(raised.value.hint).replace("'", "")
    for epoch, day in (
        ("2025-10-27T12:00:00Z", 299.5),
        ("2025-10-27T12:00:01Z", 301.5),
        ("2025-10-10T00:00:00Z", 290.5),
    ):
        found = sky(path, epoch=epoch, element_sets="nearest epoch")
        assert found.names == ["SAT-00001", "SAT-00002"]
        assert isinstance(found.orbits, Sgp4Orbits)
        assert [element.satrec.epochdays for element in found.orbits.elements] == [day, day]
        assert "8 element sets of 2 satellites; of each satellite the set nearest" in found.warnings[0]


def test_two_satellites_of_one_number_are_not_taken_for_one(tmp_path: Path) -> None:
    messages = [OMM, OMM | {"OBJECT_NAME": "TEST-B", "OBJECT_ID": "2025-001B", "MEAN_ANOMALY": 90.0}]
    with pytest.raises(ScenarioError, match="these are two satellites"):
        sky(written(tmp_path, as_json(messages)), element_sets="nearest epoch")
    with pytest.raises(ScenarioError, match="other elements of the same epoch"):
        sky(written(tmp_path, as_json([OMM, OMM | {"MEAN_ANOMALY": 90.0}])), element_sets="nearest epoch")
    assert len(sky(written(tmp_path, as_json([OMM, OMM])), element_sets="nearest epoch").names) == 1


def test_elements_that_are_too_old_are_all_named(tmp_path: Path) -> None:
    lines = ["FINE", *lines_of(1)]
    for number in ("00002", "00003"):
        lines += [f"OLD-{number}", line_1(number, year=20), line_2(number)]
    with pytest.raises(ScenarioError, match="so are those of 1 more") as raised:
        sky(written(tmp_path, *lines))
    assert 'leave_out = ["OLD-00002", "OLD-00003"]' in str(raised.value.hint)


@pytest.mark.parametrize("age_d", [-300, -30, -1, 0, 1, 30, 300])
@pytest.mark.parametrize("motion", ["15.06000000", "13.15500000", " 2.00560000", " 1.00270000"])
def test_satellites_that_stay_up_are_left_alone_for_most_of_a_year(tmp_path: Path, age_d: int, motion: str) -> None:
    day, year = (300.5 - age_d, 25) if -64 <= age_d < 300 else (300.5 - age_d - 365, 26) if age_d < 0 else (0.5 + 1, 25)
    path = written(tmp_path, line_1(day=f"{day:012.8f}", year=year, drag=" 10000-4"), line_2(motion=motion))
    assert len(sky(path).names) == 1


def test_the_keys_are_of_files_alone_and_a_plan_gives_them_back(tmp_path: Path) -> None:
    written(tmp_path, "SAT 1", *lines_of(1), "SAT 2", *lines_of(2))
    keys = f'tle = "set.tle"\nepoch = "{EPOCH}"\nleave_out = ["SAT 2"]\nelement_sets = "nearest epoch"'
    text = SCENARIO.format(sky=keys)
    (tmp_path / "a.toml").write_text(text)
    resolved = resolve(load(tmp_path / "a.toml"))
    (tmp_path / "plan.toml").write_text(resolved.to_toml())
    again = resolve(load(tmp_path / "plan.toml"))
    assert again.constellation == resolved.constellation
    assert again.constellation is not None
    assert (again.constellation.leave_out, again.constellation.element_sets) == (("SAT 2",), "nearest epoch")
    (tmp_path / "b.toml").write_text(SCENARIO.format(sky='preset = "oneweb"\nleave_out = ["decayed"]'))
    with pytest.raises(ScenarioError, match=r"constellation\.leave_out: has no effect without tle"):
        resolve(load(tmp_path / "b.toml"))


SCENARIO = """
name = "elements"
[run]
duration = "60 s"
[constellation]
{sky}
[[stations]]
name = "Madrid"
[[stations]]
name = "Tokyo"
[isl]
rule = "range"
[ground]
rule = "min-elevation"
min_elevation = "25 deg"
[[flows]]
source = "Madrid"
destination = "Tokyo"
"""
