# SPDX-License-Identifier: Apache-2.0
"""Tests that every case gives a valid plan, names the source of its limit, and has a unique name."""

from collections import Counter
from typing import Any

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.exam.case import SUITES, _case, cases, left_out
from leowarp.exam.measures import MEASURES
from leowarp.exam.taken import Subject
from leowarp.exam.taking import plans_of

EVERY = cases()
ENTRY: dict[str, Any] = {
    "id": "one", "title": "One", "asked": "Ours.", "scenario": "bottleneck/dumbbell.toml", "limit": "Ours.",
    "rule": {"measure": "used", "flow": 0, "from": "1 s", "until": "2 s", "at_least": "50 %"},
}  # fmt: skip


def test_no_two_cases_have_one_name():
    assert [key for key, count in Counter(case.key for case in EVERY).items() if count > 1] == []
    assert not {case.key for case in EVERY} & set(SUITES)


@pytest.mark.parametrize(("suite", "least"), [("rfc9743", 30), ("bbr", 20), ("leo", 24)])
def test_each_suite_has_its_cases(suite, least):
    assert len(cases([suite])) >= least


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.key)
def test_limit_says_where_it_is_from(case):
    beginnings = ("None", "Ours", "RFC", "Reno's square-root law")
    assert case.rule.source.startswith(beginnings)
    assert (case.rule.limit is None) == case.rule.source.startswith("None")


def test_each_case_is_a_plan_and_its_window_lies_in_the_run():
    for case in EVERY:
        (plan, *_) = plans_of(Subject("reno"), case).values()
        assert [plan.flows[flow].congestion_control for flow in case.under_exam] == ["reno"] * len(case.under_exam)
        until_ns = case.rule.arguments.get("until_ns", 0)
        assert case.rule.arguments.get("from_ns", 0) <= until_ns <= plan.run.duration_ns, case.key
        for flow in [case.rule.arguments.get("flow"), case.rule.arguments.get("probe"),
                     *case.rule.arguments.get("flows", ())]:  # fmt: skip
            assert flow is None or flow < len(plan.flows), case.key
        if "probe" in case.rule.arguments:
            assert plan.flows[case.rule.arguments["probe"]].kind == "ping", case.key


def test_every_measure_is_used():
    assert {case.rule.measure for case in EVERY} == set(MEASURES)


def test_what_is_left_out_says_why():
    assert all(what and why for what, why in left_out())


@pytest.mark.parametrize("name", ["single-flw", "RFC", ""])
def test_unknown_case_is_an_error_with_a_hint(name):
    with pytest.raises(ScenarioError) as error:
        cases([name])
    assert error.value.hint


@pytest.mark.parametrize(
    "change",
    [
        {"rule": ENTRY["rule"] | {"at_most": "60 %"}},
        {"rule": ENTRY["rule"] | {"at_least": 0.5}},
        {"rule": ENTRY["rule"] | {"measure": "used_up"}},
        {"rule": ENTRY["rule"] | {"probe": 1}},
        {"rule": {"measure": "used", "flow": 0, "from": "1 s", "at_least": "50 %"}},
        {"control": "cubic"},
        {"limits": "Ours."},
    ],
)
def test_case_that_is_wrong_is_an_error(change):
    _case("leo", ENTRY)
    with pytest.raises(ScenarioError):
        _case("leo", ENTRY | change)
