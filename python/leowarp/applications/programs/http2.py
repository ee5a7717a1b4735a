# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 (RFC 9113) without TLS, with prior knowledge, for a client and a server.

Streams, flow control and settings are implemented completely. HPACK (RFC 7541) is limited to the features that this
client and server use. In an answer of another server, only the first field is read. It is the status, as an index of
the static table. Header fields are neither compressed nor stored in the dynamic table. The server uses neither push nor
priorities. It sends one frame of each stream in turn.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from .content import Answer, Content
from .http11 import PIECE_BYTES, ZEROS, Asked, Fetched
from .measures import now_ns

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
FRAME_BYTES = 16384
"""The default of SETTINGS_MAX_FRAME_SIZE."""
STREAM_WINDOW_BYTES, CONNECTION_WINDOW_BYTES = 6 << 20, 15 << 20
"""The windows that Chromium grants to a server (net/http/http_network_session.cc, net/spdy/spdy_session.h)."""
FIRST_WINDOW_BYTES = 65535
"""The initial window in bytes of each connection, and of each stream until a setting changes it (RFC 9113, 6.9.2)."""
_INITIAL_WINDOW_SIZE = 4
_PATH, _CONTENT_LENGTH = 4, 28
"""The indices of the field names :path and content-length in the static table (RFC 7541, appendix A)."""
_STATUS = {0x88: 200, 0x8D: 404}
"""A dict from a header field's first byte to the HTTP status. The byte is an index (6.1) into the static table (RFC
7541, appendix A)."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame (RFC 9113, 4.1)."""
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def integer(value: int, bits: int) -> bytes:
    """Return an integer in HPACK's encoding. The encoding begins with the last `bits` bits of the first byte (RFC 7541,
    5.1).

    >>> integer(1337, 5).hex()
    '1f9a0a'
    """
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    value, parts = value - most, [most]
    while value >= 128:
        parts.append(value % 128 + 128)
        value //= 128
    return bytes([*parts, value])


def literal(index: int, value: bytes) -> bytes:
    """Return a header field with a name from the static table and a literal value. The field is not added to the
    dynamic table (RFC 7541, 6.2.2 and 5.2)."""
    return integer(index, 4) + integer(len(value), 7) + value


