# SPDX-License-Identifier: Apache-2.0
"""Everything that happens to the network, as events: the building blocks of every medium's timeline, and its contents.
The guest gets no other information."""

from leowarp.timeline.description import describe, warnings_of
from leowarp.timeline.events import Events, LinkKind
from leowarp.timeline.files import read_table, write_table
from leowarp.timeline.replay import Replay, replayed

__all__ = [
    "Events",
    "LinkKind",
    "Replay",
    "describe",
    "read_table",
    "replayed",
    "warnings_of",
    "write_table",
]
