# SPDX-License-Identifier: Apache-2.0
"""Functions with which tests wait for an event. A wait is limited by the processor time of the processes that cause the
event, not by elapsed time.

Wall-clock time sets no limit, because a slow, busy or paused machine must not make a test fail. `wait_until` gives up
when the processes that cause the event have ended, or have had much processor time (`leowarp.guest.machine.own_time`).
A call of `wait()` or `communicate()` without a timeout waits until the process ends.
"""

import subprocess
import time

from leowarp.guest.machine.own_time import POLL_S, OwnTime, everything

# On a slow machine, importing the package takes 2 CPU s, and booting a guest takes another 2 CPU s. leowarp itself
# sleeps only for short times.
OWN_TIME_S = 120.0


def wait_until(condition, *by):
    """Wait until `condition()` returns a true value, and return this value.

    by: The ids of the processes that are expected to cause the event. Their child processes count too. If no ids are
        given and the event never happens, the wait lasts until the watchdog ends it.
    """
    own = OwnTime([each.pid if isinstance(each, subprocess.Popen) else each for each in by])
    polls = 0
    while not (value := condition()):
        # The processes are checked only at every tenth poll, because the check reads all of /proc. A process may have
        # caused the event just before it ended, so the condition is evaluated once more.
        if by and polls % 10 == 0 and not own.look():
            if value := condition():
                return value
            raise AssertionError("it has not happened, and the processes that were to do it have ended")
        assert own.total_s < OWN_TIME_S, f"it has not happened in {own.cpu_s:.0f} CPU s and {own.asleep_s:.0f} s asleep"
        polls += 1
        time.sleep(POLL_S)
    return value


def wait_until_gone(find):
    """Wait until `find()` returns no process ids. The processes must have been killed, or be about to end."""
    own = {}
    while pids := find():
        looks = everything()
        for pid in pids:
            each = own.setdefault(pid, OwnTime([pid]))
            each.look(looks)
            assert each.total_s < OWN_TIME_S, f"the process {pid} lives on: {each.cpu_s:.0f} CPU s so far"
        time.sleep(10 * POLL_S)
