# SPDX-License-Identifier: Apache-2.0
"""A transfer by aioquic: the client asks for bytes on a stream, and the server sends as many zeros.

aioquic-transfer server PORT
aioquic-transfer client HOST PORT BYTES
"""

import asyncio
import datetime
import socket
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PROTOCOLS = ["transfer"]
NO_VERIFICATION = 0  # ssl.CERT_NONE: the certificate is made as the server starts


def own_certificate():
    """A certificate for an hour, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "b")])
    now = datetime.datetime.now(datetime.UTC)
    hour = datetime.timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - hour).not_valid_after(now + hour)
    return builder.sign(key, hashes.SHA256()), key


async def answer(reader, writer):
    """Sends what a stream asks for."""
    writer.write(bytes(int(await reader.read())))
    writer.write_eof()


async def run_server(port):
    """Runs until it is told to end."""
    settings = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOLS)
    settings.certificate, settings.private_key = own_certificate()
    tasks = set()

    def start(reader, writer):
        # A task without a reference may vanish before it has ended
        task = asyncio.ensure_future(answer(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    await serve("0.0.0.0", port, configuration=settings, stream_handler=start)
    await asyncio.Event().wait()


async def fetch(host, port, count):
    """The exit status; prints how long it took."""
    began = time.monotonic()
    settings = QuicConfiguration(is_client=True, alpn_protocols=PROTOCOLS, verify_mode=NO_VERIFICATION)
    # aioquic's own connect() wants an IPv6 socket
    _, connection = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=settings)), local_addr=("0.0.0.0", 0)
    )
    connection.connect((socket.gethostbyname(host), int(port)))
    await connection.wait_connected()
    reader, writer = await connection.create_stream()
    writer.write(str(count).encode())
    writer.write_eof()
    received = 0
    while piece := await reader.read(65536):
        received += len(piece)
    connection.close()
    await connection.wait_closed()
    if received != count:
        print(f"{received} bytes of {count} have arrived", file=sys.stderr)
        return 1
    print(f"{received} bytes in {time.monotonic() - began:.6f} s")
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["server", port]:
            asyncio.run(run_server(int(port)))
        case ["client", host, port, count]:
            sys.exit(asyncio.run(fetch(host, int(port), int(count))))
        case _:
            sys.exit(__doc__)
