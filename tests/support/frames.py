# SPDX-License-Identifier: Apache-2.0
"""Make frames for captures that tests write. There are several link layers and encapsulations, and packets in both
directions."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.captures import A, B

ETHERNET, COOKED, CAN = 1, 113, 227
SYN, ACK = 2, 16


@dataclass(frozen=True)
class Frame:
    """A frame of a capture: its time, its bytes, its link type, and the number of captured bytes."""

    t_ns: int
    data: bytes
    link_type: int = ETHERNET
    captured_bytes: int | None = None

    def kept(self) -> bytes:
        """Return the bytes of the frame that the capture contains."""
        return self.data[: self.captured_bytes]


def pcap_file(path: Path, frames: Sequence[Frame], link_type: int = ETHERNET) -> Path:
    """Write a pcap file with times in ns, for frames of one link type."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, link_type)]
    for frame in frames:
        seconds, rest_ns = divmod(frame.t_ns, 10**9)
        kept = frame.kept()
        parts.append(struct.pack("<IIII", seconds, rest_ns, len(kept), len(frame.data)) + kept)
    path.write_bytes(b"".join(parts))
    return path


def pcapng_file(path: Path, frames: Sequence[Frame]) -> Path:
    """Write a pcapng file with times in ns, and with one interface per link type."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + length + body + length

    kinds = list(dict.fromkeys(frame.link_type for frame in frames))
    parts = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    # Option 9 of a pcapng interface is the resolution of times, here 10^-9 s
    parts += [block(1, struct.pack("<HHIHHB3xI", kind, 0, 0, 9, 1, 9, 0)) for kind in kinds]
    for frame in frames:
        high, low = divmod(frame.t_ns, 2**32)
        kept = frame.kept()
        head = struct.pack("<IIIII", kinds.index(frame.link_type), high, low, len(kept), len(frame.data))
        parts.append(block(6, head + kept))
    path.write_bytes(b"".join(parts))
    return path


def ethernet(payload: bytes, kind: int = 0x0800) -> bytes:
    """Return an Ethernet frame with an ethertype."""
    return bytes([2] * 12) + struct.pack(">H", kind) + payload


def pppoe(ip: bytes) -> bytes:
    """Return an IPv4 packet in PPPoE (RFC 2516), within an Ethernet frame."""
    return ethernet(struct.pack(">BBHHH", 0x11, 0, 7, len(ip) + 2, 0x0021) + ip, 0x8864)


def ip(protocol: int, payload: bytes, *, is_answer: bool = False, hops: int = 64, ip_id: int = 0) -> bytes:
    """Return an IPv4 packet from 10.0.0.1 to 10.0.0.2, or in the opposite direction if `is_answer`."""
    ends = B + A if is_answer else A + B
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), ip_id, 0, hops, protocol, 0) + ends + payload


def echo(number: int, *, is_reply: bool = False, hops: int = 64) -> bytes:
    """Return an ICMP echo request with 32 bytes of data, or the reply to it."""
    message = struct.pack(">BBHHH", 0 if is_reply else 8, 0, 0, 7, number) + bytes(32)
    return ip(1, message, is_answer=is_reply, hops=hops)


def tcp(
    seq: int, len_bytes: int, *, stamp: int | None = None, flags: int = ACK, ip_id: int = 0, is_answer: bool = False,
    ack: int = 1,
) -> bytes:  # fmt: skip
    """Return a TCP segment of a flow. If `is_answer`, the flow's receiver sends it, otherwise the flow's sender."""
    ports = (6000, 5000) if is_answer else (5000, 6000)
    options = b"" if stamp is None else struct.pack(">BBBBII", 1, 1, 8, 10, stamp, 0)
    header = struct.pack(">HHIIBBHHH", *ports, seq, ack, (20 + len(options)) // 4 << 4, flags, 65_535, 0, 0)
    return ip(6, header + options + bytes(len_bytes), is_answer=is_answer, ip_id=ip_id)


def apart(packets: Sequence[bytes], apart_ns: int = 1_000_000) -> list[Frame]:
    """Return IPv4 packets in Ethernet frames."""
    return [Frame(number * apart_ns, ethernet(packet)) for number, packet in enumerate(packets)]
