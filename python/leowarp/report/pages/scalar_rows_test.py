# SPDX-License-Identifier: Apache-2.0
"""Tests that pages and the overview show exactly the scalars that are declared for them."""

from leowarp import scalars
from leowarp.report.pages import reconfigurations, reordering_section, summary_section
from leowarp.report.pages.scalar_rows import scalar_rows
from leowarp.scalars import overview_rows


def named(rows):
    return {row if isinstance(row, str) else row[0] for row in rows}


def shown_by(rows):
    return {key for row in rows for key in (row.name, *row.also)}


def test_a_page_shows_what_is_declared_as_shown_there():
    of_flows = summary_section.FLOW_ROWS + reordering_section.SCALAR_ROWS + reconfigurations.SUMMARY_ROWS
    for rows, declared in ((of_flows, scalars.FLOW_SCALARS), (summary_section.RUN_ROWS, scalars.RUN_SCALARS)):
        assert named(rows) == {scalar.name for scalar in declared.values() if scalar.page is not None}


def test_the_overview_shows_what_is_declared_as_shown_there():
    of_flows = shown_by(row for _, rows in overview_rows.KINDS.values() for row in rows)
    assert {each.name for each in scalars.FLOW_SCALARS.values() if each.overview is not None} == of_flows
    # The number of changes to a shorter path and the largest delay are shown in the row of another scalar.
    beside = {"route_changes_shorter", "path_delay_max_ns"}
    of_run = shown_by(overview_rows.RUN_ROWS)
    assert {each.name for each in scalars.RUN_SCALARS.values() if each.overview is not None} == of_run - beside


def test_a_row_has_the_declared_words_unit_and_scale():
    flows = [{"rtt_p50_ns": 44_137_255, "congestion_control": "bbr"}, {"rtt_p50_ns": None, "congestion_control": None}]
    rows = scalar_rows(
        ("congestion_control", "late_pkts", ("rtt_p50_ns", "in the middle")), scalars.FLOW_SCALARS, flows
    )
    assert rows == [["congestion control", "", "bbr", None], ["in the middle", "ms", 44.137255, None]]
    (unknown,) = scalar_rows(("late_pkts",), scalars.FLOW_SCALARS, flows, unknown=True)
    assert unknown == ["late packets (overtaken)", "packets", None, None]


def test_a_scalar_of_an_object_within_is_found_under_its_dotted_name():
    (row,) = scalar_rows(("fairness.jain_index",), scalars.RUN_SCALARS, [{"fairness": {"jain_index": 0.8}}])
    assert row[1:] == ["", 0.8]
