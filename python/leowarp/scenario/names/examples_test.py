# SPDX-License-Identifier: Apache-2.0
"""Tests that the examples have the values that their comments state."""

from pathlib import Path

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.names.examples import copies, examples
from leowarp.scenario.schema import Access
from scenario_page import main

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def plan_of(name: str, overrides=()):
    return resolve(load(ROOT / "examples" / f"{name}.toml", overrides))


def test_there_are_examples():
    assert {"madrid-tokyo", "chain", "measured-path", "starlink"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_resolves_under_its_own_name(path):
    assert resolve(load(path)).name == path.stem


def test_the_studys_example_is_as_the_study_describes_it():
    plan = plan_of("madrid-tokyo")
    sky = plan.constellation
    assert sky is not None
    assert (sky.pattern, sky.planes, sky.satellites_per_plane, sky.phasing) == ("star", 18, 36, 0)
    assert (sky.altitude_m, sky.inclination_deg, sky.node_offset_deg) == (1_200_000.0, 86.4, 180.0)
    assert (sky.earth, sky.earth_radius_m, sky.mu_m3_per_s2) == ("sphere", 6_378_137.0, 398600.4418e9)
    assert (sky.earth_rotation_rad_per_s, sky.greenwich_deg, sky.tle) == (7.2921158553e-5, 46.98, None)
    places = [
        (station.name, station.latitude_deg, station.longitude_deg, station.height_m) for station in plan.stations
    ]
    assert places == [("Madrid", 40.228732, -4.010844, 0.0), ("Tokyo", 35.678892, 139.768596, 0.0)]
    assert (plan.isl.rule, plan.isl.max_range_m, plan.isl.grazing_height_m, plan.isl.terminals) == (
        "range", 3_000_000.0, None, None,
    )  # fmt: skip
    assert (plan.ground.rule, plan.ground.max_ground_range_m, plan.ground.delay) == (
        "ground-range", 1_500_000.0, "slant-range",
    )  # fmt: skip
    for link in (plan.isl, plan.ground):
        assert (link.rate_bps, link.queue_pkts, link.queue_bytes, link.overhead_bytes, link.loss_ratio) == (
            100_000_000, 500, None, 14, 0.0,
        )  # fmt: skip
    routing = plan.routing
    assert (routing.metric, routing.ground_cost, routing.interval_ns, routing.link_interval_ns) == (
        "distance", "slant-range", 30 * 10**9, 15 * 10**9,
    )  # fmt: skip
    assert (routing.in_flight, routing.leaving_links, routing.reverse) == ("drain", "keep", "mirror")
    assert (plan.run.duration_ns, plan.run.start_ns) == (1000 * 10**9, 15 * 10**9)
    assert [(flow.kind, flow.source, flow.destination, flow.congestion_control) for flow in plan.flows] == [
        ("tcp", "Madrid", "Tokyo", "cubic")
    ]
    assert (plan.tcp.profile, plan.tcp.buffer_max_bytes) == ("linux", 16 * 2**20)
    assert plan.observe.sockets_ns == 50_000_000


def test_the_variants_differ_from_it_where_they_should_and_nowhere_else():
    base = plan_of("madrid-tokyo").to_toml().splitlines()

    def differences(name: str) -> set[str]:
        return {line for line in plan_of(name).to_toml().splitlines() if line not in base}

    assert differences("madrid-tokyo-nine-planes") == {
        'name = "madrid-tokyo-nine-planes"',
        "planes = 9",
    }
    assert differences("madrid-tokyo-emulator") == {
        'name = "madrid-tokyo-emulator"', 'delay = "zero"', 'ground_cost = "ground-distance"', 'link_model = "netem"',
        'delay_rounding = "ceil-ms"', 'queue_counts = "waiting-and-flying"', 'neighbours = "arp"',
        "shaped = false",
    }  # fmt: skip
    assert differences("madrid-tokyo-classic") == {
        'name = "madrid-tokyo-classic"', 'profile = "classic"', '"net.ipv4.tcp_recovery" = "0"',
        '"net.ipv4.tcp_max_reordering" = "3"', '"net.ipv4.tcp_timestamps" = "0"', '"net.ipv4.tcp_dsack" = "0"',
        'sysctl = { "net.ipv4.tcp_frto" = "0" }', '"net.ipv4.tcp_frto" = "0"',
    }  # fmt: skip
    assert [(station.name, station.latitude_deg) for station in plan_of("aalborg-cape-town").stations] == [
        ("Aalborg", 57.048),
        ("Cape Town", -33.925),
    ]


def test_the_starlink_example_and_its_variants_are_what_their_lines_say():
    plan = plan_of("starlink")
    assert isinstance(plan.medium, Access)
    assert (plan.medium.profile, plan.medium.preset) == ("starlink", "peak")
    assert (plan.medium.period_ns, plan.medium.phase_ns) == (15 * 10**9, 12 * 10**9)
    assert [(flow.kind, flow.source, flow.congestion_control) for flow in plan.flows] == [
        ("tcp", "server", "cubic"),
        ("ping", "dish", None),
    ]
    text = (ROOT / "examples" / "starlink.toml").read_text(encoding="utf-8")
    variants = [line.split()[4:] for line in text.splitlines() if " --set " in line and "--cc-module" not in line]
    plans = [plan_of("starlink", [word for word in words if word != "--set"]) for words in variants]
    assert len({plan.to_toml() for plan in plans}) == len(plans) == 5
    handover = plans[1]
    assert handover.modules["cubic_handover"] == {"period_ns": "15000000000", "phase_ns": "12000000000"}


def test_the_reference_page_is_what_the_schema_says(capsys):
    page = ROOT / "docs" / "reference" / "scenario.md"
    assert main(["--check", str(page)]) == 0, capsys.readouterr().err


def test_an_old_reference_page_is_noticed_and_rewritten(tmp_path, capsys):
    page = tmp_path / "scenario.md"
    page.write_text("old", encoding="utf-8")
    assert main(["--check", str(page)]) == 1
    assert "python tools/pages/scenario_page.py" in capsys.readouterr().err
    assert main([str(page)]) == 0
    assert main(["--check", str(page)]) == 0


def test_the_jittered_examples_are_as_their_study_describes_them():
    probe, transfer = plan_of("jittered-probe"), plan_of("jittered-transfer")
    for plan in (probe, transfer):
        path = plan.medium
        assert path is not None
        assert (path.delay_ns, path.delay_up_ns, path.rate_bps, path.rate_up_bps) == (100_000_000, 0, 100_000_000, None)
        assert (path.queue_pkts, path.loss_ratio, plan.run.ends) == (5000, 0.0, "flows")
    (stream,) = probe.flows
    # A packet of 1500 B at the IP layer takes 1518 B on the wire, so 8235 packets per second are 100 Mbit/s.
    assert (stream.kind, stream.packets, stream.packet_rate_pkts_per_s, stream.payload_bytes, stream.replies) == (
        "ping", 65535, 8235.0, 1472, False,
    )  # fmt: skip
    assert transfer.flows[0].size_bytes == 120_000_000
    # On a machine with some GB of memory, Linux itself chooses 6 MiB and 4 MiB (tcp_init, tcp.c).
    for host in transfer.hosts:
        assert host.sysctl["net.ipv4.tcp_rmem"].split()[2] == str(6 << 20)
        assert host.sysctl["net.ipv4.tcp_wmem"].split()[2] == str(4 << 20)
        assert (host.sysctl["net.ipv4.tcp_sack"], host.sysctl["net.ipv4.tcp_dsack"]) == ("1", "1")


def test_an_example_is_found_by_its_name_wherever_one_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve(load("chain")) == plan_of("chain")
    assert [each.name for each in examples()] == [path.stem for path in EXAMPLES]
    assert all(10 < len(each.about) < 200 for each in examples())


def test_a_file_or_run_of_that_name_comes_before_the_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain").write_text((ROOT / "examples" / "measured-path.toml").read_text())
    (tmp_path / "measured-path.csv").write_text((ROOT / "examples" / "measured-path.csv").read_text())
    assert load("chain").name == "measured-path"


@pytest.mark.parametrize("typed", ["starlnk", "examples/starlnk.toml", "starlnk.toml"])
def test_a_misspelt_example_is_answered_with_the_nearest_name(tmp_path, monkeypatch, typed):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        load(typed)
    assert "did you mean the example starlink?" in str(caught.value.hint)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_copy_of_an_example_stands_alone_and_is_the_same_scenario(tmp_path, path):
    for name, text in copies(path, "mine").items():
        (tmp_path / name).write_text(text)
    mine, first = resolve(load(tmp_path / "mine.toml")), resolve(load(path))
    assert mine.to_toml().replace('name = "mine"', f'name = "{path.stem}"', 1) == first.to_toml()
    assert f"examples/{path.name}" not in (tmp_path / "mine.toml").read_text()
