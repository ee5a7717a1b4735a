# SPDX-License-Identifier: Apache-2.0
"""Tests `leowarp reorder`: its table, JSON and figures, and the input that it refuses."""

import inspect
import json
import os
import subprocess
import sys

import pytest

from leowarp.cli.arrivals.reorder_verb import reorder
from leowarp.reordering import Settings
from leowarp.scenario.schema import Observe
from support.captures import echoes, write_pcap
from support.frames import Frame, apart, echo, ethernet, pcap_file

# arrivals of RFC 5236, section 8a
SEQUENCE = [1, 4, 2, 5, 3, 6, 7, 8]


@pytest.fixture
def leowarp(leowarp):
    return leowarp


@pytest.fixture
def arrivals(tmp_path):
    file = tmp_path / "arrivals.txt"
    file.write_text("".join(f"{number}\n" for number in SEQUENCE))
    return file


def test_json_has_the_keys_that_papers_compare(leowarp, arrivals):
    told = leowarp("reorder", arrivals, "--threshold", "4", "--json").json()
    assert (told["received_pkts"], told["duplicate_pkts"], told["lost_pkts"]) == (8, 0, 0)
    assert told["reordered_ratio"] == 0.25
    assert told["density"] == {"-2": 0.125, "-1": 0.125, "0": 0.5, "1": 0.125, "2": 0.125}
    assert told["buffer_density"] == {"0": 0.625, "1": 0.25, "2": 0.125}
    assert told["mean_displacement_pkts"] == 0.75
    assert told["entropy_nats"] == pytest.approx(1.386294361)
    assert told["n_reordering"] == {"1": 0.25, **{str(n): 0.0 for n in range(2, 11)}}
    assert told["extent"]["late_time_max_ns"] is None
    assert (told["threshold_pkts"], told["buffer_threshold_pkts"]) == (4, 4)


def test_verb_library_and_runs_measure_alike_where_nothing_else_is_asked_for():
    defaults = {name: each.default for name, each in inspect.signature(reorder).parameters.items()}
    names = ("threshold", "buffer_threshold", "loss_window", "n_max", "first", "bits")
    typed = Settings(*(defaults[name] for name in names))
    assert typed == Settings()
    assert typed.threshold_pkts == typed.buffer_threshold_pkts == Observe().reordering_threshold_pkts


@pytest.mark.slow
def test_a_named_pipe_that_nobody_writes_is_said_to_be_waited_for(spawn, arrivals, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "leowarp", "reorder", pipe, "--json"]
    process = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "is a named pipe" in process.stderr.readline()
    pipe.write_text(arrivals.read_text())
    told, _ = process.communicate()
    assert json.loads(told)["received_pkts"] == len(SEQUENCE)


def test_a_table_says_the_same_to_people(leowarp, arrivals):
    answer = leowarp("reorder", arrivals, "-t", "4", "--buffer-threshold", "8", "--sent", "10")
    lines = [line.split() for line in answer.out.splitlines()]
    assert answer.status == 0
    for line in (
        ["reordered_ratio", "0.25"], ["mean_displacement_pkts", "0.75"], ["lost_pkts", "2"], ["-2", "1", "0.125"],
        ["extent:", "late_time_max_ns", "–"], ["buffer_threshold_pkts", "8"],
    ):  # fmt: skip
        assert line in lines


def test_a_wide_density_is_shown_in_ranges(leowarp, tmp_path):
    # Each block of 64 numbers arrives in reverse order, so its displacements are all odd numbers from -63 to 63
    file = tmp_path / "wide.txt"
    file.write_text("".join(f"{64 * block + 63 - at}\n" for block in range(4) for at in range(64)))
    out = leowarp("reorder", file).out
    shares = [line.split() for line in out.splitlines() if " to " in line]
    assert ["-63", "to", "-32", "64", "0.25"] in shares
    assert ["32", "to", "63", "64", "0.25"] in shares


@pytest.mark.slow
def test_figures_are_drawn_in_the_formats_asked_for(leowarp, arrivals, tmp_path):
    told = leowarp("reorder", arrivals, "--figures", tmp_path / "out", "--format", "svg", "--json").json()
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["buffer-density.svg", "density.svg", "n-reordering.svg"]
    assert len(told["figures"]) == 3
    refused = leowarp("reorder", arrivals, "--format", "svg")
    assert (refused.status, "--figures" in refused.err) == (2, True)


