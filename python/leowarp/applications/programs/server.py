# SPDX-License-Identifier: Apache-2.0
"""The server: HTTP/1.1 on one port."""

from __future__ import annotations

import asyncio

from . import http11
from .content import Content


async def run(port: int, content: Content) -> None:
    """Serves until it is told to end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await http11.serve(reader, writer, content)
        except ConnectionError:
            # The client has gone, which is its right.
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "0.0.0.0", port, limit=1 << 20, backlog=1024)
    await server.serve_forever()
