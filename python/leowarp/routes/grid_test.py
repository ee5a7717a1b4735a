# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.ephemeris import Walker
from leowarp.routes.grid import Grid
from leowarp.scenario.schema import Isl, Shell


def walker(planes: int, slots: int, phasing: int, pattern: str) -> Walker:
    return Walker(
        planes=planes,
        satellites_per_plane=slots,
        radius_m=7_578_137.0,
        inclination_rad=math.radians(86.4 if pattern == "star" else 53.0),
        ascending_nodes_over_deg=180.0 if pattern == "star" else 360.0,
        phasing=phasing,
    )


def grid(planes: int, slots: int, phasing: int = 0, pattern: str = "delta", **changes: object) -> Grid:
    shell = Shell(
        planes=planes, satellites_per_plane=slots, altitude_m=1200e3, inclination_deg=53.0, phasing=phasing,
        pattern=pattern,
    )  # fmt: skip
    given = {"seam": True, "polar_cutoff_deg": None, **changes}
    return Grid.walker(shell, Isl(**given), clear_radius_m=None)  # type: ignore[arg-type]


def degrees(pairs: np.ndarray, satellites: int) -> np.ndarray:
    return np.bincount(pairs.ravel(), minlength=satellites)


def plane_pairs(pairs: np.ndarray, slots: int) -> np.ndarray:
    return pairs[pairs[:, 0] // slots != pairs[:, 1] // slots]


@given(st.integers(3, 9), st.integers(3, 9), st.integers(0, 8), st.integers(0, 10**13))
def test_in_a_delta_everybody_has_four_links(planes: int, slots: int, phasing: int, t_ns: int) -> None:
    f = phasing % planes
    pairs = grid(planes, slots, f).pairs(walker(planes, slots, f, "delta").positions_ecef_m(t_ns))
    assert (degrees(pairs, planes * slots) == 4).all()
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs) == 2 * planes * slots


@given(st.integers(3, 12), st.integers(3, 12), st.integers(0, 11))
def test_links_between_planes_join_the_nearest_slots_all_around(planes: int, slots: int, phasing: int) -> None:
    f = phasing % planes
    plane, slot = np.divmod(np.arange(planes * slots), slots)
    phase_deg = 360 * slot / slots + 360 * f * plane / (planes * slots)
    pairs = plane_pairs(grid(planes, slots, f).pairs(walker(planes, slots, f, "delta").positions_ecef_m(0)), slots)
    apart_deg = np.abs((phase_deg[pairs[:, 0]] - phase_deg[pairs[:, 1]] + 180) % 360 - 180)
    assert apart_deg.max() <= 180 / slots + 1e-9


@given(st.integers(2, 9), st.integers(3, 12), st.integers(0, 10**13))
def test_in_a_star_the_seam_is_crossed_one_to_one_or_not_at_all(planes: int, slots: int, t_ns: int) -> None:
    here_m = walker(planes, slots, 0, "star").positions_ecef_m(t_ns)
    closed = grid(planes, slots, 0, "star").pairs(here_m)
    open_ = grid(planes, slots, 0, "star", seam=False).pairs(here_m)
    of_seam = {tuple(pair) for pair in closed.tolist()} - {tuple(pair) for pair in open_.tolist()}
    ends = degrees(open_, planes * slots)
    assert (ends[:slots] == 3).all()
    assert (ends[-slots:] == 3).all()
    if planes > 2:
        assert (degrees(closed, planes * slots) == 4).all()
        assert len(of_seam) == slots
    assert all(a < slots <= (planes - 1) * slots <= b for a, b in of_seam)


def test_across_the_seam_satellites_link_to_the_ones_that_pass_by() -> None:
    here_m = walker(18, 36, 0, "star").positions_ecef_m(123_000_000_000)
    closed = {tuple(p) for p in grid(18, 36, 0, "star").pairs(here_m).tolist()}
    open_ = {tuple(p) for p in grid(18, 36, 0, "star", seam=False).pairs(here_m).tolist()}
    length_m = [np.linalg.norm(here_m[a] - here_m[b]) for a, b in closed - open_]
    # Ascending nodes are 10 deg apart, and inclinations differ by 7.2 deg (2 x (90 - 86.4)). The angle between
    # neighbouring planes is therefore at most 12.3 deg. The phases of two partners differ by at most half a slot (5
    # deg). Together, the two angles give an arc of 13.3 deg, or 1755 km.
    assert max(length_m) < 1760e3
    every_mean_m = [
        np.mean([np.linalg.norm(here_m[17 * 36 + s] - here_m[(k - s) % 36]) for s in range(36)]) for k in range(36)
    ]
    assert np.mean(length_m) == pytest.approx(min(every_mean_m))


def test_a_shift_of_slots_where_the_phase_of_the_last_plane_meets_the_first() -> None:
    # With F = 39 and 72 planes, each plane is 0.54 slots ahead of the previous plane, so the slot behind is nearer.
    # Over all 72 planes, the shifts between neighbouring planes add up to 39 slots.
    pairs = grid(72, 22, 39).pairs(walker(72, 22, 39, "delta").positions_ecef_m(0))
    linked = {tuple(pair) for pair in pairs.tolist()}
    assert (5, 22 + 4) in linked
    assert ((-1 + 39) % 22, 71 * 22) in linked


@pytest.mark.parametrize("cutoff_deg", [0.0, 45.0, 70.0])
def test_above_the_polar_cutoff_only_planes_are_linked(cutoff_deg: float) -> None:
    here_m = walker(6, 11, 0, "star").positions_ecef_m(0)
    latitude_deg = np.degrees(np.arcsin(here_m[:, 2] / np.linalg.norm(here_m, axis=1)))
    cut = grid(6, 11, 0, "star", polar_cutoff_deg=cutoff_deg)
    between = plane_pairs(cut.pairs(here_m), 11)
    assert (np.abs(latitude_deg[between]) <= cutoff_deg).all()
    everything = grid(6, 11, 0, "star").pairs(here_m)
    assert (cut.holds(here_m, everything).sum()) == len(cut.pairs(here_m)) < len(everything)


@pytest.mark.parametrize(("planes", "slots", "links"), [(1, 1, 0), (1, 2, 1), (2, 1, 1), (1, 5, 5), (2, 2, 4)])
def test_small_patterns_link_no_pair_twice_and_nobody_to_itself(planes: int, slots: int, links: int) -> None:
    pairs = grid(planes, slots).pairs(walker(planes, slots, 0, "delta").positions_ecef_m(0))
    assert len(pairs) == links
    assert (pairs[:, 0] < pairs[:, 1]).all()
