# SPDX-License-Identifier: Apache-2.0
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.ephemeris.neighbours import FoundShell
from leowarp.ephemeris.places import Places
from leowarp.ephemeris.planes import found_shells
from leowarp.scenario.schema import Constellation, Isl, Shell
from support.elements import Orbit, disturbed, mean_elements, orbits_of, written
from support.plans import plan

LOW = Shell(planes=12, satellites_per_plane=10, altitude_m=540e3, inclination_deg=53.2, phasing=5)
HIGH = Shell(planes=18, satellites_per_plane=12, altitude_m=550e3, inclination_deg=53.0, phasing=7)


def found(orbits: list[Orbit]) -> list[FoundShell]:
    return found_shells(mean_elements(orbits))


def moved(orbit: Orbit, **by: float) -> Orbit:
    return dataclasses.replace(orbit, **{name: getattr(orbit, name) + value for name, value in by.items()})


def places_of(constellation: Constellation) -> Places:
    sky = ephemeris_of(plan(constellation, isl=Isl(rule="plus-grid")))
    assert sky is not None
    assert sky.places is not None
    assert sky.warnings == sky.places.sentences
    return sky.places


@pytest.mark.parametrize("seed", range(5))
def test_shells_are_kept_apart_and_who_keeps_no_slot_is_left_out_and_named(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    low, high = orbits_of(LOW), orbits_of(HIGH)
    spares = [moved(orbit, phase_deg=9.0) for orbit in high[::12][:7]]
    raised = [Orbit(53.0, draw.uniform(0, 360), draw.uniform(0, 360), draw.uniform(350e3, 545e3)) for _ in range(20)]
    drifting = [moved(orbit, altitude_m=-2500.0, phase_deg=3.0, node_deg=0.4) for orbit in high[5::24]]
    orbits = disturbed([*low, *high, *spares, *raised, *drifting], draw)
    places = places_of(written(tmp_path / "set.tle", orbits, draw.permutation(len(orbits))))
    assert [(len(shell.slots), len(shell.satellites), shell.phasing) for shell in places.shells] == [
        (18, 216, 7),
        (12, 120, 5),
    ]
    names = (tmp_path / "set.tle").read_text().splitlines()[::3]
    in_slots = {names[satellite] for shell in places.shells for satellite in shell.satellites}
    assert in_slots == {f"S-{i}" for i in range(len(low) + len(high))}
    left = [name for name in names if name not in in_slots]
    assert places.sentences[-1] == (
        f"set.tle: {len(left)} of {len(orbits)} satellites are in no slot and have no links to others: "
        f"{', '.join(left[:5])} and {len(left) - 5} more (leowarp ephemeris names them)"
    )
    assert [names[i] for i in range(len(names)) if places.name(i) is None] == left
    assert places.sentences[1] == (
        "set.tle: +Grid found in the elements: 12 planes of 10 slots at 53.2 deg, 540 km, 30.0 deg apart all around, "
        "phasing F = 5; 120 satellites, 0 empty slots"
    )


def test_planes_above_each_other_with_slots_of_their_own_are_one_star() -> None:
    # The 12 planes are like OneWeb's. Each has 45 or 48 slots, and the altitudes are 4 km apart. Neighbouring planes
    # are 15.2 deg apart, and 12.8 deg across the seam.
    counts = [45, 48, 48, 45] * 3
    orbits = [
        Orbit(87.9, 100.0 + 15.2 * plane, 13.0 * plane + 360.0 * slot / count, 1178e3 + 4e3 * plane)
        for plane, count in enumerate(counts)
        for slot in range(count)
    ]
    (shell,) = found(disturbed(orbits, np.random.default_rng(1)))
    assert (shell.kind, [len(slots) for slots in shell.slots], len(shell.satellites)) == ("star", counts, len(orbits))
    assert shell.phasing is None
    assert [(a, b) for a, b, _ in shell.beside] == [(plane, plane + 1) for plane in range(11)]


def test_planes_over_a_part_of_a_turn_are_a_row_and_no_ring() -> None:
    some = [orbit for orbit in orbits_of(HIGH) if 90 <= orbit.node_deg < 230]
    (shell,) = found(some)
    assert (shell.kind, len(shell.slots), len(shell.beside)) == ("part", 7, 6)


def test_planes_are_neighbours_over_two_that_are_missing_and_not_over_three() -> None:
    without = [orbit for orbit in orbits_of(HIGH) if not 35 <= orbit.node_deg < 75]
    (shell,) = found(without)
    assert (shell.kind, len(shell.slots), len(shell.beside)) == ("delta", 16, 16)
    without = [orbit for orbit in orbits_of(HIGH) if not 35 <= orbit.node_deg < 95]
    (shell,) = found(without)
    assert (shell.kind, len(shell.slots), len(shell.beside)) == ("part", 15, 14)


def test_a_plane_of_few_does_not_come_between_those_that_are_full() -> None:
    few = [moved(orbit, node_deg=10.0) for orbit in orbits_of(HIGH)[:4]]
    (shell,) = found([*few, *orbits_of(HIGH)])
    assert (len(shell.slots), len(shell.beside), shell.phasing) == (18, 18, 7)
    assert min(shell.satellites) == len(few)


@pytest.mark.parametrize("seed", range(20))
def test_no_grid_is_found_where_there_is_none(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    # There are three cases: a few planes with satellites at any height; one height and any planes; a train of new
    # satellites.
    planes = [Orbit(86.4, 31.6 * draw.integers(6), draw.uniform(0, 360), draw.uniform(700e3, 780e3)) for _ in range(30)]
    layer = [Orbit(60.0, draw.uniform(0, 360), draw.uniform(0, 360), 900e3) for _ in range(30)]
    train = [Orbit(70.0, 20.0, 3.0 * i + draw.uniform(0, 2), 350e3) for i in range(20)]
    with pytest.raises(ScenarioError, match=r'set\.tle: isl\.rule = "plus-grid" finds no planes: of 80') as raised:
        places_of(written(tmp_path / "set.tle", planes + layer + train))
    assert 'isl.rule = "range"' in str(raised.value.hint)


def test_a_header_says_what_the_elements_do_not(tmp_path: Path) -> None:
    # Nodes of neighbouring planes are only 0.1 deg apart, so without the header all satellites would be in one plane.
    orbits = [Orbit(53.0, 0.1 * plane, 7.0 * plane + 60.0 * slot, 550e3) for plane in range(3) for slot in range(6)]
    places = places_of(written(tmp_path / "tles.txt", orbits, header="3 6"))
    assert [places.name(i) for i in (0, 5, 6, 17)] == ["1-00-00", "1-00-05", "1-01-00", "1-02-05"]
    assert places.sentences == (
        "tles.txt: +Grid of 3 planes of 6 slots at 53.0 deg, 550 km, as the first line says; links join equal slots",
    )


def test_a_header_over_satellites_in_another_order_is_refused(tmp_path: Path) -> None:
    orbits = orbits_of(LOW)
    with pytest.raises(ScenarioError, match=r"tles\.txt:1: the first line says 12 x 10 satellites") as raised:
        places_of(written(tmp_path / "tles.txt", orbits, np.arange(120).reshape(12, 10).T.ravel(), header="12 10"))
    assert "take the first line out" in str(raised.value.hint)
