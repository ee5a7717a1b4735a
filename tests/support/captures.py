# SPDX-License-Identifier: Apache-2.0
"""Small captures for tests."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

A, B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])


def write_pcap(
    path: Path, packets: Sequence[bytes], *, apart_ns: int = 1_000_000, times_ns: Sequence[int] | None = None
) -> Path:
    """Write IPv4 packets to a pcap file, with times in ns. The time of packet k is `times_ns[k]`, or by default k *
    `apart_ns`."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)]
    for t_ns, packet in zip(times_ns or range(0, len(packets) * apart_ns, apart_ns), packets, strict=True):
        seconds, rest_ns = divmod(t_ns, 10**9)
        parts.append(struct.pack("<IIII", seconds, rest_ns, len(packet), len(packet)) + packet)
    path.write_bytes(b"".join(parts))
    return path


def ipv4(protocol: int, payload: bytes) -> bytes:
    """Return an IPv4 packet from 10.0.0.1 to 10.0.0.2."""
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + A + B + payload


def echoes(numbers: Sequence[int], identifier: int = 7) -> list[bytes]:
    """Return ICMP echo requests with 32 bytes of data."""
    return [ipv4(1, struct.pack(">BBHHH", 8, 0, 0, identifier, number) + bytes(32)) for number in numbers]


def datagrams(numbers: Sequence[int], layout: str = ">4xI") -> list[bytes]:
    """Return UDP datagrams, each with its number in the payload. `layout` is the format of the payload, as for Python's
    `struct`."""
    payloads = [struct.pack(layout, number) for number in numbers]
    return [ipv4(17, struct.pack(">HHHH", 5000, 6000, 8 + len(payload), 0) + payload) for payload in payloads]


def segment(seq: int, len_bytes: int, *, stamp: int = 0, is_syn: bool = False) -> bytes:
    """Return a TCP segment with a timestamp (RFC 7323, 3: kind 8, after two bytes of padding)."""
    flags = 2 if is_syn else 16
    header = struct.pack(">HHIIBBHHH", 5000, 6000, seq, 0, 8 << 4, flags, 65535, 0, 0)
    return ipv4(6, header + struct.pack(">BBBBII", 1, 1, 8, 10, stamp, 0) + bytes(len_bytes))
