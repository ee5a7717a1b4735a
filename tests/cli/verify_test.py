# SPDX-License-Identifier: Apache-2.0
"""Tests `leowarp verify` with a stand-in for the second run, so no guest boots."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leowarp.base import layout
from leowarp.base.checksums import manifest_text
from leowarp.base.recorded import text_of_json
from leowarp.verification import second_run
from leowarp.verification.stages import STAGES, STUDIES
from support.synthetic.whole import change_a_byte, forge, stand_in_for_a_second_run, write_whole_run

QUIET = ("--progress", "none")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = write_whole_run(tmp_path_factory.mktemp("whole") / "run")
    # The run has no report, because drawing figures takes seconds; tests of `leowarp.verification` cover them.
    shutil.rmtree(path / layout.REPORT)
    listed = json.loads((path / layout.MANIFEST).read_text())["files"]
    forge(path, files={name: "" for name in listed if not name.startswith(layout.REPORT)})
    return path


@pytest.fixture
def run(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(second_run, "run", stand_in_for_a_second_run(whole))
    return Path(shutil.copytree(whole, tmp_path / "run"))


def forged_summary(run):
    summary = json.loads((run / layout.SUMMARY).read_text())
    summary["flows"][0]["goodput_mean_bps"] = 99_999_999
    (run / layout.SUMMARY).write_text(text_of_json(summary))


def test_an_intact_run_is_identical_and_the_list_of_what_is_left_out_is_printed(leowarp, run):
    answer = leowarp("verify", run, *QUIET)
    assert answer.status == 0, answer
    assert answer.out.splitlines()[-1] == "identical: the same plan gave the same bytes"
    for stage in STAGES:
        assert stage.name in answer.out
        assert stage.why[:20] in answer.out
    told = leowarp("verify", run, *QUIET, "--json").json()
    assert told["identical"] is True
    assert told["run"] == str(run)
    assert set(told["files"].values()) == {"as listed"}
    (made,) = told["second_runs"].values()
    assert made["first_difference"] is None
    assert {stage["verdict"] for stage in made["stages"].values()} == {"identical"}
    assert [each["what"] for each in told["left_out"]] == [stage.name for stage in STAGES if stage.why]


def test_a_changed_file_is_named_with_status_1(leowarp, run):
    change_a_byte(run / "10-routes.parquet")
    (run / "notes.txt").write_text("of mine")
    (run / "30-trace" / "drops.parquet").unlink()
    words = ("NOT as it was written", "10-routes.parquet (changed since the run)", "notes.txt (not listed)",
             "30-trace/drops.parquet (missing)")  # fmt: skip
    for options in ((), ("--files",)):
        answer = leowarp("verify", run, *QUIET, *options)
        assert answer.status == 1
        assert all(word in answer.out for word in words), answer.out
        assert ("the first stage that differs" in answer.out) == (options == ())
    told = leowarp("verify", run, "--files", "--json").json()
    assert told["identical"] is False
    assert told["files"]["notes.txt"] == "not listed"
    assert told["second_runs"] == {}


def test_a_summary_forged_with_its_hash_is_found_and_its_stage_named(leowarp, run):
    forged_summary(run)
    forge(run)
    assert leowarp("verify", run, "--files").status == 0
    answer = leowarp("verify", run, *QUIET)
    assert answer.status == 1
    last = answer.out.splitlines()[-1]
    assert "the first stage that differs" in last
    assert "is summary: summary.json: flows.0.goodput_mean_bps is 99999999, and " in last
    (made,) = leowarp("verify", run, *QUIET, "--json").json()["second_runs"].values()
    assert made["first_difference"] == "summary"
    assert made["stages"]["summary"]["files"] == {"summary.json": "differs"}


def test_numbers_of_another_version_are_reported_with_status_0(leowarp, run):
    forged_summary(run)
    forge(run, leowarp_version="0.0.9")
    answer = leowarp("verify", run, *QUIET)
    assert answer.status == 0
    assert "made by leowarp 0.0.9" in answer.out
    assert f"not confirmed of {run}, for the reasons above: summary" in answer.out
    assert "made with another leowarp_version: 0.0.9 then" in answer.err


def test_a_plan_that_was_changed_is_not_run(leowarp, run, monkeypatch):
    monkeypatch.setattr(second_run, "run", None)
    with (run / layout.PLAN).open("a") as plan:
        plan.write("\n# more\n")
    answer = leowarp("verify", run, *QUIET)
    assert answer.status == 1
    assert "00-plan.toml (changed since the run)" in answer.out
    assert "no second run" in answer.out


def test_files_alone_boots_nothing_and_loads_nothing_that_could(run):
    script = (
        "import sys; from leowarp.cli.app import program\n"
        f"program()(['verify', {str(run)!r}, '--files'], standalone_mode=False)\n"
        "slow = ('leowarp.guest', 'leowarp.media', 'matplotlib', 'numpy')\n"
        "rooms = {name for name in sys.modules if name.startswith(slow)}\n"
        "print(sorted(rooms | {'leowarp.verification.second_run'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["every file is as it was written; nothing was run", "[]"]


def test_options_of_studies_and_of_runs_are_not_passed_over(leowarp, run, tmp_path):
    for options in (("--sample", "2"), ("--seed", "3")):
        answer = leowarp("verify", run, *options)
        assert (answer.status, "is a run" in answer.err) == (2, True)
    study = tmp_path / "study"
    study.mkdir()
    (study / layout.MANIFEST).write_text(manifest_text({"kind": "study", "files": {}}))
    for options in (("--kernel", "x"), ("--keep", "x")):
        answer = leowarp("verify", study, *options)
        assert (answer.status, "is a study" in answer.err) == (2, True)
    assert leowarp("verify", study, "--files").status == 0


def test_the_list_of_studies_is_not_that_of_runs():
    assert not {what for what, _, _ in STUDIES} & {stage.name for stage in STAGES}


def test_what_is_no_run_is_told_as_by_every_verb(leowarp, tmp_path):
    for path, words in ((tmp_path / "nowhere", "there is no such directory"), (tmp_path, "it has no 00-plan.toml")):
        answer = leowarp("verify", path)
        assert (answer.status, words in answer.err) == (5, True), answer
