# SPDX-License-Identifier: Apache-2.0
"""Python's search for cyclic garbage, put off while a run is made.

The collector looks through all objects again and again as their number grows. A run makes them by the hundred thousand,
hardly one of them in a cycle: names and events of 17,636 directions of links, scalars of 1,000 flows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000
"""New containers after which the collector looks at the youngest; Python's default is 700 (2,000 since 3.13)."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Within it, garbage in cycles is looked for once in `OBJECTS` new containers; also a decorator.

    The former setting holds again afterwards: a user's own program has its own collector.

    >>> with rarely_collected():
    ...     gc.get_threshold()[0]
    100000
    """
    before = gc.get_threshold()
    # 0 is "never", which somebody wanted.
    gc.set_threshold(max(before[0], OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
