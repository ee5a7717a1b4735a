# SPDX-License-Identifier: Apache-2.0
"""Tests of the study's runs, claims, tables and figures on synthetic results, without the guest or a QUIC stack."""

import json
import math
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from leowarp import HostError, TraceError
from leowarp.study import Making, drawing
from leowarp.study.claim import judged
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.expand import expand
from leowarp_studies.programs import (
    application_figures,
    application_runs,
    fetching,
    figures,
    losses,
    material,
    results,
    runs,
    tables,
    ways,
)
from leowarp_studies.programs.claims import CLAIMS
from leowarp_studies.programs.rules import Rules
from leowarp_studies.programs.runs import CHANGES, MOBILE, MOVING, SHARE, STARLINK, STILL, parts_of
from leowarp_studies.programs.senders import (
    AIOQUIC,
    BBR,
    BY_NAME,
    CUBIC,
    KERNEL,
    NGTCP2,
    QUIC,
    QUIC_GO,
    QUINN,
    SENDERS,
    Transfer,
)
from support.studies import programs as synthetic

EVERYBODY = [sender.name for sender in SENDERS]


@pytest.fixture(scope="module")
def as_expected():
    return synthetic.frames()


def outcome(number, frames):
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    return judged(claim, [("made up", frames)])


def changed(where, **columns):
    """Return synthetic runs with some columns replaced in rows where `where(frame)` is true."""
    frame = synthetic.runs()
    frame.loc[where(frame), list(columns)] = list(columns.values())
    return synthetic.frames() | {"runs": frame}


# --- Senders and runs


@pytest.mark.parametrize("sender", QUIC)
def test_a_quic_sender_is_a_program_whose_client_asks_for_the_bytes(sender):
    flow = Transfer("A", "B", 2.0, 1234).flow(sender, Path("/there"))
    assert flow["start"] == "1.5 s"
    assert "1234" in flow["client"]
    for command in (flow["server"], flow["client"]):
        words = shlex.split(command)
        assert words[0] == "sh" or words[0] == f"/there/bin/{sender}-transfer"


@pytest.mark.parametrize("sender", KERNEL)
def test_a_tcp_sender_is_a_flow_of_leowarps_own(sender):
    flow = Transfer("A", "B", 2.0, 1234).flow(sender, Path("/there"))
    assert flow == {"source": "A", "destination": "B", "congestion_control": sender, "start": "2 s", "size": "1234 B"}


def test_changes_are_those_of_the_senders_own_satellite():
    found = runs.looked_at()
    assert len({change.pair.name for change in found}) == len(found) == 4
    assert all(change.node_place == 0 for change in found)


def test_http_3_needs_the_client_of_aioquic_and_tcp_needs_nothing():
    assert ways.names_there(frozenset(KERNEL)) == ("http1-cubic", "http1-bbr", "http2-cubic", "http2-bbr")
    assert "http3-ngtcp2" not in ways.names_there(frozenset({*KERNEL, NGTCP2}))
    assert ways.names_there(frozenset(EVERYBODY)) == tuple(ways.BY_NAME)


@pytest.mark.parametrize("name", ways.LOADED)
def test_a_page_is_asked_for_by_its_protocol(name):
    flow = ways.page_flow(name, ("A", "B"), 2.0, 30, Path("/there"))
    assert (flow["start"], flow["client_at"]) == ("1.5 s", "destination")
    assert flow["client"].endswith(f"page {{server}} {{port}} --timeout 30 --http {ways.BY_NAME[name].http}")
    assert (shlex.split(flow["client"])[0] == "/there/aioquic/bin/python3") == (ways.BY_NAME[name].http == "3")
    assert ("gtlsserver" in flow["server"]) == (name == "http3-ngtcp2")
    assert ("--http3" in flow["server"]) == (name == "http3-aioquic")
    assert ways.sysctl(name) == {"net.ipv4.tcp_congestion_control": "bbr" if name.endswith("bbr") else "cubic"}


@pytest.mark.slow
def test_groups_have_as_many_runs_as_they_say_and_a_quick_study_some_of_each():
    for part in runs.parts(EVERYBODY, Path("/there")) + application_runs.parts(EVERYBODY, Path("/there")):
        found = expand(StudyFile.of(part.content))
        assert len(found) == part.runs
        assert 0 < sum(part.in_quick(run.values, run.seed) for run in found) < part.runs
        assert len({run.values["name"] for run in found}) == len(found)


