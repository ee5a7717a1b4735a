# SPDX-License-Identifier: Apache-2.0
"""Tests of the local ports of `leowarp live` with many kinds of clients. The tests need no guest: a simulated agent
answers at once."""

import asyncio
import contextlib
import random
import socket
import struct

import pytest

from leowarp.guest.live.admission import REQUEST_NS, RESERVE, Admission, Tally
from leowarp.guest.live.doors import Forward, listening
from leowarp.guest.live.frames import FRAME, WINDOW_BYTES, Frame, Tell, Told
from leowarp.guest.live.relay import Relay

GREETING = b"\x05\x01\x00"
PLENTY = 1000


class Agent:
    """Replaces the guest. The agent establishes all connections at once and transfers bytes without delay."""

    def __init__(self, pieces):
        self.pieces, self.read = pieces, 0
        self.room_bytes, self.waiting, self.most_bytes = {}, {}, 0
        self.relay = None

    def tell(self, frame, is_urgent):
        asyncio.get_running_loop().call_soon(self.obey, *FRAME.unpack(frame))

    def say(self, kind, number, value=0, content=b""):
        self.relay.hear(Frame(kind, number, value, content))

    def obey(self, kind, number, value):
        other = number ^ 1
        match kind:
            case Tell.OPEN if value:
                self.room_bytes |= {2 * number: WINDOW_BYTES, 2 * number + 1: WINDOW_BYTES}
                self.waiting |= {2 * number: [], 2 * number + 1: []}
                self.say(Told.CONNECTED, number, 1_000_000)
                self.say(Told.ACCEPTED, number)
            case Tell.OPEN:
                self.say(Told.FAILED, number, 111)
            case Tell.DATA:
                piece = (self.pieces / str(self.read)).read_bytes()
                (self.pieces / str(self.read)).unlink()
                self.read += 1
                assert len(piece) == value
                self.waiting[other].append((number, piece))
                self.carry(other)
            case Tell.CREDIT:
                self.room_bytes[number] += value
                self.carry(number)
            case Tell.END:
                self.waiting[other].append((number, None))
                self.carry(other)
            case Tell.RESET:
                self.say(Told.RESET, other, 104)

    def carry(self, number):
        """Transfer as many bytes as the receiver can take."""
        waiting = self.waiting[number]
        self.most_bytes = max(self.most_bytes, sum(len(piece or b"") for _, piece in waiting))
        while waiting and len(waiting[0][1] or b"") <= self.room_bytes[number]:
            source, piece = waiting.pop(0)
            if piece is None:
                self.say(Told.END, number)
                continue
            self.room_bytes[number] -= len(piece)
            self.say(Told.DATA, number, len(piece), piece)
            self.say(Told.CREDIT, source, len(piece))


