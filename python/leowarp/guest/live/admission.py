# SPDX-License-Identifier: Apache-2.0
"""The limits for clients of `leowarp live`: how many may connect, and how long a request may take.

The number of clients is checked before a client is accepted. When the limit is reached, further clients are not
accepted. They wait in the queue of the listening socket.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from leowarp.base.errors import HostError, ScenarioError

MOST_CONNECTIONS = 200
"""The maximum number of simultaneous connections per door. A door is a listening port."""
MOST_IN_ALL = 400
"""The maximum number of simultaneous connections over all doors. The limit is needed because each connection has two
sockets, and select(2) cannot handle descriptors of 1024 or more."""
MOST_DOORS = 100
REQUEST_NS = 10_000_000_000
"""The virtual time that a client of the proxy has to send its destination. Virtual time is never faster than real time.
Virtual time pauses while the machine is busy. A busy machine alone therefore never makes a client exceed this time."""
LEAST_DESCRIPTORS = 128
"""The minimum number of descriptors (`ulimit -n`) for a session. It covers the session's own descriptors, the reserve,
and a few connections."""
_SELECT_MOST = 1024  # FD_SETSIZE of select(2)
RESERVE = 64
"""The number of descriptors that are kept free for the guest's files, for name lookups, and to watch the guest's
processes."""
_PAUSE_S = 0.05
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def check_room(doors: int) -> None:
    """Check the number of a session's doors. Raises ScenarioError if there are too many, and HostError if this process
    has too few descriptors."""
    if doors > MOST_DOORS:
        raise ScenarioError(
            f"listening on {doors} ports: {MOST_DOORS} is the most", "leave out some of --forward, or use the proxy"
        )
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < LEAST_DESCRIPTORS:
        raise HostError(
            f"running live with {soft} file descriptors (ulimit -n): clients need more, at least {LEAST_DESCRIPTORS}",
            "ulimit -n 1024",
        )


@dataclass
class Tally:
    """Counts the clients that were cut off because they sent no destination within `REQUEST_NS` (`late`). Also counts
    those that were accepted late because no descriptor was free (`waited`)."""

    late: int = 0
    waited: int = 0

    def __str__(self) -> str:
        texts = [
            (self.late, f"cut off without a request in {REQUEST_NS / 1e9:g} virtual s"),
            (self.waited, "accepted late for want of file descriptors"),
        ]
        return "; ".join(f"{count} {'client' if count == 1 else 'clients'} {text}" for count, text in texts if count)


def free_descriptors() -> int:
    """Return the number of further descriptors that this process may open and that select(2) can handle."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _SELECT_MOST if soft == resource.RLIM_INFINITY else min(soft, _SELECT_MOST)
    try:
        return most - len(os.listdir("/proc/self/fd"))
    except OSError:
        # Reading the directory needs a file descriptor, so an error means that no descriptor is free.
        return 0


class Late(Exception):
    """A client has sent no destination within `REQUEST_NS`."""


class Slot:
    """One of the places that a door has for clients. One client takes it. The client gets the slot just before it is
    accepted, and keeps it until all its tasks, connections and streams have ended."""

    def __init__(self, door: asyncio.Semaphore, admission: Admission) -> None:
        self._door, self._admission = door, admission
        self._holders = 1
        self._owes = False

    def accepted(self) -> None:
        """Record that the client is accepted and will need a second socket."""
        self._owes = True
        self._admission.owed += 1

    def dialled(self) -> None:
        """Record that the client has opened its second socket, or that it needs none."""
        if self._owes:
            self._owes = False
            self._admission.owed -= 1

    def hold(self) -> Slot:
        self._holders += 1
        return self

    def let_go(self) -> None:
        """Remove a holder. When the last holder is removed, the door can accept another client."""
        self._holders -= 1
        if not self._holders:
            self.dialled()
            self._door.release()


class Admission:
    """Applies the limits of a session. All calls are made in one event loop.

    doors: The number of doors. `MOST_IN_ALL` connections are divided equally among the doors. A door has at most
        `MOST_CONNECTIONS`.
    tally: The counter of clients that reached a limit. This object updates it.
    say: A function that is called with a line of text when a limit is reached for the first time.
    owed: Each accepted client needs a second socket, to the destination. This is the number of clients that do not have
        it yet.
    """

    def __init__(
        self, doors: int, tally: Tally, say: Callable[[str], None], free: Callable[[], int] = free_descriptors
    ) -> None:
        self.per_door = min(MOST_CONNECTIONS, MOST_IN_ALL // max(doors, 1))
        self.owed = 0
        self._tally, self._say, self._free = tally, say, free
        self._asking: dict[asyncio.Timeout, int] = {}
        self._now_ns = 0

    async def clients(self, door: socket.socket) -> AsyncIterator[tuple[socket.socket, Slot]]:
        """Yield the clients that connect to a listening socket, each with its slot. The iterator never ends."""
        places = asyncio.Semaphore(self.per_door)
        host, port = door.getsockname()
        is_told = False
        while True:
            if places.locked() and not is_told:
                is_told = True
                self._say(f"{host}:{port} has {self.per_door} connections, the most: others wait until one is over")
            await places.acquire()
            slot = Slot(places, self)
            client = await self._accepted(door)
            slot.accepted()
            yield client, slot

    async def _accepted(self, door: socket.socket) -> socket.socket:
        is_late = False
        while True:
            await _knock(door)
            try:
                # The client needs a descriptor now and one for its second socket later. Descriptors for the second
                # sockets of earlier clients are also reserved.
                if self._free() >= RESERVE + self.owed + 2:
                    client, _ = door.accept()
                    client.setblocking(False)
                    return client
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    # The client disconnected while it waited (accept(2)).
                    continue
            if not is_late:
                is_late = True
                self._tally.waited += 1
                if self._tally.waited == 1:
                    self._say(
                        "file descriptors have run out (ulimit -n): clients wait until connections end; "
                        "how many did is told at the end"
                    )
            await asyncio.sleep(_PAUSE_S)

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Raise Late if a client takes longer than `REQUEST_NS` to send its request within this context."""
        try:
            async with asyncio.timeout(None) as limit:
                self._asking[limit] = self._now_ns + REQUEST_NS
                try:
                    yield
                finally:
                    self._asking.pop(limit, None)
        except TimeoutError as error:
            if not limit.expired():
                raise
            self._tally.late += 1
            if self._tally.late == 1:
                self._say(
                    f"cut off a client that had not said where to go in {REQUEST_NS / 1e9:g} virtual s; "
                    "how many there were is told at the end"
                )
            raise Late from error

    def look(self, virtual_ns: int) -> None:
        """End requests that have taken longer than `REQUEST_NS`. Call this method when virtual time has reached
        `virtual_ns`."""
        self._now_ns = virtual_ns
        late = [limit for limit, due_ns in self._asking.items() if due_ns <= virtual_ns]
        for limit in late:
            del self._asking[limit]
            limit.reschedule(asyncio.get_running_loop().time())


async def _knock(door: socket.socket) -> None:
    """Wait until a client has connected to a listening socket and can be accepted."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[None] = loop.create_future()
    loop.add_reader(door, heard.cancel)
    try:
        await asyncio.wait([heard])
    finally:
        loop.remove_reader(door)