def test_a_sender_that_is_missing_has_no_runs():
    parts = runs.parts([CUBIC, QUIC_GO], Path("/there"))
    names = [name for part in parts for name in part.content["together"][0]["name"]]
    assert {parts_of(name)[2] for name in names} == {CUBIC, QUIC_GO}
    assert [part.runs for part in parts] == [part.runs for part in runs.parts(EVERYBODY, Path("/there"))]


# --- Missing stacks


def test_without_any_stack_the_study_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "missing", lambda: {name: "it was not built" for name in QUIC})
    with pytest.raises(HostError, match="needs QUIC stacks, and none is there") as refused:
        material.make(Making(tmp_path, progress=False))
    assert refused.value.hint == fetching.COMMAND


def test_what_is_missing_is_named_with_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path))
    monkeypatch.setattr(fetching.shutil, "which", lambda program: None)
    assert set(fetching.missing()) == set(QUIC)
    assert "apt-get install ngtcp2-client" in fetching.missing()[NGTCP2]
    (tmp_path / "programs" / "bin").mkdir(parents=True)
    (tmp_path / "programs" / "bin" / "quinn-transfer").touch()
    assert set(fetching.missing()) == {NGTCP2, QUIC_GO, AIOQUIC}


def test_a_build_that_fails_is_an_error_with_its_last_words(tmp_path, monkeypatch):
    script = tmp_path / "build.sh"
    script.write_text("echo there is no compiler; exit 7\n")
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetching, "example_file", lambda name: script)
    told = []
    with pytest.raises(HostError, match="building quinn ended with status 7: there is no compiler"):
        fetching.fetch(told.append)
    assert told == ["building quinn from its registry (minutes)"]


# --- Reports of senders


def written(run, lines, qlog=None):
    client = run / "35-programs" / "0" / "client"
    client.mkdir(parents=True)
    (client / "output.txt").write_text("".join(line + "\n" for line in lines))
    if qlog is not None:
        files = run / "35-programs" / "0" / "server" / "files" / "qlog"
        files.mkdir(parents=True)
        (files / "one.sqlog").write_text("".join(json.dumps(event) + "\n" for event in qlog))


def event(name, numbers=None, packet_type="1RTT", **header):
    frames = [] if numbers is None else [{"frame_type": "ack", "acked_ranges": numbers}]
    return {"name": name, "data": {"header": {"packet_type": packet_type} | header, "frames": frames}}


def test_a_client_says_when_it_had_all_bytes(tmp_path):
    written(tmp_path, ["1.5 stdout begins", "2.000000007 stdout 1000 bytes in 0.5 s", "3.0 stderr 1000 bytes"])
    assert losses.done_ns(tmp_path, 1000) == 2_000_000_007
    with pytest.raises(TraceError, match="did not say that it had 999 bytes"):
        losses.done_ns(tmp_path, 999)


def test_statistics_are_taken_from_the_client_that_asked_for_them(tmp_path):
    written(tmp_path, ['2.0 stdout {"sent_pkts": 9, "declared_lost_pkts": 4, "found_spurious_pkts": null}'])
    assert losses.of_run(tmp_path) == losses.Losses(4, None)


def test_statistics_are_counted_in_a_qlog(tmp_path):
    events = [
        event(losses.LOST, packet_number=3), event(losses.LOST, packet_number=4), event(losses.LOST, packet_number=9),
        event(losses.LOST, packet_type="initial", packet_number=0),
        event(losses.RECEIVED, [[0, 3], [9]]), event(losses.RECEIVED, [[0, 3]]),
    ]  # fmt: skip
    written(tmp_path, [], events)
    assert losses.of_run(tmp_path) == losses.Losses(3, 2)


def test_without_either_nothing_is_guessed(tmp_path):
    written(tmp_path, ["2.0 stdout 1000 bytes"])
    with pytest.raises(TraceError, match="left 0 qlogs, not 1"):
        losses.of_run(tmp_path)


# --- Dips


def test_a_dip_is_held_against_the_still_path():
    still = np.full(30, 250e3)
    assert results.dipped(still, still) == (0.0, 0.0)
    half = still.copy()
    half[5:9] /= 2
    depth, recovery_ns = results.dipped(half, still)
    assert depth == pytest.approx(0.5)
    assert recovery_ns == 11 * results.BIN_NS
    # A goodput that is higher than on the path without changes is not a dip.
    assert results.dipped(still * 2, still) == (0.0, 0.0)


