# SPDX-License-Identifier: Apache-2.0
"""Python's search for cyclic garbage, made rare while a run is made.

The collector searches all objects again and again as their number grows. A run creates hundreds of thousands of
objects, almost none of them in a cycle: names and events of 17,636 directions of links, scalars of 1,000 flows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000
"""Number of new containers after which the collector searches the youngest; Python's default is 700 (2,000 since
3.13)."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """A context manager, and also a decorator, within which cyclic garbage is searched once in `OBJECTS` new
    containers.

    The former setting is restored afterwards, so that a user's own program keeps its setting.

    >>> with rarely_collected():
    ...     gc.get_threshold()[0]
    100000
    """
    before = gc.get_threshold()
    # 0 means "never", which the user has chosen.
    gc.set_threshold(max(before[0], OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
