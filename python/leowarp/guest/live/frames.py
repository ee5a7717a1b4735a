# SPDX-License-Identifier: Apache-2.0
"""The messages between host and agent about connections (design/interfaces.md, section 4).

`crates/agent/src/live/frame.rs` implements the agent's side of this protocol. A connection has two streams. For
connection n, stream 2n belongs to the end that opened the connection. Stream 2n + 1 belongs to the other end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

FRAME = struct.Struct("<IIq")
"""The fields of a frame: its kind, the number of its connection or stream, and a value."""
WINDOW_BYTES = 128 << 10
"""The maximum number of bytes in flight between host and guest, for each direction of a stream. At 512 Mbit/s, two
steps of the clock (2 ms) are enough to send them. With a larger limit, a program on the host could write far more than
the guest's TCP has accepted."""


class Told(IntEnum):
    """The kinds of frames that the agent sends."""

    CONNECTED = 1
    """The requesting end has established the connection. The value is the virtual time in ns since the connection's
    first segment."""
    FAILED = 2
    """The connection could not be established. The value is the errno."""
    ACCEPTED = 3
    """A connection is established at the end that accepted it."""
    DATA = 4
    """After this frame, `value` bytes of the stream's data follow."""
    CREDIT = 5
    """The guest has passed `value` bytes of the stream to its TCP. The host may send `value` more bytes."""
    END = 6
    """The stream has ended."""
    RESET = 7
    """The stream was cut off. The value is the errno."""


class Tell(IntEnum):
    """The kinds of frames that the host sends."""

    OPEN = 1
    """Begin a connection. With the value 1, the destination accepts the connection. With 0, it refuses the
    connection."""
    DATA = 2
    """The next file in `in/live/` has `value` bytes of the stream."""
    CREDIT = 3
    """The guest may send `value` further bytes of the stream."""
    END = 4
    """The stream has ended."""
    RESET = 5
    """The program on this machine has closed its socket."""
    SPARE = 6
    """The guest need not wait at the `value` steps after the next one, because real time has already passed them."""


@dataclass(frozen=True)
class Frame:
    """A frame from the agent. Only `DATA` has `bytes`."""

    kind: Told
    number: int
    value: int
    bytes: bytes = b""


class Frames:
    """Splits the agent's output into frames."""

    def __init__(self) -> None:
        self._left = bytearray()

    def of(self, piece: bytes) -> Iterator[Frame]:
        """Yield the frames completed by `piece`. Bytes of an incomplete frame are buffered for the next call."""
        self._left += piece
        while len(self._left) >= FRAME.size:
            kind, number, value = FRAME.unpack_from(self._left)
            end = FRAME.size + (value if kind == Told.DATA else 0)
            if len(self._left) < end:
                return
            frame = Frame(Told(kind), number, value, bytes(self._left[FRAME.size : end]))
            del self._left[:end]
            yield frame
