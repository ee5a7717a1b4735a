# SPDX-License-Identifier: Apache-2.0
"""Tests the timeline of a mobile channel, and how the scenario keys affect the channel model."""

import itertools
import json

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris import ephemeris_of
from leowarp.media import check, routes_of, timeline_of
from leowarp.media.mobile import fading_of, harq_of
from leowarp.routes.observed import node_positions_m
from leowarp.scenario import load, resolve
from leowarp.timeline import warnings_of
from leowarp.timeline.channel import Harq, LandMobile, channel_rows
from support.replay import replayed

SECOND = 1_000_000_000


def plan_of(folder, keys="", duration="2 s"):
    path = folder / "scenario.toml"
    path.write_text(
        f'name = "mobile"\n[run]\nduration = "{duration}"\nseed = 7\n[mobile]\n{keys}\n'
        '[[flows]]\nsource = "server"\ndestination = "mobile"\n',
        encoding="utf-8",
    )
    return resolve(load(path))


def of_kind(table, event):
    return [
        {key: value for key, value in row.items() if value is not None}
        for row in table.to_pylist()
        if row["event"] == event
    ]


def test_the_defaults_of_the_scenario_are_those_of_the_models(tmp_path):
    mobile = plan_of(tmp_path).medium
    fading = fading_of(mobile)
    assert fading is not None
    assert fading.speed_m_per_s == pytest.approx(LandMobile().speed_m_per_s)
    assert fading.carrier_hz == pytest.approx(LandMobile().carrier_hz)
    for name in ("environment", "elevation_deg", "correlation_m", "transition_m", "frames", "frame_m"):
        assert getattr(fading, name) == getattr(LandMobile(), name), name
    assert harq_of(mobile) == Harq()


def test_packets_cross_gateway_satellite_and_terminal_both_ways(tmp_path):
    table = timeline_of(plan_of(tmp_path))
    state = replayed(table, 0)
    there = ["host:server", "gateway", "satellite", "terminal", "host:mobile"]
    assert state.walk("host:server", "host:mobile") == there
    assert state.walk("host:mobile", "host:server") == there[::-1]
    assert warnings_of(table) == []


def test_the_last_hop_towards_the_terminal_has_the_channels_rows_and_the_others_fixed_delays(tmp_path):
    table = timeline_of(plan_of(tmp_path, 'snr = "8 dB"'))
    rows, codewords = channel_rows(LandMobile(speed_m_per_s=50 / 3), Harq(), 8.0, 2 * SECOND, 7)
    channel = of_kind(table, "channel")
    assert {(row["a"], row["b"]) for row in channel} == {("satellite", "terminal")}
    assert [row["t_ns"] for row in channel] == rows.t_ns.tolist()
    assert [row["delay_ns"] for row in channel] == rows.delay_ns.tolist()
    assert [row["loss_ratio"] for row in channel] == rows.loss_ratio.tolist()
    delays = {(row["a"], row["b"]): row["delay_ns"] for row in of_kind(table, "delay")}
    assert delays == {
        ("gateway", "satellite"): 80_000_000,
        ("satellite", "gateway"): 80_000_000,
        ("terminal", "satellite"): 10_000_000,
    }
    rates = {(row["a"], row["b"]): row.get("rate_bps") for row in of_kind(table, "rate")}
    assert rates["satellite", "terminal"] == 40_000_000
    assert rates["terminal", "satellite"] is None
    described = json.loads(table.schema.metadata[b"harq"])
    assert described["loss_ratio"] == codewords.loss_ratio
    assert described["codewords"] == len(codewords.lost)


