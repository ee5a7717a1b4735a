# SPDX-License-Identifier: Apache-2.0
"""Read TCP segments from a packet capture: pcap or pcapng, in either byte order, IPv4 and IPv6.

References: draft-ietf-opsawg-pcap-05, draft-ietf-opsawg-pcapng-03, RFC 9293 (TCP), RFC 791, RFC 8200.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import TraceError


@dataclass(frozen=True)
class Segment:
    """A TCP segment in a capture.

    t_ns: The time on the capture's own clock, in the resolution of the file.
    source, destination: (bytes, int). The address in network byte order (4 or 16 bytes), and the port.
    seq, ack, flags: The values of the TCP header (RFC 9293, 3.1).
    len_bytes: The length of the payload, computed from the lengths in the headers. Bytes that were cut off by the
        capture's snap length are included.
    ip_id: The identification of IPv4, or 0 for IPv6, which has none.
    """

    t_ns: int
    source: tuple[bytes, int]
    destination: tuple[bytes, int]
    seq: int
    ack: int
    flags: int
    len_bytes: int
    ip_id: int


def segments(path: Path | str) -> Iterator[Segment]:
    """Yield the TCP segments of a capture, in the order of the file. Packets without TCP are skipped.

    Raises TraceError if the file is not a capture, is cut off, or has an unknown link layer. The message names the
        file.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TraceError(f"cannot read the capture {path}: {error.strerror}") from error
    try:
        # A generator reads a frame only when the caller requests the next segment. Errors are therefore raised while
        # the caller iterates.
        for t_ns, link_type, frame in _frames(content):
            segment = _segment(t_ns, link_type, frame)
            if segment is not None:
                yield segment
    except _MalformedError as error:
        raise TraceError(
            f"cannot read the capture {path}: {error}", hint="was it copied while it was written?"
        ) from error
    except struct.error as error:
        raise TraceError(f"cannot read the capture {path}: it ends inside a header ({error})") from error


class _MalformedError(Exception):
    """An error for a file whose content contradicts its format."""


