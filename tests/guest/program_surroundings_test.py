# SPDX-License-Identifier: Apache-2.0
"""Tests that programs in the guest get random numbers from a stream of their own, and that polling takes virtual
time."""

import json
import sys
from pathlib import Path

import pytest

from leowarp.guest.machine.session import output_of
from support.program_runs import run_of, said

pytestmark = pytest.mark.guest

PYTHON = Path(sys.executable).resolve()

DRAWING = """
import os, socket
print(os.urandom(16).hex())
with open("/dev/urandom", "rb", buffering=0) as device:
    print(device.read(64).hex())
with open("/dev/random", "wb", buffering=0) as device:
    device.write(b"nobody asks the pool")
print(len(os.getrandom(1_000_000)))
try:
    os.getrandom(8, os.GRND_RANDOM | 4)
except OSError as error:
    print(error.errno)
"""


def stream_of_programs(seed: int, size: int) -> bytes:
    """Return the first random bytes that programs get. The generator is splitmix64. The generator's first state is the
    FNV-1a hash of the seed, the stream's name and the number 1."""
    mask = 2**64 - 1
    state = 0xCBF29CE484222325
    for byte in seed.to_bytes(8, "little") + b"programs" + (1).to_bytes(8, "little"):
        state = (state ^ byte) * 0x100000001B3 & mask
    words = []
    for _ in range(size // 8):
        state = state + 0x9E3779B97F4A7C15 & mask
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        words.append((z ^ z >> 31).to_bytes(8, "little"))
    return b"".join(words)


def test_programs_get_the_random_numbers_of_their_stream(tmp_path):
    (tmp_path / "drawing.py").write_text(DRAWING)
    for seed in (1, 2):
        command = f"{PYTHON} {tmp_path / 'drawing.py'}"
        run = run_of(tmp_path, command, name=str(seed), changes={"run.seed": seed})
        drawn, device, length, error = said(run).split()
        stream = stream_of_programs(seed, 8192)
        assert bytes.fromhex(drawn + device) in stream, "behind what the interpreter has asked for"
        assert (length, error) == ("1000000", "22")


ECHO = """
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", int(sys.argv[1])))
for _ in range(6):
    server.sendto(*server.recvfrom(100))
"""
# This program polls for the answer. It uses every non-blocking call except reads.
POLLING = """
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>

int main(int count, char **words)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(atoi(words[2])) };
	int s = socket(AF_INET, SOCK_DGRAM, 0), e = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte = 'x';

	inet_pton(AF_INET, words[1], &server.sin_addr);
	connect(s, (struct sockaddr *)&server, sizeof(server));
	epoll_ctl(e, EPOLL_CTL_ADD, s, &event);
	for (int way = 0; way < 6; way++) {
		int polls = 0, ready = 0;

		send(s, &byte, 1, 0);
		for (; !ready && polls < 1000000; polls++) {
			struct pollfd asked = { .fd = s, .events = POLLIN };
			struct timespec now = { 0 };
			struct timeval none = { 0 };
			fd_set sockets;

			FD_ZERO(&sockets);
			FD_SET(s, &sockets);
			if (way == 0)
				ready = poll(&asked, 1, 0);
			else if (way == 1)
				ready = ppoll(&asked, 1, &now, NULL);
			else if (way == 2)
				ready = select(s + 1, &sockets, NULL, NULL, &none);
			else if (way == 3)
				ready = pselect(s + 1, &sockets, NULL, NULL, &now, NULL);
			else if (way == 4)
				ready = epoll_wait(e, &event, 1, 0);
			else if (!sched_yield())
				ioctl(s, FIONREAD, &ready);
		}
		recv(s, &byte, 1, 0);
		printf("%d\\n", polls);
	}
}
"""


def test_asking_without_waiting_takes_a_microsecond_until_the_answer_is_there(tmp_path):
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "polling.c").write_text(POLLING)
    output_of("gcc", "-O1", "-o", str(tmp_path / "polling"), str(tmp_path / "polling.c"))
    keys = f"server = {json.dumps(f'{PYTHON} {tmp_path}/echo.py {{port}}')}"
    run = run_of(tmp_path, f"{tmp_path}/polling {{server}} {{port}}", keys)
    # The frame has 43 bytes. In each direction, the link between r0 and r1 takes 10 ms, and the frame's transmission
    # time at 20 Mbit/s
    round_trip_us = 20_000 + 2 * 43 * 8 / 20
    # The packet wakes the server, which may have to wait until the poller's time slice of 1 ms ends.
    assert all(-10 < int(polls) - round_trip_us < 1000 for polls in said(run).split())


WAITING = """
import os, select, signal, socket
alarms = []
signal.signal(signal.SIGALRM, lambda *_: alarms.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.02)
while not alarms:
    os.sched_yield()
signal.setitimer(signal.ITIMER_REAL, 0.02)
idle = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while len(alarms) < 2:
    assert select.select([idle], [], [], 0) == ([], [], [])
print(len(alarms))
"""


def test_a_program_that_polls_what_is_not_coming_reaches_its_time(tmp_path):
    (tmp_path / "waiting.py").write_text(WAITING)
    assert said(run_of(tmp_path, f"{PYTHON} {tmp_path / 'waiting.py'}")) == "2\n"
