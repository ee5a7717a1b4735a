# SPDX-License-Identifier: Apache-2.0
"""Tests how much virtual time a program's system calls take (guest/clock/polling.c)."""

import pytest

pytestmark = pytest.mark.guest

TICK_NS = 1_000_000
CLOCK_TICK_NS = 10_000_000  # USER_HZ is 100 per second


def test_asking_for_a_time_takes_time_and_so_a_program_that_asks_sees_it_move(end_of, guest_directory):
    took_ns = end_of("calls_init", guest_directory)["ns"]
    # Each loop of `calls_init` repeats a call until the next tick of the clock that the call reads.
    until = {name.removeprefix("until "): ns for name, ns in took_ns.items() if name.startswith("until ")}
    edges = {"times": CLOCK_TICK_NS, "realtime coarse": TICK_NS, "of the process": TICK_NS, "getrusage": TICK_NS}
    assert until.keys() == edges.keys()
    assert all(0 < until[name] <= edge_ns + 2000 for name, edge_ns in edges.items())
    calls = {name: ns for name, ns in took_ns.items() if not name.startswith("until ")}
    free = {name for name, ns in calls.items() if ns == 0}
    assert free == {"getpid", "clock_getres"}
    reads = {"realtime", "monotonic", "raw", "boottime", "gettimeofday", "sysinfo"}
    assert {calls.pop(name) for name in reads} == {256}
    # Each call of `adjtimex` or `clock_adjtime` reads the clock three times.
    assert {calls.pop(name) for name in ("adjtimex", "clock_adjtime")} == {3 * 256}
    asked = {"of the process", "of the thread", "realtime coarse", "monotonic coarse", "time", "times", "getrusage"}
    left = {"getitimer", "timer_gettime", "timerfd_gettime"}
    assert calls.keys() - free == asked | left | {"wait4", "waitid"}
    assert {calls[name] for name in calls.keys() - free} == {1000}
