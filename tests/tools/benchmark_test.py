# SPDX-License-Identifier: Apache-2.0
"""Tests bench/ns3 without ns-3: the path that ns-3 simulates, the search for ns-3, and the page with the results."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leowarp import scenario
from leowarp.base.errors import HostError, LeowarpError, ScenarioError
from leowarp.running.street import prepared
from support.beside import modules_beside

BENCH = Path(__file__).parents[2] / "bench" / "ns3"
PARTS = ("page", "path_text", "installed", "sides", "wall_clock")


@pytest.fixture(scope="module")
def parts():
    """The modules of bench/ns3."""
    with modules_beside(BENCH, PARTS) as modules:
        yield modules


def timeline_of(file, **changes):
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return prepared(scenario.resolve(scenario.load(file, dotted))).timeline


def dumbbell(**changes):
    return timeline_of(BENCH / "dumbbell.toml", **changes)


def test_the_dumbbell_is_one_link_between_the_two_ends(parts):
    text = parts["path_text"].path_text(dumbbell(), "A", "B", 16 << 20)
    assert text.splitlines() == [
        "node r0", "node r1",
        "link r0 r1 500 14",
        "rate r0 r1 100000000", "rate r1 r0 100000000",
        "delay 0 r0 r1 40000000", "delay 0 r1 r0 40000000",
        "route 0 r0 r1 r1", "route 0 r1 r0 r0",
        "flow r0 r1 16777216",
    ]  # fmt: skip


def test_routes_and_delays_change_at_the_instants_of_the_timeline(parts):
    example = BENCH.parents[1] / "examples" / "madrid-tokyo.toml"
    lines = parts["path_text"].path_text(timeline_of(example, run__duration="35 s"), "Madrid", "Tokyo", 1).splitlines()
    assert {line.split()[1] for line in lines if line.startswith("route")} == {"0", "30000000000"}
    assert {line.split()[1] for line in lines if line.startswith("delay")} == {"0", "15000000000", "30000000000"}
    assert not any("host:" in line for line in lines)


@pytest.mark.parametrize(("changes", "said"), [
    ({"chain__loss": "1 %"}, "has a loss that"),
    ({"chain__queue": "64 kB"}, "has no limit in packets"),
    ({"chain__queue_discipline": "codel"}, "has a queue that"),
    ({"network__link_model": "netem"}, r"is no FIFO with a delay line \(netem\)"),
])  # fmt: skip
def test_what_ns3_does_not_play_is_refused(parts, changes, said):
    with pytest.raises(ScenarioError, match=said):
        parts["path_text"].path_text(dumbbell(**changes), "A", "B", 1)


def test_a_station_that_is_not_there_is_refused(parts):
    with pytest.raises(ScenarioError, match="no node C"):
        parts["path_text"].path_text(dumbbell(), "A", "C", 1)


def installation(prefix, name="libns3.44-core.so", libraries="lib64"):
    (prefix / "include" / "ns3").mkdir(parents=True)
    (prefix / "include" / "ns3" / "core-module.h").touch()
    (prefix / libraries / "cmake" / "ns3").mkdir(parents=True)
    (prefix / libraries / name).touch()
    (prefix / libraries / "cmake" / "ns3" / "ns3Targets.cmake").write_text(
        '  INTERFACE_COMPILE_DEFINITIONS "SOURCE=\\"/x\\";__LINUX__;NS3_BUILD_PROFILE_RELEASE;NS3_ASSERT_ENABLE"\n'
    )


@pytest.mark.parametrize(("name", "version", "suffix"), [
    ("libns3.44-core.so", "3.44", ""),
    ("libns3.46.1-core-optimized.so", "3.46.1", "-optimized"),
    ("libns3-dev-core-debug.so", "3-dev", "-debug"),
])  # fmt: skip
def test_an_installation_is_known_by_its_libraries(parts, tmp_path, name, version, suffix):
    installation(tmp_path, name, "lib")
    found = parts["installed"].found_in(tmp_path, "here")
    assert (found.version, found.suffix) == (version, suffix)
    assert found.definitions == ("NS3_BUILD_PROFILE_RELEASE", "NS3_ASSERT_ENABLE")
    assert f"-lns{version}-internet{suffix}" in found.command(tmp_path / "path")


def test_a_prefix_without_ns3_is_named(parts, tmp_path, monkeypatch):
    monkeypatch.setenv("NS3_PREFIX", str(tmp_path))
    with pytest.raises(HostError, match=f"no ns-3 in {tmp_path}: there is no include"):
        parts["installed"].ns3()
    installation(tmp_path)
    (tmp_path / "lib64" / "libns3.44-core.so").unlink()
    with pytest.raises(HostError, match="there is no libns3"):
        parts["installed"].ns3()


def test_the_wheel_is_pinned_by_its_hash(parts):
    lines = parts["installed"].REQUIREMENTS.read_text().splitlines()
    assert [line for line in lines if line.startswith("ns3==")] == ["ns3==3.44.post0 \\"]
    assert len(lines[-1].strip().removeprefix("--hash=sha256:")) == 64


@pytest.mark.parametrize(("said", "sentence"), [
    ("Error: Specified qdisc kind is unknown.\n",
     "the kernel of this host has no netem (it says: Specified qdisc kind is unknown)"),
    ("unshare: Operation not permitted\n",
     "this host gives an ordinary user no network namespaces (it says: unshare: Operation not permitted)"),
    ("", "this host gives an ordinary user no network namespaces (it says: no reason given)"),
])  # fmt: skip
def test_a_host_without_netem_is_told_in_a_sentence(parts, said, sentence):
    assert parts["wall_clock"].reason(said) == sentence


def test_a_host_without_the_programs_is_told_which(parts, monkeypatch):
    monkeypatch.setattr(parts["wall_clock"].shutil, "which", lambda name: None if name in ("ip", "tc") else name)
    assert parts["wall_clock"].lacking() == "this host has no ip and no tc"
    assert parts["wall_clock"].over_netem(5) == {"lacking": "this host has no ip and no tc"}


def test_what_iperf3_and_nstat_say_is_read(parts):
    report = {"end": {"sum_received": {"bits_per_second": 9.4e7}, "sum_sent": {"retransmits": 22}}}
    counters = "#kernel\nTcpExtTCPDSACKRecv              1                  0.0\n"
    counted = parts["wall_clock"].counted(json.dumps(report), counters)
    assert counted == {"goodput_bps": 9.4e7, "retransmissions_pkts": 22, "dsack_pkts": 1}
    with pytest.raises(HostError, match="buffer size"):
        parts["wall_clock"].counted(json.dumps({"error": "buffer size", "end": {}}), counters)


def test_samples_of_ns3_are_windows_and_goodput_until_the_next(parts, tmp_path):
    file = tmp_path / "samples.csv"
    file.write_text("t_ns,cwnd_bytes,received_in_order_bytes\n50000000,14480,0\n100000000,28960,1000\n")
    (row,) = parts["sides"].sampled(file).to_dict("records")
    assert row == {"t_ns": 50_000_000, "window_pkts": 10.0, "goodput_bps": 160_000.0}


def test_repetitions_that_differ_are_no_result(parts):
    def outcome(cpu_s, late_pkts):
        return parts["sides"].Outcome(cpu_s, 1 << 20, {"late_pkts": late_pkts}, None)

    made = parts["sides"].as_json([outcome(1.234, 7), outcome(2, 7)])
    assert made == {"cpu_s": [1.23, 2], "memory_bytes": 1 << 20, "late_pkts": 7}
    with pytest.raises(LeowarpError, match="two repetitions differ"):
        parts["sides"].as_json([outcome(1, 7), outcome(1, 8)])


def test_a_command_is_costed_with_what_it_says_and_a_failure_is_told(parts, tmp_path):
    python = [sys.executable, "-I", "-S", "-c"]
    said, cpu_s, memory_bytes = parts["sides"].costed([*python, "x = b'x' * 80_000_000; print('done')"], tmp_path)
    assert said == "done\n"
    assert cpu_s > 0
    # The process itself needs 80 MB; the bounds exclude the memory of the test process.
    assert 80_000_000 < memory_bytes < 130_000_000
    with pytest.raises(LeowarpError, match="wrong"):
        parts["sides"].costed([*python, "raise SystemExit('wrong')"], tmp_path)


def test_the_page_shows_the_numbers_that_are_stored(parts):
    page = parts["page"]
    measured = page.read()
    assert page.tables(measured) in page.PAGE.read_text(encoding="utf-8")
    measured["cases"][0]["ns3"]["spurious_pkts"] += 1
    assert page.tables(measured) not in page.PAGE.read_text(encoding="utf-8")


def test_the_page_is_made_anew_around_its_tables(parts):
    page = parts["page"]
    text = page.with_tables(f"above\n{page.BEGIN}\nold\n{page.END}\nbelow\n", page.read())
    assert text.startswith(f"above\n{page.BEGIN}\nMeasured on: ")
    assert text.endswith(f"\n{page.END}\nbelow\n")
    assert "old" not in text


def test_a_measurement_over_netem_is_told(parts):
    measured = parts["page"].read()
    measured["netem"] = {
        "lacking": None, "name": "dumbbell", "congestion_control": "cubic", "duration_s": 100, "wall_s": 101.2,
        "linux": "6.1.0", "goodput_bps": 9.4e7, "retransmissions_pkts": 22, "dsack_pkts": 1,
    }  # fmt: skip
    told = "94.00 Mbit/s, 22 retransmissions, 1 of them reported as duplicates, in 101 s of the wall clock (dumbbell, "
    assert f"netem by the wall clock: {told}CUBIC, 100 s; Linux 6.1.0)." in parts["page"].tables(measured)


@pytest.mark.slow  # importing the modules takes 2 s
def test_the_script_says_what_it_takes(spawn):
    asked = spawn([sys.executable, str(BENCH / "bench.py"), "--quick", "--page"], stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE, text=True)  # fmt: skip
    _, said = asked.communicate()
    assert asked.returncode == 2
    assert "argument --page: not allowed with argument --quick" in said
