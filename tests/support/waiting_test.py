# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys

import pytest

from leowarp.guest.machine.own_time import everything, trees
from support import waiting, watchdog
from support.processes import end_with_descendants
from support.waiting import wait_until, wait_until_gone

SLEEPS = [sys.executable, "-S", "-c", "input()"]
BURNS = [sys.executable, "-S", "-c", "while True: pass"]


def test_a_wait_ends_with_what_it_waits_for(spawn, tmp_path):
    made = tmp_path / "made"
    wait_until(made.exists, spawn(["touch", made]))
    wait_until(lambda: True, spawn(["false"]))


def test_a_wait_fails_once_those_waited_for_have_ended(spawn):
    with pytest.raises(AssertionError, match="have ended"):
        wait_until(lambda: False, spawn(["true"]))


@pytest.mark.slow
@pytest.mark.parametrize("command", [SLEEPS, BURNS])
def test_a_wait_is_bounded_by_the_time_that_those_waited_for_had(spawn, monkeypatch, command):
    monkeypatch.setattr(waiting, "OWN_TIME_S", 0.6)
    process = spawn(command, stdin=subprocess.PIPE)
    with pytest.raises(AssertionError, match="it has not happened in"):
        wait_until(lambda: False, process)
    with pytest.raises(AssertionError, match="lives on"):
        wait_until_gone(lambda: [process.pid])


@pytest.mark.slow
def test_a_process_that_is_held_is_waited_for(spawn, monkeypatch):
    monkeypatch.setattr(waiting, "OWN_TIME_S", 0.6)
    process = spawn(BURNS)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    polls = iter(range(100))
    # For at least two seconds of wall-clock time, the process itself did not run.
    assert wait_until(lambda: next(polls) == 99, process)


def test_processes_end_with_all_that_they_have_started():
    script = "import subprocess, sys; subprocess.Popen(['sleep', 'infinity'], start_new_session=True); print(); input()"
    process = subprocess.Popen([sys.executable, "-S", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"\n"
    (below,) = trees([process.pid], everything()).keys() - {process.pid}
    end_with_descendants([process])
    assert process.stdin.closed
    assert process.stdout.closed
    wait_until(lambda: below not in trees([below], everything()))


@pytest.mark.parametrize(("asleep_s", "cpu_s"), [(0.5, 1e9), (1e9, 0.5)])
def test_the_watchdog_finds_a_test_that_sleeps_or_computes_for_ever(spawn, monkeypatch, asleep_s, cpu_s):
    monkeypatch.setattr(watchdog, "LOOK_S", 0.1)
    # Without PYTEST_XDIST_WORKER, the process is not regarded as one of several test processes.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    process = spawn(SLEEPS if cpu_s > asleep_s else BURNS, stdin=subprocess.PIPE)
    found = pytest.raises(pytest.fail.Exception, match=rf"(?s)the test hangs: .*{process.pid}: .*python")
    with found, watchdog.watched(asleep_s, cpu_s):
        process.wait()


def test_the_watchdog_lets_a_test_end():
    before = signal.getsignal(signal.SIGALRM)
    with watchdog.watched(1e9, 1e9):
        assert signal.getsignal(signal.SIGALRM) is not before
    assert signal.getsignal(signal.SIGALRM) is before
