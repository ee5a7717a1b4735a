# SPDX-License-Identifier: Apache-2.0
"""Tests an exam without a guest. All failed cases must be listed. Every other case must get a verdict. All files must
have the same results."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from leowarp.base.errors import ScenarioError, TraceError
from leowarp.exam import Subject, cases
from leowarp.exam.files import write
from leowarp.exam.taken import changed, read
from leowarp.exam.taking import plans_of
from leowarp.exam.verdict import opened, spread_in_words
from support.exams import exam_by_arithmetic


@pytest.fixture
def exam(tmp_path, monkeypatch):
    """Return a function that takes the exam. `exam.begun()` returns the number of runs that have started so far.
    `exam.out` is the exam's directory."""
    return exam_by_arithmetic(tmp_path, monkeypatch)


def test_run_that_fails_is_a_failed_case_and_the_others_go_on(exam):
    taken = exam()
    verdicts = {each.case.key: each.verdict for each in taken.judged}
    assert verdicts.pop("shallow") == "fail"
    assert verdicts.pop("bufferbloat") == "measured"
    assert set(verdicts.values()) <= {"pass", "fail"}
    (shallow,) = [each for each in taken.judged if each.case.key == "shallow"]
    assert "the guest panicked" in shallow.decided
    assert shallow.value is None


def test_cases_of_one_plan_share_a_run_and_a_second_start_makes_only_what_failed(exam):
    exam()
    assert exam.begun() == 2
    exam()
    assert exam.begun() == 3


def test_files_agree_on_the_verdicts(exam):
    taken = exam()
    write(taken, "leowarp exam cubic")
    document = read(exam.out)
    assert document["counts"] == taken.counts
    tree = ElementTree.parse(exam.out / "junit.xml")
    failed = [case.get("name") for case in tree.iter("testcase") if case.find("failure") is not None]
    assert failed == [row["case"] for row in document["cases"] if row["verdict"] == "fail"]
    assert sum(int(suite.get("failures")) for suite in tree.iter("testsuite")) == len(failed)
    assert {case.get("name") for case in tree.iter("testcase")} == {row["case"] for row in document["cases"]}
    page = taken.page.read_text()
    for row in document["cases"]:
        assert f'id="case-{row["case"]}"' in page
    assert "the guest panicked" in page


def test_files_of_an_exam_taken_again_are_the_same(exam):
    write(exam(), "leowarp exam cubic")
    before = {path.name: path.read_bytes() for path in exam.out.iterdir() if path.is_file()}
    write(exam(), "leowarp exam cubic")
    assert {path.name: path.read_bytes() for path in exam.out.iterdir() if path.is_file()} == before


def test_baseline_names_what_differs_and_what_only_one_has(exam):
    rows = [each.row(exam.out) for each in exam().judged]
    document = {"cases": [dict(row) for row in rows]}
    assert changed(rows, document) == []
    document["cases"][0] |= {"verdict": "fail", "value_in_words": "3 %"}
    gone = document["cases"].pop()
    found = {case: (was, now) for case, was, now in changed(rows, document)}
    assert found.keys() == {rows[0]["case"], gone["case"]}
    assert found[rows[0]["case"]][0].startswith("fail, 3 %")
    assert found[gone["case"]][0] == "not there"


@pytest.mark.parametrize("content", ["{}", '{"schema": 99, "cases": []}', '{"schema": 1, "cases": 3}', "no json"])
def test_baseline_that_is_none_is_an_error(tmp_path, content):
    (tmp_path / "exam.json").write_text(content)
    with pytest.raises(TraceError):
        read(tmp_path)
    with pytest.raises(TraceError):
        read(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["cubik", "a b", "x" * 40, ""])
def test_unknown_algorithm_is_refused_before_anything_runs(exam, name):
    with pytest.raises(ScenarioError):
        exam(name)
    assert not exam.out.exists()


def test_run_that_was_damaged_is_a_failed_case(exam):
    first = exam()
    for each in first.judged:
        if each.run is not None:
            (each.run / "30-trace" / "bins.parquet").write_bytes(b"")
            (each.run / "30-trace" / "sockets.parquet").write_bytes(b"")
    opened.cache_clear()
    # Each table is checked against the manifest, so no case is measured with a damaged run.
    assert {each.verdict for each in exam().judged} == {"fail"}


def test_directory_of_something_else_is_refused(exam):
    exam.out.write_text("a file")
    with pytest.raises(ScenarioError):
        exam()


def test_path_of_an_exam_holds_only_relative_names(exam):
    for row in exam().document()["cases"]:
        assert row["run"] is None or not Path(row["run"]).is_absolute()


def test_further_seed_changes_the_seed_and_nothing_else(exam):
    (case,) = cases(["beside-cubic"])
    first, third = (plans_of(Subject("bbr"), case, offset) for offset in (0, 2))
    assert first.keys() == third.keys()
    assert len(first) == 2
    for role, plan in first.items():
        before = f"seed = {plan.run.seed}\n"
        assert plan.to_toml().count(before) == 1
        assert plan.to_toml().replace(before, f"seed = {plan.run.seed + 2}\n") == third[role].to_toml()


def test_seeds_repeat_every_case_and_leave_the_verdicts_alone(exam):
    once, seeded = exam().document(), exam(seeds=3)
    # The first exam makes 2 runs. The second exam runs two plans with two further seeds each, and repeats the failed
    # run. The second exam makes 2 x 2 + 1 = 5 runs, so both exams make 7 runs.
    assert exam.begun() == 7
    rows = seeded.document()["cases"]
    assert [{key: row[key] for key in row if key != "seeds"} for row in rows] == once["cases"]
    for row in rows:
        assert len(row["seeds"]["values"]) == 3
        assert (row["seeds"]["values"][0], row["seeds"]["verdicts"][0]) == (row["value"], row["verdict"])
    write(seeded, "leowarp exam cubic --seeds 3")
    assert "over 3 seeds" in seeded.page.read_text()


@pytest.mark.parametrize(
    ("values", "verdicts", "words"),
    [
        ([0.91, 0.95, 0.93], ["pass", "pass", "fail"], "91 % to 95 %, 2 of 3 pass"),
        ([0.91, 0.91], ["pass", "pass"], "91 %, 2 of 2 pass"),
        ([0.91, None], ["pass", "fail"], "91 %, 1 of 2 never, 1 of 2 pass"),
        ([None, None], ["fail", "fail"], "never, 0 of 2 pass"),
    ],
)
def test_spread_over_seeds(values, verdicts, words):
    (case,) = cases(["single-flow"])
    assert spread_in_words(case, {"seeds": {"values": values, "verdicts": verdicts}}) == words
