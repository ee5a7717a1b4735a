# SPDX-License-Identifier: Apache-2.0
"""Relays connections of this machine's programs through the guest. The scenario says which TCP the connections use
inside the guest.

The host buffers at most `WINDOW_BYTES` of a stream for the guest. The guest does the same for the host. While the
guest's TCP accepts no bytes, the relay reads no bytes from the program on this machine. If the program on this machine
reads no bytes, the relay requests none from the guest. In this way, the guest's TCP limits the rate in both directions.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base.errors import HostError
from leowarp.guest.live import socks
from leowarp.guest.live.admission import Admission, Late, Slot
from leowarp.guest.live.doors import Forward, NotAllowed, Unanswered, dial
from leowarp.guest.live.frames import FRAME, WINDOW_BYTES, Frame, Tell, Told

_PIECE_BYTES = 64 << 10
_UNACCEPTED_S = 60.0
"""The guest may reset a connection during its handshake. The socket to the destination then stays open for this real
time in s."""


class Failed(Exception):
    """TCP in the guest could not establish a connection. `number` is the errno."""

    def __init__(self, number: int) -> None:
        super().__init__(os.strerror(number))
        self.number = number


@dataclass
class Stream:
    """One end of a connection. It has a socket of this machine, and the state of flow control between the socket and
    the guest."""

    number: int
    socket: socket.socket
    slot: Slot
    credit_bytes: int = WINDOW_BYTES
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    pieces: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] | None = None
    from_program_bytes: int = 0
    to_program_bytes: int = 0


@dataclass
class Connection:
    """A connection from a program of this machine to a destination, through the guest."""

    number: int
    destination: str
    near: socket.socket
    far: socket.socket | None
    made: asyncio.Future[int]
    slot: Slot


class Relay:
    """Manages all connections of one event loop.

    pieces: The guest's directory `in/live/`. The bytes of each `DATA` frame are written into a file of this directory.
    tell: A function that sends a frame to the guest. The second argument is True if the guest must receive the frame
        before its next step.
    say: A function that is called with a line for each event of a connection.
    """

    def __init__(
        self, pieces: Path, tell: Callable[[bytes, bool], None], say: Callable[[str], None], admission: Admission, *,
        to_network: bool,
    ) -> None:  # fmt: skip
        self._pieces, self._tell, self._say, self._to_network = pieces, tell, say, to_network
        self._admission = admission
        self._numbers = 0
        self._written = 0
        self._connections: dict[int, Connection] = {}
        self._streams: dict[int, Stream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    # ---- doors

    def serve(self, door: socket.socket, forward: Forward | None) -> None:
        """Accept clients at a listening socket. Each connection is forwarded to `forward`. If `forward` is None, the
        client sends its destination by SOCKS5."""
        self._start(self._serve(door, forward))

    async def _serve(self, door: socket.socket, forward: Forward | None) -> None:
        async for client, slot in self._admission.clients(door):
            self._start(self._let_in(client, forward, slot))

    async def _let_in(self, client: socket.socket, forward: Forward | None, slot: Slot) -> None:
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await (self._forwarded(client, forward, slot) if forward else self._asked(client, slot))
        except BaseException:
            abort(client)
            raise
        finally:
            slot.let_go()

    async def _forwarded(self, client: socket.socket, forward: Forward, slot: Slot) -> None:
        try:
            await self.connect(client, forward.host, forward.host_port, slot)
        except (NotAllowed, Unanswered, Failed) as error:
            self._say(f"no connection to {forward.host}:{forward.host_port}: {error}")
            abort(client)

    async def _asked(self, client: socket.socket, slot: Slot) -> None:
        loop = asyncio.get_running_loop()

        async def exactly(count: int) -> bytes:
            got = b""
            while len(got) < count:
                piece = await loop.sock_recv(client, count - len(got))
                if not piece:
                    raise socks.SocksError("a client left before it had said where to go", None)
                got += piece
            return got

        async def write(piece: bytes) -> None:
            await loop.sock_sendall(client, piece)

        reply: socks.Reply | None = None
        destination = "a destination that was not said"
        try:
            async with self._admission.in_time():
                host, port = await socks.requested(exactly, write)
            destination = f"{host}:{port}"
            await self.connect(client, host, port, slot, lambda: write(socks.answer(socks.Reply.SUCCEEDED)))
            return
        except Late:
            abort(client)
            return
        except socks.SocksError as error:
            reply, why = error.reply, str(error)
        except NotAllowed as error:
            reply, why = socks.Reply.NOT_ALLOWED, str(error)
        except Unanswered as error:
            reply, why = socks.Reply.HOST_UNREACHABLE, str(error)
        except Failed as error:
            reply, why = socks.reply_of(error.number), str(error)
        except OSError as error:
            why = str(error)
        self._say(f"no connection to {destination}: {why}")
        with suppress(OSError):
            if reply is not None:
                await write(socks.answer(reply))
        client.close()

    # ---- connections

    async def connect(
        self, client: socket.socket, host: str, port: int, slot: Slot,
        before: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:  # fmt: skip
        """Make a connection of the guest for a client, which owns the connection afterwards.

        The relay first connects to the destination. If the destination accepted, the far end of the guest's path
        accepts the guest's handshake. If the destination refused, the far end refuses it. As on a real path, the client
        learns the answer after one round trip of the guest's path.

        before: A coroutine that is awaited after the connection is established and before the client receives bytes.
        Raises NotAllowed or Unanswered for the same reasons as `dial`. If the destination refuses, nothing is raised
        here, because the guest's TCP reports the refusal (Failed).
        Raises Failed if TCP in the guest cannot connect.
        """
        far: socket.socket | None = None
        try:
            far = await dial(host, port, self._to_network)
        except Unanswered as error:
            if not error.is_refused:
                raise
        finally:
            slot.dialled()
        number, self._numbers = self._numbers, self._numbers + 1
        made = asyncio.get_running_loop().create_future()
        connection = Connection(number, f"{host}:{port}", client, far, made, slot.hold())
        self._connections[number] = connection
        try:
            self._send(Tell.OPEN, number, int(far is not None))
            took_ns = await made
            self._say(f"connection {number}: {connection.destination}, after {took_ns / 1e6:.3f} virtual ms")
            if before is not None:
                await before()
        except BaseException:
            self._send(Tell.RESET, 2 * number)
            self._drop(connection)
            raise
        self._begin(2 * number, client, slot)

    def hear(self, frame: Frame) -> None:
        """Process a frame from the agent. The frame may name a stream that has already ended on the host's side."""
        if frame.kind in (Told.CONNECTED, Told.FAILED, Told.ACCEPTED):
            self._heard_of(frame)
            return
        stream = self._streams.get(frame.number)
        if stream is None:
            return
        match frame.kind:
            case Told.DATA:
                stream.pieces.put_nowait(frame.bytes)
            case Told.END:
                stream.pieces.put_nowait(None)
            case Told.CREDIT:
                stream.credit_bytes += frame.value
                stream.granted.set()
            case Told.RESET:
                self._say(f"connection {frame.number // 2}: {os.strerror(frame.value)}")
                if stream.task is not None:
                    stream.task.cancel()

    def _heard_of(self, frame: Frame) -> None:
        connection = self._connections.get(frame.number)
        if frame.kind is Told.ACCEPTED:
            if connection is None or connection.far is None:
                self._send(Tell.RESET, 2 * frame.number + 1)
                return
            far, connection.far = connection.far, None
            self._begin(2 * frame.number + 1, far, connection.slot)
        elif connection is not None and not connection.made.done():
            if frame.kind is Told.CONNECTED:
                connection.made.set_result(frame.value)
            else:
                connection.made.set_exception(Failed(frame.value))

    def _begin(self, number: int, end: socket.socket, slot: Slot) -> None:
        stream = Stream(number, end, slot.hold())
        self._streams[number] = stream
        stream.task = self._start(self._carry(stream))

    async def _carry(self, stream: Stream) -> None:
        ways = [asyncio.create_task(self._inwards(stream)), asyncio.create_task(self._outwards(stream))]
        is_whole = False
        try:
            await asyncio.gather(*ways)
            is_whole = True
        except OSError as error:
            side = "where it began" if stream.number % 2 == 0 else "where it leads"
            self._say(f"connection {stream.number // 2}: the program {side} is gone ({error.strerror})")
            self._send(Tell.RESET, stream.number)
        except asyncio.CancelledError:
            # The guest's TCP has cut off the connection, or the session ends.
            pass
        finally:
            for way in ways:
                way.cancel()
            # asyncio must stop waiting for a descriptor before the descriptor is closed.
            await asyncio.gather(*ways, return_exceptions=True)
            del self._streams[stream.number]
            if is_whole:
                stream.socket.close()
            else:
                abort(stream.socket)
            stream.slot.let_go()
            self._ended(stream)

    async def _inwards(self, stream: Stream) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not stream.credit_bytes:
                stream.granted.clear()
                await stream.granted.wait()
            piece = await loop.sock_recv(stream.socket, min(stream.credit_bytes, _PIECE_BYTES))
            if not piece:
                self._send(Tell.END, stream.number)
                return
            stream.credit_bytes -= len(piece)
            stream.from_program_bytes += len(piece)
            self._put(piece)
            self._send(Tell.DATA, stream.number, len(piece))

    def _put(self, piece: bytes) -> None:
        path = self._pieces / str(self._written)
        try:
            path.write_bytes(piece)
        except OSError as error:
            raise HostError(f"writing {path}: {error.strerror}", "TMPDIR names a place with more room") from error
        self._written += 1

    async def _outwards(self, stream: Stream) -> None:
        loop = asyncio.get_running_loop()
        while (piece := await stream.pieces.get()) is not None:
            await loop.sock_sendall(stream.socket, piece)
            stream.to_program_bytes += len(piece)
            self._send(Tell.CREDIT, stream.number, len(piece))
        stream.socket.shutdown(socket.SHUT_WR)

    def _ended(self, stream: Stream) -> None:
        number = stream.number // 2
        if stream.number % 2 == 0:
            self._say(
                f"connection {number}: over, {stream.from_program_bytes} bytes there, {stream.to_program_bytes} back"
            )
        connection = self._connections.get(number)
        if connection is None or self._streams.keys() & {2 * number, 2 * number + 1}:
            return
        if connection.far is None:
            self._drop(connection)
        else:
            # The connection was reset before its far end in the guest was established, but the guest may still report
            # that far end.
            asyncio.get_running_loop().call_later(_UNACCEPTED_S, self._drop, connection)

    def _drop(self, connection: Connection) -> None:
        if self._connections.pop(connection.number, None) is None:
            return
        if connection.far is not None:
            abort(connection.far)
            connection.far = None
        connection.slot.let_go()

    # ---- used by all parts above

    def close(self) -> None:
        """Close the sockets to destinations if their connections were never established."""
        for connection in list(self._connections.values()):
            self._drop(connection)

    def _send(self, kind: Tell, number: int, value: int = 0) -> None:
        # `CREDIT` enlarges the peer's window. `CREDIT` is not urgent: when the host sends it, all data that the guest
        # has sent has already arrived.
        self._tell(FRAME.pack(kind, number, value), kind is not Tell.CREDIT)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` as a task. If the task fails, the session ends."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self.failure.done():
            self.failure.set_exception(error)


def abort(end: socket.socket) -> None:
    """Close a socket with a reset, which its peer sees."""
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()
