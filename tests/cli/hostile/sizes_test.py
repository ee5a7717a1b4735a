# SPDX-License-Identifier: Apache-2.0
"""Tests that every command refuses a network that is too large. All commands must give the same message. A command must
refuse before it writes anything."""

import os

import pytest

from leowarp.base.errors import ScenarioError, TraceError

FLOW = '[[flows]]\nsource = "A"\ndestination = "B"\n'
VERBS = ["plan", "ephemeris", "routes", "timeline", "run"]
A_MONTH = ["--set", 'run.duration="30 d"', "--set", 'observe.sockets="1 ms"']


@pytest.mark.parametrize("verb", VERBS)
def test_samples_of_a_month(verb, leowarp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed = leowarp(verb, "chain", *A_MONTH)
    assert typed.status == ScenarioError.exit_code
    assert "samples of sockets, counters and queues" in typed.err
    assert 'hint: longer intervals (--set observe.sockets="1 s"' in typed.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", [*VERBS, "report"])
def test_flows_without_end(verb, leowarp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = tmp_path / "large" / "00-plan.toml"
    plan.parent.mkdir()
    plan.write_text('name = "large"\n[chain]\n' + FLOW * 20_001)
    typed = leowarp(verb, "large")
    assert typed.status in (ScenarioError.exit_code, TraceError.exit_code)
    if verb != "report":
        assert "20,001 flows, and at most 20,000 are possible" in typed.err


def test_combinations_of_a_study(leowarp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hops, delays = "{ from = 1, to = 200, count = 200 }", '{ from = "0 ms", to = "10 s", count = 50000 }'
    parameters = f'"chain.hops" = {hops}\n"chain.delay" = {delays}\n'
    (tmp_path / "study.toml").write_text(f'name = "large"\nscenario = "chain"\n[parameters]\n{parameters}')
    typed = leowarp("study", "study.toml", "--dry-run")
    assert typed.status == ScenarioError.exit_code
    assert "10,000,000 combinations; at most 100,000 are possible" in typed.err


@pytest.mark.parametrize(
    ("name", "begins", "words", "told"),
    [
        ("elements.txt", b"A\n", ["plan", "madrid-tokyo", "--set", "constellation.epoch=2024-01-01T00:00:00Z", "--set"],
         "it has more than 64 MiB"),
        ("path.csv", b"t_s,delay_ms\n0,1\n", ["timeline", "describe"], "it has more than 1024 MiB"),
        ("arrivals.csv", b"seq\n0\n1\n", ["reorder"], "a row is longer than 1024 KiB"),
        ("capture.pcapng", b"\x0a\x0d\x0d\x0a", ["reorder", "--flow", "0"], "cannot read capture.pcapng as pcap"),
    ],
)  # fmt: skip
def test_files_of_10_gb_with_a_hole(name, begins, words, told, leowarp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(begins)
    os.truncate(tmp_path / name, 10 << 30)
    typed = leowarp(*words, f"constellation.tle={name}" if "--set" in words else name)
    assert typed.status in (ScenarioError.exit_code, TraceError.exit_code)
    assert told in typed.err


def test_a_line_of_2_mib_is_no_row(leowarp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "path.csv").write_text("t_s,delay_ms\n0," + "1" * (2 << 20) + "\n")
    (tmp_path / "arrivals.csv").write_text("seq\n" + "1" * (2 << 20) + "\n")
    for words, told in (
        (("timeline", "describe", "path.csv"), "path.csv:2:"),
        (("reorder", "arrivals.csv"), "a row is longer than 1024 KiB"),
    ):
        typed = leowarp(*words)
        assert typed.status in (ScenarioError.exit_code, TraceError.exit_code)
        assert told in typed.err
