# SPDX-License-Identifier: Apache-2.0
"""Read the frames of a pcapng file as the agent writes it: one section, little-endian, timestamps in ns."""

import struct
from collections.abc import Iterator

ENHANCED_PACKET = 6


def frames(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the timestamp and the captured bytes of each frame."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == ENHANCED_PACKET:
            high, low, captured = struct.unpack_from("<III", content, at + 12)
            yield high << 32 | low, content[at + 28 : at + 28 + captured]
        at += length
