# SPDX-License-Identifier: Apache-2.0
"""Tests the bytes that SOCKS5 clients and the proxy exchange (RFC 1928)."""

import asyncio
import errno

import pytest

from leowarp.guest.live.socks import Reply, SocksError, answer, reply_of, requested


def asked(text: bytes) -> tuple[tuple[str, int], bytes]:
    """Return the destination that a client requests with the bytes `text`, and the bytes of the proxy's answer."""
    left, answers = bytearray(text), bytearray()

    async def exactly(count: int) -> bytes:
        assert count <= len(left)
        piece = bytes(left[:count])
        del left[:count]
        return piece

    async def write(piece: bytes) -> None:
        answers.extend(piece)

    return asyncio.run(requested(exactly, write)), bytes(answers)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (b"\x01\x7f\x00\x00\x01", "127.0.0.1"),
        (b"\x03\x09localhost", "localhost"),
        (b"\x04" + bytes(15) + b"\x01", "::1"),
    ],
)
def test_a_destination_is_an_address_or_a_name(address: bytes, host: str) -> None:
    found, answers = asked(b"\x05\x02\x00\x02" + b"\x05\x01\x00" + address + b"\x1f\x40")
    assert (found, answers) == ((host, 8000), b"\x05\x00")


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        (b"GE", None),
        (b"\x04\x01", None),
        (b"\x05\x01\x02", None),
        (b"\x05\x01\x00\x05\x03\x00\x01\x7f\x00\x00\x01\x1f\x40", Reply.COMMAND_NOT_SUPPORTED),
        (b"\x05\x01\x00\x05\x01\x00\x07", Reply.ADDRESS_NOT_SUPPORTED),
    ],
)
def test_what_is_not_there_is_refused(text: bytes, reply: Reply | None) -> None:
    with pytest.raises(SocksError) as raised:
        asked(text)
    assert raised.value.reply is reply


def test_replies_have_the_values_of_the_rfc() -> None:
    assert answer(Reply.REFUSED) == b"\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00"
    known = [errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ETIMEDOUT, errno.EPROTO]
    assert [reply_of(number) for number in known] == [5, 3, 4, 6, 1]
