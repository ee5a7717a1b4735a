# SPDX-License-Identifier: Apache-2.0
"""Large tables of several runs in memory: the oldest are released, and read again when they are next asked for.

Two runs of 5.9 million packets, side by side on a page, would else take twice the memory of one.
"""

from __future__ import annotations

import weakref
from typing import Any

FEW_ROWS = 1 << 16
"""A table with fewer rows is always kept."""

MOST_ROWS = 1 << 22
"""Rows of larger tables that several runs may have in memory together, some 300 MB; one run may have more."""

_held: list[tuple[weakref.ref[Any], str, int]] = []


def make_room(tables: Any, name: str, rows: int) -> None:
    """Release large tables of other runs, the oldest first, before one is read.

    tables: Has the method `release(name)`.
    name, rows: The table that is about to be read.
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
            # `remove` would compare the runs behind equal references, value by value.
            _held[:] = [each for each in _held if each is not entry]
    _held.append((weakref.ref(tables), name, rows))
