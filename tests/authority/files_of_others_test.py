# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp and another tool read the same numbers from public files that other people recorded.

This repository does not contain these files. `files_of_others.toml` has the location and sha256 of each file. To fetch
the files and to run these tests:

    git clone https://github.com/OWNER/NAME DIRECTORY/OWNER+NAME && git -C DIRECTORY/OWNER+NAME checkout COMMIT
    LEOWARP_FILES_OF_OTHERS=DIRECTORY python -m pytest tests/authority/files_of_others_test.py

If the file or the other tool (jq, tshark) is missing, the test is skipped.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sgp4 import omm
from sgp4.api import WGS72, Satrec

from leowarp import reordering
from leowarp.ephemeris.elements import element_file
from leowarp.timeline.recordings import read, read_capacity

HERE = Path(__file__)
FILES = tomllib.loads(HERE.with_name("files_of_others.toml").read_text())["file"]
PLACE = os.environ.get("LEOWARP_FILES_OF_OTHERS")
MS, S = 1e6, 10**9


def these(*kinds: str) -> pytest.MarkDecorator:
    chosen = [file for file in FILES if file["kind"] in kinds]
    return pytest.mark.parametrize("file", chosen, ids=lambda file: f"{file['kind']}-{Path(file['path']).name}")


def found(file: dict[str, str], tmp_path: Path) -> Path:
    """Return the path of a fetched file. The file's sha256 must equal the sha256 in the list. If the listed file is a
    web page, the function writes the page's JSON to a new file. It returns the path of the new file."""
    if PLACE is None:
        pytest.skip("LEOWARP_FILES_OF_OTHERS names no directory")
    path = Path(PLACE) / file["repository"].replace("/", "+") / file["path"]
    if not path.exists():
        pytest.skip(f"not fetched: {path}")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == file["sha256"], path
    if path.suffix == ".md":
        part = path.read_text().split("```json\n")[1].split("```")[0]
    elif path.suffix == ".gz":
        part = gzip.decompress(path.read_bytes()).decode()
    elif "element" in file:
        part = json.dumps(json.loads(path.read_text())[file["element"]])
    else:
        return path
    (tmp_path / "part.json").write_text(part)
    return tmp_path / "part.json"


def output_of(*command: object) -> str:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def same_orbits(path: Path, others: list[Satrec]) -> None:
    """Check that leowarp and the other reader return the same satellites in the same order. The positions at the epoch
    and 90 minutes later must be equal."""
    mine = [element.satrec for element in element_file(path).elements]
    assert len(mine) == len(others) > 0
    for ours, theirs in zip(mine, others, strict=True):
        assert ours.jdsatepoch + ours.jdsatepochF == pytest.approx(theirs.jdsatepoch + theirs.jdsatepochF, abs=1e-9)
        for after_min in (0.0, 90.0):
            here, there = ours.sgp4_tsince(after_min), theirs.sgp4_tsince(after_min)
            # The tolerance is a micrometre, because both readers read the same digits.
            assert here[0] == there[0]
            assert np.abs(np.subtract(here[1], there[1])).max() < 1e-9 or here[0]


@these("tle")
def test_elements_of_two_lines_are_those_of_sgp4_own_reader(file, tmp_path):
    path = found(file, tmp_path)
    lines = [line.rstrip() for line in path.read_text().splitlines()]
    pairs = [(a, b) for a, b in pairwise(lines) if a[:2] == "1 " and b[:2] == "2 " and len(a) == 69]
    same_orbits(path, [Satrec.twoline2rv(*pair, WGS72) for pair in pairs])


@these("omm-json", "omm-xml", "omm-csv", "omm-kvn")
def test_messages_are_those_of_sgp4_own_readers(file, tmp_path):
    path = found(file, tmp_path)
    text = path.read_text()
    match file["kind"]:
        case "omm-json":
            content = json.loads(text)
            messages = content if isinstance(content, list) else [content]
        case "omm-csv":
            messages = list(omm.parse_csv(text.splitlines()))
        case "omm-xml":
            # sgp4's parser accepts neither an undeclared XML prefix nor an empty segment.
            declared = text.replace("<ndm ", '<ndm xmlns:xsi="any" ', 1) if "xmlns:xsi" not in text else text
            messages = list(omm.parse_xml(io.StringIO(re.sub(r"<segment>\s*</segment>", "", declared))))
        case _:
            pairs = [line.split("=", 1) for line in text.splitlines() if "=" in line]
            messages = [{key.strip(): re.sub(r"\[.*\]", "", value).strip() for key, value in pairs}]
    others = []
    for message in messages:
        # The parser of the package sgp4 does not accept dates that are given as a day of the year. The parser also
        # ignores fractions of a second and fields that SGP4 does not use, so these parts are left out.
        unused = {"EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U", "ELEMENT_SET_NO": 0, "REV_AT_EPOCH": 0}
        fields = unused | {key: value for key, value in message.items() if value not in ("", None)}
        form = "%Y-%jT%H:%M:%S.%f" if re.match(r"\d{4}-\d{3}T", fields["EPOCH"]) else "ISO8601"
        fields["EPOCH"] = pd.to_datetime(fields["EPOCH"], format=form).strftime("%Y-%m-%dT%H:%M:%S.%f")
        others.append(Satrec())
        omm.initialize(others[-1], fields)
    same_orbits(path, others)


