# SPDX-License-Identifier: Apache-2.0
"""How tests wait: for what is to happen, bounded by the work of those who are to make it happen, never by a clock.

A machine may be slow, busy or stopped for a while; no test may fail of that. `wait_until` gives up when the processes
that it waits for have ended, or have had much time for themselves (`leowarp.guest.machine.own_time`). For the end of a
process `wait()` and `communicate()` do, without a timeout: what hangs all the same is found by `support.watchdog`.
"""

import subprocess
import time

from leowarp.guest.machine.own_time import POLL_S, OwnTime, everything

# Importing the package takes 2 CPU s on a slow machine, booting a guest as much; sleeps of the product are short.
OWN_TIME_S = 120.0


def wait_until(condition, *by):
    """The first true value of `condition()`.

    by: The processes (ids) that are to bring it about; what they start counts as theirs. Without any it is the task of
        something that is sure to come, and the watchdog is the only bound.
    """
    own = OwnTime([each.pid if isinstance(each, subprocess.Popen) else each for each in by])
    polls = 0
    while not (value := condition()):
        # A look reads all of /proc. Whoever ends may have done its task just before.
        if by and polls % 10 == 0 and not own.look():
            if value := condition():
                return value
            raise AssertionError("it has not happened, and the processes that were to do it have ended")
        assert own.total_s < OWN_TIME_S, f"it has not happened in {own.cpu_s:.0f} CPU s and {own.asleep_s:.0f} s asleep"
        polls += 1
        time.sleep(POLL_S)
    return value


def wait_until_gone(find):
    """Waits until there are no processes `find()` (ids) any more: they were killed, or are about to end."""
    own = {}
    while pids := find():
        looks = everything()
        for pid in pids:
            each = own.setdefault(pid, OwnTime([pid]))
            each.look(looks)
            assert each.total_s < OWN_TIME_S, f"the process {pid} lives on: {each.cpu_s:.0f} CPU s so far"
        time.sleep(10 * POLL_S)
