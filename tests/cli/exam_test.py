# SPDX-License-Identifier: Apache-2.0
"""Tests that `leowarp exam` refuses wrong input before it runs any case, and that the message says what to type."""

import pytest


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "leowarp exam cubic"),
        (["cubik"], "cubic"),
        (["cubic", "--case", "single-flw"], "single-flow"),
        (["cubic", "--all"], "leave NAME"),
        (["--cc-module", "nowhere.c"], "nowhere.c"),
    ],
)
def test_what_cannot_take_the_exam_is_refused(leowarp, tmp_path, words, said):
    done = leowarp("exam", *words, "--out", tmp_path / "exam")
    assert done.status == 2
    assert said in done.err
    assert not (tmp_path / "exam").exists()


def test_baseline_that_is_no_exam_is_refused(leowarp, tmp_path):
    done = leowarp("exam", "cubic", "--out", tmp_path / "exam", "--baseline", tmp_path)
    assert done.status == 5
    assert "exam.json" in done.err
