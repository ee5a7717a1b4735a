# SPDX-License-Identifier: Apache-2.0
"""Limit the memory for large tables of several runs. Above the limit, the oldest tables are removed from memory. They
are read again when they are needed.

Without this limit, a page with two runs of 5.9 million packets each would take twice the memory of a page with one.
"""

from __future__ import annotations

import weakref
from typing import Any

FEW_ROWS = 1 << 16
"""The number of rows below which a table always stays in memory."""

MOST_ROWS = 1 << 22
"""In memory, the large tables of all runs together may have this number of rows (about 300 MB). The large tables of a
single run may have more rows than this."""

_held: list[tuple[weakref.ref[Any], str, int]] = []


def make_room(tables: Any, name: str, rows: int) -> None:
    """Before a large table is read, release large tables of other runs, the oldest first.

    tables: The run's tables. The object must have a method `release(name)`.
    name, rows: The name and the number of rows of the table that will be read next.
    """
    if rows < FEW_ROWS:
        return
    _held[:] = [entry for entry in _held if entry[0]() is not None]
    for entry in list(_held):
        other = entry[0]()
        if rows + sum(count for _, _, count in _held) <= MOST_ROWS:
            break
        if other is not None and other is not tables:
            other.release(entry[1])
            # `_held.remove` would compare the runs' values, so the entry is found by its identity.
            _held[:] = [each for each in _held if each is not entry]
    _held.append((weakref.ref(tables), name, rows))
