# SPDX-License-Identifier: Apache-2.0
"""Compares round-trip times that leowarp computes from orbital elements with Hypatia (S. Kassing et al., IMC 2020).

Hypatia's numbers are in `hypatia_kuiper_630.csv`, with source and licence. The scenario is that of satgenpy's
test_end_to_end_kuiper_triangle.py, at the commit that the csv file names. It has 34 x 34 satellites at 51.9 deg and
14.80 rev/day. Odd planes are shifted by half a slot. In the +Grid, links between planes join slots with the same
number. Stations reach satellites up to 1260 km away. This distance is the slant range for an altitude of 630 km and an
elevation of 30 deg over flat ground.
"""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from leowarp.ephemeris import ephemeris_of
from leowarp.routes.links import SPEED_OF_LIGHT_M_PER_S, isl_rule, lengths_m
from leowarp.routes.paths import Graph
from leowarp.scenario.schema import Constellation, Isl, Plan
from leowarp.scenario.text.key import InputFile
from support.plans import plan, station

PLANES = SLOTS = 34
SATELLITES = PLANES * SLOTS
STATIONS = {1173: ("Manila", 14.6042, 120.9822), 1241: ("Dalian", 38.913811, 121.602322),
            1229: ("Saint Petersburg", 59.929858, 30.326228)}  # fmt: skip
LONGEST_GROUND_LINK_M = math.hypot(630e3, 630e3 / math.tan(math.radians(30)))
# Hypatia computes positions and slant ranges by pyephem, which has another SGP4 and another sidereal time than leowarp.
# The remaining difference is -519 to +46 ns (-309 ns on average), which is about 75 m of path in both directions
# together.
TOLERANCE_NS = 1000.0


_MOTION = "14.80000000    0"


def checked(line: str) -> str:
    return line + str(sum(int(c) if c.isdigit() else c == "-" for c in line) % 10)


@pytest.fixture(scope="module")
def kuiper(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan with Hypatia's satellites. Its element sets are the same as in the ``tles.txt`` that
    `generate_tles_from_scratch_manual` of satgenpy writes."""
    lines = [f"{PLANES} {SLOTS}"]
    for satellite in range(SATELLITES):
        plane, slot = divmod(satellite, SLOTS)
        anomaly_deg = slot * 360 / SLOTS + (180 / SLOTS if plane % 2 else 0)
        node_deg = plane * 360 / PLANES
        lines += [
            f"Kuiper-630 {satellite}",
            checked(f"1 {satellite + 1:05d}U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    0"),
            checked(f"2 {satellite + 1:05d}  51.9000 {node_deg:8.4f} 0000001   0.0000 {anomaly_deg:8.4f} {_MOTION}"),
        ]
    path = tmp_path_factory.mktemp("hypatia") / "tles.txt"
    path.write_text("\n".join(lines) + "\n")
    elements = InputFile(name=path.name, sha256="0" * 64, path=path)
    sky = Constellation(tle=elements, epoch="2000-01-01T00:00:00Z", earth="wgs84")
    stations = tuple(station(*place) for place in STATIONS.values())
    return plan(sky, stations, isl=Isl(rule="plus-grid"))


def test_links_are_those_of_hypatias_plus_grid(kuiper: Plan) -> None:
    # Links of satgenpy's generate_plus_grid_isls.py at the same commit, with isl_shift = 0. Satellite j of plane i has
    # links to satellite j + 1 of its plane and to satellite j of plane i + 1; both indexes wrap around.
    theirs = set()
    for i in range(PLANES):
        for j in range(SLOTS):
            here = i * SLOTS + j
            for other in (i * SLOTS + (j + 1) % SLOTS, (i + 1) % PLANES * SLOTS + j):
                theirs.add((min(here, other), max(here, other)))
    sky = ephemeris_of(kuiper)
    assert sky is not None
    pairs = isl_rule(kuiper, sky).pairs(sky.positions_ecef_m(0))
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(theirs)
    assert sky.warnings == (
        "tles.txt: +Grid of 34 planes of 34 slots at 51.9 deg, 630 km, as the first line says; links join equal slots",
    )


def test_paths_and_round_trip_times_are_hypatias(kuiper: Plan) -> None:
    text = (Path(__file__).parent / "hypatia_kuiper_630.csv").read_text()
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    ids = list(STATIONS)
    sky = ephemeris_of(kuiper)
    assert sky is not None
    ground, rule = sky.stations, isl_rule(kuiper, sky)
    deviations_ns = []
    for row in rows:
        satellites_m = sky.positions_ecef_m(int(row["t_ns"]))
        pairs = rule.pairs(satellites_m)
        seen = []
        for i in range(3):
            slant_m = ground.slant_ranges_m(i, satellites_m)
            near = np.flatnonzero(slant_m <= LONGEST_GROUND_LINK_M)
            seen.append((near, slant_m[near]))
        graph = Graph.of_links(SATELLITES, pairs, lengths_m(satellites_m, pairs), seen)
        source, destination = ids.index(int(row["source"])), ids.index(int(row["destination"]))
        costs_m = graph.costs_to([destination], [np.inf])[0]
        path = graph.shortest(source, destination, costs_m, 0.3, None)
        if not row["path"]:
            assert path is None, row
            continue
        assert path is not None
        assert "-".join(map(str, [ids[source], *path[1:-1], ids[destination]])) == row["path"], row["t_ns"]
        rtt_ns = 2 * graph.cost_of(path) / SPEED_OF_LIGHT_M_PER_S * 1e9
        deviations_ns.append(rtt_ns - float(row["rtt_ns"]))
    assert len(deviations_ns) > 150
    assert np.abs(deviations_ns).max() < TOLERANCE_NS
