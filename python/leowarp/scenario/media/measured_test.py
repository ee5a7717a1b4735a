# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import Plan, load, resolve
from leowarp.scenario.schema import Measured


def plan(folder: Path, *keys: str) -> Plan:
    for name in ("down.txt", "up.txt"):
        (folder / name).write_text("12\n13\n")
    text = 'name = "replay"\n[run]\nduration = "1 s"\n[measured]\nfile = "down.txt"\n' + "\n".join(keys)
    (folder / "replay.toml").write_text(text + '\n[[flows]]\nsource = "A"\ndestination = "B"\n')
    return resolve(load(folder / "replay.toml"))


def test_a_plan_holds_every_file_and_gives_itself(tmp_path: Path) -> None:
    files = 'file_up = "up.txt"\ncapacity_up = "up.txt"'
    times = 'gap_after = "2 s"\nresample = "10 ms"\nclock = "2024-05-17T12:00:00Z"'
    resolved = plan(tmp_path, files, times, 'rate = "50 Mbit/s"\nprobe_size = "84 B"\nrepeat = true')
    assert [path.name for path in resolved.inputs()] == ["down.txt", "up.txt", "up.txt"]
    (tmp_path / "plan.toml").write_text(resolved.to_toml())
    again = resolve(load(tmp_path / "plan.toml"))
    assert again == resolved
    assert isinstance(again.medium, Measured)
    assert (again.medium.rate_bps, again.medium.rate_up_bps) == (50_000_000, None)
    assert (again.medium.gap_after_ns, again.medium.probe_size_bytes) == (2_000_000_000, 84)


def test_defaults_are_those_of_a_table(tmp_path: Path) -> None:
    resolved = plan(tmp_path).medium
    assert isinstance(resolved, Measured)
    assert (resolved.file_up, resolved.capacity, resolved.clock, resolved.interval_ns, resolved.probe_size_bytes) == (
        None,
    ) * 5
    assert (resolved.gaps, resolved.rtt, resolved.lost_probes, resolved.interpolation, resolved.repeat) == (
        "error",
        "halves",
        "down",
        "hold",
        False,
    )


def test_a_rate_beside_a_capacity_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"measured\.rate_up.*capacity_up says"):
        plan(tmp_path, 'rate_up = "1 Mbit/s"', 'capacity_up = "up.txt"')


def test_the_host_where_round_trips_begin_is_known_of_one_way_delays(tmp_path: Path) -> None:
    assert isinstance(plan(tmp_path, 'rtt = "one-way"', 'rtt_from = "B"').medium, Measured)
    with pytest.raises(ScenarioError, match=r"measured\.rtt_from: has no effect: .* whose client is B") as raised:
        plan(tmp_path, 'rtt = "one-way"', 'rtt_from = "A"')
    assert "take rtt_from out" in str(raised.value)


def test_two_files_of_one_name_must_be_one_file(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "down.txt").write_text("9\n")
    with pytest.raises(ScenarioError, match=r'measured\.file_up.*another file .* is called "down\.txt" too'):
        plan(tmp_path, 'file_up = "other/down.txt"')
    plan(tmp_path, 'file_up = "down.txt"')
