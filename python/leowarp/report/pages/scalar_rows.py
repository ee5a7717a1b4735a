# SPDX-License-Identifier: Apache-2.0
"""Scalars of a summary as rows of a page's tables, with their declared words, units and scales.

Each table chooses its scalars and their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leowarp import scalars

Row = str | tuple[str, str]
"""A scalar's name; or the name with other words than the declared ones, for a row that stands below another row than
there."""


def scalar_rows(
    rows: Sequence[Row],
    declared: Mapping[str, scalars.Scalar],
    columns: Sequence[Mapping[str, Any]],
    *,
    unknown: bool = False,
) -> list[list[object]]:
    """Cells of each row: words, unit, and each column's value in that unit.

    declared: `scalars.RUN_SCALARS` or `scalars.FLOW_SCALARS`.
    columns: Summaries of runs or of flows.
    unknown: Whether to include rows that are unknown in every column.
    """
    flat = [scalars.flat(column) for column in columns]
    lines: list[list[object]] = []
    for row in rows:
        name, words = row if isinstance(row, tuple) else (row, declared[row].page)
        assert words is not None, f"no page shows {name}, as it is declared"
        values = [column.get(name) for column in flat]
        if unknown or any(value is not None for value in values):
            unit = declared[name].unit
            lines.append([words, unit.shown, *(_scaled(value, unit.size) for value in values)])
    return lines


def all_zero(
    rows: Sequence[str], declared: Mapping[str, scalars.Scalar], columns: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Rows that are 0 in every column in which they are known, and known in at least one: name to words.

    rows: Names of declared scalars.
    declared, columns: As in `scalar_rows`.
    """
    flat = [scalars.flat(column) for column in columns]
    zero = {}
    for name in rows:
        known = [column[name] for column in flat if column.get(name) is not None]
        if known and all(not isinstance(value, str) and value == 0 for value in known):
            zero[name] = declared[name].page or name
    return zero


def _scaled(value: Any, size: float) -> object:
    return value if value is None or isinstance(value, str) or size == 1 else float(value) / size
