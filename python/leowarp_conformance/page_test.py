# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables of a conformance run."""

from pathlib import Path

import pytest

from leowarp.base.errors import ScenarioError
from leowarp_conformance.attempt import Attempt
from leowarp_conformance.ladder import Outcome
from leowarp_conformance.page import renew, tables
from leowarp_conformance.reasons import Reason, reasons, verdict
from leowarp_conformance.scripts import ScriptSet

ROOT = Path(__file__).parents[2]
FAILURE = Attempt(False, "late", "")


def a_set(kernel="default", origin="google"):
    return ScriptSet(origin, kernel, "IPv4", Path("/"), ("tcp/a.pkt", "tcp/b.pkt", "tcp/c.pkt"), (), ())


def a_verdict(kernel="default", reason_kernels=None):
    outcomes = [Outcome("tcp/a.pkt", 1), Outcome("tcp/b.pkt", 100), Outcome("tcp/c.pkt", None, FAILURE)]
    reason = Reason("google", "tcp/c.pkt", "older kernel", "it expects the FIN sooner", kernels=reason_kernels)
    return verdict(a_set(kernel), outcomes, [reason])


def test_a_set_has_a_row_of_counts():
    assert "`default` | IPv4 | 2 of 3 | 2 | 2 | 1 | 1 | 1 older kernel |" in tables([a_verdict()])


def test_a_failure_without_a_reason_is_counted_as_unknown():
    outcomes = [Outcome("tcp/a.pkt", None, FAILURE)]
    assert "| 0 of 1 | 0 | 0 | 0 | 0 | 1 unknown |" in tables([verdict(a_set(), outcomes, [])])


def test_scripts_that_need_more_than_the_smallest_tolerance_are_listed():
    text = tables([a_verdict(), a_verdict("plain")])
    assert "| `b.pkt` | 100 us |" in text
    assert "`a.pkt`" not in text


def test_a_reason_names_its_places_only_where_it_is_not_everywhere():
    everywhere = tables([a_verdict(), a_verdict("plain")])
    assert "| `c.pkt` | everywhere | older kernel | it expects the FIN sooner |" in everywhere
    passing = verdict(a_set("plain"), [Outcome("tcp/c.pkt", 1)], [])
    assert "| `c.pkt` | `default`, IPv4 | older kernel |" in tables([a_verdict(), passing])


def test_the_tables_are_put_between_the_marks_of_a_page(tmp_path):
    file = tmp_path / "page.md"
    file.write_text("before\n<!-- conformance -->\nold\n<!-- end of conformance -->\nafter\n")
    renew(file, [a_verdict()])
    once = file.read_text()
    assert once.startswith("before\n<!-- conformance -->\n| scripts |")
    assert once.endswith("|\n<!-- end of conformance -->\nafter\n")
    renew(file, [a_verdict()])
    assert file.read_text() == once


def test_a_page_without_marks_is_refused(tmp_path):
    (tmp_path / "page.md").write_text("nothing\n")
    with pytest.raises(ScenarioError, match="has no <!-- conformance --> mark"):
        renew(tmp_path / "page.md", [a_verdict()])


def test_the_page_on_accuracy_has_every_reason_that_comes_with_leowarp():
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    for each in reasons():
        assert f"`{each.script.removeprefix('tcp/')}`" in page
        assert f"| {each.kind} | {each.reason} |" in page
