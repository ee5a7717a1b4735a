# SPDX-License-Identifier: Apache-2.0
"""Functions by which tests wait for an event. The bound of a wait is the processor time of the processes that cause the
event, never wall-clock time.

A slow, busy or paused machine must not fail a test. `wait_until` gives up when these processes have ended, or have had
much time to run (`leowarp.guest.machine.own_time`). `wait()` and `communicate()` without a timeout wait for the end of
a process. `support.watchdog` finds processes that hang.
"""

import subprocess
import time

from leowarp.guest.machine.own_time import POLL_S, OwnTime, everything

# Importing the package takes 2 CPU s on a slow machine, and booting a guest takes as much; leowarp's own sleeps are
# short.
OWN_TIME_S = 120.0


def wait_until(condition, *by):
    """Waits for and returns the first true value of `condition()`.

    by: Ids of the processes that should cause the event; their children are included. Without any process, the event is
        certain to happen, and the watchdog is the only bound.
    """
    own = OwnTime([each.pid if isinstance(each, subprocess.Popen) else each for each in by])
    polls = 0
    while not (value := condition()):
        # Each check reads all of /proc. A process may have caused the event just before its end.
        if by and polls % 10 == 0 and not own.look():
            if value := condition():
                return value
            raise AssertionError("it has not happened, and the processes that were to do it have ended")
        assert own.total_s < OWN_TIME_S, f"it has not happened in {own.cpu_s:.0f} CPU s and {own.asleep_s:.0f} s asleep"
        polls += 1
        time.sleep(POLL_S)
    return value


def wait_until_gone(find):
    """Waits until `find()` returns no process ids: the processes were killed, or are about to end."""
    own = {}
    while pids := find():
        looks = everything()
        for pid in pids:
            each = own.setdefault(pid, OwnTime([pid]))
            each.look(looks)
            assert each.total_s < OWN_TIME_S, f"the process {pid} lives on: {each.cpu_s:.0f} CPU s so far"
        time.sleep(10 * POLL_S)
