# SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys
from subprocess import PIPE

import pytest

from leowarp.guest.boot.watch import CONSOLE_KEPT_BYTES, Console, GuestMemory, Usage, members_of_session
from leowarp.guest.machine.own_time import TICKS_PER_S, look_at
from support.waiting import wait_until, wait_until_gone


def test_messages_and_other_lines_are_read_as_they_grow(tmp_path):
    file = tmp_path / "console"
    file.write_bytes(b'[ 0.1] noise\nleowarp: {"t_ns": 1}\nleowarp: {"t_')
    console = Console(file)
    assert list(console.lines()) == ["[ 0.1] noise", {"t_ns": 1}]
    with file.open("ab") as more:
        more.write(b'ns": 2}\nleowarp: {"cut\n[ 0.2] leowarp: {"t_ns": 9} quoted\n')
    assert list(console.lines()) == [{"t_ns": 2}, 'leowarp: {"cut', '[ 0.2] leowarp: {"t_ns": 9} quoted']
    assert list(console.lines()) == []
    with file.open("ab") as more:
        more.write(b"x" * (2 * CONSOLE_KEPT_BYTES))
    assert list(console.lines()) == []
    assert len(console.text()) == CONSOLE_KEPT_BYTES
    console.close()


def test_a_guest_that_prints_faster_than_its_lines_are_read_does_not_hold_the_reader(tmp_path):
    file = tmp_path / "console"
    file.write_bytes(b"x\n" * 10)
    console = Console(file)
    read = 0
    for _ in console.lines():
        read += 1
        assert read <= 10
        with file.open("ab") as more:
            more.write(b"y\n" * 2)
    assert (read, console.size_bytes) == (10, 20)
    assert len(list(console.lines())) == 20
    console.close()


BURN = """
import os, sys, time
os.fork()
while time.process_time() < 0.3: pass
os.write(1, f"{time.process_time()}\\n".encode())
sys.stdin.read()
"""


def test_usage_counts_a_process_and_its_children(spawn):
    process = spawn([sys.executable, "-S", "-c", BURN], stdin=PIPE, stdout=PIPE, start_new_session=True)
    told_s = sum(float(process.stdout.readline()) for _ in range(2))
    usage = Usage(process.pid)
    # The host rounds user and system time of each process down to ticks. When the sample is taken, each process sleeps
    # or is about to sleep.
    assert told_s - 4 / TICKS_PER_S <= usage.sample() <= 2 * told_s
    assert len(members_of_session(process.pid)) == 2
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_until_gone(lambda: members_of_session(process.pid))
    before = usage.total_s
    assert usage.sample() == before


# The program uses processor time in two child processes, one after the other. It waits for the first one, but not for
# the second one.
LEAVES_THE_SECOND = """
import os, signal, sys, time
for waits in (True, False):
    sys.stdin.readline()
    if not (child := os.fork()):
        while time.process_time() < 0.3: pass
        os.write(1, f"{time.process_time()}\\n".encode())
        signal.pause()
    sys.stdin.readline()
    if waits:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.write(1, b"ended\\n")
"""


def test_a_process_that_was_waited_for_is_counted_once(spawn):
    process = spawn([sys.executable, "-S", "-c", LEAVES_THE_SECOND], stdin=PIPE, stdout=PIPE, start_new_session=True)
    usage, tick_s = Usage(process.pid), 1 / TICKS_PER_S

    def go_on() -> None:
        process.stdin.write(b"\n")
        process.stdin.flush()

    go_on()
    first_s = float(process.stdout.readline())
    seen_s = usage.sample()
    assert first_s - 2 * tick_s <= seen_s
    go_on()
    assert process.stdout.readline() == b"ended\n"
    # If the first process were counted twice, `usage.sample()` would be above `seen_s + first_s / 2`.
    assert seen_s <= usage.sample() < seen_s + first_s / 2
    assert usage.reaped_s >= first_s - 2 * tick_s
    go_on()
    second_s = float(process.stdout.readline())
    both_s = usage.sample()
    assert first_s + second_s - 4 * tick_s <= both_s < seen_s + 1.5 * second_s
    go_on()
    wait_until(lambda: look_at(process.pid).has_ended, process)
    left_s = usage.left_s()
    assert second_s - 2 * tick_s <= left_s < 1.5 * second_s
    assert usage.sample() == both_s
    # The host's kernel includes the time of a child process only if the program has waited for this process.
    _, _, rusage = os.wait4(process.pid, 0)
    assert abs(rusage.ru_utime + rusage.ru_stime + left_s - both_s) < first_s / 2
    os.killpg(process.pid, signal.SIGKILL)
    wait_until_gone(lambda: members_of_session(process.pid))


@pytest.mark.slow
def test_usage_tells_how_long_all_of_it_slept(spawn):
    process = spawn([sys.executable, "-S", "-c", BURN], stdin=PIPE, stdout=PIPE)
    usage = Usage(process.pid)

    def has_slept():
        usage.sample()
        return usage.asleep_s > 0.1

    wait_until(has_slept, process)
    assert [process.stdout.readline() for _ in range(2)] != [b"", b""]


@pytest.mark.parametrize("symbols", [{}, {"time_travel_time": 8}])
def test_a_clock_that_cannot_be_read_is_none(symbols):
    assert GuestMemory(os.getpid(), symbols).clock_ns() is None
    assert GuestMemory(os.getpid(), symbols).running_program() is None
