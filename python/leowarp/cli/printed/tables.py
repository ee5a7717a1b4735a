# SPDX-License-Identifier: Apache-2.0
"""Prints runs as tables: either the few numbers that a paper would have, or all scalars by subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leowarp import scalars
from leowarp.base.flownames import FlowKey, named
from leowarp.cli.output import fitting, print_table, say, scalar_text
from leowarp.scalars.overview import Section

MOST_COLUMNS = 6
"""If there are at most this many flows or runs, each has its own column. Columns that do not fit side by side are
printed in further tables below the first. More than six columns are printed only if they fit side by side."""

SHOWN = 3
"""If there are too many flows, the tables contain only some. They have this many of the worst flows, and as many of the
best flows."""


def print_sections(sections: Sequence[Section], *, rest: str = "") -> None:
    """Print the sections of an overview below each other.

    rest: A text that tells the user where to find the flows that are not printed.
    """
    for section in sections:
        names = [name for name, _ in section.rows]
        count = len(section.columns)
        fit = count <= MOST_COLUMNS or fitting(names, section.columns, _columns(section)) == count
        if section.spread is None or fit:
            _print_blocks(section)
        else:
            _print_spread(section, section.spread, rest)


def _columns(section: Section) -> list[tuple[str | None, ...]]:
    return list(zip(*(values for _, values in section.rows), strict=True)) or [() for _ in section.columns]


def _print_blocks(section: Section) -> None:
    names, columns = [name for name, _ in section.rows], _columns(section)
    first = 0
    while first < len(columns):
        count = fitting(names, section.columns[first:], columns[first:])
        # Columns are distributed evenly: a table of four columns and a table of one would look unbalanced.
        blocks = -(-(len(columns) - first) // count)
        count = -(-(len(columns) - first) // blocks)
        few = section.of(section.title, range(first, first + count))
        print_table(few.title, ("", *few.columns), [(name, *values) for name, values in few.rows])
        first += count


def _print_spread(section: Section, spread: Section, rest: str) -> None:
    """First, print the sums and quantiles over all flows. Then print the worst and the best flows, and the text
    `rest`."""
    count = len(section.columns)
    names = [name for name, _ in spread.rows]
    places = list(range(len(spread.columns)))
    # If there is not enough space, the columns with the first and ninth decile are left out first.
    if fitting(names, spread.columns, _columns(spread)) < len(places):
        places = [place for place in places if spread.columns[place] not in ("10 %", "90 %")]
    _print_blocks(spread.of(f"{spread.title}: {count} flows, each quantity by itself", places))
    worst, best = section.ranked[:SHOWN], section.ranked[: -SHOWN - 1 : -1]
    _print_blocks(section.of(f"{section.title}: worst {SHOWN} by {section.ranked_by}", worst))
    _print_blocks(section.of(f"{section.title}: best {SHOWN} by {section.ranked_by}", best))
    say(f"The other {count - 2 * SHOWN} flows{': ' + rest if rest else ' are not shown'}\n")


def print_scalars(summary: dict[str, Any], *, nulls: bool) -> None:
    """Print all scalars of a summary under their own names, in groups, with one column per flow. With `nulls`, print
    also scalars that are null for all flows."""
    _print_groups("Run", ("value",), scalars.RUN, [scalars.flat(summary)], nulls=nulls)
    flows = summary["flows"]
    # A flow's header has its name and its number, because older summaries and the trace's tables identify flows only by
    # number.
    names = {key.number: named(key) for key in (FlowKey.of_summary(flow) for flow in flows)}
    # Each kind of flow has its own table, because TCP flows and probes have few scalars in common and a common table
    # would be half empty.
    for kind in dict.fromkeys(flow.get("kind") for flow in flows):
        mine = [flow for flow in flows if flow.get("kind") == kind]
        for first in range(0, len(mine), MOST_COLUMNS):
            few = mine[first : first + MOST_COLUMNS]
            title = "Flows" if kind is None else f"Flows ({kind})"
            declared = scalars.of_kind(kind)
            few_names = tuple(names[flow.get("flow", 0)] for flow in few)
            _print_groups(title, few_names, declared, [scalars.flat(flow) for flow in few], nulls=nulls)


def _print_groups(
    title: str,
    columns: Sequence[str],
    declared: scalars.Section,
    values: Sequence[dict[str, Any]],
    *,
    nulls: bool,
) -> None:
    """Print one table. The name of each group has its own line. The group's scalars follow in the order of their
    declaration. A scalar without a declaration comes from another version of leowarp, and is printed under "other"."""
    groups: dict[str, str] = {}
    for scalar in declared:
        # If an object has no known values, the summary has a single null under the object's name.
        groups.setdefault(scalar.name.partition(".")[0], scalar.group)
        groups[scalar.name] = scalar.group
    # The printed rows are the scalars in the summaries, not all declared scalars. A scalar that this version does not
    # declare is therefore printed too. A declared scalar that no summary contains gets no row of dashes.
    written = list(dict.fromkeys(name for summary in values for name in summary if name != "flow"))
    names = [*(name for name in groups if name in written), *(name for name in written if name not in groups)]
    kept = [name for name in names if nulls or any(summary.get(name) is not None for summary in values)]
    rows: list[tuple[str | None, ...]] = []
    for group in (*scalars.Group, _OTHER):
        mine = [name for name in kept if groups.get(name, _OTHER) == group]
        if mine:
            rows.append((group, *("" for _ in columns)))
            rows += [(f"  {name}", *(scalar_text(summary.get(name)) for summary in values)) for name in mine]
    _print_blocks(Section(title, tuple(columns), tuple((name or "", tuple(texts)) for name, *texts in rows)))


_OTHER = "other"
