# SPDX-License-Identifier: Apache-2.0
"""Tests the error messages for damaged summaries, manifests and tables that come from other people."""

import json
import re

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import leowarp as lw
from leowarp.base import checksums, layout, recorded
from leowarp.base.checksums import sha256_of_file
from leowarp.base.errors import TraceError
from support.hostile import NASTY, OBEYED, refused
from support.synthetic.whole import forge

JSONS = {
    "nothing": "", "cut short": '{"flows": [', "a list": "[]", "deep": "[" * 200_000, "NaN": '{"flows": [], "a": NaN}',
    "large": '{"flows": [], "a": 1e999}', "digits": '{"flows": [], "a": ' + "9" * 5000 + "}",
    "flows are a number": '{"flows": 3}', "flows of numbers": '{"flows": [1]}', "no flows": "{}",
    "a text for a number": '{"flows": [{"goodput_mean_bps": "x"}]}',
    "a list for a number": '{"flows": [], "drops": [1]}',
    "a kind": '{"flows": [{"kind": "quic"}]}', "no number": '{"flows": [{"flow": "x"}]}', "not UTF-8": "\udcff",
}  # fmt: skip


@pytest.mark.parametrize("kind", JSONS)
def test_a_hostile_summary_is_an_error(leowarp, run, kind):
    (run / layout.SUMMARY).write_bytes(JSONS[kind].encode(errors="surrogateescape"))
    assert refused(leowarp("show", run, "--metrics"), layout.SUMMARY)
    with pytest.raises(TraceError):
        _ = lw.open(run).summary


def test_an_endless_summary_is_not_read(leowarp, run):
    with (run / layout.SUMMARY).open("wb") as file:
        file.truncate(1 << 40)
    assert refused(leowarp("show", run, "--metrics"), "more than 32 MiB")


@pytest.mark.parametrize("name", [layout.PLAN, layout.ROUTES, f"{layout.TRACE}/flows.parquet"])
def test_an_endless_file_is_refused_before_it_is_hashed(leowarp, run, monkeypatch, name):
    hashed = []
    monkeypatch.setattr(recorded, "sha256_of_file", lambda path: hashed.append(path) or sha256_of_file(path))
    with (run / name).open("r+b") as file:
        file.truncate(1 << 40)
    assert refused(leowarp("show", run, "--again"), "more than")
    assert run / name not in hashed


def test_verify_does_not_hash_a_file_that_is_only_a_hole(leowarp, run, monkeypatch):
    hashed = []
    monkeypatch.setattr(checksums, "sha256_of_file", lambda path: hashed.append(path) or sha256_of_file(path))
    with (run / layout.METRICS).open("r+b") as file:
        file.truncate(1 << 40)
    answer = leowarp("verify", run, "--files")
    assert answer.status == 1
    assert f"{layout.METRICS}" in answer.out
    assert run / layout.METRICS not in hashed
    assert run / layout.PLAN in hashed


@pytest.mark.parametrize("name", [layout.ROUTES, layout.TIMELINE])
@pytest.mark.parametrize("verb", [("export",), ("show", "--again"), ("view",)])
def test_routes_and_timeline_of_another_run_are_refused_though_the_manifest_lists_them(leowarp, run, verb, name):
    table = pq.read_table(run / name)
    columns = [pc.replace_substring(column, "Tokyo", "Oslo") if column.type == pa.string() else column
               for column in table.columns]  # fmt: skip
    pq.write_table(pa.table(columns, schema=table.schema), run / name)
    forge(run)
    words = [verb[0], run, *verb[1:], *([name[3:].removesuffix(".parquet")] if verb == ("export",) else [])]
    assert refused(leowarp(*words), "are of different runs")


