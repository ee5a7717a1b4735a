# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys

import pytest

from leowarp.guest.machine.own_time import (
    LONGEST_STEP_S,
    Look,
    OwnTime,
    end_patiently,
    everything,
    look_at,
    stat_fields,
    trees,
)
from support.waiting import wait_until

SLEEPS = [sys.executable, "-S", "-c", "input()"]
BURNS = [sys.executable, "-S", "-c", "while True: pass"]


def look(cpu_s=0.0, parent=1, *, is_awake=False, has_ended=False):
    return Look(parent, cpu_s, reaped_s=0.0, is_awake=is_awake, has_ended=has_ended)


def stopped(process):
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    return process


def test_a_tree_is_a_process_and_all_below_it_that_have_not_ended():
    looks = {5: look(), 6: look(parent=5), 7: look(parent=6), 8: look(), 9: look(parent=5, has_ended=True)}
    assert trees([5], looks).keys() == {5, 6, 7}
    assert trees([6, 8], looks).keys() == {6, 7, 8}
    assert trees([4, 9], looks) == {}


def test_own_time_is_processor_time_from_the_first_look_on_and_sleep():
    own = OwnTime([5])
    assert own.look({5: look(3.0)})
    own.look({5: look(3.5), 6: look(0.25, parent=5, is_awake=True)})
    own.look({5: look(3.5, is_awake=True), 6: look(1.0, parent=5)})
    assert (own.cpu_s, own.asleep_s) == (1.5, 0.0)
    own.look({5: look(3.5)})
    assert own.asleep_s > 0
    assert own.total_s == own.cpu_s + own.asleep_s
    assert not own.look({5: look(9.0, has_ended=True)})
    assert own.cpu_s == 1.5


def test_whoever_waits_for_a_processor_sleeps_not():
    own = OwnTime([5])
    for _ in range(1000):
        own.look({5: look(is_awake=True), 6: look(parent=5)})
    assert own.total_s == 0.0


def test_a_looker_that_was_stopped_counts_a_step(monkeypatch):
    now = iter([0.0, 86_400.0])
    monkeypatch.setattr("leowarp.guest.machine.own_time.time.monotonic", lambda: next(now))
    own = OwnTime([5])
    own.look({5: look()})
    own.look({5: look()})
    assert own.asleep_s == LONGEST_STEP_S


def test_states_are_those_of_the_host(spawn):
    sleeps, burns = spawn(SLEEPS, stdin=subprocess.PIPE), spawn(BURNS)
    wait_until(lambda: not look_at(sleeps.pid).is_awake, sleeps)
    assert look_at(burns.pid).is_awake
    assert look_at(stopped(sleeps).pid).is_awake
    assert look_at(sleeps.pid).parent == os.getpid()
    sleeps.kill()
    os.waitid(os.P_PID, sleeps.pid, os.WEXITED | os.WNOWAIT)
    assert look_at(sleeps.pid).has_ended
    sleeps.wait()
    assert look_at(sleeps.pid) is None
    assert sleeps.pid not in everything()


def test_a_thread_that_works_keeps_its_process_awake(spawn):
    # sum() never releases the interpreter's lock. While sum() runs, the main thread only waits for the lock, and the
    # other thread always wants a processor. Before sum() runs, the two threads pass the lock back and forth, so both
    # may be asleep when a sample is taken.
    text = "import threading; threading.Thread(target=lambda: sum(range(10**18))).start()"
    process = spawn([sys.executable, "-S", "-c", text])
    wait_until(lambda: ticks_of_others(process.pid) >= 5, process)
    assert all(look_at(process.pid).is_awake for _ in range(100))


def ticks_of_others(pid):
    """Return the processor time of all threads of a process except its main thread, in clock ticks."""
    others = [
        stat_fields(f"/proc/{pid}/task/{thread}/stat")
        for thread in os.listdir(f"/proc/{pid}/task")
        if int(thread) != pid
    ]
    return sum(int(fields[11]) + int(fields[12]) for fields in others)


@pytest.mark.parametrize(("command", "status"), [(SLEEPS, -signal.SIGKILL), (BURNS, -signal.SIGKILL), (["true"], 0)])
def test_whoever_does_not_end_in_its_own_time_is_killed(spawn, command, status):
    process = spawn(command, stdin=subprocess.PIPE)
    end_patiently([process], 0.3)
    assert process.returncode == status


def test_a_process_that_is_slow_to_end_is_waited_for(spawn):
    # The process stays stopped for longer than `patience_s`, and then ends by itself.
    slow = stopped(spawn(SLEEPS, stdin=subprocess.PIPE))
    spawn(["sh", "-c", f"sleep 1; kill -CONT {slow.pid}"])
    slow.stdin.close()
    end_patiently([slow], 0.3)
    assert slow.returncode == 1
