# SPDX-License-Identifier: Apache-2.0
"""Tests that a page contains the data of the run's tables and the run's ephemeris. Also tests that the page is small
enough."""

import base64
import dataclasses
import json
import re
import struct
import zlib

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from leowarp import view
from leowarp.base import layout
from leowarp.ephemeris import ephemeris_of
from leowarp.results.run import Run
from leowarp.routes.links import isl_rule
from leowarp.scenario import load, resolve
from leowarp.view.container import MISSING, Arrays, compressed_bytes
from leowarp.view.document import LONGEST_TEXT, clipped, document
from leowarp.view.load import MOST_ROWS
from leowarp.view.packets import BUDGET_BYTES, packets_of
from leowarp.view.page import built
from leowarp.view.sky import AFTER, BEFORE, sky_of
from support.policies import demand_policy
from support.synthetic.bbr import MODES_NS, write_synthetic_bbr
from support.synthetic.run import CHANGES_NS, write_synthetic_run

MOST_BYTES = 5_000_000
"""The maximum size in bytes of the page of a run of 1000 s over 648 satellites."""

WIDTHS = {"i32": "<i4", "t": "<i4", "u8": "u1", "i16": "<i2"}


def unpacked(text):
    """Decode a container by its specification, without leowarp's code."""
    content = zlib.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", content)
    header, at, arrays = json.loads(content[4 : 4 + length]), 4 + length, []
    for kind, count in header["arrays"]:
        width = np.dtype(WIDTHS[kind]).itemsize
        planes = np.frombuffer(content[at : at + count * width], "u1").reshape(width, count)
        at += count * width
        values = np.ascontiguousarray(planes.T).reshape(-1).view(WIDTHS[kind])
        if kind == "i32":
            values = np.cumsum(values, dtype="<i4")
        arrays.append(np.cumsum(values, dtype="int64") if kind == "t" else values)
    assert at == len(content)

    def filled(value):
        if isinstance(value, dict):
            return arrays[value["$"]] if set(value) == {"$"} else {key: filled(each) for key, each in value.items()}
        return [filled(each) for each in value] if isinstance(value, list) else value

    return filled({key: value for key, value in header.items() if key != "arrays"})


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    return write_synthetic_run(tmp_path_factory.mktemp("runs") / "one")


@pytest.fixture(scope="module")
def run(run_dir):
    return unpacked(document([Run(run_dir, complete=False)]))["runs"][0]


def test_arrays_come_back_as_they_went():
    arrays = Arrays()
    header = {
        "whole": arrays.integers([5, -3, 2**31 - 1, -(2**31) + 1, 0]),
        "missing": arrays.integers(np.array([1.4, np.nan, -2.6])),
        "instants": arrays.instants([0, 7, 1_500_000_000, 3_000_000_000]),
        "small": arrays.small([0, 255]),
        "shorts": arrays.shorts([[-32768, 1], [2, 32767]]),
        "none": arrays.integers([]),
        "text": "ü</script>",
    }
    back = unpacked(arrays.packed(header))
    assert back["whole"].tolist() == [5, -3, 2**31 - 1, -(2**31) + 1, 0]
    assert back["missing"].tolist() == [1, MISSING, -3]
    assert back["instants"].tolist() == [0, 7, 1_500_000_000, 3_000_000_000]
    assert back["small"].tolist() == [0, 255]
    assert back["shorts"].tolist() == [-32768, 1, 2, 32767]
    assert back["none"].tolist() == []
    assert back["text"] == "ü</script>"


def test_equal_arrays_are_there_once():
    arrays = Arrays()
    assert arrays.integers([1, 2]) == arrays.integers([1, 2]) != arrays.integers([1, 3])


@pytest.mark.parametrize("values", [[2**31], [-(2**31) - 1]])
def test_what_does_not_fit_is_refused(values):
    with pytest.raises(ValueError, match="32 bits"):
        Arrays().integers(values)


def interpolated(sky, t_s):
    """Return positions in m. As on the page, they are computed by a polynomial of degree 5 through six keyframes."""
    frames = sky["positions"].reshape(-1, len(sky["satellites"]), 3).astype(float) * sky["unit_m"]
    place = (t_s - sky["first_s"]) / sky["keyframe_s"]
    begin = min(max(int(np.floor(place)) - BEFORE, 0), len(frames) - BEFORE - AFTER - 1)
    x, nodes = place - begin, range(BEFORE + AFTER + 1)
    weights = [np.prod([(x - m) / (j - m) for m in nodes if m != j]) for j in nodes]
    return np.tensordot(weights, frames[begin : begin + len(nodes)], axes=1)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["oneweb-study", "starlink-shell1"])
