# SPDX-License-Identifier: Apache-2.0
"""Tests that each file of a run is compared with the manifest."""

import json
import os
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp import trace
from leowarp.base import layout
from leowarp.base.errors import TraceError
from leowarp.verification.files import files_of
from leowarp.verification.stages import STAGES, stage_of
from support.synthetic.whole import change_a_byte, forge


def test_every_file_of_a_run_belongs_to_a_stage_and_is_listed(whole):
    found = files_of(whole)
    assert not found.wrong
    assert {stage_of(name).name for name in (*found.verdicts, layout.MANIFEST)} == {stage.name for stage in STAGES}


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_byte_changed_in_any_file_of_a_stage_is_found_with_its_name(run, stage):
    names = [name for name in (*files_of(run).verdicts, layout.MANIFEST) if stage_of(name) is stage]
    assert names
    for name in names:
        content = (run / name).read_bytes()
        # The changed byte is a digit, so that a JSON text remains valid: a 1 becomes a 2.
        change_a_byte(run / name, content.index(b"1") if name.endswith(".json") else None, by=3)
        assert files_of(run).wrong == {name: "changed since the run"}
        (run / name).write_bytes(content)
    assert not files_of(run).wrong


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_byte_of_any_file_that_is_another_is_found(whole, data):
    names = sorted(path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file())
    name = data.draw(st.sampled_from(names))
    content = (whole / name).read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    change_a_byte(whole / name, place, by=data.draw(st.integers(1, 255)))
    try:
        wrong = files_of(whole).wrong
    except TraceError as error:
        # The changed byte makes the manifest itself invalid.
        wrong = {layout.MANIFEST} if layout.MANIFEST in error.message else {}
    finally:
        (whole / name).write_bytes(content)
    assert name in wrong


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(
        st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,2}", fullmatch=True), st.binary(min_size=1), min_size=1
    ),
    data=st.data(),
)
def test_what_was_changed_added_and_taken_away_is_told_of_made_up_runs(files, data, tmp_path_factory):
    run = tmp_path_factory.mktemp("made-up")
    for name, content in files.items():
        # A file cannot have the same name as a directory.
        if not any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in files):
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_bytes(content)
    trace.write_manifest(run, 1, {}, {}, [], {})
    names = list(json.loads((run / layout.MANIFEST).read_text())["files"])
    expected = {}
    for name in names:
        match data.draw(st.sampled_from(["keep", "change", "remove"])):
            case "change":
                change_a_byte(run / name, data.draw(st.integers(0, len(files[name]) - 1)))
                expected[name] = "changed since the run"
            case "remove":
                (run / name).unlink()
                expected[name] = "missing"
    if data.draw(st.booleans()):
        (run / "extra.TXT").write_bytes(b"")
        expected["extra.TXT"] = "not listed"
    assert files_of(run).wrong == expected


def test_a_signature_beside_the_manifest_is_not_counted_as_a_file(run):
    for name in layout.SIGNATURES:
        (run / name).write_text("signed")
    assert not files_of(run).wrong


def test_a_plan_that_was_changed_is_not_made_again(run):
    assert files_of(run).why_not_rerun is None
    change_a_byte(run / "summary.json")
    assert files_of(run).why_not_rerun is None
    (run / "00-inputs" / "more.csv").write_text("")
    assert files_of(run).why_not_rerun is None
    (run / "00-inputs" / "table.csv").unlink()
    assert files_of(run).why_not_rerun == "00-inputs/table.csv: missing"


def test_what_is_drawn_later_is_listed_and_what_was_changed_stays_changed(run):
    from leowarp import view

    (run / "50-report" / view.FILE).unlink()
    change_a_byte(run / "50-report" / "figures" / "goodput.csv")
    change_a_byte(run / "summary.json")
    with trace.relisted(run):
        view.write_view([run], run / "50-report" / view.FILE)
    wrong = {"50-report/figures/goodput.csv", "summary.json"}
    assert files_of(run).wrong == dict.fromkeys(wrong, "changed since the run")


def test_a_damaged_manifest_does_not_become_right_by_what_is_listed_later(run):
    path = run / layout.MANIFEST
    path.write_text(path.read_text().replace("look twice", "look away!"))
    with trace.relisted(run):
        (run / "50-report" / "more.html").write_text("more")
    assert files_of(run).wrong == {layout.MANIFEST: "changed since the run"}


def test_a_key_that_stands_twice_in_a_manifest_is_found(run):
    path = run / layout.MANIFEST
    path.write_text(path.read_text().replace('"seed": 1,', '"seed": 1,\n  "seed": 1,', 1))
    assert files_of(run).wrong == {layout.MANIFEST: "changed since the run"}


NAMES = ("../precious", "/etc/passwd", "30-trace/../../precious", "", ".", "a//b", "a\0b", "a/" * 20 + "b", "x" * 300)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", ["files", "directories"])
def test_a_manifest_leads_nowhere_else(run, name, key, monkeypatch):
    (run.parent / "precious").write_text("mine")
    listed = {**json.loads((run / layout.MANIFEST).read_text())["files"], name: "0" * 64}
    manifest = json.loads((run / layout.MANIFEST).read_text()) | {key: listed if key == "files" else [name]}
    (run / layout.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(TraceError, match="which is no file below its directory"):
        files_of(run)


def test_only_files_that_are_there_are_opened(run, monkeypatch):
    listed = json.loads((run / layout.MANIFEST).read_text())["files"]
    many = {f"30-trace/{number}": "0" * 64 for number in range(100_000)}
    (run / layout.MANIFEST).write_text(json.dumps({"files": listed | many}))
    opened = []
    monkeypatch.setattr("leowarp.base.checksums.sha256_of_file", lambda path: opened.append(path) or "")
    found = files_of(run)
    assert len(opened) == len(listed)
    assert sum(verdict == "missing" for verdict in found.wrong.values()) == len(many)


def test_directories_with_manifests_of_their_own_are_gone_through(run, tmp_path):
    folder = tmp_path / "study"
    shutil.move(run, folder / "runs" / "a")
    os.mkdir(folder / "empty")
    (folder / "rows").write_text("1")
    manifest = {"kind": "study", "directories": ["runs/a"], "files": {"rows": "", "runs/a/manifest.json": ""}}
    (folder / layout.MANIFEST).write_text(json.dumps(manifest))
    forge(folder)
    assert not files_of(folder).wrong
    assert "runs/a/30-trace/packets.parquet" in files_of(folder).verdicts
    change_a_byte(folder / "runs/a/30-trace/packets.parquet")
    (folder / "runs/a/more").write_text("")
    assert files_of(folder).wrong == {
        "runs/a/30-trace/packets.parquet": "changed since the run",
        "runs/a/more": "not listed",
    }
    # The run's manifest matches the forged run, but the sha256 of this manifest in the study's manifest does not.
    forge(folder / "runs/a")
    assert files_of(folder).wrong["runs/a/manifest.json"] == "changed since the run"
    (folder / "runs/a/manifest.json").unlink()
    assert files_of(folder).wrong == {"runs/a/manifest.json": "missing"}
