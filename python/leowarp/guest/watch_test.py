# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import time

import pytest

from leowarp.guest.drive import Patience, _Standstill
from leowarp.guest.watch import CONSOLE_KEPT_BYTES, Console, GuestMemory, Usage, members_of_session

PATIENCE = Patience(frozen_cpu_s=10, asleep_s=100, silent_virtual_s=1000)
S = 1_000_000_000


def judged(samples: list[tuple[float, float, int | None, int | None]]) -> list[str | None]:
    standstill = _Standstill(PATIENCE)
    return [standstill.judge(*sample) for sample in samples]


def test_a_clock_that_moves_is_no_standstill():
    assert judged([(t, t, 3 * t * S, 3 * t * S) for t in range(300)]) == [None] * 300


def test_a_frozen_clock_counts_processor_time_not_wall_time():
    # Stopped by the scheduler for long, then a little work: patience is about work
    assert judged([(0, 0, S, None), (90, 5, S, None), (95, 9.9, S, None)]) == [None] * 3
    assert "virtual time stopped at 1 s after boot" in judged([(0, 0, S, None), (9, 10.1, S, None)])[-1]


def test_neither_clock_nor_processor_moves():
    assert "neither" in judged([(0, 1, S, None), (101, 1, S, None)])[-1]


def test_an_agent_that_is_silent_for_long():
    samples = [(1, 1, S, S), (2, 2, 1002 * S, S)]
    assert "said nothing for 1000 virtual seconds" in judged(samples)[-1]
    assert judged([(1, 1, S, S), (2, 2, 1002 * S, 900 * S)]) == [None, None]


def test_without_a_clock_the_words_of_the_agent_stand_for_it():
    assert judged([(0, 0, None, S), (9, 9, None, 2 * S), (18, 18, None, 3 * S)]) == [None] * 3
    assert "virtual time stopped" in judged([(0, 0, None, S), (9, 10.1, None, S)])[-1]


def test_messages_are_read_as_they_grow(tmp_path):
    file = tmp_path / "console"
    file.write_bytes(b'[ 0.1] noise\nleowarp: {"t_ns": 1}\nleowarp: {"t_')
    console = Console(file)
    assert console.messages() == [{"t_ns": 1}]
    with file.open("ab") as more:
        more.write(b'ns": 2}\nleowarp: {"cut\n[ 0.2] leowarp: {"t_ns": 9} quoted\n')
    assert console.messages() == [{"t_ns": 2}]
    assert console.messages() == []
    with file.open("ab") as more:
        more.write(b"x" * (2 * CONSOLE_KEPT_BYTES))
    assert console.messages() == []
    assert len(console.text()) == CONSOLE_KEPT_BYTES
    console.close()


def test_usage_counts_a_process_and_its_children():
    burn = """import os, time
end = time.process_time() + 0.3
os.fork()
while time.process_time() < end: pass
time.sleep(9)"""
    process = subprocess.Popen([sys.executable, "-S", "-c", burn], start_new_session=True)
    usage = Usage(process.pid)
    deadline = time.monotonic() + 20
    while usage.sample() < 0.5:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert 0.5 <= usage.total_s < 3
    assert usage.peak_bytes > 1 << 20
    assert len(members_of_session(process.pid)) == 2
    os.killpg(process.pid, 9)
    process.wait()
    while members_of_session(process.pid):
        assert time.monotonic() < deadline
    before = usage.total_s
    assert usage.sample() == before


@pytest.mark.parametrize("symbols", [{}, {"time_travel_time": 8}])
def test_a_clock_that_cannot_be_read_is_none(symbols):
    assert GuestMemory(os.getpid(), symbols).clock_ns() is None
    assert GuestMemory(os.getpid(), symbols).running_program() is None
