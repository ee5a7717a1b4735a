# SPDX-License-Identifier: Apache-2.0
"""Make the rows of a page's tables from a summary's scalars. The declaration of a scalar contains its words, unit and
scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leowarp import scalars

Row = str | tuple[str, str]
"""A row of the table: the name of a scalar, or (name, words). The given words are used instead of the words in the
scalar's declaration. The declared words may refer to the scalar in the row above. If the table has a different scalar
in the row above, other words are needed."""


def scalar_rows(
    rows: Sequence[Row], declared: Mapping[str, scalars.Scalar], columns: Sequence[Mapping[str, Any]], *,
    unknown: bool = False,
) -> list[list[object]]:  # fmt: skip
    """Return the cells of each row. A row has a text, the unit, and one value in this unit for each column.

    columns: The summaries of runs or of flows.
    unknown: Whether rows are included in which all values are unknown.
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
    """Return the names and words of the rows whose known values are all 0. Rows without a known value are left out."""
    flat = [scalars.flat(column) for column in columns]
    zero = {}
    for name in rows:
        known = [column[name] for column in flat if column.get(name) is not None]
        if known and all(not isinstance(value, str) and value == 0 for value in known):
            zero[name] = declared[name].page or name
    return zero


def _scaled(value: Any, size: float) -> object:
    return value if value is None or isinstance(value, str) or size == 1 else float(value) / size