@pytest.mark.parametrize("t_s", [0.0, 149.0, 450.5, 999.9])
def test_positions_are_those_of_the_ephemeris(tmp_path, preset, t_s):
    file = tmp_path / "sky.toml"
    file.write_text(
        f'name = "sky"\n[run]\nduration = "1000 s"\n[constellation]\npreset = "{preset}"\n[[stations]]\n'
        'name = "Madrid"\n[[stations]]\nname = "Tokyo"\n[[flows]]\nsource = "Madrid"\ndestination = "Tokyo"\n'
    )
    plan = resolve(load(file))
    arrays = Arrays()
    sky = unpacked(arrays.packed({"sky": sky_of(plan, 1_000_000_000_000, arrays)}))["sky"]
    wanted = ephemeris_of(plan).positions_ecef_m(round(t_s * 1e9))
    # The limit is sqrt(3) times the sum of a coordinate's rounding error and the polynomial's error. A pixel is 16 km
    # if the globe is 800 pixels wide.
    assert np.linalg.norm(interpolated(sky, t_s) - wanted, axis=1).max() < 300


@pytest.mark.slow
def test_links_between_satellites_are_those_of_the_rule_at_every_update(run, run_dir):
    plan = Run(run_dir, complete=False).plan
    sky, links = ephemeris_of(plan), run["sky"]["links"]
    rule = isl_rule(plan, sky)
    for update in range(6):
        now = (links["from"] <= update) & (update < links["until"])
        wanted = rule.pairs(sky.positions_ecef_m(update * plan.routing.interval_ns))
        assert sorted(zip(links["a"][now], links["b"][now], strict=True)) == [tuple(pair) for pair in wanted]
    assert len(links["a"]) > 1000


def test_a_link_is_acquired_for_the_time_of_its_class_unless_it_is_there_from_the_start(run):
    few = {
        "constellation.planes": 6, "constellation.satellites_per_plane": 24, "isl.terminals": 3,
        "isl.max_range": "6000 km", "ground.max_ground_range": "2500 km",
    }  # fmt: skip
    times = {"isl.acquisition": "3 s", "isl.acquisition_between_planes": "7 s"}
    arrays = Arrays()
    plan = resolve(load("madrid-tokyo", few | times))
    sky = unpacked(arrays.packed({"sky": sky_of(plan, 900_000_000_000, arrays)}))["sky"]
    links, names = sky["links"], sky["satellites"]
    rows = zip(links["a"], links["b"], links["from"], links["acquired_ms"], strict=True)
    seen = set()
    for a, b, since, acquired_ms in rows:
        is_within = names[a].rsplit("-", 1)[0] == names[b].rsplit("-", 1)[0]
        assert acquired_ms == (0 if since == 0 else 3000 if is_within else 7000)
        seen.add(int(acquired_ms))
    assert seen == {0, 3000, 7000}


def test_a_run_without_gaps_has_no_word_of_them(run):
    assert "gaps" not in run
    assert "acquired_ms" not in run["sky"]["links"]