MANIFESTS = (
    '{"warnings": 3}', '{"warnings": [3]}', '{"warnings": [], "files": []}', '{"warnings": [], "files": {"a": 1}}',
    '{"warnings": [], "costs": {"cpu_s": "x"}}', '{"warnings": [], "kernel": 7}', "[]", "x", "[" * 200_000,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", MANIFESTS, ids=range(len(MANIFESTS)))
def test_a_hostile_manifest_is_an_error(leowarp, made, run, text):
    (run / layout.MANIFEST).write_text(text)
    assert refused(leowarp("compare", made, run, "--out", run.parent / "out"), layout.MANIFEST)


@pytest.mark.parametrize("text", [*MANIFESTS, '{"later": [{}]}', '{"drawn": {"a": 1}}'])
def test_a_hostile_manifest_is_not_verified(leowarp, run, text):
    (run / layout.MANIFEST).write_text(text)
    assert refused(leowarp("verify", run, "--files"), layout.MANIFEST)


LISTS = (
    '{"files": {"../precious": ""}}', '{"files": {"30-trace/../../precious": ""}}', '{"files": {"PRECIOUS": ""}}',
    '{"directories": [".."]}', '{"directories": ["PARENT"]}', '{"directories": [7]}', '{"files": {"": ""}}',
    '{"kind": "study", "directories": ["../run"]}', '{"kind": "reproduction", "files": {"a\\u0000b": ""}}',
)  # fmt: skip


@pytest.mark.parametrize("text", LISTS)
def test_a_manifest_leads_nowhere_outside_its_directory(leowarp, run, precious, text, monkeypatch):
    text = text.replace("PRECIOUS", str(precious)).replace("PARENT", str(run.parent))
    (run / layout.MANIFEST).write_text(text)
    monkeypatch.setattr("leowarp.base.checksums.sha256_of_file", None)
    assert refused(leowarp("verify", run), "is no file below its directory")


def test_a_manifest_with_a_long_list_is_gone_through_and_a_longer_one_refused(leowarp, run):
    many = dict.fromkeys((f"30-trace/{number}" for number in range(50_000)), "")
    (run / layout.MANIFEST).write_text(json.dumps({"files": many}))
    answer = leowarp("verify", run, "--files")
    assert answer.status == 1
    assert re.search(r"and 49,9\d\d more", answer.out)
    assert len(answer.out) < 10_000
    (run / layout.MANIFEST).write_text(json.dumps({"files": many}) + " " * (33 << 20))
    assert refused(leowarp("verify", run, "--files"), "more than 32 MiB")


def test_names_of_a_manifest_are_not_obeyed(leowarp, run):
    (run / layout.MANIFEST).write_text(json.dumps({"files": {NASTY.replace("/", ""): ""}}))
    for options in ((), ("--json",)):
        answer = leowarp("verify", run, "--files", *options)
        assert answer.status == 1
        assert not OBEYED & set(answer.out + answer.err)


@pytest.mark.parametrize("key", ["seed", "warnings", "logs", "files", "drawn", "later", "costs", "more"])
def test_a_manifest_that_is_nested_deeply_is_an_error(leowarp, run, key):
    (run / layout.MANIFEST).write_text(f'{{"{key}": {"[" * 500}{"]" * 500}}}')
    assert refused(leowarp("verify", run, "--files"), "nested too deeply")


TABLES = ("10-routes", "20-timeline", *(f"30-trace/{name}" for name in ("packets", "bins", "links", "sockets")))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_cut_short_is_an_error(leowarp, run, name, share):
    path = run / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert refused(leowarp("show", run, "--again"), "cannot read")


def spoilt(path, how):
    table = pq.read_table(path)
    first = table.schema.names[0]
    match how:
        case "no column":
            table = table.drop_columns([first])
        case "texts":
            table = table.set_column(0, first, pa.array(["x"] * len(table)))
        case "lists":
            table = table.set_column(0, first, pa.array([[1]] * len(table)))
        case "nothing":
            table = table.set_column(0, first, pa.nulls(len(table), table.schema.field(0).type))
        case "metadata":
            table = table.replace_schema_metadata({"directions": "[[1]]", "hosts": "7", "virtual_ns": "[]"})
    pq.write_table(table, path)


@pytest.mark.parametrize("how", ["no column", "texts", "lists", "nothing"])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_other_columns_is_an_error(leowarp, run, name, how):
    spoilt(run / f"{name}.parquet", how)
    assert refused(leowarp("show", run, "--again"), "cannot read")


def test_metadata_of_another_shape_are_an_error(leowarp, run):
    spoilt(run / "30-trace" / "links.parquet", "metadata")
    # The manifest is forged, because the sha256 of the file would otherwise reveal the change.
    forge(run)
    assert refused(leowarp("show", run, "--again"), "they are of different runs")
    assert refused(leowarp("report", run), "they are of different runs")
