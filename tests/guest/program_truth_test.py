# SPDX-License-Identifier: Apache-2.0
"""Tests that a program with the same system calls as leowarp's transfer has the same packets at the same times."""

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

PYTHON = Path(sys.executable).resolve()
SIZE_BYTES = 5_000_000
START_NS = 1_000_000_000
CLOCK_NS = 256
"""The time that a program needs to read the clock once. leowarp's own flow does not read the clock before it
connects."""
SCENARIO = """
name = "same"
[run]
duration = "5 s"
ends = "flows"
[observe]
packets = "all"
[chain]
hops = 1
delay = "10 ms"
rate = "20 Mbit/s"
queue = "40 pkts"
[[flows]]
source = "A"
destination = "B"
"""
OWN = f'congestion_control = "cubic"\nsize = "{SIZE_BYTES} B"\nstart = "{START_NS} ns"\n'
# The client waits until the guest's monotonic clock shows 10 s, which is time 0 of the run.
CLIENT = """
import ctypes, socket, sys, time

class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

to, data = (sys.argv[1], int(sys.argv[2])), bytes(int(sys.argv[3]))
sender, libc = socket.socket(), ctypes.CDLL(None)
start = Timespec(*divmod(int(sys.argv[4]) + 10 * 10**9, 10**9))
libc.clock_nanosleep(time.CLOCK_MONOTONIC, 1, ctypes.byref(start), None)
sender.connect(to)
sender.sendall(data)
sender.shutdown(socket.SHUT_WR)
sender.recv(1)
"""
# The receiving host opens its TCP window when the program reads. The server therefore wakes at the same times as the
# reader in crates/agent/src/flows/tcp.rs.
SERVER = """
import ctypes, socket, struct, sys

MOST, RCV_WND = 64 * 1024, 232  # offset of tcpi_rcv_wnd in struct tcp_info
libc, nowhere = ctypes.CDLL(None), ctypes.c_void_p(1 << 20)
receiver, _ = socket.create_server(("", int(sys.argv[1]))).accept()
low, n = 0, 1
while n > 0:
    if low < MOST:
        (window,) = struct.unpack_from("I", receiver.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), RCV_WND)
        low = min(max(window // 32, low, 1), MOST)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low)
    most = ctypes.c_size_t(256 * 1024 if low < MOST else 1 << 30)
    n = libc.recv(receiver.fileno(), nowhere, most, socket.MSG_TRUNC | socket.MSG_WAITALL)
receiver.shutdown(socket.SHUT_WR)
"""


def packets(folder: Path, flow: str):
    """Make a run with one connection. Return its packets in the order of sending, with times relative to the first
    packet."""
    folder.mkdir()
    (folder / "scenario.toml").write_text(SCENARIO + flow)
    run = lw.run(folder / "scenario.toml", (), folder / "run", report=False, progress=False, trust=True)
    found = pq.read_table(run.path / "30-trace" / "packets.parquet").to_pandas()
    found["received_ns"] -= found["sent_ns"].iloc[0]
    found["sent_ns"] -= found["sent_ns"].iloc[0]
    return found.drop(columns="flow").sort_values(["direction", "sent_ns", "seq", "ack"], ignore_index=True)


def test_a_program_and_an_own_flow_that_do_the_same_have_the_same_packets(tmp_path):
    for name, text in (("client.py", CLIENT), ("server.py", SERVER)):
        (tmp_path / name).write_text(text)
    own = packets(tmp_path / "own", OWN)
    program = packets(
        tmp_path / "program",
        'kind = "program"\n'
        f'server = "{PYTHON} {tmp_path}/server.py {{port}}"\n'
        f'client = "{PYTHON} {tmp_path}/client.py {{server}} {{port}} {SIZE_BYTES} {START_NS}"\n',
    )
    assert len(own) > 5000
    assert own["drop_cause"].notna().sum() == own["is_retransmission"].sum() > 0
    times = ["sent_ns", "received_ns"]
    assert program.drop(columns=times).equals(own.drop(columns=times))
    assert ((program[times] - own[times]).abs().max() <= CLOCK_NS).all()
