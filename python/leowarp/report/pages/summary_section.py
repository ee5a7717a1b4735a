# SPDX-License-Identifier: Apache-2.0
"""The section with the six most important numbers of a page, and all scalars in folded tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from leowarp import scalars
from leowarp.report import html
from leowarp.report.labels import MOST_LINES, labels, worded
from leowarp.report.pages.scalar_rows import all_zero, scalar_rows
from leowarp.results.run import Run
from leowarp.scalars.of_run import FAIRNESS
from leowarp.scalars.overview import Section, overview

MOST_FIRST = 6
"""The maximum number of values at the top of a page. Six values fit into one line and are easy to remember."""

FIRST: tuple[tuple[str, ...], ...] = (
    ("goodput_mean_bps", "replies_lost_pkts", "probes_lost_pkts"),
    ("completion_ns",),
    ("rtt_p50_ns", "srtt_p50_us", "owd_p50_ns"),
    ("rtt_p99_ns", "srtt_p99_us", "owd_max_ns"),
    ("retransmissions_pkts", "sender_retransmissions_pkts", "rtt_min_ns", "owd_min_ns"),
    ("late_pkts",),
    ("spurious_retransmissions_pkts",),
    ("lost_queue_pkts", "loss_run_max_pkts"),
)
"""The groups of a flow's scalars for the top of the page, in order of preference. The page shows the first scalar of
each group that has a known value."""

FLOW_ROWS = (
    "congestion_control",
    "goodput_mean_bps",
    "connection_goodput_mean_bps",
    "goodput_acked_mean_bps",
    "goodput_sacked_mean_bps",
    "below_capacity_ratio",
    "srtt_p50_us",
    "srtt_p99_us",
    "rtt_min_ns",
    "rtt_mean_ns",
    "rtt_p50_ns",
    "rtt_p90_ns",
    "rtt_p99_ns",
    "rtt_p999_ns",
    "rtt_max_ns",
    "rtt_error_ns",
    "rtt_step_mean_ns",
    "share_ratio",
    "share_reason",
    "cwnd_p50_pkts",
    "sent_pkts",
    "retransmissions_pkts",
    "spurious_retransmissions_pkts",
    "dsacks_pkts",
    "data_drops_pkts",
    "delivered_ce_pkts",
    "received_ce_pkts",
    "late_pkts",
    "reordering_extent_max_pkts",
    "acks_late_pkts",
    "completion_ns",
    "payload_mean_bps",
    "payload_back_mean_bps",
    "probes_pkts",
    "probes_lost_pkts",
    "replies_lost_pkts",
    "replies_lost_near_changes_pkts",
    "loss_runs",
    "loss_run_max_pkts",
    "owd_min_ns",
    "owd_p50_ns",
    "owd_p99_ns",
    "owd_max_ns",
)
"""The scalars of a flow that come first in the tables, in this order."""

# Jain's index comes first, because it belongs to the flows' scalars above.
RUN_ROWS = ("fairness.jain_index", *(each.name for each in scalars.RUN if each.page and each not in FAIRNESS))
"""The scalars of the run that come after the flows' scalars."""


def first_numbers(runs: Sequence[Run]) -> str:
    """Return the HTML of the six most important numbers. For several runs, the numbers are in a table. If a run has TCP
    flows, its numbers cover only these flows: their sum if a sum makes sense (rates, packets), otherwise their median.
    """
    of_runs = [_first_of(run) for run in runs]
    # Labels of the first run come first, then labels that only other runs have.
    wanted = list(dict.fromkeys(label for numbers in of_runs for label in numbers))[:MOST_FIRST]
    if len(runs) > 1:
        rows = [_row(label, [numbers.get(label) for numbers in of_runs]) for label in wanted]
        return html.table("The numbers that matter most", ["", *labels(runs)], rows)
    return html.numbers(first_entries(runs[0]))


def first_entries(run: Run) -> list[tuple[str, str]]:
    """Return the most important numbers of a run as (label, text)."""
    entries = list(_first_of(run).items())[:MOST_FIRST]
    return [(f"{label}, {whose}" if whose else label, text) for label, (text, whose) in entries]


