# SPDX-License-Identifier: Apache-2.0
"""Tests of HTTP/2: integers and fields of RFC 7541, and leowarp's client and server over a socket."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import server
from .content import Content, Object
from .http2 import Http2, fields, integer, literal


def test_whole_numbers_are_those_of_the_examples_of_rfc_7541():
    # The examples are from RFC 7541, appendix C.1: 10 in 5 bits, 1337 in 5 bits, 42 in 8 bits.
    assert [integer(*given) for given in ((10, 5), (1337, 5), (42, 8))] == [b"\x0a", b"\x1f\x9a\x0a", b"\x2a"]


@given(st.lists(st.tuples(st.integers(1, 61), st.binary(max_size=400))))
def test_fields_are_read_as_they_were_written(given_fields):
    block = b"\x82" + b"".join(literal(index, value) for index, value in given_fields)
    assert list(fields(block)) == [(2, b""), *given_fields]


@pytest.mark.parametrize("block", [b"\x44\x01/", b"\x04\x81\x63", b"\x00\x01a\x01b"], ids=["kept", "huffman", "name"])
def test_what_another_client_may_write_is_refused(block):
    with pytest.raises(ConnectionResetError, match="not of our client"):
        list(fields(block))


def test_objects_come_over_one_connection_in_turn_whatever_the_windows():
    objects = {"/small": 10, "/empty": 0, "/large": 20 << 20, "/middle": 3 << 20}
    content = Content({path: Object(path, length) for path, length in objects.items()}, None)

    async def fetched() -> dict[str, tuple[int, int, int]]:
        listening = await server.listen(0, content)
        way = Http2("127.0.0.1", listening.sockets[0].getsockname()[1])
        found = await asyncio.gather(*(way.fetch(path) for path in (*objects, "/none")))
        way.close()
        listening.close()
        return {
            path: (got.status, got.length, got.end_ns)
            for path, (got, _) in zip((*objects, "/none"), found, strict=True)
        }

    found = asyncio.run(fetched())
    assert {path: each[:2] for path, each in found.items()} == {
        **{path: (200, length) for path, length in objects.items()},
        "/none": (404, 0),
    }
    assert found["/small"][2] < found["/middle"][2] < found["/large"][2], "a frame of each in turn"
