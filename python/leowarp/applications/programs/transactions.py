# SPDX-License-Identifier: Apache-2.0
"""Transactions: requests with answers, in direct succession or at a fixed interval."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from .http11 import Connection
from .measures import Measures, now_ns


@dataclass(frozen=True)
class Wanted:
    """The settings of the transactions.

    request_bytes, answer_bytes: The length of the request's body and the length of the answer's body.
    interval_s: The time between the starts of transactions. A transaction that takes longer delays the next one. With
        0, each transaction starts when the previous one ends.
    reconnect: Whether each transaction uses a new connection. Its duration then includes the handshake.
    """

    count: int
    request_bytes: int
    answer_bytes: int
    interval_s: float
    reconnect: bool


async def run(host: str, port: int, wanted: Wanted, measures: Measures) -> None:
    """Perform the transactions. If a connection breaks, its transaction has no end. The next transaction uses a new
    connection.

    Raises OSError if a connection cannot be opened.
    """
    began_ns, connection, opened = now_ns(), None, 0
    for number in range(wanted.count):
        due_ns = began_ns + round(number * wanted.interval_s * 1e9)
        await asyncio.sleep(max(0, due_ns - now_ns()) / 1e9)
        start_ns = now_ns()
        if connection is None:
            connection, opened = await Connection.open(host, port, opened), opened + 1
        try:
            got = await connection.fetch(f"/bytes/{wanted.answer_bytes}", request_bytes=wanted.request_bytes)
        except ConnectionError:
            measures.write("transaction", number=number, start_ns=start_ns, connection=connection.number)
            connection = None
            continue
        measures.write(
            "transaction", number=number, start_ns=start_ns, request_ns=got.request_ns,
            first_byte_ns=got.first_byte_ns, end_ns=got.end_ns, bytes=got.length, connection=connection.number,
        )  # fmt: skip
        if wanted.reconnect:
            connection.close()
            connection = None
