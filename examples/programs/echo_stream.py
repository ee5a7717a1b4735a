# SPDX-License-Identifier: Apache-2.0
"""Send numbered ICMP echo requests at a steady rate over a real link. torres2020 measures a link in the same way.

    sudo python3 examples/programs/echo_stream.py 192.0.2.7

The program needs root or CAP_NET_RAW, and a link on which you may send 100 Mbit/s for 8 s.
docs/guides/measuring-a-real-link.md explains the receiver's side. `ping` cannot send this stream, because the interval
of `ping` is a whole number of milliseconds.
"""

from __future__ import annotations

import argparse
import os
import socket
import struct
import time
from collections.abc import Callable

PACKETS, RATE_PKTS_PER_S, PAYLOAD_BYTES = 65_535, 8235.0, 1472
"""The probe of the study's table 3. A payload of 1472 bytes gives an IP packet of 1500 bytes and an Ethernet frame of
1518 bytes."""


def echo_request(identifier: int, number: int, payload_bytes: int) -> bytes:
    """Return an ICMP echo request without its IP header (RFC 792)."""
    rest = struct.pack(">HH", identifier, number & 0xFFFF) + bytes(payload_bytes)
    return struct.pack(">BBH", 8, 0, checksum(b"\x08\x00\x00\x00" + rest)) + rest


def checksum(data: bytes) -> int:
    """Return the one's complement of the sum of 16-bit words (RFC 1071). Data of odd length get a zero byte.

    >>> checksum(bytes([0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7])) == 0xFFFF - 0xDDF2
    True
    """
    words = struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2))
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def send_all(
    send: Callable[[bytes], object], packets: int, rate_pkts_per_s: float, payload_bytes: int, identifier: int,
    now_ns: Callable[[], int] = time.monotonic_ns,
) -> tuple[int, int]:  # fmt: skip
    """Send the stream. The n-th packet is due n / rate after the first packet. A late program sends it as soon as it
    can.

    Returns: The time from the first to the last packet. Also the largest delay of a packet after its planned sending
        time.
    """
    begin_ns = now_ns()
    late_ns = sent_ns = 0
    for number in range(packets):
        packet = echo_request(identifier, number, payload_bytes)
        due_ns = begin_ns + round(number * 1e9 / rate_pkts_per_s)
        # The spacing of 0.121 ms is shorter than the shortest sleep of a process.
        while (sent_ns := now_ns()) < due_ns:
            pass
        late_ns = max(late_ns, sent_ns - due_ns)
        send(packet)
    return sent_ns - begin_ns, late_ns


def main() -> None:
    """Read the command line, send, and print the rate that was reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("destination")
    parser.add_argument("--packets", type=int, default=PACKETS)
    parser.add_argument("--rate", type=float, default=RATE_PKTS_PER_S, help="packets per second")
    parser.add_argument("--payload", type=int, default=PAYLOAD_BYTES, help="bytes after the ICMP header")
    given = parser.parse_args()
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as link:
        link.connect((given.destination, 0))
        took_ns, late_ns = send_all(link.send, given.packets, given.rate, given.payload, os.getpid() & 0xFFFF)
    print(
        f"{given.packets} packets in {took_ns / 1e9:.3f} s, {(given.packets - 1) / (took_ns / 1e9):.0f} per second; "
        f"the latest left {late_ns / 1e6:.3f} ms after its time"
    )


if __name__ == "__main__":
    main()