def test_bytes_that_arrived_are_those_of_the_data_in_their_bins():
    bins = pd.DataFrame({
        "t_ns": [29_900_000_000, 30_000_000_000, 30_100_000_000, 30_100_000_000, 33_000_000_000],
        "direction": pd.Categorical(["data", "data", "data", "back", "data"]),
        "delivered_bytes": [1, 20, 300, 4000, 50000],
    })  # fmt: skip
    run = SimpleNamespace(bins=lambda flow: bins)
    assert results._arrived(run, 0, 30_000_000_000, 0.3).tolist() == [20.0, 300.0, 0.0]


# --- The claims


@pytest.mark.parametrize("number", [claim.number for claim in CLAIMS])
# Tests claims 6.1 to 6.23 of programs.
def test_what_was_expected_holds_on_results_that_are_so(as_expected, number):
    row = outcome(number, as_expected)
    assert row["verdict"] == "holds", (row["measured"], row["cause"])
    assert row["cause"] == ""


def changed_in(name, where, **columns):
    """Return synthetic data sets. In `name` (page loads or films), some columns are replaced in the rows where
    `where(frame)` is true."""
    frames = synthetic.frames()
    frame = frames[name]
    frame.loc[where(frame), list(columns)] = list(columns.values())
    return frames


def by_way(path, way, condition=MOVING, player=None):
    def where(frame):
        mine = (frame["path"] == path) & (frame["way"] == way) & (frame["condition"] == condition)
        return mine if player is None else mine & (frame["player"] == player)

    return where


@pytest.mark.parametrize(("number", "name", "where", "columns", "verdict", "words"), [
    ("6.13", "pages", by_way(CHANGES, "http3-ngtcp2"), {"load_ns": 1.6e9}, "partly", "HTTP/3, ngtcp2"),
    ("6.13", "pages", by_way(CHANGES, "http1-cubic"), {"load_ns": math.inf}, "partly", "HTTP/1.1"),
    ("6.14", "pages", by_way(CHANGES, "http2-cubic", STILL), {"load_ns": 1.9e9}, "does not hold", "HTTP/2"),
    ("6.15", "pages", by_way(STARLINK, "http3-aioquic", STILL), {"load_ns": 1.8e9}, "partly", "aioquic, no rec"),
    ("6.16", "pages", by_way(STARLINK, "http3-aioquic"), {"object_mean_ns": 0.9e9}, "partly", "aioquic"),
    ("6.17", "pages", by_way(STARLINK, "http2-bbr"), {"load_ns": 1.9e9}, "partly", "BBR less than CUBIC"),
    ("6.17", "pages", by_way(STARLINK, "http1-cubic"), {"load_ns": 1.8e9}, "partly", "HTTP/1.1"),
    ("6.18", "pages", by_way(MOBILE, "http1-cubic"), {"load_ns": 7e9}, "does not hold", "HTTP/1.1 before"),
    ("6.19", "pages", by_way(MOBILE, "http3-aioquic", STILL), {"load_ns": 30e9}, "partly", "resequenced"),
    ("6.20", "videos", by_way(CHANGES, "http1-bbr", player="live"), {"stalls": 1}, "partly", "live, HTTP/1.1, "),
    ("6.21", "videos", by_way(STARLINK, "http1-bbr", player="film"), {"stalled_ns": 1e9}, "partly", "film"),
    ("6.22", "videos", by_way(STARLINK, "http1-bbr", player="live"), {"bitrate_bps": 7e6}, "partly", "live"),
    ("6.23", "videos", by_way(MOBILE, "http3-aioquic"), {"bitrate_bps": 3e6}, "does not hold", "live"),
])  # fmt: skip
def test_what_is_otherwise_of_pages_and_films_is_told(number, name, where, columns, verdict, words):
    row = outcome(number, changed_in(name, where, **columns))
    assert row["verdict"] == verdict, row["measured"]
    assert words in row["cause"]


@pytest.mark.parametrize("number", [f"6.{number}" for number in range(13, 24)])
def test_without_page_loads_and_films_nothing_is_told_of_them(number):
    frames = synthetic.frames()
    for name in ("pages", "videos"):
        frames[name] = frames[name][:0]
    assert outcome(number, frames)["verdict"] == "cannot be told"


def of(group, sender, condition=MOVING):
    return lambda frame: (frame["group"] == group) & (frame["sender"] == sender) & (frame["condition"] == condition)


