# SPDX-License-Identifier: Apache-2.0
"""Tests `leowarp live`: programs of this machine communicate through the guest. Times are virtual."""

import contextlib
import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.waiting import wait_until

pytestmark = pytest.mark.guest

RATE_BPS = 100_000_000
HOPS = 2
DELAY_MS = 10
SCENARIO = f"""
name = "live"
[run]
duration = "3000 s"
[chain]
hops = {HOPS}
delay = "{DELAY_MS} ms"
rate = "{RATE_BPS // 1_000_000} Mbit/s"
[[flows]]
source = "A"
destination = "B"
congestion_control = "bbr"
start = "2000 s"
"""
SYN_BYTES = 14 + 20 + 40
# Sum of the times in ms that a segment of the handshake and its answer take over all hops.
TRIP_MS = 2 * HOPS * (DELAY_MS + SYN_BYTES * 8 / RATE_BPS * 1e3)


class Session:
    """A `leowarp live` process and its output."""

    def __init__(self, spawn, directory, *words, flows="", before=()):
        scenario = directory / "live.toml"
        scenario.write_text(SCENARIO + flows)
        self.directory = directory / "scratch"
        self.directory.mkdir()
        command = [*before, sys.executable, "-m", "leowarp", "live", scenario, "--socks", "0", *words]
        self.process = spawn(
            list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
            env=os.environ | {"TMPDIR": str(self.directory)},
        )  # fmt: skip
        self.port = int(self.until(r"127\.0\.0\.1:(\d+) is a SOCKS5 proxy")[1])

    def until(self, pattern):
        """Read the process's next lines until one matches the pattern, and return the match."""
        said = []
        for line in self.process.stderr:
            said.append(line.decode())
            if match := re.search(pattern, said[-1]):
                return match
        raise EOFError("".join(said))

    def asked(self, host, port):
        """Connect to the proxy, ask it for a destination (RFC 1928), and return the connection and the proxy's
        answer."""
        client = socket.create_connection(("127.0.0.1", self.port))
        client.sendall(b"\x05\x01\x00")
        assert exactly(client, 2) == b"\x05\x00"
        client.sendall(b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + struct.pack(">H", port))
        return client, exactly(client, 10)[1]

    def connected(self, port):
        client, reply = self.asked("localhost", port)
        assert reply == 0
        return client


def exactly(end, count):
    got = b""
    while len(got) < count:
        piece = end.recv(count - len(got))
        assert piece, got
        got += piece
    return got


def to_the_end(end):
    return b"".join(iter(lambda: end.recv(1 << 16), b""))


@pytest.fixture
def door():
    """A socket on which a server of this machine listens."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.fixture
def start():
    """A function that runs a server's function in a thread. If the server's function raises an exception, the test
    fails."""
    threads, failures = [], []

    def started(work):
        def run():
            try:
                work()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        threads.append(thread)
        thread.start()

    yield started
    for thread in threads:
        thread.join()
    assert not failures


def test_bytes_arrive_both_ways_and_half_a_connection_may_be_closed(spawn, tmp_path, door, start):
    there, back = (hashlib.shake_128(name).digest(5_000_000) for name in (b"there", b"back"))
    session = Session(spawn, tmp_path)

    def serve():
        end, _ = door.accept()
        with end:
            # The server answers only when the client has closed its half of the connection.
            assert hashlib.sha256(to_the_end(end)).digest() == hashlib.sha256(there).digest()
            end.sendall(back)

    start(serve)
    with session.connected(door.getsockname()[1]) as client:
        client.sendall(there)
        client.shutdown(socket.SHUT_WR)
        assert hashlib.sha256(to_the_end(client)).digest() == hashlib.sha256(back).digest()
    assert session.until(r"connection 0: over, (\d+) bytes there, (\d+) back").groups() == ("5000000", "5000000")


def test_a_connection_stands_after_the_round_trip_of_the_path(spawn, tmp_path, door):
    port = door.getsockname()[1]
    session = Session(spawn, tmp_path, "--forward", f"0:localhost:{port}")
    forwarded = int(session.until(rf"127\.0\.0\.1:(\d+) leads to localhost:{port}, A to B")[1])
    for _ in range(3):
        with session.connected(port):
            took_ms = float(session.until(rf"connection \d: localhost:{port}, after (\S+) virtual ms")[1])
            assert took_ms == pytest.approx(TRIP_MS, abs=0.05)
    with socket.create_connection(("127.0.0.1", forwarded)):
        took_ms = float(session.until(rf"connection 3: localhost:{port}, after (\S+) virtual ms")[1])
        assert took_ms == pytest.approx(TRIP_MS, abs=0.05)


def test_who_refuses_is_heard_of_and_other_machines_are_out_of_reach(spawn, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    session = Session(spawn, tmp_path)
    for host, expected in (("localhost", 5), ("192.0.2.1", 2), ("localhost.example.com", 2)):
        client, reply = session.asked(host, port)
        with client:
            assert (reply, client.recv(1)) == (expected, b"")
    session.until(r"192\.0\.2\.1 is not this machine")


def test_a_reset_crosses_the_path(spawn, tmp_path, door, start):
    session = Session(spawn, tmp_path)

    def serve():
        end, _ = door.accept()
        assert exactly(end, 4) == b"ping"
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()

    start(serve)
    with session.connected(door.getsockname()[1]) as client:
        client.sendall(b"ping")
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    session.until("connection 0: Connection reset by peer")


def test_a_reader_that_does_not_read_stops_the_writer(spawn, tmp_path, door, start):
    total_bytes = 40 << 20  # 40 MiB take 3.4 s at the path's rate, and are more than all buffers can hold together
    session = Session(spawn, tmp_path)
    sent_bytes = 0
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    may_read = threading.Event()
    got = hashlib.sha256()
    content = hashlib.shake_128(b"content").digest(1 << 20)

    def read_late():
        end, _ = door.accept()
        with end:
            may_read.wait()
            for piece in iter(lambda: end.recv(1 << 16), b""):
                got.update(piece)
            end.sendall(b"done")

    def write():
        nonlocal sent_bytes
        while sent_bytes < total_bytes:
            sent_bytes += client.send(content[sent_bytes % len(content) :])
        client.shutdown(socket.SHUT_WR)

    start(read_late)
    with session.connected(door.getsockname()[1]) as client:
        start(write)
        with socket.create_server(("127.0.0.1", 0)) as other:

            def echo():
                end, _ = other.accept()
                with end:
                    while piece := end.recv(1):
                        end.sendall(piece)

            start(echo)
            with session.connected(other.getsockname()[1]) as clock:
                # This loop lasts for 8 virtual seconds. The exchange needs less than half of this time.
                for _ in range(200):
                    clock.sendall(b"x")
                    assert clock.recv(1) == b"x"
        assert 0 < sent_bytes < total_bytes
        may_read.set()
        assert exactly(client, 4) == b"done"
    assert got.digest() == hashlib.sha256(content * 40).digest()


def test_ctrl_c_ends_it_and_leaves_nothing(spawn, tmp_path, door):
    session = Session(spawn, tmp_path)
    with session.connected(door.getsockname()[1]):
        session.process.send_signal(signal.SIGINT)
        assert re.fullmatch(r"\S+ virtual s in .* on the wall.*", session.until(r"^over: (.*)")[1])
        assert session.process.wait() == 0
    assert list(session.directory.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", session.port))


def test_idle_clients_do_not_end_it_and_others_get_in_when_their_time_is_over(spawn, tmp_path, door):
    few = ("sh", "-c", 'ulimit -n 256; exec "$@"', "sh")
    session = Session(spawn, tmp_path, before=few)
    with contextlib.ExitStack() as idle:
        # There are more clients than descriptors; the clients without a descriptor wait in the kernel's queue of
        # connections.
        for _ in range(200):
            idle.enter_context(socket.create_connection(("127.0.0.1", session.port)))
        session.until("file descriptors have run out")
        # The new client has to wait until the first of the idle clients is cut off, after 10 virtual seconds.
        session.connected(door.getsockname()[1]).close()
        session.process.send_signal(signal.SIGINT)
        told = session.until(r"^over: .*; (\d+) clients cut off without a request.*; (\d+) clients? accepted late")
        assert 0 < int(told[1]) <= 200
        assert int(told[2]) >= 1
        assert session.process.wait() == 0


SEEKER = """
import socket, sys
role, host, port, outside = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
def tried(place):
    try:
        with socket.create_connection(place, timeout=2) as end:
            end.sendall(b"let me out")
            return f"got {end.recv(1)!r}"
    except TimeoutError:
        return "silence"
    except OSError as error:
        return error.strerror