def _frames(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the time (ns), link type and bytes of each captured frame of a pcap or pcapng file."""
    magic = content[:4]
    # The type of a section header is a palindrome (0A 0D 0D 0A), so both byte orders give the same bytes.
    if magic == _SECTION.to_bytes(4, "little"):
        yield from _pcapng(content)
    elif magic in _PCAP:
        yield from _pcap(content, *_PCAP[magic])
    else:
        raise _MalformedError(f"it is neither pcap nor pcapng (first bytes: {magic!r})")


def _pcap(content: bytes, order: str, unit_ns: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the frames of a pcap file: after a header of 24 bytes, records with a header of 16 bytes.

    order: The byte order as a character of the module `struct`.
    unit_ns: The unit of the fraction of a second in the records.
    """
    # The upper 16 bits of the field also contain the length of a frame check sequence (draft-ietf-opsawg-pcap).
    link_type = struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF
    at = 24
    while at < len(content):
        seconds, fraction, captured, _ = struct.unpack_from(order + "IIII", content, at)
        at += 16
        yield seconds * 10**9 + fraction * unit_ns, link_type, _slice(content, at, captured)
        at += captured


def _pcapng(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the frames of a pcapng file. Each section has its own byte order and its own interfaces.

    Blocks of other types (names, statistics, and simple packets, which have no time) are skipped.
    """
    at, order = 0, "<"
    interfaces: list[tuple[int, int, int]] = []
    while at < len(content):
        kind = struct.unpack_from(order + "I", content, at)[0]
        if kind == _SECTION:
            order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(content[at + 8 : at + 12], "")
            if not order:
                raise _MalformedError(f"the section at byte {at} has no byte-order magic")
            # In each section, the numbers of interfaces start again from 0 (draft-ietf-opsawg-pcapng, 4.2).
            interfaces = []
        # In a section header, the magic number is read before the length, because it determines the byte order of the
        # length.
        length = struct.unpack_from(order + "I", content, at + 4)[0]
        # A length below 12 is rejected, because with a block of length 0, reading would never end.
        if length < 12 or length % 4:
            raise _MalformedError(f"the block at byte {at} says it is {length} bytes long")
        body = _slice(content, at + 8, length - 12)
        if kind == _INTERFACE:
            interfaces.append(_interface(order, body))
        elif kind == _ENHANCED:
            number, high, low, captured, _ = struct.unpack_from(order + "IIIII", body)
            if number >= len(interfaces):
                raise _MalformedError(f"the packet at byte {at} is of interface {number}, which was never described")
            link_type, per_second, offset_s = interfaces[number]
            ticks = high << 32 | low
            t_ns = offset_s * 10**9 + ticks * 10**9 // per_second
            yield t_ns, link_type, _slice(body, 20, captured)
        at += length


def _interface(order: str, body: bytes) -> tuple[int, int, int]:
    """Return the link type of an interface, its clock ticks per second, and the offset of its clock in seconds.

    Raises _MalformedError if an option extends beyond the block.
    """
    link_type = struct.unpack_from(order + "H", body)[0]
    # If the option if_tsresol is missing, times are in microseconds (pcapng, 4.2).
    per_second, offset_s, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        value = _slice(body, at + 4, length)
        if code == 0:
            break
        if code == _TSRESOL and length == 1:
            # If the highest bit is set, the resolution is a power of two instead of ten (pcapng, 4.2).
            per_second = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _TSOFFSET and length == 8:
            offset_s = struct.unpack(order + "q", value)[0]
        # Options are padded to 32 bits. The length in an option's header does not include the padding.
        at += 4 + length + (-length % 4)
    return link_type, per_second, offset_s


def _segment(t_ns: int, link_type: int, frame: bytes) -> Segment | None:
    """Return the TCP segment in a frame. The result is None without TCP, and for a later fragment of an IP packet.

    The length of the payload is the total length minus the lengths of both headers (RFC 791, 3.1; RFC 8200, 3; RFC
    9293, 3.1). Packets with IPv6 extension headers are skipped.
    """
    packet = _ip_packet(link_type, frame)
    if not packet:
        return None
    version = packet[0] >> 4
    if version == 4 and len(packet) >= 20:
        header, protocol, total = (packet[0] & 0xF) * 4, packet[9], int.from_bytes(packet[2:4], "big")
        ip_id, source, destination = int.from_bytes(packet[4:6], "big"), packet[12:16], packet[16:20]
        if int.from_bytes(packet[6:8], "big") & 0x1FFF:
            # Only the first fragment of an IP packet has a TCP header.
            return None
        if total == 0 and protocol == 6:
            # Linux writes the length 0 if several packets were joined and their length does not fit into 16 bits (BIG
            # TCP).
            raise _MalformedError(f"the packet at {t_ns} ns is longer than its header can say: its total length is 0")
    elif version == 6 and len(packet) >= 40:
        header, protocol, total, ip_id = 40, packet[6], 40 + int.from_bytes(packet[4:6], "big"), 0
        source, destination = packet[8:24], packet[24:40]
    else:
        return None
    if protocol != 6 or len(packet) < header + 20:
        return None
    ports, seq, ack, offset, flags = packet[header : header + 4], *struct.unpack_from("!IIBB", packet, header + 4)
    return Segment(
        t_ns=t_ns,
        source=(source, int.from_bytes(ports[:2], "big")),
        destination=(destination, int.from_bytes(ports[2:], "big")),
        seq=seq,
        ack=ack,
        flags=flags,
        # The length of the frame is not used, because Ethernet pads short frames.
        len_bytes=max(0, total - header - (offset >> 4) * 4),
        ip_id=ip_id,
    )


def _ip_packet(link_type: int, frame: bytes) -> bytes | None:
    if link_type in _RAW_IP:
        return frame
    if link_type == _NULL:
        # The address family takes 4 bytes, in the byte order of the capturing machine. The address family is skipped,
        # because the IP packet itself contains its version.
        return frame[4:]
    if link_type not in _ETHERTYPE_AT:
        raise _MalformedError(
            f"its link type {link_type} is none of Ethernet (1), raw IP (101), Linux cooked (113, 276), loopback (0)"
        )
    at, payload = _ETHERTYPE_AT[link_type]
    ethertype = frame[at : at + 2]
    # VLAN tags are skipped, even if there are several (IEEE 802.1Q and 802.1ad).
    while ethertype in (b"\x81\x00", b"\x88\xa8"):
        at, payload = payload + 2, payload + 4
        ethertype = frame[at : at + 2]
    return frame[payload:] if ethertype in (b"\x08\x00", b"\x86\xdd") else None


def _slice(content: bytes, at: int, length: int) -> bytes:
    """Return `length` bytes of the file from position `at`. Raises _MalformedError if the file is shorter."""
    if at + length > len(content):
        raise _MalformedError(f"it ends at byte {len(content)}, inside a packet that reaches to {at + length}")
    return content[at : at + length]


# Block types and option codes of pcapng.
_SECTION, _INTERFACE, _ENHANCED = 0x0A0D0D0A, 1, 6
_TSRESOL, _TSOFFSET = 9, 14
# Each magic number of pcap stands for a byte order and a unit. The unit, in ns, is for the fractions of seconds in time
# stamps.
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
# The numbers of the link types are from tcpdump.org/linktypes.html.
_NULL = 0
_RAW_IP = (101, 228, 229, 12)
# Position of the EtherType and position of the packet in a frame, by link type.
_ETHERTYPE_AT = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
