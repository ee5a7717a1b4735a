# SPDX-License-Identifier: Apache-2.0
"""Transactions: requests with answers, in direct succession or at a fixed interval."""

from __future__ import annotations

import asyncio

from .http11 import Connection
from .measures import Measures, now_ns


async def run(
    host: str, port: int, measures: Measures, *, count: int, request_bytes: int, answer_bytes: int, interval_s: float,
    reconnect: bool,
) -> None:  # fmt: skip
    """Perform `count` transactions. If a connection breaks, its transaction has no end. The next transaction uses a new
    connection.

    request_bytes, answer_bytes: The length of the request's body and the length of the answer's body.
    interval_s: The time between the starts of transactions. A transaction that takes longer delays the next one. With
        0, each transaction starts when the previous one ends.
    reconnect: Whether each transaction uses a new connection. Its duration then includes the handshake.
    Raises OSError if a connection cannot be opened.
    """
    began_ns, connection, opened = now_ns(), None, 0
    for number in range(count):
        due_ns = began_ns + round(number * interval_s * 1e9)
        await asyncio.sleep(max(0, due_ns - now_ns()) / 1e9)
        start_ns = now_ns()
        if connection is None:
            connection, opened = await Connection.open(host, port, opened), opened + 1
        try:
            got = await connection.fetch(f"/bytes/{answer_bytes}", request_bytes=request_bytes)
        except ConnectionError:
            measures.write("transaction", number=number, start_ns=start_ns, connection=connection.number)
            connection = None
            continue
        measures.write(
            "transaction", number=number, start_ns=start_ns, request_ns=got.request_ns,
            first_byte_ns=got.first_byte_ns, end_ns=got.end_ns, bytes=got.length, connection=connection.number,
        )  # fmt: skip
        if reconnect:
            connection.close()
            connection = None