class Session:
    """A relay with two local ports: the port of a proxy, and a forwarded port. The destination is an echo server."""

    def __init__(self, pieces, free=lambda: PLENTY):
        self.lines = []
        self.tally = Tally()
        self.agent = Agent(pieces)
        self.admission = Admission(2, self.tally, self.lines.append, free)
        self.relay = Relay(pieces, self.agent.tell, self.lines.append, self.admission, to_network=False)
        self.agent.relay = self.relay

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.echo, "127.0.0.1", 0)
        self.target = self.server.sockets[0].getsockname()[1]
        self.doors = [listening(0, ""), listening(0, "")]
        self.relay.serve(self.doors[0], None)
        self.relay.serve(self.doors[1], Forward(0, "localhost", self.target))
        return self

    async def __aexit__(self, *_):
        tasks = self.relay._tasks
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.relay.close()
        for door in self.doors:
            door.close()
        self.server.close()
        if self.relay.failure.done():
            self.relay.failure.result()

    async def echo(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(1 << 16):
                writer.write(piece)
                await writer.drain()
        writer.close()

    async def client(self, door=0):
        return await asyncio.open_connection("127.0.0.1", self.doors[door].getsockname()[1])

    def request(self, host=b"localhost", port=None):
        return b"\x05\x01\x00\x03" + bytes([len(host)]) + host + struct.pack(">H", port or self.target)

    async def works(self, door=0):
        """Check that a correct client can connect and gets its bytes back."""
        reader, writer = await self.client(door)
        if door == 0:
            writer.write(GREETING + self.request())
            assert await reader.readexactly(12) == b"\x05\x00" + b"\x05\x00\x00\x01" + bytes(6)
        writer.write(b"ping")
        writer.write_eof()
        assert await reader.read() == b"ping"
        writer.close()

    async def until(self, condition):
        """Let all tasks of the loop run until `condition()` is true."""
        while not condition():
            await asyncio.sleep(0)

    async def all_free(self):
        """Wait until the slots of all clients are free."""
        await self.until(lambda: not self.relay._connections and not self.relay._streams and self.tasks == 2)
        assert self.admission.owed == 0

    @property
    def asking(self):
        """The number of clients whose time limit is running."""
        return len(self.admission._asking)

    @property
    def tasks(self):
        return len(self.relay._tasks)


@pytest.fixture
def session(tmp_path):
    """Run a test's coroutine with a session in which `free()` descriptors are free."""

    def run(work, **settings):
        async def whole():
            async with Session(tmp_path, **settings) as made:
                await work(made)

        asyncio.run(whole())

    return run


async def gone(reader):
    """Wait until a client is cut off or has finished."""
    with contextlib.suppress(ConnectionError):
        await reader.read()


def test_clients_that_say_nothing_fill_their_door_alone_and_only_for_so_long(session):
    async def work(made):
        limit = made.admission.per_door
        silent = [await made.client() for _ in range(limit + 50)]
        await made.until(lambda: made.asking == limit)
        place = "{}:{}".format(*made.doors[0].getsockname())
        assert made.lines == [f"{place} has {limit} connections, the most: others wait until one is over"]
        await made.works(door=1)
        honest = asyncio.create_task(made.works())
        made.admission.look(REQUEST_NS - 1)
        await asyncio.sleep(0)
        assert made.tally.late == 0
        made.admission.look(REQUEST_NS)
        # The waiting clients are accepted now, each with its own time limit.
        await honest
        assert made.tally.late == limit
        made.admission.look(2 * REQUEST_NS)
        await asyncio.gather(*(gone(reader) for reader, _ in silent))
        assert made.tally.late == limit + 50
        assert sum("cut off" in line for line in made.lines) == 1
        for _, writer in silent:
            writer.close()
        await made.all_free()

    session(work)


def test_a_byte_at_a_time_does_not_stretch_the_limit(session):
    async def work(made):
        reader, writer = await made.client()
        text = GREETING + made.request()
        await made.until(lambda: made.asking)
        for number, byte in enumerate(text[:-1]):
            writer.write(bytes([byte]))
            await writer.drain()
            made.admission.look(number * (REQUEST_NS // len(text)))
            await asyncio.sleep(0)
        assert made.tally.late == 0
        made.admission.look(REQUEST_NS)
        await gone(reader)
        assert made.tally.late == 1
        writer.close()
        await made.all_free()

    session(work)


def test_a_request_of_single_bytes_in_time_is_a_request_and_its_connection_has_no_limit(session):
    async def work(made):
        reader, writer = await made.client()
        for byte in GREETING + made.request():
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        assert (await reader.readexactly(12))[:4] == b"\x05\x00\x05\x00"
        made.admission.look(1000 * REQUEST_NS)
        writer.write(b"late")
        assert await reader.readexactly(4) == b"late"
        writer.close()
        await made.all_free()

    session(work)


def malformed(rng, request):
    """Return a malformed request: truncated, with a few changed bytes, or with random bytes."""
    text = bytearray(GREETING + request)
    kind = rng.randrange(3)
    if kind == 0:
        return bytes(text[: rng.randrange(len(text))])
    if kind == 1:
        for _ in range(rng.randint(1, 4)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        return bytes(text)
    return rng.randbytes(rng.randrange(600))


def test_a_thousand_malformed_requests_leave_nothing_and_whoever_comes_next_is_served(session):
    async def work(made):
        rng = random.Random(41)
        for _ in range(1000):
            reader, writer = await made.client()
            writer.write(malformed(rng, made.request()))
            writer.write_eof()
            await gone(reader)
            writer.close()
        await made.works()
        await made.all_free()

    session(work)


@pytest.mark.parametrize("is_reset", [False, True])
def test_clients_that_close_at_each_stage_leave_nothing(session, is_reset):
    async def work(made):
        text = GREETING + made.request() + b"ping"
        for length in range(len(text) + 1):
            reader, writer = await made.client()
            writer.write(text[:length])
            # Every second client reads the proxy's answers before it disconnects.
            if length % 2 and length >= len(text) - 4:
                await reader.readexactly(12)
            if is_reset:
                end = writer.get_extra_info("socket")
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.close()
        await made.works()
        await made.all_free()

    session(work)


def test_a_client_that_never_reads_costs_its_window_and_nobody_else_anything(session):
    async def work(made):
        _, writer = await made.client(door=1)
        for _ in range(100):
            writer.write(bytes(1 << 20))
        for door in (0, 1):
            for _ in range(5):
                await made.works(door)
        assert made.agent.most_bytes <= 2 * WINDOW_BYTES
        writer.transport.abort()
        await made.all_free()

    session(work)


def test_when_descriptors_run_out_clients_wait_and_are_counted(session):
    free = [0]

    async def work(made):
        waiting = [asyncio.create_task(made.works(door)) for door in (0, 1)]
        await made.until(lambda: made.tally.waited == 2)
        assert sum("file descriptors have run out" in line for line in made.lines) == 1
        free[0] = PLENTY
        await asyncio.gather(*waiting)
        await made.works()
        assert str(made.tally) == "2 clients accepted late for want of file descriptors"
        await made.all_free()

    session(work, free=lambda: free[0])


def test_descriptors_that_accepted_clients_will_need_are_kept_for_them(session):
    accepted = []

    async def work(made):
        accepted.append(made.admission)
        silent = [await made.client() for _ in range(20)]
        await made.until(lambda: made.tally.waited == 1)
        # Each client has one socket. One descriptor is reserved for the client's socket to the destination.
        assert made.admission.owed == 10
        for _, writer in silent:
            writer.close()
        await made.all_free()

    # Each silent client has one open socket, so `owed` is also the number of open sockets.
    session(work, free=lambda: RESERVE + 20 - accepted[0].owed)
