# SPDX-License-Identifier: Apache-2.0
"""Makes Python collect cyclic garbage less often while a run is made.

A run creates hundreds of thousands of objects (examples: names and events of 17,636 directions of links, scalars of
1,000 flows). Almost none of these objects is part of a reference cycle.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 500_000
"""The garbage collector scans the youngest generation after this many new container objects. Python's default threshold
is 700 objects (2,000 since Python 3.13)."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Collect cyclic garbage only once per `OBJECTS` new containers within this context or decorated function.

    At the end of the context, the previous threshold is restored, because the user's program may have set it.

    >>> with rarely_collected():
    ...     gc.get_threshold()[0]
    500000
    """
    before = gc.get_threshold()
    # A threshold of 0 turns the collector off. If a user's program has set 0, the collector stays off.
    gc.set_threshold(max(before[0], OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
