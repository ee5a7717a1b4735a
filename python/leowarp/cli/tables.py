# SPDX-License-Identifier: Apache-2.0
"""Runs as tables on stdout: the few numbers that a paper would have, or all scalars by what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leowarp import scalars
from leowarp.cli.output import print_table

if TYPE_CHECKING:
    from leowarp.overview import Section

MOST_COLUMNS = 6
"""With more flows, or runs, than this beside each other a table is turned: each is a row."""


def print_sections(sections: Sequence[Section]) -> None:
    """The sections of an overview below each other."""
    for section in sections:
        if len(section.columns) <= MOST_COLUMNS:
            print_table(section.title, ("", *section.columns), [(name, *values) for name, values in section.rows])
        else:
            turned = zip(section.columns, *(values for _, values in section.rows), strict=True)
            heads = [name.strip() for name, _ in section.rows]
            print_table(section.title, ("", *heads), turned)


def print_scalars(summary: dict[str, Any], *, nulls: bool) -> None:
    """All scalars of a summary under their own names, in groups; one column a flow.

    Parameters
    ----------
    nulls : bool
        Also those that are null of every flow.
    """
    _print_groups("Run", ("value",), scalars.RUN, [scalars.flat(summary)], nulls=nulls)
    flows = summary["flows"]
    for kind in dict.fromkeys(flow.get("kind") for flow in flows):
        mine = [flow for flow in flows if flow.get("kind") == kind]
        for first in range(0, len(mine), MOST_COLUMNS):
            few = mine[first : first + MOST_COLUMNS]
            names = tuple(f"flow {flow.get('flow', 0)}" for flow in few)
            title = "Flows" if kind is None else f"Flows ({kind})"
            declared = scalars.of_kind(kind)
            _print_groups(title, names, declared, [scalars.flat(flow) for flow in few], nulls=nulls)


def _print_groups(
    title: str,
    columns: Sequence[str],
    declared: scalars.Section,
    values: Sequence[dict[str, Any]],
    *,
    nulls: bool,
) -> None:
    """One table: a line with each group's name, then its scalars, in the order of their declaration.

    What is not declared was written by another version of leowarp and stands below, under "other".
    """
    groups: dict[str, str] = {}
    for scalar in declared:
        # An object of which nothing is known is one null under its own name.
        groups.setdefault(scalar.name.partition(".")[0], scalar.group)
        groups[scalar.name] = scalar.group
    written = list(dict.fromkeys(name for summary in values for name in summary if name != "flow"))
    names = [*(name for name in groups if name in written), *(name for name in written if name not in groups)]
    kept = [name for name in names if nulls or any(summary.get(name) is not None for summary in values)]
    rows: list[tuple[str | None, ...]] = []
    for group in (*scalars.Group, _OTHER):
        mine = [name for name in kept if groups.get(name, _OTHER) == group]
        if mine:
            rows.append((group, *("" for _ in columns)))
            rows += [(f"  {name}", *(_text(summary.get(name)) for summary in values)) for name in mine]
    print_table(title, ("", *columns), rows)


def _text(value: Any) -> str | None:
    """Whole numbers with separators, others with six digits; large ones not as powers of ten."""
    if isinstance(value, float):
        # From 1e6 on %g would write a power of ten.
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return None if value is None else str(value)


_OTHER = "other"