def fields(block: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the name index and value of each field in a header block. The block must be encoded by `literal`. For an
    indexed field, the value is empty.

    Raises ConnectionError if the block uses HPACK features that this function does not decode. In this case, another
        client encoded the block.
    """
    place = 0

    def number(bits: int) -> int:
        nonlocal place
        most = (1 << bits) - 1
        value, place, shift = block[place] & most, place + 1, 0
        while value >= most and (shift == 0 or block[place - 1] & 0x80):
            value += (block[place] & 0x7F) << shift
            shift, place = shift + 7, place + 1
        return value

    while place < len(block):
        if block[place] & 0x80:
            yield number(7), b""
            continue
        if block[place] & 0xF0:
            raise ConnectionResetError("a request that is not of our client: use another server for it")
        index = number(4)
        if not index or block[place] & 0x80:
            raise ConnectionResetError("a request that is not of our client: use another server for it")
        length = number(7)
        place += length
        yield index, block[place - length : place]


async def frames(reader: asyncio.StreamReader, begun: bytes = b"") -> AsyncIterator[tuple[int, int, int, bytes]]:
    """Yield all frames of a connection as (kind, flags, stream, payload), until the connection ends. `begun` are the
    bytes already read from it."""
    data = bytearray(begun)
    while True:
        while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3], "big"):
            piece = await reader.read(PIECE_BYTES)
            if not piece:
                return
            data += piece
        length = int.from_bytes(data[:3], "big")
        kind, flags, stream = struct.unpack("!BBI", data[3:9])
        payload = bytes(data[9 : 9 + length])
        del data[: 9 + length]
        yield kind, flags, stream & 0x7FFFFFFF, payload


@dataclass
class _Stream(Asked):
    """A request, with the number of bytes that its stream has received within the flow-control window."""

    taken_bytes: int = 0


class Http2:
    """A `pageload.Way` with one client connection for all requests."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._opened: asyncio.Task[None] | None = None
        self._streams: dict[int, _Stream] = {}
        self._next, self._taken_bytes = 1, 0
        self._waiting = bytearray()

    async def fetch(self, path: str, *, keep: bool = False) -> tuple[Fetched, int]:
        """Send a request immediately. The first request opens the connection. Raises OSError if the connection cannot
        be opened."""
        if self._opened is None:
            self._opened = asyncio.create_task(self._open())
        await asyncio.shield(self._opened)
        number, self._next = self._next, self._next + 2
        # The fields are :method GET, :scheme http, :authority and :path (indices 2, 6, 1 and 4 of the static table, RFC
        # 7541, appendix A).
        block = b"\x82\x86" + literal(1, self._host.encode()) + literal(_PATH, path.encode())
        stream = _Stream(now_ns(), asyncio.get_running_loop().create_future(), kept=[] if keep else None)
        self._streams[number] = stream
        self._write(frame(HEADERS, END_STREAM | END_HEADERS, number, block))
        return await stream.done, 0

    async def _open(self) -> None:
        reader, self._writer = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
        settings = struct.pack("!HIHI", 2, 0, _INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES)  # Setting 2 (enable push) is 0
        more = struct.pack("!I", CONNECTION_WINDOW_BYTES - FIRST_WINDOW_BYTES)
        self._writer.write(PREFACE + frame(SETTINGS, 0, 0, settings) + frame(WINDOW_UPDATE, 0, 0, more))
        self._reading = asyncio.create_task(self._read(reader))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            async for kind, flags, number, payload in frames(reader):
                self._take(kind, flags, number, payload)
            raise ConnectionResetError(f"{self._host} has closed the connection")
        except ConnectionError as error:
            for stream in self._streams.values():
                stream.done.set_exception(error)
            self._streams.clear()

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        stream = self._streams.get(number)
        if kind == SETTINGS and not flags & ACK:
            self._write(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self._write(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY or (kind == RST_STREAM and stream is not None):
            raise ConnectionResetError(f"{self._host} refuses: {payload.hex()}")
        elif kind == HEADERS and stream is not None and stream.status is None:
            stream.first_byte_ns = now_ns()
            # A size update of the dynamic table may precede the status (RFC 7541, 6.3).
            first = next((byte for byte in payload if byte & 0xE0 != 0x20), 0)
            stream.status = _STATUS.get(first, 0)
        elif kind == DATA:
            self._taken_bytes = self._granted(0, self._taken_bytes + len(payload), CONNECTION_WINDOW_BYTES)
            if stream is not None:
                stream.length += len(payload)
                if stream.kept is not None:
                    stream.kept.append(payload)
                stream.taken_bytes = self._granted(number, stream.taken_bytes + len(payload), STREAM_WINDOW_BYTES)
        if stream is not None and kind in (DATA, HEADERS) and flags & END_STREAM:
            del self._streams[number]
            stream.answered()

    def _write(self, data: bytes) -> None:
        """Send the data together with all other data of the same instant. If all these data fit into one packet, only
        one packet is sent."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting += data

    def _flush(self) -> None:
        self._writer.write(bytes(self._waiting))
        self._waiting.clear()

    def _granted(self, number: int, taken_bytes: int, window_bytes: int) -> int:
        """Send a WINDOW_UPDATE once more than half of the window is used. Return how many bytes of the window are still
        in use after this call."""
        if taken_bytes <= window_bytes // 2:
            return taken_bytes
        self._write(frame(WINDOW_UPDATE, 0, number, struct.pack("!I", taken_bytes)))
        return 0

    def close(self) -> None:
        if self._opened is not None and self._opened.done() and self._opened.exception() is None:
            self._reading.cancel()
            self._writer.close()


@dataclass
class _Answering:
    """An answer that is being sent: its remaining bytes, and the send window of its stream."""

    left_bytes: int
    body: bytes | None
    window_bytes: int


@dataclass
class _Server:
    """The server side of one connection."""

    writer: asyncio.StreamWriter
    content: Content
    window_bytes: int = FIRST_WINDOW_BYTES
    initial_bytes: int = FIRST_WINDOW_BYTES
    answers: dict[int, _Answering] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: bytearray = field(default_factory=bytearray)

    def take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == SETTINGS and not flags & ACK:
            for key, value in struct.iter_unpack("!HI", payload):
                if key == _INITIAL_WINDOW_SIZE:
                    for answer in self.answers.values():
                        answer.window_bytes += value - self.initial_bytes
                    self.initial_bytes = value
            self.waiting += frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.waiting += frame(PING, ACK, 0, payload)
        elif kind == WINDOW_UPDATE:
            (more,) = struct.unpack("!I", payload)
            if number == 0:
                self.window_bytes += more
            elif number in self.answers:
                self.answers[number].window_bytes += more
        elif kind == HEADERS:
            wanted = self.content.answer(dict(fields(payload))[_PATH].decode())
            self.head(number, wanted)
            if wanted.length:
                self.answers[number] = _Answering(wanted.length, wanted.body, self.initial_bytes)
        self.changed.set()

    def head(self, number: int, answer: Answer) -> None:
        status = next(byte for byte, status in _STATUS.items() if status == answer.status)
        block = bytes([status]) + literal(_CONTENT_LENGTH, str(answer.length).encode())
        self.waiting += frame(HEADERS, END_HEADERS | (0 if answer.length else END_STREAM), number, block)

    async def send(self) -> None:
        """Send waiting data, then one frame of each answer in turn. Stay within the windows and the socket buffer."""
        while True:
            for number, answer in list(self.answers.items()):
                self._add(number, answer)
            if not self.waiting:
                self.changed.clear()
                await self.changed.wait()
                continue
            # Waiting frames are sent in one write. Otherwise, each frame would be a packet, and the initial congestion
            # window has only ten packets.
            self.writer.write(bytes(self.waiting))
            self.waiting.clear()
            await self.writer.drain()

    def _add(self, number: int, answer: _Answering) -> None:
        size = min(FRAME_BYTES, answer.left_bytes, answer.window_bytes, self.window_bytes)
        if size <= 0:
            return
        answer.left_bytes -= size
        answer.window_bytes -= size
        self.window_bytes -= size
        piece = bytes(ZEROS[:size])
        if answer.body is not None:
            piece, answer.body = answer.body[:size], answer.body[size:]
        self.waiting += frame(DATA, 0 if answer.left_bytes else END_STREAM, number, piece)
        if not answer.left_bytes:
            del self.answers[number]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, content: Content, begun: bytes) -> None:
    """Answer the requests of a connection until its client closes it. The connection's preface has already been read,
    and `begun` are the bytes read after it."""
    server = _Server(writer, content)
    server.waiting += frame(SETTINGS, 0, 0)
    sending = asyncio.create_task(server.send())
    try:
        async for kind, flags, number, payload in frames(reader, begun):
            server.take(kind, flags, number, payload)
    finally:
        sending.cancel()
