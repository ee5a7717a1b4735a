# SPDX-License-Identifier: Apache-2.0
"""HTTP/3 (RFC 9114) with aioquic, the only library that any of the programs needs (see examples/programs/build.sh).

/var/tmp/leowarp-programs/aioquic/bin/python3 {applications} page {server} {port} --http 3
"""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from .content import Content
from .http11 import Asked, Fetched
from .measures import now_ns

STREAM_WINDOW_BYTES, CONNECTION_WINDOW_BYTES = 6 << 20, 15 << 20
"""The flow-control windows in bytes, the same as for HTTP/2. With aioquic's defaults of 1 MiB, the window would limit
the throughput on most paths."""


def _settings(*, is_client: bool) -> QuicConfiguration:
    settings = QuicConfiguration(is_client=is_client, alpn_protocols=["h3"], congestion_control_algorithm="cubic")
    settings.max_data, settings.max_stream_data = CONNECTION_WINDOW_BYTES, STREAM_WINDOW_BYTES
    return settings


class _Client(QuicConnectionProtocol):
    def __init__(self, quic: QuicConnection) -> None:
        super().__init__(quic)
        self.http = H3Connection(quic)
        self.streams: dict[int, Asked] = {}

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            for waiting in self.streams.values():
                waiting.done.set_exception(ConnectionResetError(f"the connection was ended: {event.reason_phrase}"))
            self.streams.clear()
        for each in self.http.handle_event(event):
            stream = self.streams.get(each.stream_id)
            if stream is None:
                continue
            if isinstance(each, HeadersReceived) and stream.status is None:
                stream.status, stream.first_byte_ns = int(dict(each.headers)[b":status"]), now_ns()
            elif isinstance(each, DataReceived):
                stream.length += len(each.data)
                if stream.kept is not None:
                    stream.kept.append(each.data)
            if isinstance(each, HeadersReceived | DataReceived) and each.stream_ended:
                del self.streams[each.stream_id]
                stream.answered()


class Http3:
    """A client's connection that all requests share, as a `pageload.Way`."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._opened: asyncio.Task[_Client] | None = None

    async def fetch(self, path: str, *, keep: bool = False) -> tuple[Fetched, int]:
        """Send a request immediately. The first request opens the connection. Raises OSError if the connection cannot
        be opened."""
        if self._opened is None:
            self._opened = asyncio.create_task(self._open())
        client = await asyncio.shield(self._opened)
        number = client._quic.get_next_available_stream_id()
        names = {b":method": b"GET", b":scheme": b"https", b":authority": self._host.encode(), b":path": path.encode()}
        client.http.send_headers(number, list(names.items()), end_stream=True)
        stream = Asked(now_ns(), asyncio.get_running_loop().create_future(), kept=[] if keep else None)
        client.streams[number] = stream
        # All requests that are made at the same instant are sent together, in as few packets as possible.
        asyncio.get_running_loop().call_soon(client.transmit)
        return await stream.done, 0

    async def _open(self) -> _Client:
        settings = _settings(is_client=True)
        # The server makes its own certificate when it starts, so the client cannot verify the certificate.
        settings.verify_mode = ssl.CERT_NONE
        # The endpoint is made without aioquic's connect(), which would require an IPv6 socket.
        _, client = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Client(QuicConnection(configuration=settings)), local_addr=("0.0.0.0", 0)
        )
        client.connect((socket.gethostbyname(self._host), self._port))
        await client.wait_connected()
        return client

    def close(self) -> None:
        if self._opened is not None and self._opened.done() and self._opened.exception() is None:
            self._opened.result().close()


class _Server(QuicConnectionProtocol):
    content: Content

    def __init__(self, *given: object, **more: object) -> None:
        super().__init__(*given, **more)
        self._http = H3Connection(self._quic)

    def quic_event_received(self, event: QuicEvent) -> None:
        for each in self._http.handle_event(event):
            if not isinstance(each, HeadersReceived):
                continue
            answer = self.content.answer(dict(each.headers)[b":path"].decode())
            head = [(b":status", str(answer.status).encode()), (b"content-length", str(answer.length).encode())]
            self._http.send_headers(each.stream_id, head, end_stream=not answer.length)
            if answer.length:
                self._http.send_data(each.stream_id, answer.body or bytes(answer.length), end_stream=True)
        self.transmit()


async def run(port: int, content: Content) -> None:
    """Start to serve on a UDP port, and return immediately."""
    settings = _settings(is_client=False)
    settings.certificate, settings.private_key = _own_certificate()

    class Server(_Server):
        pass

    # aioquic makes an object of the class for each connection, so the content is an attribute of a class of this call.
    Server.content = content
    await serve("0.0.0.0", port, configuration=settings, create_protocol=Server)


def _own_certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return a self-signed certificate that is valid for an hour, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leowarp")])
    now, hour = datetime.datetime.now(datetime.UTC), datetime.timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - hour).not_valid_after(now + hour)
    return builder.sign(key, hashes.SHA256()), key
