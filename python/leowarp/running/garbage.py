# SPDX-License-Identifier: Apache-2.0
"""Postpones Python's cyclic garbage collection while a run is made.

As the number of objects grows, the collector scans all objects again and again. A run creates hundreds of thousands of
objects, of which almost none is in a cycle: names and events of 17,636 directions of links, scalars of 1,000 flows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 500_000
"""Number of new containers after which the collector scans the youngest generation; Python's default is 700 (2,000
since 3.13)."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Context in which cyclic garbage is collected once per `OBJECTS` new containers; usable as a decorator.

    The previous setting is restored afterwards, because the user's program may have set its own.

    >>> with rarely_collected():
    ...     gc.get_threshold()[0]
    500000
    """
    before = gc.get_threshold()
    # The threshold 0 turns the collector off; a user who set it did so on purpose.
    gc.set_threshold(max(before[0], OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
