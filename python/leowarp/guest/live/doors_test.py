# SPDX-License-Identifier: Apache-2.0
"""Tests the ports through which programs enter the guest. Also tests the rules for connections that leave the guest."""

import asyncio
import socket

import pytest

from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest.live.doors import (
    Forward,
    NotAllowed,
    Unanswered,
    check_allowed,
    dial,
    forward_of,
    is_this_machine,
    listening,
)


def test_a_forward_is_a_port_a_host_and_a_port() -> None:
    assert forward_of("8080:localhost:8000") == Forward(8080, "localhost", 8000)
    assert forward_of("0:[::1]:80") == Forward(0, "::1", 80)


@pytest.mark.parametrize("text", ["", "8080", "8080:8000", "a:b:c", "1:h:0", "70000:h:1", "-1:h:1", "1::2", "١:h:1"])
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(ScenarioError, match="PORT:HOST:PORT"):
        forward_of(text)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_this_machine(host)
    check_allowed(Forward(1, host, 1), to_network=False)


@pytest.mark.parametrize(
    "host", ["example.com", "localhost.example.com", "notlocalhost", "192.0.2.1", "0.0.0.0", "::", "2130706433", ""]
)
def test_nothing_else_is(host: str) -> None:
    assert not is_this_machine(host)
    with pytest.raises(ScenarioError, match="not this machine"):
        check_allowed(Forward(1, host, 1), to_network=False)
    with pytest.raises(NotAllowed):
        asyncio.run(dial(host, 1, to_network=False))


def test_a_port_that_is_taken_is_an_error_that_says_what_to_type() -> None:
    with (
        listening(0, "--socks PORT") as door,
        pytest.raises(HostError, match=r"127\.0\.0\.1:\d+: Address already in use\n .*--socks PORT"),
    ):
        listening(door.getsockname()[1], "--socks PORT")


def test_who_is_dialled_answers_or_refuses() -> None:
    async def made(port: int) -> str:
        with await dial("localhost", port, to_network=False) as end:
            return str(end.getpeername()[0])

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert asyncio.run(made(port)) == "127.0.0.1"
    with pytest.raises(Unanswered) as raised:
        asyncio.run(made(port))
    assert raised.value.is_refused