def test_changes_have_the_counts_of_the_table_of_route_changes(run):
    changes = run["changes"]
    assert changes["t"].tolist() == [t_ns // 1000 for t_ns in CHANGES_NS]
    assert changes["delay_before_us"].tolist() == [41_000, 30_000]
    assert changes["delay_after_us"].tolist() == [30_000, 45_000]
    assert changes["late_pkts"].tolist() == [26, 0]
    assert changes["queue_left_pkts"].tolist() == [15, 0]


def test_a_page_without_stored_packets_has_none(run_dir):
    source = Run(run_dir, complete=False)
    source.tables = dataclasses.replace(source.tables, packets=source.tables.packets.iloc[:0])
    assert packets_of(source, Arrays()) is None


def test_a_run_that_ended_before_its_first_change_shows_its_beginning(run_dir, monkeypatch):
    monkeypatch.setattr("leowarp.view.packets.both_ways_ns", lambda tables, pair: np.array([2**50]))
    assert len(packets_of(Run(run_dir, complete=False), Arrays())["windows"]) == 1


@pytest.mark.slow
def test_packets_take_the_room_that_there_is(run_dir):
    source = Run(run_dir, complete=False)
    packets = source.tables.packets
    # Noise is added to the delays, because the synthetic run's delays are constant and would compress to almost
    # nothing.
    noise_ns = np.random.default_rng(1).integers(0, 5_000_000, len(packets))
    source.tables = dataclasses.replace(
        source.tables, packets=packets.assign(received_ns=packets["received_ns"] + noise_ns)
    )
    found = [packets_of(source, Arrays(), 4**power) for power in range(10, -1, -1)]
    spans_s = [0.0 if each is None else sum(end - begin for begin, end in each["windows"]) for each in found]
    assert spans_s == sorted(spans_s, reverse=True)
    # The different budgets give pages with all packets, with some packets, and with no packets.
    assert len(set(spans_s)) > 2
    assert found[-1] is None


def test_windows_begin_when_all_that_left_before_them_has_arrived(run, run_dir):
    packets = pd.DataFrame({key: run["packets"][key] for key in ("sent", "took")})
    for begin, end in run["packets"]["windows"]:
        inside = packets[(packets["sent"] >= begin * 1e6) & (packets["sent"] < end * 1e6)]
        assert len(inside) > 1000
        # The stored packets begin before the window. The difference is the largest delay.
        assert packets["sent"][packets["sent"] < begin * 1e6].max() > begin * 1e6 - packets["took"].max()


def test_the_page_is_small(run_dir):
    text = view.page([run_dir])
    demand_policy(text)
    assert len(text.encode()) < 1_000_000
    # The terms of the sum are the sizes, in base64, of the parts of a page: packets; series and queues; loads; fixed
    # parts (script, land, licences).
    assert BUDGET_BYTES + 2_000_000 + loads_bytes(MOST_ROWS) + 300_000 < MOST_BYTES


def loads_bytes(rows):
    """Return the compressed size of a table with `rows` rows, in the form of `load_of`. Random values make the size as
    large as possible."""
    draw = np.random.default_rng(1).integers
    columns = (np.ones(rows), draw(0, 1001, rows), draw(0, 501, rows), draw(0, 50, rows))
    return sum(compressed_bytes(np.diff(column, prepend=0)) for column in columns)


def test_loads_of_many_rows_are_told_in_longer_steps(run_dir, monkeypatch):
    whole = unpacked(document([Run(run_dir, complete=False)]))["runs"][0]["load"]
    assert (whole["step_s"], whole["rows"].sum()) == (1.0, len(whole["steps"]))
    monkeypatch.setattr("leowarp.view.load.MOST_ROWS", 200)
    fewer = unpacked(document([Run(run_dir, complete=False)]))["runs"][0]["load"]
    assert fewer["step_s"] > 1
    assert len(fewer["steps"]) <= 200
    assert fewer["run"]["directions"].tolist() == whole["run"]["directions"].tolist()


def test_the_page_names_the_licences_of_what_it_holds():
    script = built("page.js")
    for name in ("d3-geo", "d3-array", "topojson-client", "uplot", "world-atlas"):
        assert re.search(rf"^{name} [0-9.]+ \((ISC|MIT)\)$", script, re.MULTILINE), name


def test_a_run_of_an_older_version_has_a_page(tmp_path):
    old = write_synthetic_run(tmp_path / "old")
    (old / layout.MANIFEST).unlink()
    newer = {"bins": ("sent_bytes", "delivered_bytes"), "drops": ("len_bytes",)}
    newer["linktotals"] = tuple(f"run_queue_max_{unit}{at}" for unit in ("pkts", "bytes") for at in ("", "_at_ns"))
    for name, columns in newer.items():
        path = old / layout.TRACE / f"{name}.parquet"
        pq.write_table(pq.read_table(path).drop_columns(list(columns)), path)
    found = unpacked(document([Run(old, complete=False)]))["runs"][0]
    assert found["queues"]["pkts"].tolist() == [15, 0]
    # As in an older version, the table lacks the bytes per flow.
    assert (found["load"]["busy_permille"] == MISSING).all()
    assert found["load"]["queue_pkts"].max() == 15


def test_names_are_cut_and_made_visible():
    assert clipped("a\x1b[31m\nb") == "a\\x1b[31m\\nb"
    assert len(clipped("x" * 10_000)) == LONGEST_TEXT + 3


def test_a_flow_has_its_name_and_bbr_its_mode(run, tmp_path):
    found = unpacked(document([Run(write_synthetic_bbr(tmp_path / "bbr"), complete=False)]))["runs"][0]
    (flow,) = found["flows"]
    assert flow["name"] == "upload"
    words = [found["bbr_modes"][number] for number in flow["rows"]["bbr_mode"]]
    assert [words[round(t_ns / 1e9 / found["step_s"])] for t_ns in MODES_NS] == list(MODES_NS.values())
    assert run["flows"][0]["name"] == "Madrid to Tokyo, cubic"
    assert "bbr_mode" not in run["flows"][0]["rows"]
