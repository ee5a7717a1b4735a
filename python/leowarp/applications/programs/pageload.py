# SPDX-License-Identifier: Apache-2.0
"""A page load as in a browser. An object is requested as soon as the object that refers to it has arrived."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from .content import Object
from .http11 import Connection, Fetched
from .measures import Measures, now_ns


class Way(Protocol):
    """A protocol for requesting objects, with its connections."""

    async def fetch(self, path: str, *, keep: bool = False) -> tuple[Fetched, int]:
        """Request an object, and return the answer and the number of its connection. If `keep` is set, the answer
        contains its body."""

    def close(self) -> None:
        """Close all connections."""


class Pool:
    """A pool of HTTP/1.1 connections. If all connections are busy, a new connection is opened, up to the limit."""

    def __init__(self, host: str, port: int, most: int) -> None:
        self._host, self._port, self._most = host, port, most
        self._all: list[Connection] = []
        self._begun = 0
        self._free: deque[Connection] = deque()
        self._waiting: deque[asyncio.Future[Connection]] = deque()

    async def fetch(self, path: str, *, keep: bool = False) -> tuple[Fetched, int]:
        """Send a request over the first free connection and return the answer. Waiting requests are sent in the order
        in which they were made."""
        connection = await self._take()
        got = await connection.fetch(path, keep=keep)
        if self._waiting:
            self._waiting.popleft().set_result(connection)
        else:
            self._free.append(connection)
        return got, connection.number

    async def _take(self) -> Connection:
        if self._free:
            return self._free.popleft()
        if self._begun < self._most:
            self._begun += 1
            # A browser would send the request on the first connection that becomes free. leowarp's client always waits
            # for the new connection that it opens for the request.
            connection = await Connection.open(self._host, self._port, self._begun - 1)
            self._all.append(connection)
            return connection
        self._waiting.append(asyncio.get_running_loop().create_future())
        return await self._waiting[-1]

    def close(self) -> None:
        for connection in self._all:
            connection.close()


async def load(objects: list[Object], way: Way, number: int, measures: Measures, timeout_s: float | None) -> None:
    """Load a page once, and write one line per object and one line for the page.

    If an object does not arrive (broken connection, or `timeout_s` exceeded), the page's line has no end.
    """
    start_ns = now_ns()
    there = {one.path: asyncio.Event() for one in objects}
    first: list[Fetched] = []

    async def get(one: Object) -> Fetched:
        if one.after is not None:
            await there[one.after].wait()
            if one.delay_ms:
                await asyncio.sleep(one.delay_ms / 1000)
        asked_ns = start_ns if one.after is None else now_ns()
        got, connection = await way.fetch(one.path)
        if got.status != 200:
            raise ValueError(f"{one.path}: the server says {got.status}")
        if one.after is None:
            first.append(got)
        measures.write(
            "object", name=one.path, number=number, start_ns=asked_ns, request_ns=got.request_ns,
            first_byte_ns=got.first_byte_ns, end_ns=got.end_ns, bytes=got.length, connection=connection,
        )  # fmt: skip
        there[one.path].set()
        return got

    end_ns: int | None = None
    length: int | None = None
    try:
        async with asyncio.timeout(timeout_s), asyncio.TaskGroup() as group:
            tasks = [group.create_task(get(one)) for one in objects]
        end_ns, length = max(task.result().end_ns for task in tasks), sum(task.result().length for task in tasks)
    except* (ConnectionError, TimeoutError):
        # A failed page load is also a result, so the error is not raised.
        pass
    measures.write(
        "page", name=objects[0].path, number=number, start_ns=start_ns,
        first_byte_ns=first[0].first_byte_ns if first else None, end_ns=end_ns, bytes=length,
    )  # fmt: skip


async def run(
    objects: list[Object], opened: Callable[[], Way], *, repeat: int, interval_s: float, timeout_s: float | None,
    measures: Measures,
) -> None:  # fmt: skip
    """Load a page `repeat` times, each time with new connections. A load starts every `interval_s` seconds. If a load
    takes longer, the next load starts at its end."""
    began_ns = now_ns()
    for number in range(repeat):
        await asyncio.sleep(max(0, began_ns + round(number * interval_s * 1e9) - now_ns()) / 1e9)
        way = opened()
        await load(objects, way, number, measures, timeout_s)
        way.close()
