# SPDX-License-Identifier: Apache-2.0
"""A watchdog for all tests. It makes a test fail if the test hangs, but not if the test is slow.

No test has a limit of wall-clock time. A thread checks the processes of the tests once per second. A test counts as
hanging if all its processes have slept for a long time. The processes of other pytest-xdist workers count too, because
the test may wait for them. A test also counts as hanging if it uses far more processor time than any test needs.
"""

import os
import signal
import threading
from contextlib import contextmanager

import pytest

from leowarp.guest.machine.own_time import OwnTime, everything, trees

LOOK_S = 1.0
ASLEEP_S = 300.0
# The longest test needs a hundred seconds. The speeds of machines differ by a factor of three, or perhaps ten.
CPU_S = 3600.0


def pytest_addoption(parser):
    parser.addini("hang_asleep_s", "a test hangs if everything has slept for so long, s", default=str(ASLEEP_S))
    parser.addini("hang_cpu_s", "a test hangs if it has used so much processor time, CPU s", default=str(CPU_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with watched(float(item.config.getini("hang_asleep_s")), float(item.config.getini("hang_cpu_s"))):
        return (yield)


@contextmanager
def watched(asleep_s, cpu_s):
    """Interrupt the main thread and make the test fail if the code inside this context hangs."""
    found = []
    over = threading.Event()

    def fail(number, frame):
        if not over.is_set():
            pytest.fail(f"the test hangs: {found[0]}")

    before = signal.signal(signal.SIGALRM, fail)
    thread = threading.Thread(target=_watch, args=(asleep_s, cpu_s, over, found), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGALRM, before)


def _watch(asleep_s, cpu_s, over, found):
    mine = [os.getpid()]
    # The parent of a pytest-xdist worker is the process that distributes tests to the workers.
    everyone = [os.getppid()] if "PYTEST_XDIST_WORKER" in os.environ else mine
    all_tests, this_test = OwnTime(everyone), OwnTime(mine)
    while not over.wait(LOOK_S):
        looks = everything()
        all_tests.look(looks)
        this_test.look(looks)
        if all_tests.asleep_s > asleep_s or this_test.cpu_s > cpu_s:
            spent = f"{this_test.cpu_s:.0f} CPU s so far, and everything asleep for {all_tests.asleep_s:.0f} s"
            found.append("\n".join([spent, *(_described(pid) for pid in trees(mine, looks))]))
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
            return


def _described(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid}: {file.read().replace(bytes(1), b' ').decode(errors='replace')[:200]}"
    except OSError:
        return f"{pid}: has ended"
