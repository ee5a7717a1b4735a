# SPDX-License-Identifier: Apache-2.0
"""Tests that stored results belong to the cases of today, and that the pages quote them."""

import json
import re
from pathlib import Path

import pytest

from leowarp.exam.case import cases
from leowarp.exam.comparison import mean_ranks, ranks
from leowarp.exam.references import references
from leowarp.exam.taken import by_case
from leowarp.scenario.network.hosts import CONGESTION_CONTROLS

DOCS = Path(__file__).parents[3] / "docs"
STORED = references()
ROW = re.compile(r"\| [^|]+ \| \[`(?P<case>[\w-]+)`\]\([^)]+\) \| (?P<cells>.+) \|")
EVERY = re.compile(r"^\| `(?P<name>\w+)` \| (?P<cells>.+) \|$", re.M)
STORE = "type: leowarp exam NAME, then python -m leowarp.exam.references exams/NAME"


@pytest.mark.parametrize("name", sorted(STORED))
def test_stored_results_have_todays_cases_and_limits(name):
    stored = by_case(STORED[name])
    assert list(stored) == [case.key for case in cases()], STORE
    for case in cases():
        row = stored[case.key]
        assert row["limit"] == case.rule.limit, f"{case.key}: {STORE}"
        measured = "measured" if case.rule.limit is None else "pass" if case.rule.holds(row["value"]) else "fail"
        assert row["verdict"] == measured, case.key


def test_the_page_for_leo_quotes_what_is_stored():
    text = (DOCS / "guides" / "congestion-control-for-leo.md").read_text(encoding="utf-8")
    rows = [ROW.fullmatch(line) for line in text.splitlines() if line.startswith("|") and "[`" in line]
    assert len(rows) > 30
    tables = [by_case(STORED[name]) for name in ("cubic", "reno", "bbr", "bbr3")]
    for row in rows:
        assert row is not None
        quoted = row["cells"].split(" | ")
        found = [table[row["case"]] for table in tables]
        assert [cell.strip("*") for cell in quoted] == [each["value_in_words"] for each in found], row["case"]
        assert [cell.startswith("**") for cell in quoted] == [each["verdict"] == "fail" for each in found], row["case"]


def test_the_page_for_leo_quotes_every_algorithm_as_it_is_stored():
    every = json.loads((Path(__file__).parent / "stored" / "every.json").read_text(encoding="utf-8"))
    text = (DOCS / "guides" / "congestion-control-for-leo.md").read_text(encoding="utf-8")
    quoted = {row["name"]: row["cells"].split(" | ") for row in EVERY.finditer(text)}
    assert quoted.keys() == set(CONGESTION_CONTROLS)
    for name, cells in quoted.items():
        found = list(every[name].values())
        assert cells == [
            f"**{it['value_in_words']}**" if it["verdict"] == "fail" else it["value_in_words"] for it in found
        ]


def test_ranks_are_shared_by_what_reads_alike_and_never_comes_last():
    case = next(case for case in cases() if case.rule.measure == "used")
    rows = {name: {"value": value} for name, value in {"a": 0.9801, "b": 0.9803, "c": 0.5, "d": None}.items()}
    assert ranks(case, rows) == {"a": 1.5, "b": 1.5, "c": 3, "d": 4}
    case = next(case for case in cases() if case.rule.measure == "time_to")
    assert ranks(case, rows) == {"c": 1, "a": 2.5, "b": 2.5, "d": 4}


def test_mean_ranks_of_all_algorithms_add_up():
    for of_suite in mean_ranks(STORED).values():
        assert sum(of_suite.values()) == pytest.approx(len(STORED) * (len(STORED) + 1) / 2)
