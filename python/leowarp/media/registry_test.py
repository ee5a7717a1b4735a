# SPDX-License-Identifier: Apache-2.0
"""Tests that every medium implements the protocol, and that the medium's stations, routes and timeline are
consistent."""

import dataclasses

import pytest

from leowarp.base.nodes import host_node
from leowarp.ephemeris import ephemeris_of
from leowarp.media import planned, routes_of, timeline_of
from leowarp.scenario.media.medium import MEDIA
from leowarp.scenario.schema import Access, Jittered, Measured, Medium, Mobile, Plan
from leowarp.scenario.text.key import InputFile
from support.plans import chain, plan
from support.replay import replayed


@pytest.fixture(scope="module")
def plans(tmp_path_factory) -> dict[str, Plan]:
    table = tmp_path_factory.mktemp("media") / "path.csv"
    table.write_text("t_s,delay_ms\n0,10\n5,20\n")
    measured = Measured(file=InputFile(table.name, "0" * 64, table))
    access = Access(residual_loss_ratio=0.0, residual_loss_up_ratio=0.0)
    media: list[Medium] = [measured, Jittered(), access, Mobile(snr_db=30.0)]
    others = [dataclasses.replace(chain(), medium=medium) for medium in media]
    return {one.medium.NAME: one for one in (plan(duration_s=60), chain(), *others)}


@pytest.mark.parametrize("name", MEDIA)
def test_a_medium_gives_its_stations_routes_and_a_timeline_that_joins_them(plans, name):
    resolved = plans[name]
    sky = ephemeris_of(resolved)
    ways = routes_of(resolved, sky)
    source, destination = planned(resolved).stations()
    rows = ways.table.to_pylist()
    assert {(row["source"], row["destination"]) for row in rows} == {(source, destination), (destination, source)}
    table = timeline_of(resolved, sky, ways)
    assert table.equals(timeline_of(resolved), check_metadata=True)
    paths = [row for row in table.to_pylist() if row["event"] == "path"]
    stored = [(row["t_ns"], row["a"], row["b"], row["path_id"], row["change_id"]) for row in paths]
    known = [
        (row["t_ns"], host_node(row["source"]), host_node(row["destination"]), row["path_id"], row["change_id"])
        for row in rows
        if row["t_ns"] == 0 or row["is_change"]
    ]
    assert stored == known
    network = replayed(table, 0)
    there = network.walk(host_node(source), host_node(destination))
    assert (there[0], there[-1]) == (host_node(source), host_node(destination))
    assert network.walk(host_node(destination), host_node(source)) == there[::-1]


def test_a_plan_with_a_constellation_needs_its_ephemeris(plans):
    with pytest.raises(ValueError, match="needs its ephemeris"):
        routes_of(plans["constellation"])


def test_rates_are_those_of_the_links_that_carry_packets(plans):
    assert len(planned(plans["constellation"]).steady_links()) == 2
    # The rate of an access link changes, so this plan has no steady links.
    assert planned(plans["access"]).steady_links() == ()
