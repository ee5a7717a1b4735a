# SPDX-License-Identifier: Apache-2.0
"""The ports by which programs of this machine enter the guest's network, and the rules for destinations outside of the
guest."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

from leowarp.base.errors import HostError, ScenarioError

LOOPBACK = "127.0.0.1"
_LOCALHOST = "localhost"
_BUFFER_BYTES = 64 << 10
"""The size in bytes of this machine's TCP buffer, for both sockets of a connection. Without a limit, the buffer could
hold megabytes of data outside of the guest's TCP."""


@dataclass(frozen=True)
class Forward:
    """A port on the loopback interface, 0 for any free one. Its connections go through the guest to a destination."""

    port: int
    host: str
    host_port: int


def forward_of(text: str) -> Forward:
    """Return the `Forward` that the option `--forward PORT:HOST:PORT` describes. An IPv6 address is in brackets.

    Raises ScenarioError if the text is not of the form PORT:HOST:PORT.

    >>> forward_of("8080:localhost:8000")
    Forward(port=8080, host='localhost', host_port=8000)
    """
    first, _, rest = text.partition(":")
    host, _, last = rest.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    ports = [int(word) if word.isascii() and word.isdecimal() else -1 for word in (first, last)]
    if not host or not (0 <= ports[0] < 1 << 16 and 0 < ports[1] < 1 << 16):
        raise ScenarioError(
            f"forwarding {text!r}: it must be PORT:HOST:PORT, ports from 1 to 65535",
            "for instance --forward 8080:localhost:8000",
        )
    return Forward(ports[0], host, ports[1])


def check_allowed(forward: Forward, to_network: bool) -> None:
    """Raise ScenarioError if a forward's destination is another machine, but `to_network` is false."""
    if not to_network and not is_this_machine(forward.host):
        raise ScenarioError(
            f"forwarding to {forward.host}:{forward.host_port}: it is not this machine",
            "name localhost, or allow connections to other machines: --to-network",
        )


def listening(port: int, flag: str) -> socket.socket:
    """Return a socket that listens only on loopback.

    flag: The option with which the user can choose another port, for the message.
    Raises HostError if the port is in use or not allowed.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The buffer is set before listen: accepted sockets inherit its size, and the size determines the first announced
    # window.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    try:
        made.bind((LOOPBACK, port))
        made.listen()
    except OSError as error:
        made.close()
        raise HostError(f"listening on {LOOPBACK}:{port}: {error.strerror}", f"choose another port: {flag}") from error
    made.setblocking(False)
    return made


class NotAllowed(Exception):
    """The destination is not on this machine."""


class Unanswered(Exception):
    """The destination does not accept the connection. `is_refused` says whether the destination refused the connection.
    If it did not refuse the connection, it did not answer."""

    def __init__(self, message: str, is_refused: bool) -> None:
        super().__init__(message)
        self.is_refused = is_refused


def is_this_machine(host: str) -> bool:
    """Return whether a name or an address is this machine's loopback. No name server is asked.

    Names of the loopback are `localhost` and names that end in `.localhost` (RFC 6761, section 6.3).

    >>> is_this_machine("127.0.0.1"), is_this_machine("a.localhost"), is_this_machine("localhost.example.com")
    (True, True, False)
    """
    name = host.lower().rstrip(".")
    if name == _LOCALHOST or name.endswith(f".{_LOCALHOST}"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def dial(host: str, port: int, to_network: bool) -> socket.socket:
    """Connect to a destination, and return the socket.

    Raises NotAllowed if the destination is on another machine and `to_network` is false.
    Raises Unanswered if the destination accepts no connection.
    """
    loop = asyncio.get_running_loop()
    if not to_network and not is_this_machine(host):
        raise NotAllowed(f"{host} is not this machine (--to-network allows it)")
    # All names of the loopback mean `localhost`, which needs no name server.
    is_local_name = not to_network and host.lower().rstrip(".").endswith(_LOCALHOST)
    try:
        found = await loop.getaddrinfo(_LOCALHOST if is_local_name else host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unanswered(f"{host} has no address: {error}", is_refused=False) from error
    problems: list[OSError] = []
    for family, kind, protocol, _, address in found:
        try:
            made = socket.socket(family, kind, protocol)
        except OSError as error:
            problems.append(error)
            continue
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(made, address)
        except OSError as error:
            made.close()
            problems.append(error)
        except BaseException:
            made.close()
            raise
        else:
            return made
    refused = any(isinstance(error, ConnectionRefusedError) for error in problems)
    raise Unanswered(f"{host}:{port}: {problems[-1].strerror}", is_refused=refused)