def test_retransmissions_take_capacity_in_steps_where_they_are_asked_to(tmp_path):
    free, shared = (
        timeline_of(plan_of(tmp_path, f"retransmissions_take_capacity = {flag}")) for flag in ("false", "true")
    )
    _, codewords = channel_rows(LandMobile(speed_m_per_s=50 / 3), Harq(), 10.0, 2 * SECOND, 7)
    capacity = of_kind(shared, "capacity")
    assert [row["t_ns"] for row in capacity] == list(range(0, 2 * SECOND, SECOND // 10))
    starts_ns = np.arange(len(codewords.lost)) * Harq().codeword_period_ns
    for row in capacity:
        mine = (starts_ns >= row["t_ns"]) & (starts_ns < row["t_ns"] + SECOND // 10)
        carried = 40e6 * codewords.first_bits / codewords.sent_bits[mine].mean()
        assert row["rate_bps"] == pytest.approx(carried, abs=1)
        assert 40e6 * codewords.first_bits / Harq().codeword_bits <= row["rate_bps"] <= 40_000_000
    assert len({row["rate_bps"] for row in capacity}) > 10
    assert {(row["a"], row["b"]) for row in capacity} == {("satellite", "terminal")}
    assert ("satellite", "terminal") not in {(row["a"], row["b"]) for row in of_kind(shared, "rate")}
    assert not of_kind(free, "capacity")
    # Retransmissions may take capacity or not. The same packets are decoded in both cases.
    assert of_kind(free, "channel") == of_kind(shared, "channel")
    unfaded = timeline_of(plan_of(tmp_path, "fading = false\nretransmissions_take_capacity = true"))
    assert {row["rate_bps"] for row in of_kind(unfaded, "capacity")} == {40_000_000}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('environment = "suburbam"', 'did you mean "suburban"'),
        ('elevation = "45 deg"', "elevation of 45 degrees"),
        ('environment = "urban"', "no correlation distance"),
        ('environments = "none.toml"', "no list `environments`"),
    ],
)
def test_what_the_table_of_environments_lacks_is_told_before_a_timeline_is_made(tmp_path, keys, said):
    (tmp_path / "none.toml").write_text("", encoding="utf-8")
    plan = plan_of(tmp_path, keys)
    with pytest.raises(ScenarioError, match=said):
        check(plan)
    check(plan_of(tmp_path, keys + "\nfading = false"))


@pytest.mark.parametrize("resequencing", [True, False])
def test_resequencing_is_whether_the_link_keeps_the_order(tmp_path, resequencing):
    table = timeline_of(plan_of(tmp_path, f"resequencing = {str(resequencing).lower()}"))
    link = next(row for row in of_kind(table, "link") if row["kind"] == "gsl")
    assert link.get("in_order", True) is resequencing


def test_without_fading_every_packet_takes_the_first_delay(tmp_path):
    channel = of_kind(timeline_of(plan_of(tmp_path, "fading = false")), "channel")
    assert [(row["t_ns"], row["delay_ns"], row["loss_ratio"]) for row in channel] == [(0, 10_000_000, 0.0)]


def test_at_minus_40_db_everything_is_lost_and_said(tmp_path):
    table = timeline_of(plan_of(tmp_path, 'snr = "-40 dB"', "200 ms"))
    assert {row["loss_ratio"] for row in of_kind(table, "channel")} == {1.0}
    assert json.loads(table.schema.metadata[b"harq"])["loss_ratio"] == 1.0


def test_the_fading_is_the_same_whatever_the_protocol(tmp_path):
    def of_lost(keys):
        return {row["t_ns"] for row in of_kind(timeline_of(plan_of(tmp_path, keys)), "channel")}

    assert of_lost("resequencing = true") == of_lost("resequencing = false")


def test_a_frozen_channel_and_packets_longer_than_a_codeword_are_warned_of(tmp_path):
    assert "one draw for the whole run" in warnings_of(timeline_of(plan_of(tmp_path, 'speed = "0 m/s"')))[0]
    assert warnings_of(timeline_of(plan_of(tmp_path, "data_bits = 8000"))) == []
    plan = plan_of(tmp_path, 'data_bits = 8000\n[network]\nmtu = "1115 B"')
    (warning,) = warnings_of(timeline_of(plan))
    assert "1000 B of data" in warning
    assert warning.endswith('write network.mtu = "1000 B"')
    (tiny,) = warnings_of(timeline_of(plan_of(tmp_path, "data_bits = 80\nfading = false")))
    assert "write" not in tiny


def test_the_route_is_one_path_whose_delay_is_that_of_a_packet_decoded_at_once(tmp_path):
    table = routes_of(plan_of(tmp_path)).table.to_pylist()
    assert [(row["source"], row["destination"], row["delay_ns"]) for row in table] == [
        ("mobile", "server", 90_000_000),
        ("server", "mobile", 90_000_000),
    ]
    assert table[0]["path"] == ["terminal", "satellite", "gateway"]


@pytest.mark.slow
def test_a_table_of_the_users_reaches_the_model(tmp_path):
    (tmp_path / "mine.toml").write_text(
        '[[environments]]\nname = "mine"\nelevation_deg = 10\ntransitions = [[1]]\ncorrelation_m = 1\n'
        "state_lengths_m = [1]\ntransition_m = 0\n"
        "states = [{ mean_db = 0, deviation_db = 0, multipath_db = -60 }]\n",
        encoding="utf-8",
    )
    plan = plan_of(tmp_path, 'environments = "mine.toml"\nenvironment = "mine"\nelevation = "10 deg"')
    assert [entry.name for entry in plan.inputs()] == ["mine.toml"]
    delays = np.array([row["delay_ns"] for row in of_kind(timeline_of(plan), "channel")])
    # The channel has only one state, whose diffuse signal is a millionth of the direct one. The first transmission is
    # sized for the median power, so half of the codewords narrowly fail and need a retransmission.
    assert set(delays.tolist()) <= {10_000_000, 30_000_000}


ROUTED = 'fading = false\ndelays = "constellation"\n{keys}\n[constellation]\npreset = "tauran-study"\n{below}'


def routed(folder, keys="", below="", duration="300 s"):
    """Return a plan over the study's constellation, with its ephemeris, routes and timeline."""
    plan = plan_of(folder, ROUTED.format(keys=keys, below=below), duration)
    sky = ephemeris_of(plan)
    ways = routes_of(plan, sky)
    return plan, sky, ways, timeline_of(plan, sky, ways)


def forward_of(table):
    """Return the delays between gateway and satellite in ns, as `[direction][time in ns]`."""
    delays_ns = {}
    for row in of_kind(table, "delay"):
        if {row["a"], row["b"]} == {"gateway", "satellite"}:
            delays_ns.setdefault((row["a"], row["b"]), {})[row["t_ns"]] = row["delay_ns"]
    return delays_ns


@pytest.mark.slow
def test_over_a_constellation_the_delay_to_the_satellite_is_that_of_the_path_in_force(tmp_path):
    _, sky, ways, table = routed(tmp_path)
    forward = forward_of(table)
    assert forward["gateway", "satellite"] == forward["satellite", "gateway"]
    for t_ns, delay_ns in forward["gateway", "satellite"].items():
        path = ways.paths[np.searchsorted(ways.t_ns, t_ns, side="right") - 1][0]
        nodes_m = node_positions_m(sky, t_ns)[list(path)]
        before_last_m = [np.linalg.norm(b - a) for a, b in itertools.pairwise(nodes_m)][:-1]
        assert delay_ns == pytest.approx(sum(before_last_m) / 299_792_458 * 1e9, abs=len(path))
    # Satellites move all the time, so there is an event at each delay update, once per second.
    assert list(forward["gateway", "satellite"]) == [t * SECOND for t in range(300)]
    assert min(forward["gateway", "satellite"].values()) == ways.summary["forward_delay_min_ns"]
    assert max(forward["gateway", "satellite"].values()) == ways.summary["forward_delay_max_ns"]


@pytest.mark.slow
def test_over_a_constellation_hosts_change_paths_when_the_routes_do_and_links_stay(tmp_path):
    plan, sky, ways, table = routed(tmp_path)
    assert timeline_of(plan).equals(timeline_of(plan, sky, ways))
    rows = [row for row in ways.table.to_pylist() if row["is_change"] or row["t_ns"] == 0]
    assert len(rows) > 4
    assert [(row["t_ns"], row["a"], row["b"], row["path_id"]) for row in of_kind(table, "path")] == [
        (row["t_ns"], f"host:{row['source']}", f"host:{row['destination']}", row["path_id"]) for row in rows
    ]
    assert {row["t_ns"] for kind in ("link", "route", "channel") for row in of_kind(table, kind)} == {0}


@pytest.mark.slow
def test_without_a_path_the_routers_at_both_ends_know_no_next_hop(tmp_path):
    below = '[ground]\nmin_elevation = "20 deg"'
    _, _, ways, table = routed(tmp_path, below=below, duration="600 s")
    blind = {t_ns for t_ns, now in zip(ways.t_ns.tolist(), ways.paths, strict=True) if now[0] is None}
    assert 0 < len(blind) < len(ways.paths)
    for t_ns in ways.t_ns.tolist():
        state = replayed(table, t_ns)
        for source, destination in (("host:server", "host:mobile"), ("host:mobile", "host:server")):
            walked = state.walk(source, destination)
            assert (walked is None or walked[-1] != destination) == (t_ns in blind)
    assert any("no path from server to mobile" in warning for warning in ways.warnings)
