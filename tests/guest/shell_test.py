# SPDX-License-Identifier: Apache-2.0
"""Tests `leowarp shell` with a command at a host, and with a shell on a terminal."""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress

import pytest

pytestmark = pytest.mark.guest

CHAIN = """
name = "shell"
[run]
duration = "1000 s"
[chain]
hops = 2
delay = "10 ms"
rate = "20 Mbit/s"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
"""
ROWS, COLUMNS = 33, 161
PROMPT = re.compile(rb"A (\d+\.\d{6}) s\$ ")

needs_ping = pytest.mark.skipif(shutil.which("ping") is None, reason="ping is missing (apt-get install iputils-ping)")
needs_traceroute = pytest.mark.skipif(
    shutil.which("traceroute") is None, reason="traceroute is missing (apt-get install traceroute)"
)


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "shell.toml"
    path.write_text(CHAIN)
    return path


def command(scenario, *words):
    return [sys.executable, "-m", "leowarp", "shell", scenario, *words]


def done(scenario, *words, stdin=b""):
    return subprocess.run(list(map(str, command(scenario, *words))), input=stdin, capture_output=True, check=False)


class Screen:
    """A terminal on which `leowarp shell` runs."""

    def __init__(self, spawn, words):
        self._keys, there = pty.openpty()
        self.resize(ROWS, COLUMNS)
        self.process = spawn(
            words, stdin=there, stdout=there, stderr=there, start_new_session=True, env=os.environ | {"TERM": "dumb"}
        )
        os.close(there)
        self._said = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self._keys, text)

    def until(self, pattern):
        """Wait for a pattern in the output after the last match, and return the match."""
        while not (match := re.search(pattern, self._said)):
            self._said += self._piece()
        self._said = self._said[match.end() :]
        return match

    def prompt_s(self):
        return float(self.until(PROMPT)[1])

    def to_the_end(self):
        """Read the rest of the output, and return the exit status of the process."""
        with suppress(EOFError):
            while True:
                self._piece()
        os.close(self._keys)
        return self.process.wait()

    def hang_up(self):
        os.close(self._keys)

    def _piece(self):
        try:
            piece = os.read(self._keys, 4096)
        except OSError:  # the other end of the pseudo-terminal is closed, so the output has ended
            piece = b""
        if not piece:
            raise EOFError(self._said)
        return piece


@needs_ping
def test_a_command_says_what_it_says_in_virtual_time_and_its_exit_code_is_ours(scenario):
    ran = done(scenario, "--at", "a", "--", "sh", "-c", "ping -c 3 -i 20 B; echo no >&2; exit 7")
    assert ran.returncode == 7
    assert ran.stderr.endswith(b"no\n")
    trips = re.findall(rb"from B \(10\.1\.0\.2\): icmp_seq=\d ttl=61 time=(\S+) ms", ran.stdout)
    # The round trip has four delays of 10 ms, and four transmissions of 84 bytes and an Ethernet header at 20 Mbit/s.
    assert [float(trip) for trip in trips] == pytest.approx([40.2] * 3, abs=0.1)


@needs_traceroute
def test_routers_answer_to_traceroute_by_their_names(scenario):
    ran = done(scenario, "--at", "A", "--no-flows", "--", "traceroute", "b")
    assert re.findall(rb"^ *\d+ +(\S+) \(", ran.stdout, re.M) == [b"r0", b"r1", b"r2", b"B"]


def test_standard_input_is_read_to_its_end_and_given_to_the_command(scenario):
    assert done(scenario, "--at", "B", "-i", "--", "cat", stdin=b"one\0two").stdout == b"one\0two"
    assert done(scenario, "--at", "B", "--", "cat").stdout == b"", "without -i there is none"
    assert done(scenario, "--at", "B", "-i", stdin=b"echo $((6 * 7)); exit 5").stdout == b"42\n"