def test_standard_input_and_captures_are_read(leowarp, arrivals, tmp_path):
    capture = write_pcap(tmp_path / "a.pcap", [*echoes(SEQUENCE, 5), *echoes([1], 6)])
    for words, given in (((), arrivals.read_bytes()), (("--flow", "0"), capture.read_bytes())):
        assert leowarp("reorder", "-", "--json", *words, given=given).json()["reordered_ratio"] == 0.25
    listed = leowarp("reorder", capture, "--flows").out
    assert "flows: 2" in listed
    assert ["0", "icmp", "10.0.0.1", "10.0.0.2", "5", "8"] in [line.split()[:6] for line in listed.splitlines()]


@pytest.mark.slow
def test_a_process_of_its_own_does_the_same(arrivals):
    command = [sys.executable, "-m", "leowarp", "reorder", "-", "--json"]
    done = subprocess.run(command, input=arrivals.read_bytes(), capture_output=True, check=True)
    assert b'"reordered_ratio": 0.25' in done.stdout
    assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["iso-8859-1", "ascii", "cp437"])
def test_an_encoding_without_a_dash_has_a_table_all_the_same(arrivals, encoding):
    command = [sys.executable, "-m", "leowarp", "reorder", arrivals]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if b"extent: late_time_max_ns" in line]
    assert line.rstrip(b" |").endswith(b" -")
    assert done.stderr == b""


def test_what_was_skipped_is_one_line_beside_the_table_and_in_json(leowarp, tmp_path):
    frames = [*apart([echo(number) for number in (1, 3, 2)]), *[Frame(9, ethernet(bytes(46), 0x0806))] * 2]
    file = pcap_file(tmp_path / "a.pcap", frames)
    for words in ((), ("--flows",)):
        assert leowarp("reorder", file, *words).err == "skipped 2 packets of ARP (ethertype 0x0806)\n"
    told = leowarp("reorder", file, "--json").json()
    assert told["skipped"] == [{"count": 2, "why": "packets of ARP (ethertype 0x0806)", "first": None}]
    assert told["captured_at"]["places"] == ["middle", "receiver"]


@pytest.mark.parametrize(
    ("content", "words", "status", "telling"),
    [
        ("1\n2\n", ("--threshold", "0"), 2, "threshold_pkts = 0"),
        ("1\n2\n", ("--buffer-threshold", "0"), 2, "buffer_threshold_pkts = 0"),
        ("1\n2\n", ("--input", "xml"), 2, "xml"),
        ("1\n2\n", ("--protocol", "udp"), 2, "--field-offset"),
        ("", (), 5, "no arrival"),
        ("1\n-2\n", (), 5, "line 2"),
        ("1\n2.5\n", (), 5, "whole number"),
        ("1\n2\n", ("--sent", "1"), 5, "more than the 1"),
    ],
)
def test_a_refusal_has_a_status_one_message_and_no_output(leowarp, tmp_path, content, words, status, telling):
    file = tmp_path / "a.txt"
    file.write_text(content)
    answer = leowarp("reorder", file, *words)
    assert answer.status == status
    assert telling in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_a_truncated_capture_is_read_up_to_its_last_whole_packet(leowarp, tmp_path):
    file = write_pcap(tmp_path / "a.pcap", echoes(SEQUENCE))
    file.write_bytes(file.read_bytes()[:-1])
    answer = leowarp("reorder", file, "--json")
    assert answer.status == 0
    assert "what was captured after it is missing" in answer.out


def test_figures_that_cannot_be_written_are_a_fault_of_the_machine(leowarp, arrivals, tmp_path):
    (tmp_path / "file").write_text("")
    answer = leowarp("reorder", arrivals, "--figures", tmp_path / "file")
    assert answer.status == 3
    assert "writing figures" in answer.err


def test_the_library_is_imported_when_it_is_first_used():
    script = (
        "import sys, leowarp as lw\n"
        "print('leowarp.reordering' in sys.modules, lw.reordering.mean_displacement([1, 6, 7, 2, 3, 4, 5, 8]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False 2.0\n"