@these("ping")
def test_round_trips_are_the_texts_own_times_and_pings_own_statistics(file, tmp_path):
    path = found(file, tmp_path)
    text = path.read_text()
    stamped = re.search(r"(?m)^\[\d+\.\d+\]", text) is not None
    found_ = read(path, interval_ns=None if stamped else S)
    delay_ms = found_.round_trip.delay_ns / MS
    known_ms = delay_ms[~np.isnan(delay_ms)]
    # The expected value is the first reply with each sequence number, read from the same lines by a separate regular
    # expression.
    first = {}
    for number, time in re.findall(r"seq=(\d+)[^\n]*time[=<]([0-9.]+) ms", text):
        first.setdefault(number, float(time))
    if len(first) < 60_000:
        assert sorted(known_ms) == pytest.approx(sorted(first.values()), abs=1e-9)
    said = re.search(r"= ([0-9.]+)/([0-9.]+)/([0-9.]+)", text)
    if said is not None and "DUP" not in text:
        least, mean, most = map(float, said.groups())
        assert (known_ms.min(), known_ms.mean(), known_ms.max()) == pytest.approx((least, mean, most), abs=0.6)


@these("irtt")
def test_round_trips_are_those_that_jq_finds(file, tmp_path):
    path = found(file, tmp_path)
    query = '[.round_trips[] | select(.lost == "false") | [.delay.rtt, .delay.receive, .delay.send]]'
    trips = np.array(json.loads(output_of("jq", "-c", query, path)), dtype=float)
    recording = read(path)
    for series, column in ((recording.round_trip, 0), (recording.down, 1), (recording.up, 2)):
        if series is not None:
            assert np.array_equal(series.delay_ns[~np.isnan(series.delay_ns)], trips[:, column])
    assert recording.round_trip is not None


@these("iperf3")
def test_bytes_are_those_that_jq_adds_up(file, tmp_path):
    path = found(file, tmp_path)
    transfer = read(path).transfer
    moved_bytes = float((transfer.rate_bps * transfer.length_ns).sum() / 8 / S)
    query = "[.intervals[] | .streams[] | select((.omitted | not) and .seconds > 0) | .bytes] | add"
    # The rate of each stream is relative to the stream's own duration, which differs from the interval's duration by
    # microseconds.
    assert moved_bytes == pytest.approx(float(output_of("jq", query, path)), rel=1e-3)
    assert len(transfer.length_ns) == int(
        output_of("jq", "[.intervals[] | select((.sum.omitted | not) and .sum.seconds > 0)] | length", path)
    )


@these("mahimahi")
def test_capacity_is_the_number_of_lines_over_time(file, tmp_path):
    path = found(file, tmp_path)
    at_ms = pd.read_csv(path, header=None)[0]
    capacity = read_capacity(path)[0]
    lengths_ns = np.diff([*capacity.t_ns, capacity.end_ns])
    bits = float((capacity.rate_bps.astype(float) * lengths_ns).sum() / S)
    assert capacity.end_ns == int(at_ms.iloc[-1]) * MS
    # Rates are whole bits per second, so each row is at most half a bit per second off.
    assert bits == pytest.approx(len(at_ms) * 1500 * 8, rel=1e-6, abs=12_000)


@these("leoreplayer")
def test_delays_are_the_lines(file, tmp_path):
    path = found(file, tmp_path)
    assert np.array_equal(read(path, "leoreplayer").down.delay_ns / MS, pd.read_csv(path, header=None)[0])


@these("columns")
def test_columns_are_those_of_pandas(file, tmp_path):
    path = found(file, tmp_path)
    table = pd.read_csv(path, header=None, names=["t_ns", "rtt_ms"])
    series = read(path, columns=("t_ns", "rtt_ms")).round_trip
    # If several rows have the same instant, only one is kept.
    assert len(series) == table["t_ns"].nunique()
    assert series.delay_ns.mean() / MS == pytest.approx(table["rtt_ms"].mean(), rel=1e-4)
    assert series.t_ns[-1] - series.t_ns[0] == table["t_ns"].max() - table["t_ns"].min()


@these("pcap", "pcapng")
def test_flows_are_those_of_tshark(file, tmp_path):
    path = found(file, tmp_path)
    names = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "tcp.len"]
    names += ["icmp.type", "icmpv6.type"]
    fields = [word for name in names for word in ("-e", name)]
    # With the three options below, tshark reports a packet's own payload, and not a payload that was reassembled from
    # several packets.
    options = ("ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE")
    said = output_of(
        "tshark", "-n", "-r", path, *(word for option in options for word in ("-o", option)),
        "-T", "fields", "-E", "occurrence=l", *fields,
    )  # fmt: skip
    segments: Counter[tuple[str, ...]] = Counter()
    payload_bytes: Counter[tuple[str, ...]] = Counter()
    echoes = 0
    for line in said.splitlines():
        cells = line.split("\t")
        source, destination = (cells[2], cells[3]) if cells[2] else (cells[0], cells[1])
        if cells[6] and int(cells[6]):
            key = (source, cells[4], destination, cells[5])
            segments[key] += 1
            payload_bytes[key] += int(cells[6])
        echoes += cells[7] == "8" or cells[8] == "128"
    survey = reordering.survey(path)
    assert survey.counts["packets_pkts"] == len(said.splitlines())
    mine = {
        (*_end(flow.source), *_end(flow.destination)): (flow.packets_pkts, flow.payload_bytes)
        for flow in survey.flows
        if flow.protocol == "tcp"
    }
    assert mine == {key: (segments[key], payload_bytes[key]) for key in segments}
    assert sum(flow.packets_pkts for flow in survey.flows if flow.protocol == "icmp") == echoes


def _end(text: str) -> tuple[str, str]:
    address, port = text.rsplit(":", 1)
    return address.strip("[]"), port