@pytest.mark.parametrize(("number", "where", "columns", "verdict", "words"), [
    ("6.1", of(MOBILE, QUINN, STILL), {"spurious_pkts": 151}, "partly", "quinn"),
    ("6.2", of(CHANGES, QUIC_GO), {"spurious_pkts": 80}, "partly", "quic-go"),
    ("6.3", of(CHANGES, NGTCP2), {"spurious_pkts": 100}, "does not hold", "quinn"),
    ("6.4", of(CHANGES, CUBIC), {"spurious_pkts": 60}, "partly", "Linux, CUBIC"),
    ("6.5", of(CHANGES, AIOQUIC), {"found_spurious_pkts": 100}, "partly", "aioquic"),
    ("6.5", of(CHANGES, QUIC_GO), {"found_spurious_pkts": 80}, "partly", "quic-go"),
    ("6.6", of(CHANGES, BBR), {"missing_ratio": 0.06}, "partly", "Linux, BBR"),
    ("6.7", of(STARLINK, QUINN), {"late_pkts": 1}, "partly", "late: "),
    ("6.8", of(STARLINK, QUINN), {"goodput_bps": 16e6}, "partly", "quinn"),
    ("6.9", of(STARLINK, NGTCP2), {"goodput_bps": 7e6}, "partly", "ngtcp2"),
    ("6.10", of(MOBILE, AIOQUIC), {"spurious_pkts": 50}, "partly", "aioquic"),
    ("6.11", of(MOBILE, QUINN), {"goodput_bps": 2.6e6}, "partly", "quinn"),
    ("6.12", of(SHARE, QUINN, STILL), {"share_ratio": 0.7}, "partly", "quinn"),
    ("6.12", of(SHARE, AIOQUIC, STILL), {"share_ratio": 0.5}, "partly", "aioquic"),
])  # fmt: skip
def test_what_is_otherwise_is_told_with_who_it_is(number, where, columns, verdict, words):
    row = outcome(number, changed(where, **columns))
    assert row["verdict"] == verdict
    assert words in row["cause"]


def test_of_a_sender_that_does_not_tell_what_it_found_nothing_is_taken_for_unheard():
    row = outcome("6.5", changed(of(CHANGES, AIOQUIC), found_spurious_pkts=None))
    assert row["verdict"] == "cannot be told"
    assert "aioquic" not in row["measured"]


@pytest.mark.parametrize("number", ["6.2", "6.3", "6.4", "6.5", "6.10"])
def test_where_nothing_was_late_nothing_can_be_told(number):
    row = outcome(number, changed(lambda frame: frame["late_pkts"] >= 0, late_pkts=0, spurious_pkts=0))
    assert row["verdict"] == "cannot be told"


@pytest.mark.parametrize("number", [claim.number for claim in CLAIMS])
def test_without_quic_no_claim_holds_for_quic(number):
    frames = synthetic.frames()
    frames["runs"] = frames["runs"][frames["runs"]["sender"].isin(KERNEL)]
    for name in ("pages", "videos"):
        frames[name] = frames[name][frames[name]["way"].str.endswith(KERNEL)]
    row = outcome(number, frames)
    if number in ("6.13", "6.14", "6.17", "6.18", "6.20", "6.21", "6.22"):
        assert "aioquic" not in row["measured"]
    elif number in ("6.1", "6.6", "6.7"):
        assert "quinn" not in row["measured"]
    else:
        assert row["verdict"] == "cannot be told"


# --- The page


def test_the_table_has_every_sender_on_every_path(as_expected):
    page = tables.senders(as_expected)
    assert page.count("Route change, as it is") == page.count("Route change, control") == len(BY_NAME)
    assert page.count("Beside CUBIC") == len(BY_NAME)


def test_the_tables_of_pages_and_films_have_every_way_on_every_path(as_expected):
    assert tables.pages(as_expected).count("Mobile channel, control") == len(ways.LOADED)
    assert tables.films(as_expected).count("Profile starlink, as it is") == sum(len(each.ways) for each in ways.PLAYERS)


@pytest.mark.slow
def test_figures_are_drawn_and_the_one_without_its_runs_says_so(as_expected, svg_alone, tmp_path):
    kinds = (*figures.KINDS, *application_figures.KINDS)
    drawn = {figure.stem: figure.missing for figure in drawing.draw(kinds, as_expected, tmp_path, Rules("made up"))}
    missing = "the runs of quinn and ngtcp2 are missing"
    assert drawn == {"goodput": None, "in-vain": None, "close": missing, "pages": None, "films": None}
    assert (tmp_path / "goodput.svg").exists()