def test_time_stands_still_at_the_prompt_and_goes_on_for_a_command(scenario, spawn):
    screen = Screen(spawn, command(scenario, "--at", "A"))
    began_s = screen.prompt_s()
    assert began_s < 0.001
    for _ in range(5):
        screen.type(b"\r")
        next_s = screen.prompt_s()
        assert next_s - began_s < 0.001, "an empty line takes no time"
        began_s = next_s
    screen.type(b"sleep 30\r")
    assert screen.prompt_s() - began_s == pytest.approx(30, abs=0.02)
    screen.type(b"exit 3\r")
    assert screen.to_the_end() == 3


def test_the_terminal_has_its_size_job_control_and_signals(scenario, spawn):
    screen = Screen(spawn, command(scenario, "--at", "A", "--no-flows"))
    screen.prompt_s()
    screen.type(b"stty size; tty\r")
    screen.until(f"{ROWS} {COLUMNS}\r\n/dev/tty1".encode())
    screen.prompt_s()
    screen.resize(40, 170)
    # The test itself sends SIGWINCH, because its terminal is not the controlling terminal of any process.
    screen.process.send_signal(signal.SIGWINCH)
    screen.type(b"sh -c 'echo ready; read x; echo got $x; kill -TSTP $$; echo back; read y; echo got $y'\r")
    # If input arrives too early, bash is still reading its own line. The command that bash starts then does not get
    # this input.
    screen.until(b"ready\r\n")
    screen.type(b"one\r")
    screen.until(b"got one\r\n")
    screen.until(b"Stopped")
    screen.prompt_s()
    screen.type(b"fg\r")
    screen.until(b"back\r\n")
    screen.type(b"two\r")
    screen.until(b"got two\r\n")
    screen.prompt_s()
    screen.type(b"stty size\r")
    screen.until(b"40 170\r\n")
    before_s = screen.prompt_s()
    screen.type(b"sh -c 'echo ready; exec sleep 900'\r")
    screen.until(b"ready\r\n")
    screen.type(b"\x03")
    assert screen.prompt_s() - before_s < 900, "Ctrl-C ended it"
    screen.type(b"exit\r")
    assert screen.to_the_end() == 130, "bash ends with the status of the last command"


def test_tilde_and_dot_end_it_whatever_runs(scenario, spawn):
    screen = Screen(spawn, command(scenario, "--at", "A", "--no-flows"))
    screen.prompt_s()
    screen.type(b"cat\r~.")
    assert screen.to_the_end() == 130


def test_it_ends_with_its_terminal(scenario, spawn):
    screen = Screen(spawn, command(scenario, "--at", "A", "--no-flows"))
    screen.prompt_s()
    screen.hang_up()
    assert screen.process.wait() == 130


def test_a_command_that_outlives_the_run_is_an_error(scenario):
    ran = done(scenario, "--at", "A", "--set", 'run.duration="5 s"', "--", "sleep", "100")
    assert ran.returncode == 4
    assert b"`sleep 100` still runs at the run's end, 5 s" in ran.stderr


def test_what_a_flow_of_programs_serves_is_there(tmp_path):
    scenario = tmp_path / "served.toml"
    serve = json.dumps(f"{os.path.realpath(sys.executable)} -m http.server 8000 --directory /usr/share/common-licenses")
    scenario.write_text(
        CHAIN.split("[[flows]]")[0]
        + f'[[flows]]\nkind = "program"\nsource = "B"\ndestination = "A"\nclient_at = "destination"\nserver = {serve}\n'
        'client = "sleep 900"\nexpect_exit = "stopped"\n'
    )
    script = "import urllib.request; print(urllib.request.urlopen('http://b:8000/GPL-3').read().decode())"
    ran = done(
        scenario,
        "--at",
        "A",
        "--trust",
        "--",
        "sh",
        "-c",
        f'sleep 3; exec {os.path.realpath(sys.executable)} -c "{script}"',
    )
    assert b"GNU GENERAL PUBLIC LICENSE" in ran.stdout, ran.stderr