def _row(label: str, said: Sequence[tuple[str, str] | None]) -> list[object]:
    known = [each for each in said if each is not None]
    same = len({whose for _, whose in known}) == 1
    head = f"{label}, {known[0][1]}" if same and known[0][1] else label
    cells = [None if each is None else each[0] if same or not each[1] else f"{each[0]} ({each[1]})" for each in said]
    return [head, *cells]


def _first_of(run: Run) -> dict[str, tuple[str, str]]:
    """Return a dict from a number's label to its text and the flows that it covers, in order of importance."""
    # If there are TCP flows, the first section is about them; pings beside TCP flows are only probes.
    section = overview(run.summary)[0]
    known = {name for name, _ in section.rows}
    numbers = {}
    for group in FIRST:
        for name in group:
            label = scalars.FLOW_SCALARS[name].overview
            if label in known and (said := _said(section, label)) is not None:
                numbers[label] = said
                break
    return numbers


def _said(section: Section, label: str) -> tuple[str, str] | None:
    """Return a row's text for all flows of a section, and which flows it covers, or "" for a single flow."""
    if section.spread is None:
        text = dict(section.rows)[label][0]
        return None if text is None else (text, "")
    of_all = dict(zip(section.spread.columns, dict(section.spread.rows).get(label, ()), strict=False))
    if of_all.get("all") is not None:
        return str(of_all["all"]), f"all {len(section.columns)} flows"
    return None if of_all.get("median") is None else (str(of_all["median"]), "the median flow")


def summary_tables(runs: Sequence[Run]) -> str:
    """Return the HTML of tables with the scalars of each flow and of each run. Many flows are summarised first."""
    heads, columns = [], []
    for run, label in zip(runs, labels(runs), strict=True):
        for flow in run.summary["flows"]:
            several = len(run.summary["flows"]) > 1
            way = f"{flow['flow']}: {run.flow_names[flow['flow']]}" if several else run.flow_names[flow["flow"]]
            heads.append(f"{label}, {way}" if len(runs) > 1 and several else (label if len(runs) > 1 else way))
            columns.append(flow)
    each = _table(
        "Each flow, by number" if len(heads) > len(runs) else "Each flow",
        FLOW_ROWS, scalars.FLOW_SCALARS, heads, columns,
    )  # fmt: skip
    tables = _spread_tables(runs[0]) if len(runs) == 1 and len(heads) > MOST_LINES else ""
    tables += html.folded(f"All {len(heads)} flows", each) if len(heads) > MOST_LINES else each
    heads = list(labels(runs)) if len(runs) > 1 else [""]
    of_runs = _table("Each run", RUN_ROWS, scalars.RUN_SCALARS, heads, [run.summary for run in runs])
    return worded(runs, tables + of_runs)


def _table(
    caption: str, rows: Sequence[str], declared: Mapping[str, scalars.Scalar], heads: Sequence[str],
    columns: Sequence[Mapping[str, Any]],
) -> str:  # fmt: skip
    """Return the HTML of a table of scalars, without rows that are 0 in every column."""
    # A dozen rows of zeros would hide the few rows with other numbers. The caption says that the omitted scalars are 0,
    # and not unknown.
    zero = all_zero(rows, declared, columns)
    shown = [row for row in rows if row not in zero]
    if zero:
        caption += f". 0 in every column, and no row: {', '.join(zero.values())}"
    cells = scalar_rows(shown, declared, columns)
    return html.table(caption, ["", "unit", *heads], cells, left=frozenset((0, 1)))


def _spread_tables(run: Run) -> str:
    tables = ""
    for section in overview(run.summary):
        few = section
        if section.spread is not None and len(section.columns) > MOST_LINES:
            title = f"{section.title}: {len(section.columns)} flows, each quantity by itself"
            tables += html.section_table(replace(section.spread, title=title))
            few = section.ends()
        if section.spread is not None:
            tables += html.section_table(few)
    return tables
