# SPDX-License-Identifier: Apache-2.0
"""Media frames over UDP, as in a call. A fixed number of frames per second is sent, without feedback. Each frame is
sent in several packets.

The receiver requests a stream. The sender sends each frame when it is due, as a burst of packets. There is no
congestion control, retransmission or error correction, so the results show the effect of the path alone.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass

from .measures import Measures, now_ns

PAYLOAD_BYTES = 1200
"""The payload of a packet in bytes. WebRTC and QUIC use at most this size on a path with unknown MTU (RFC 9000, 14)."""
ASK = struct.Struct("!4sIII")
"""The fields of a request: magic, frames per 1000 s, bit/s, number of frames."""
PACKET = struct.Struct("!4sIHHqI")
"""The fields of a packet's header: magic, frame number, number of the packet within the frame, number of packets in the
frame, sending time, length of the frame."""
MAGIC = b"LEOF"
ASK_AGAIN_S = 0.5
LAST_WAIT_S = 2.0
"""The receiver waits this many seconds after the last frame is due."""


@dataclass(frozen=True)
class Stream:
    """The settings of a stream.

    bitrate_bps: The bit rate of the frames without headers. All frames have equal length.
    count: The number of frames.
    """

    frames_per_s: float
    bitrate_bps: int
    count: int

    @property
    def frame_bytes(self) -> int:
        """The length of a frame, which is at least the length of a packet's header."""
        return max(PACKET.size, round(self.bitrate_bps / 8 / self.frames_per_s))

    def due_ns(self, number: int) -> int:
        """Return the time in ns at which a frame is due, relative to the first frame."""
        return round(number / self.frames_per_s * 1e9)


def serve(port: int) -> None:
    """Send a stream to each receiver that requests one. Streams are sent one after the other, until the program is
    stopped."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("0.0.0.0", port))
        while True:
            text, asker = sender.recvfrom(2048)
            if len(text) != ASK.size or not text.startswith(MAGIC):
                continue
            _, millihertz, bitrate_bps, count = ASK.unpack(text)
            send(sender, asker, Stream(millihertz / 1000, bitrate_bps, count))
            # Requests that the receiver repeated during the stream are dropped, because they would start another
            # stream.
            sender.setblocking(False)
            try:
                while sender.recv(2048):
                    pass
            except BlockingIOError:
                sender.setblocking(True)


def send(sender: socket.socket, to: tuple[str, int], stream: Stream) -> None:
    began_ns = time.monotonic_ns()
    length = stream.frame_bytes
    lengths = [PAYLOAD_BYTES] * (length // PAYLOAD_BYTES)
    lengths += [max(PACKET.size, length % PAYLOAD_BYTES)] if length % PAYLOAD_BYTES else []
    for number in range(stream.count):
        left_ns = began_ns + stream.due_ns(number) - time.monotonic_ns()
        if left_ns > 0:
            time.sleep(left_ns / 1e9)
        sent_ns = now_ns()
        for place, size in enumerate(lengths):
            head = PACKET.pack(MAGIC, number, place, len(lengths), sent_ns, length)
            sender.sendto(head.ljust(size, b"\0"), to)


def receive(host: str, port: int, stream: Stream, measures: Measures) -> None:
    """Request a stream, and write one line of measurements per frame. A frame that was never complete has no end time
    in its line.

    If no packet of a frame arrived, the start time in its line is the time at which the frame was due.

    Raises OSError if the host is unknown, or no program listens on the port.
    """
    ask = ASK.pack(MAGIC, round(stream.frames_per_s * 1000), stream.bitrate_bps, stream.count)
    missing: dict[int, set[int]] = {}
    sent_ns: dict[int, int] = {}
    whole_ns: dict[int, int] = {}
    first_ns: int | None = None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        # The kernel's default buffer may be smaller than a burst. The receive buffer therefore has space for half a
        # second of 50 Mbit/s in small packets.
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        receiver.connect((host, port))
        receiver.settimeout(ASK_AGAIN_S)
        receiver.send(ask)
        while len(whole_ns) < stream.count:
            if first_ns is not None:
                left_ns = first_ns + stream.due_ns(stream.count - 1) + round(LAST_WAIT_S * 1e9) - now_ns()
                if left_ns <= 0:
                    break
                receiver.settimeout(left_ns / 1e9)
            try:
                packet = receiver.recv(2048)
            except TimeoutError:
                if first_ns is None:
                    receiver.send(ask)
                continue
            at_ns = now_ns()
            _, number, place, packets, began_ns, _ = PACKET.unpack_from(packet)
            if first_ns is None:
                first_ns = began_ns - stream.due_ns(number)
            sent_ns[number] = began_ns
            left = missing.setdefault(number, set(range(packets)))
            left.discard(place)
            if not left and number not in whole_ns:
                whole_ns[number] = at_ns
    assert first_ns is not None
    for number in range(stream.count):
        measures.write(
            "frame", number=number, start_ns=sent_ns.get(number, first_ns + stream.due_ns(number)),
            end_ns=whole_ns.get(number), bytes=stream.frame_bytes,
        )  # fmt: skip