if role == "server":
    with socket.create_server(("", port)) as door:
        rows = [line.split() for line in open("/proc/net/tcp")][1:]
        # Local address, state: 0A is LISTEN
        ports = [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A"]
        ports.remove(port)
        said = [f"{one} from its own host: {tried((host, one))}" for one in ports]
        end = door.accept()[0]
        end.sendall("\\n".join([*map(str, ports), *said]).encode())
        end.close()
else:
    with socket.create_connection((host, port)) as end:
        said = b"".join(iter(lambda: end.recv(4096), b"")).decode().splitlines()
    ports = [int(line) for line in said if line.isdigit()]
    print(len(ports), "listen")
    for one in ports:
        print("from its own host:", *(line.split(": ")[1] for line in said if line.startswith(f"{one} ")))
        print("from the other:", tried((host, one)))
    print("to loopback:", tried(("127.0.0.1", outside)))
    print("to another machine:", tried(("192.0.2.1", outside)))
    print("all", flush=True)
"""


def test_a_program_of_a_flow_finds_the_way_out_and_is_cut_off(spawn, tmp_path, door):
    (tmp_path / "seeker.py").write_text(SEEKER)
    outside = door.getsockname()[1]
    commands = {role: f"{Path(sys.executable).resolve()} {tmp_path}/seeker.py {role} {{server}} {{port}} {outside}"
                for role in ("server", "client")}  # fmt: skip
    flow = '[[flows]]\nkind = "program"\nsource = "A"\ndestination = "B"\nstart = "0 s"\n'
    flow += "".join(f"{role} = '{command}'\n" for role, command in commands.items())
    session = Session(spawn, tmp_path, "--to-network", "--trust", flows=flow)

    def said():
        return "".join(path.read_text() for path in session.directory.glob("*/.guest/out/programs/1/client/stdout"))

    wait_until(lambda: said().endswith("all\n"), session.process)
    cut = "Connection reset by peer"
    # Two sockets listen on this port: leowarp's socket for connections that lead to the host, and the socket of the
    # scenario's transfer.
    assert sorted(said().splitlines()) == sorted([
        "2 listen",
        *(f"from its own host: {outcome}" for outcome in (cut, "silence")),
        *(f"from the other: {outcome}" for outcome in (cut, "silence")),
        "to loopback: Connection refused",
        "to another machine: silence",
        "all",
    ])  # fmt: skip
    door.setblocking(False)
    with pytest.raises(BlockingIOError):
        door.accept()
    # A client on the host can reach the server.
    session.connected(outside).close()
    session.until("connection 0: ")
