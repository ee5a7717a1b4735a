# SPDX-License-Identifier: Apache-2.0
"""Messages of host and agent about connections (design/interfaces.md, section 4).

`crates/agent/src/live/frame.rs` is the other half. A connection has two streams: 2 x its number is that of the end
where it began, + 1 of the end where it was accepted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

FRAME = struct.Struct("<IIq")
"""Kind, number of a connection or a stream, value."""
WINDOW_BYTES = 128 << 10
"""Most bytes in flight between host and guest for one stream, each way: two steps of the clock at 512 Mbit/s. More
would let a program outside write far ahead of the guest's TCP."""


class Told(IntEnum):
    """Kinds of the agent's frames."""

    CONNECTED = 1
    """A connection stands where it began; value: virtual ns since its first segment."""
    FAILED = 2
    """It does not come to be; value: errno."""
    ACCEPTED = 3
    """It is established at its far end."""
    DATA = 4
    """This number of bytes of a stream follow."""
    CREDIT = 5
    """This number of bytes of this stream have been handed to TCP: as many more may be sent."""
    END = 6
    """Nothing more comes from this stream."""
    RESET = 7
    """It was cut off; value: errno."""


class Tell(IntEnum):
    """Kinds of the host's frames."""

    OPEN = 1
    """A connection is to begin; value 1: the program at its far end takes it, 0: it is to be refused there."""
    DATA = 2
    """The next file of bytes is for this stream; value: how many."""
    CREDIT = 3
    """This number of further bytes may come from this stream."""
    END = 4
    """Nothing more comes for this stream."""
    RESET = 5
    """The program outside has gone."""
    SPARE = 6
    """After the next step this number of further ones lie in the past: the guest does not wait at them."""


@dataclass(frozen=True)
class Frame:
    """One of the agent's; `bytes` belong to `DATA` alone."""

    kind: Told
    number: int
    value: int
    bytes: bytes = b""


class Frames:
    """Cuts what comes from the agent into frames."""

    def __init__(self) -> None:
        self._left = bytearray()

    def of(self, piece: bytes) -> Iterator[Frame]:
        """Those that are whole with `piece`; what is left waits for the next."""
        self._left += piece
        while len(self._left) >= FRAME.size:
            kind, number, value = FRAME.unpack_from(self._left)
            end = FRAME.size + (value if kind == Told.DATA else 0)
            if len(self._left) < end:
                return
            frame = Frame(Told(kind), number, value, bytes(self._left[FRAME.size : end]))
            del self._left[:end]
            yield frame
