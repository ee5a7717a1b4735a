# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 (RFC 9112) for a client and a server. Every body has its length in the header field Content-Length."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from .content import Answer, Content
from .measures import now_ns

PIECE_BYTES = 65536
ZEROS = memoryview(bytes(PIECE_BYTES))


@dataclass(frozen=True)
class Fetched:
    """The result of a request.

    request_ns, first_byte_ns, end_ns: The times at which the request was written, and at which the answer's first and
        last byte were read.
    length: The length of the body in bytes.
    body: The body if the caller set `keep`. Otherwise, it is empty.
    """

    status: int
    request_ns: int
    first_byte_ns: int
    end_ns: int
    length: int
    body: bytes = b""


@dataclass
class Asked:
    """A request on a connection that several requests share. The answer to this request is not complete yet. `kept` is
    None if the body is discarded."""

    request_ns: int
    done: asyncio.Future[Fetched]
    status: int | None = None
    first_byte_ns: int | None = None
    length: int = 0
    kept: list[bytes] | None = None

    def answered(self) -> None:
        first_ns = self.first_byte_ns or now_ns()
        body = b"".join(self.kept or ())
        self.done.set_result(Fetched(self.status or 0, self.request_ns, first_ns, now_ns(), self.length, body))


class Connection:
    """A client's connection for one request at a time: `await Connection.open(...)`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, number: int) -> None:
        self._reader, self._writer, self._host, self.number = reader, writer, host, number

    @classmethod
    async def open(cls, host: str, port: int, number: int = 0) -> Connection:
        """Open a connection. `number` identifies the connection in measurements."""
        return cls(*await asyncio.open_connection(host, port, limit=1 << 20), host, number)

    async def fetch(self, path: str, *, request_bytes: int = 0, keep: bool = False) -> Fetched:
        """Send a request and read the whole answer.

        request_bytes: The length of the request's body, which is zeros. With a length of 0, the request is a GET
            without a body.
        keep: Whether to return the body.
        Raises ConnectionError if the connection ends early, or the answer has no Content-Length.
        """
        method = "POST" if request_bytes else "GET"
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n"
        head += f"Content-Length: {request_bytes}\r\n\r\n" if request_bytes else "\r\n"
        request_ns = now_ns()
        self._writer.write(head.encode() + bytes(request_bytes))
        await self._writer.drain()
        data = await self._read()
        first_byte_ns = now_ns()
        while b"\r\n\r\n" not in data:
            data += await self._read()
        said, _, rest = data.partition(b"\r\n\r\n")
        status, length = int(said.split(b" ", 2)[1]), content_length(said)
        if length is None:
            raise ConnectionError(f"{path}: the answer has no Content-Length")
        arrived, pieces = len(rest), [rest] if keep else []
        while arrived < length:
            piece = await self._read()
            arrived += len(piece)
            if keep:
                pieces.append(piece)
        return Fetched(status, request_ns, first_byte_ns, now_ns(), length, b"".join(pieces))

    async def _read(self) -> bytes:
        data = await self._reader.read(PIECE_BYTES)
        if not data:
            raise ConnectionResetError(f"{self._host} has closed the connection")
        return data

    def close(self) -> None:
        self._writer.close()


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, content: Content, begun: bytes = b""
) -> None:
    """Answer the requests of a connection until its client closes it. `begun` are the bytes already read from it."""
    data = begun
    while True:
        while b"\r\n\r\n" not in data:
            piece = await reader.read(PIECE_BYTES)
            if not piece:
                return
            data += piece
        head, _, data = data.partition(b"\r\n\r\n")
        left = (content_length(head) or 0) - len(data)
        while left > 0:
            left -= len(await reader.read(min(left, PIECE_BYTES)) or bytes(left))
        # The client sends its next request only after the answer to the last request, because leowarp's clients send
        # one request at a time.
        data = data[content_length(head) or 0 :]
        await send(writer, content.answer(head.split(b" ", 2)[1].decode()))


async def send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    """Write an answer. The socket's buffer limits the speed."""
    reason = {200: "OK", 404: "Not Found"}[answer.status]
    head = f"HTTP/1.1 {answer.status} {reason}\r\nContent-Length: {answer.length}\r\n\r\n".encode()
    # Head and body are sent in one write, as servers do, because the head would otherwise be a separate packet.
    writer.write(head + (ZEROS[: min(PIECE_BYTES, answer.length)] if answer.body is None else answer.body))
    await writer.drain()
    for place in range(PIECE_BYTES, answer.length if answer.body is None else 0, PIECE_BYTES):
        writer.write(ZEROS[: min(PIECE_BYTES, answer.length - place)])
        await writer.drain()


def content_length(head: bytes) -> int | None:
    """Return the value of Content-Length in the head of a message. None means that the field is missing."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return None
