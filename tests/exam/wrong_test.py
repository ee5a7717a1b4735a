# SPDX-License-Identifier: Apache-2.0
"""Tests that modules with deliberate faults fail the expected cases of the exam. After a failed case, the exam must
continue with the other cases."""

import tomllib
from pathlib import Path

import pytest

from leowarp.base.errors import LeowarpError
from leowarp.exam import Subject, cases, take

HERE = Path(__file__).parent
WRONG = HERE / "wrong"
FAILS = tomllib.loads((HERE / "fails.toml").read_text(encoding="utf-8"))
"""The cases that each module fails."""


def verdicts(tmp_path, module, *only):
    taken = take(Subject(module, (WRONG / f"{module}.c",)), tmp_path / module, only=only, progress=False)
    return {each.case.key: each for each in taken.judged}


def test_each_case_with_a_limit_is_failed_by_a_module_that_is_wrong():
    failed = {case for module in FAILS.values() for case in module["fails"]}
    assert {case.key for case in cases() if case.rule.limit is not None} - failed == set()
    assert failed - {case.key for case in cases()} == set()


@pytest.mark.guest
@pytest.mark.parametrize(
    ("module", "fails", "holds"),
    [
        ("two_packets", ["single-flow", "bbr-startup-plateau"], ["high-loss-own"]),
        ("keeps_growing", ["high-loss-own", "blackout", "codel-delay"], ["single-flow"]),
        ("never_sends", ["single-flow", "constrained"], []),
        ("window_2_31", ["single-flow", "shallow-loss"], []),
        ("pours", ["collapse", "beside-cubic", "call-loss"], ["single-flow"]),
        ("bursts", ["bbr-app-limited-delay"], []),
    ],
)
def test_wrong_module_fails_what_it_should(tmp_path, module, fails, holds):
    found = verdicts(tmp_path, module, *fails, *holds)
    assert {key: each.verdict for key, each in found.items()} == dict.fromkeys(fails, "fail") | dict.fromkeys(
        holds, "pass"
    )
    assert set(fails) <= set(FAILS[module]["fails"])


@pytest.mark.guest
def test_module_that_oopses_fails_its_case_and_the_exam_goes_on(tmp_path):
    found = verdicts(tmp_path, "oopses", "shallow", "bbr-app-limited")
    assert found["shallow"].verdict == "fail"
    assert found["shallow"].decided.startswith("the run failed")
    # In a case without losses, this module behaves well.
    assert found["bbr-app-limited"].verdict == "pass"


@pytest.mark.guest
def test_two_exams_are_the_same(tmp_path):
    only = ("wireless", "leo-gap", "reordering")
    one, other = (take(Subject("bbr"), tmp_path / name, only=only, progress=False).document() for name in "ab")
    assert one == other


@pytest.mark.parametrize("kernel", ["6.13", "/nowhere/linux"])
def test_unknown_kernel_is_an_error_before_anything_runs(tmp_path, kernel):
    with pytest.raises(LeowarpError) as error:
        take(Subject("cubic", kernel=kernel), tmp_path / "exam", only=["single-flow"], progress=False)
    assert kernel in error.value.message
    assert not (tmp_path / "exam" / "runs" / "plans.parquet").exists()
