# SPDX-License-Identifier: Apache-2.0
"""Tests that `leowarp exam --all` takes the exam of every algorithm, and writes a page that compares them."""

import json

import pytest
import typer

from leowarp.cli.studies import exam_verb
from leowarp.scenario.network import hosts
from support.exams import exam_by_arithmetic


def test_all_writes_a_page_that_compares(tmp_path, monkeypatch, capsys):
    exam = exam_by_arithmetic(tmp_path, monkeypatch)
    monkeypatch.setattr(hosts, "CONGESTION_CONTROLS", ("cubic", "vegas"))
    monkeypatch.setattr("leowarp.exam.take", lambda subject, out, **options: exam(subject.algorithm, out=out))
    with pytest.raises(typer.Exit) as ended:
        exam_verb.exam(all_=True, out=tmp_path / "all", json_=True)
    assert ended.value.exit_code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["counts"].keys() == {"cubic", "vegas"}
    # In this test, both algorithms get the same runs, so their ranks are equal.
    assert set(told["mean_ranks"]["rfc9743"].values()) == {1.5}
    page = (tmp_path / "all" / "index.html").read_text()
    assert "single-flow" in page
    assert "no run" in page
    assert (tmp_path / "all" / "vegas" / "junit.xml").exists()
