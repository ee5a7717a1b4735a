# SPDX-License-Identifier: Apache-2.0
"""Tests that stored results belong to the current cases, and that the documentation quotes them correctly."""

import json
import re
from pathlib import Path

import pytest

from leowarp.exam.case import cases
from leowarp.exam.comparison import mean_ranks, rank_in_words, ranks, ranks_of_seeds
from leowarp.exam.references import references
from leowarp.exam.taken import by_case
from leowarp.exam.verdict import spread_in_words
from leowarp.scenario.network.hosts import CONGESTION_CONTROLS

DOCS = Path(__file__).parents[3] / "docs"
STORED = references()
ROW = re.compile(r"\| [^|]+ \| \[`(?P<case>[\w-]+)`\]\([^)]+\) \| (?P<cells>.+) \|")
EVERY = re.compile(r"^\| `(?P<name>\w+)` \| (?P<cells>.+) \|$", re.M)
OF_SEEDS = re.compile(r"^\| [^|]+ \| `([\w-]+)` \| (.+) \|$", re.M)
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


def test_the_page_for_leo_quotes_the_ranges_over_seeds():
    text = (DOCS / "guides" / "congestion-control-for-leo.md").read_text(encoding="utf-8")
    of_seeds = [json.loads((Path(__file__).parent / "stored" / f"{name}-seeds.json").read_text(encoding="utf-8"))
                for name in ("cubic", "reno", "bbr")]  # fmt: skip
    by_key = {case.key: case for case in cases()}
    rows = OF_SEEDS.findall(text)
    assert len(rows) > 10
    for key, cells in rows:
        found = [spread_in_words(by_key[key], {"seeds": of[key]}).split(", ")[0] for of in of_seeds]
        assert cells.split(" | ") == found, key
    # The values beside the verdicts are those of the first seed.
    for name, of in zip(("cubic", "reno", "bbr"), of_seeds, strict=True):
        stored = by_case(STORED[name])
        assert {key: each["values"][0] for key, each in of.items()} == {key: stored[key]["value"] for key in of}


def test_ranks_are_shared_by_what_reads_alike_and_never_comes_last():
    case = next(case for case in cases() if case.rule.measure == "used")
    rows = {name: {"value": value} for name, value in {"a": 0.9801, "b": 0.9803, "c": 0.5, "d": None}.items()}
    assert ranks(case, rows) == {"a": 1.5, "b": 1.5, "c": 3, "d": 4}
    case = next(case for case in cases() if case.rule.measure == "time_to")
    assert ranks(case, rows) == {"c": 1, "a": 2.5, "b": 2.5, "d": 4}


def test_mean_ranks_of_all_algorithms_add_up():
    for of_suite in mean_ranks(STORED).values():
        assert sum(of_suite.values()) == pytest.approx(len(STORED) * (len(STORED) + 1) / 2)


def test_ranks_of_seeds_range_over_the_seeds():
    def document(*values):
        row = {"case": "single-flow", "value": values[0], "seeds": {"values": list(values)}}
        return {"cases": [row]}

    # A larger share is better here: cubic is first with the first seed, reno with the second, and both are equal with
    # the third.
    documents = {"cubic": document(0.9, 0.8, 0.7), "reno": document(0.8, 0.9, 0.7)}
    ranked, spread = mean_ranks(documents), ranks_of_seeds(documents)
    assert ranked["rfc9743"] == {"cubic": 1, "reno": 2}
    assert spread["rfc9743"] == {"cubic": (1, 2), "reno": (1, 2)}
    assert rank_in_words("rfc9743", "cubic", ranked, spread) == "1.00 (1.00 to 2.00)"
    assert rank_in_words("leo", "cubic", ranked, spread) == "–"
    assert ranks_of_seeds({"cubic": {"cases": [{"case": "single-flow", "value": 1}]}}) == {}
