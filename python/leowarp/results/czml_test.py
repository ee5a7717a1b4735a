# SPDX-License-Identifier: Apache-2.0
"""Tests that the CZML of a run follows the conventions of CZML, and agrees with the tables of the run."""

import itertools
import json
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import leowarp
from leowarp import scenario, trace
from leowarp.base import layout
from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.metrics import metrics, read_tables
from leowarp.results.czml import DEGREE, _escaped, czml
from support.synthetic.access import write_synthetic_access
from support.synthetic.run import PATHS, write_synthetic_run


def completed(path):
    plan = scenario.plan_of(path / layout.PLAN)
    metrics(read_tables(path), plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    trace.write_manifest(path, 1, {}, {}, [], trace.Stopwatch().costs(60.0, 2.5, 1 << 20))
    return leowarp.open(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return completed(write_synthetic_run(tmp_path_factory.mktemp("runs") / "one"))


@pytest.fixture(scope="module")
def packets(run):
    return json.loads(czml(run))


def at(text):
    return datetime.fromisoformat(text)


@pytest.mark.slow
def test_the_document_comes_first_and_ids_are_distinct(packets):
    assert packets[0]["id"] == "document"
    assert packets[0]["version"] == "1.0"
    ids = [packet["id"] for packet in packets]
    assert len(set(ids)) == len(ids) == 1 + 648 + 2 + 9
    begin, end = map(at, packets[0]["clock"]["interval"].split("/"))
    assert end - begin == timedelta(seconds=60)
    assert all(packet["availability"] == packets[0]["clock"]["interval"] for packet in packets[1:])


def test_satellites_are_samples_of_the_ephemeris_around_the_run(run, packets):
    sky = ephemeris_of(run.plan)
    for number in (0, 100, 647):
        packet = next(p for p in packets if p["id"] == f"satellite/{sky.names[number]}")
        position = packet["position"]
        samples = np.array(position["cartesian"]).reshape(-1, 4)
        assert position["referenceFrame"] == "FIXED"
        assert position["interpolationDegree"] == DEGREE < len(samples)
        assert (np.diff(samples[:, 0]) > 0).all()
        assert samples[0, 0] < 0 < 60 < samples[-1, 0]
        for t_s, *place_m in samples.tolist():
            wanted = sky.positions_ecef_m(round(t_s) * 1_000_000_000)[number]
            assert np.abs(np.array(place_m) - wanted).max() <= 0.5


def test_references_point_to_positions_and_intervals_cover_the_run(packets):
    positions = {packet["id"] for packet in packets if "position" in packet}
    links = [packet for packet in packets if packet["id"].startswith("link/")]
    begin, end = map(at, packets[0]["clock"]["interval"].split("/"))
    for packet in links:
        for reference in packet["polyline"]["positions"]["references"]:
            identifier, name = reference.rsplit("#", 1)
            assert identifier in positions
            assert name == "position"
        spans = [tuple(map(at, span["interval"].split("/"))) for span in packet["polyline"]["show"]]
        assert spans[0][0] == begin
        assert spans[-1][1] == end
        assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))


def _parsed(reference):
    """Return the identifier and properties of a reference, separated as in Cesium's ReferenceProperty.fromString."""
    parts, is_escaped, separator = [""], False, "#"
    for char in reference:
        if is_escaped:
            parts[-1], is_escaped = parts[-1] + char, False
        elif char == "\\":
            is_escaped = True
        elif char == separator:
            parts.append("")
            separator = "."
        else:
            parts[-1] += char
    return parts


@settings(max_examples=30)
@given(st.text())
@example("station/Suva site no. #1")
@example("station/Wallis.Futuna")
@example("a\\#b")
def test_a_reference_leads_to_any_name(identifier):
    assert _parsed(f"{_escaped(identifier)}#position") == [identifier, "position"]


@pytest.mark.parametrize(("t_s", "path"), [(5, PATHS[0]), (30, PATHS[1]), (55, PATHS[2])])
def test_links_are_shown_while_a_path_uses_them(packets, t_s, path):
    now = at(packets[0]["clock"]["interval"].split("/")[0]) + timedelta(seconds=t_s)

    def is_shown(packet):
        spans = [(*map(at, span["interval"].split("/")), span["boolean"]) for span in packet["polyline"]["show"]]
        return next(shown for begin, end, shown in spans if begin <= now < end)

    shown = {packet["id"] for packet in packets if packet["id"].startswith("link/") and is_shown(packet)}
    assert shown == {f"link/{min(link)}~{max(link)}" for link in itertools.pairwise(path)}


@pytest.mark.slow
def test_a_run_without_a_constellation_has_no_czml(tmp_path):
    with pytest.raises(ScenarioError, match="no constellation"):
        czml(completed(write_synthetic_access(tmp_path / "access")))
