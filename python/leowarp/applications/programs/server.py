# SPDX-License-Identifier: Apache-2.0
"""The server: HTTP/1.1, and HTTP/2 with prior knowledge, on one port."""

from __future__ import annotations

import asyncio

from . import http2, http11
from .content import Content


async def run(port: int, content: Content) -> None:
    await (await listen(port, content)).serve_forever()


async def listen(port: int, content: Content) -> asyncio.Server:
    """Start a server. Port 0 selects any free port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            begun = b""
            while len(begun) < len(http2.PREFACE) and http2.PREFACE.startswith(begun):
                piece = await reader.read(http11.PIECE_BYTES)
                if not piece:
                    return
                begun += piece
            if begun.startswith(http2.PREFACE):
                await http2.serve(reader, writer, content, begun[len(http2.PREFACE) :])
            else:
                await http11.serve(reader, writer, content, begun)
        except ConnectionError:
            # A client may close the connection at any time.
            pass
        finally:
            writer.close()

    return await asyncio.start_server(serve, "0.0.0.0", port, limit=1 << 20, backlog=1024)
