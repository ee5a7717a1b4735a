# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/verdicts.py writes the table of verdicts in the guide of a study."""

import importlib.util
import json
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("verdicts", Path(__file__).parents[2] / "tools" / "verdicts.py")
verdicts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(verdicts)
CLAIMS = [
    {"number": "1.1", "says": "a | b", "by_construction": False,
     "samples": [{"sample": "Linux", "verdict": "holds"}, {"sample": "classic", "verdict": "does not hold"}]},
    {"number": "1.2", "says": "c", "by_construction": False,
     "samples": [{"sample": "Linux", "verdict": "cannot be told"}]},
    {"number": "1.3", "says": "d", "by_construction": False, "samples": []},
]  # fmt: skip
TABLE = """\
| claim | the paper says | Linux | classic |
| --- | --- | --- | --- |
| 1.1 | a \\| b | holds | **no** |
| 1.2 | c | ? | - |
| 1.3 | d | - | - |
|  | *hold, of those checked* | 1 of 2 | 0 of 1 |"""


def test_each_sample_is_a_column_and_what_was_not_checked_says_so():
    assert verdicts.table(CLAIMS) == TABLE


def test_claims_by_construction_are_marked_and_counted_apart():
    made = {"number": "1.4", "says": "e", "by_construction": True, "samples": [{"sample": "Linux", "verdict": "holds"}]}
    lines = verdicts.table([*CLAIMS, made]).splitlines()
    assert lines[:5] == TABLE.splitlines()[:5]
    assert lines[5:] == [
        "| 1.4¹ | e | holds | - |",
        "|  | *hold, of those checked* | 1 of 2 | 0 of 1 |",
        "|  | *¹by construction: hold, of those checked* | 1 of 1 | - |",
    ]


def test_a_page_gets_the_table_between_its_marks_and_is_checked_against_it(tmp_path, capsys):
    page, claims = tmp_path / "page.md", tmp_path / "claims.json"
    page.write_text("before\n<!-- verdicts -->\nold\n<!-- /verdicts -->\nafter\n")
    claims.write_text(json.dumps({"claims": CLAIMS}))
    assert verdicts.main([str(claims), str(page), "--check"]) == 1
    assert "another table" in capsys.readouterr().err
    assert "old" in page.read_text()
    assert verdicts.main([str(claims), str(page)]) == 0
    assert page.read_text() == f"before\n<!-- verdicts -->\n{TABLE}\n<!-- /verdicts -->\nafter\n"
    assert verdicts.main([str(claims), str(page), "--check"]) == 0


def test_a_page_without_marks_and_claims_without_verdicts_are_refused():
    with pytest.raises(SystemExit, match="no lines"):
        verdicts.replaced("page", "table")
    with pytest.raises(SystemExit, match="no claim has a verdict"):
        verdicts.table(CLAIMS[2:3])
