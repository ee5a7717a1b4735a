# SPDX-License-Identifier: Apache-2.0
"""The requests to a SOCKS5 proxy, and its answers: RFC 1928, CONNECT without authentication."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Awaitable, Callable
from enum import IntEnum

VERSION = 5
_NO_AUTHENTICATION, _NONE_ACCEPTABLE = 0, 0xFF
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4

Exactly = Callable[[int], Awaitable[bytes]]
Write = Callable[[bytes], Awaitable[None]]


class Reply(IntEnum):
    """The values of the field REP (RFC 1928, section 6)."""

    SUCCEEDED = 0
    GENERAL_FAILURE = 1
    NOT_ALLOWED = 2
    NETWORK_UNREACHABLE = 3
    HOST_UNREACHABLE = 4
    REFUSED = 5
    TIMED_OUT = 6
    COMMAND_NOT_SUPPORTED = 7
    ADDRESS_NOT_SUPPORTED = 8


class SocksError(Exception):
    """The request is not SOCKS, or asks for something that this proxy does not offer. `reply` is the proxy's answer.
    None means that the proxy sends no answer."""

    def __init__(self, message: str, reply: Reply | None) -> None:
        super().__init__(message)
        self.reply = reply


def reply_of(number: int) -> Reply:
    """Return the reply for a failed connection, from the errno `number` of TCP in the guest.

    RFC 1928 defines no reply for the case that nobody answered the handshake. "TTL expired" is the usual choice.
    """
    return {
        errno.ECONNREFUSED: Reply.REFUSED,
        errno.ENETUNREACH: Reply.NETWORK_UNREACHABLE,
        errno.EHOSTUNREACH: Reply.HOST_UNREACHABLE,
        errno.ETIMEDOUT: Reply.TIMED_OUT,
    }.get(number, Reply.GENERAL_FAILURE)


def answer(reply: Reply) -> bytes:
    """Return the bytes of a reply. The bound address in the reply is always 0.0.0.0:0, because an address inside the
    guest is useless outside."""
    return struct.pack(">BBBB4sH", VERSION, reply, 0, _IPV4, bytes(4), 0)


async def requested(exactly: Exactly, write: Write) -> tuple[str, int]:
    """Read the destination in a client's request: host (a name or an address) and port.

    exactly, write: Two functions. The function `exactly` reads a given number of bytes from the client, and `write`
        sends bytes to the client.
    Raises SocksError if the client's request is not CONNECT.
    """
    version, methods = await exactly(2)
    if version != VERSION:
        raise SocksError(f"a client speaks version {version} of SOCKS, or no SOCKS, not version 5", None)
    if _NO_AUTHENTICATION not in await exactly(methods):
        await write(bytes([VERSION, _NONE_ACCEPTABLE]))
        raise SocksError("a client insists on authentication", None)
    await write(bytes([VERSION, _NO_AUTHENTICATION]))
    _, command, _, kind = await exactly(4)
    if kind == _NAME:
        (length,) = await exactly(1)
        host = (await exactly(length)).decode("utf-8", "replace")
    elif kind in (_IPV4, _IPV6):
        family, length = (socket.AF_INET, 4) if kind == _IPV4 else (socket.AF_INET6, 16)
        host = socket.inet_ntop(family, await exactly(length))
    else:
        raise SocksError(f"a client asks for an address of kind {kind}", Reply.ADDRESS_NOT_SUPPORTED)
    (port,) = struct.unpack(">H", await exactly(2))
    if command != _CONNECT:
        raise SocksError(f"a client asks for command {command}; only CONNECT is there", Reply.COMMAND_NOT_SUPPORTED)
    return host, port
