# SPDX-License-Identifier: Apache-2.0
"""A transfer by aioquic: the client requests a number of bytes on a stream. The server sends this number of zeros. On a
second stream the client requests the counts of the server's loss detection, and prints them.

If SSLKEYLOGFILE is set in the environment, the client writes TLS keys there. If QLOGDIR is set, both ends write a
qlog there.

aioquic-transfer server PORT
aioquic-transfer client HOST PORT BYTES
"""

import asyncio
import datetime
import json
import os
import socket
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicFileLogger, QuicLogger
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PROTOCOLS = ["transfer"]
STATISTICS = "statistics"
NO_VERIFICATION = 0  # ssl.CERT_NONE, because the server makes its certificate at its start


def own_certificate():
    """Make a certificate that is valid for an hour, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "b")])
    now = datetime.datetime.now(datetime.UTC)
    hour = datetime.timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - hour).not_valid_after(now + hour)
    return builder.sign(key, hashes.SHA256()), key


class Counts(QuicLogger):
    """A counter of three kinds of packets: sent packets, packets that were declared lost, and packets that were
    declared lost but acknowledged later. The counter stores no events."""

    def __init__(self):
        super().__init__()
        self.sent, self.declared, self.spurious = 0, 0, 0
        self.lost, self.frames = set(), []

    def start_trace(self, is_client, odcid):
        trace = super().start_trace(is_client, odcid)
        trace.log_event = self.count
        return trace

    def count(self, *, category, event, data):
        """Replace `QuicLoggerTrace.log_event`."""
        if event == "packet_lost":
            self.declared += 1
            self.lost.add(data["packet_number"])
        elif event == "packet_sent":
            self.sent += 1
            self.hear()
        elif event == "packet_received":
            self.hear()
            # aioquic fills the list after it has reported the packet.
            self.frames = data["frames"]

    def hear(self):
        """Count the packets that were declared lost, but are acknowledged by the last received packet."""
        for frame in self.frames:
            for first, last in frame.get("acked_ranges", ()):
                heard = {number for number in self.lost if int(first) <= number <= int(last)}
                self.spurious += len(heard)
                self.lost -= heard
        self.frames = []

    def as_json(self):
        """Return the counts that the study reads."""
        self.hear()
        return json.dumps(
            {"sent_pkts": self.sent, "declared_lost_pkts": self.declared, "found_spurious_pkts": self.spurious}
        ).encode()


def qlog():
    """Return aioquic's own logger if QLOGDIR is set, else None."""
    folder = os.environ.get("QLOGDIR")
    if folder is None:
        return None
    os.makedirs(folder, exist_ok=True)
    return QuicFileLogger(folder)


async def answer(counts, reader, writer):
    """Send the data that a stream requests."""
    request = (await reader.read()).decode()
    writer.write(counts.as_json() if request == STATISTICS else bytes(int(request)))
    writer.write_eof()


async def run_server(port):
    """Run until a signal ends the server."""
    counts = Counts()
    settings = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOLS, quic_logger=qlog() or counts)
    settings.certificate, settings.private_key = own_certificate()
    tasks = set()

    def start(reader, writer):
        # Without a reference, a task may be deleted before its end.
        task = asyncio.ensure_future(answer(counts, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    await serve("0.0.0.0", port, configuration=settings, stream_handler=start)
    await asyncio.Event().wait()


async def ask(connection, request):
    """Open a stream with a request, and return the reader of the answer."""
    reader, writer = await connection.create_stream()
    writer.write(request.encode())
    writer.write_eof()
    return reader


async def fetch(host, port, count):
    """Print the duration and return the exit status."""
    began = time.monotonic()
    settings = QuicConfiguration(
        is_client=True, alpn_protocols=PROTOCOLS, verify_mode=NO_VERIFICATION, quic_logger=qlog()
    )
    if name := os.environ.get("SSLKEYLOGFILE"):
        # The file stays open until the process ends.
        settings.secrets_log_file = open(name, "a")  # noqa: SIM115
    # aioquic's own connect() needs an IPv6 socket.
    _, connection = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=settings)), local_addr=("0.0.0.0", 0)
    )
    connection.connect((socket.gethostbyname(host), int(port)))
    await connection.wait_connected()
    reader = await ask(connection, str(count))
    received = 0
    while piece := await reader.read(65536):
        received += len(piece)
    seconds = time.monotonic() - began
    counts = await (await ask(connection, STATISTICS)).read()
    connection.close()
    await connection.wait_closed()
    if received != count:
        print(f"{received} bytes of {count} have arrived", file=sys.stderr)
        return 1
    print(f"{received} bytes in {seconds:.6f} s")
    print(counts.decode())
    return 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["server", port]:
            asyncio.run(run_server(int(port)))
        case ["client", host, port, count]:
            sys.exit(asyncio.run(fetch(host, int(port), int(count))))
        case _:
            sys.exit(__doc__)
