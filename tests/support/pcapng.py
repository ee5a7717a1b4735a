# SPDX-License-Identifier: Apache-2.0
"""Reads the frames of a pcapng file of the form that the agent writes: one section, little-endian, timestamps in ns."""

import struct
from collections.abc import Iterator

ENHANCED_PACKET = 6


def frames(content: bytes) -> Iterator[tuple[int, bytes]]:
    """For each frame, its timestamp and its captured bytes."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == ENHANCED_PACKET:
            high, low, captured = struct.unpack_from("<III", content, at + 12)
            yield high << 32 | low, content[at + 28 : at + 28 + captured]
        at += length
