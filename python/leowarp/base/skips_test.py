# SPDX-License-Identifier: Apache-2.0
"""Tests that each skipped record is counted once, and that the line about skipped records names each reason."""

from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.skips import Skip, Skips, skipped_line

reasons = st.sampled_from([("comment", "comments"), ("line of text", "lines of text"), ("reply", "replies")])
records = st.lists(st.tuples(reasons, st.integers(1, 99), st.integers(1, 5)), max_size=20)


@given(records, records)
def test_every_record_is_counted_under_its_reason(mine, others):
    skips, more = Skips(), Skips()
    for (one, many), line, count in mine:
        skips.add(one, many, f"line {line}", count)
    for (one, many), line, count in others:
        more.add(one, many, f"line {line}", count)
    skips.add_all(more)
    assert len(skips) == sum(skip.count for skip in skips.found) == sum(count for *_, count in mine + others)
    assert [skip.count for skip in skips.found] == sorted((skip.count for skip in skips.found), reverse=True)
    for skip in skips.found:
        first = next(line for names, line, _ in mine + others if skip.why in names)
        assert skip.first == f"line {first}"
    assert len(skips.lines) == bool(mine or others)


def test_the_line_has_the_number_the_reason_and_the_place():
    skips = Skips()
    skips.add("comment", "comments", "line 3")
    assert skips.lines == ("skipped 1 comment (line 3)",)
    skips.add("comment", "comments", "line 9", 2)
    assert skips.lines == ("skipped 3 comments (the first: line 3)",)
    assert skipped_line([]) is None
    assert str(Skip(2, "packets of ARP")) == "2 packets of ARP"
