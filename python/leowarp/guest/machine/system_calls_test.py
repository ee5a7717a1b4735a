# SPDX-License-Identifier: Apache-2.0
import struct

import pytest

from leowarp.guest.machine.system_calls import SIZE_BYTES, Calls, calls_in, polling


def memory(numbers: list[int]) -> bytes:
    """Return the bytes of the guest kernel's record of system calls. The system calls with the numbers in `numbers`
    have occurred."""
    words = [0] * 16
    for at, number in enumerate(numbers):
        words[2 * (at % 8) : 2 * (at % 8) + 2] = [4711, number]
    return struct.pack("<Q16I", len(numbers), *words)


@pytest.mark.parametrize(
    ("numbers", "last"),
    [
        ([], ()),
        ([0, 24], ("read", "sched_yield")),
        ([*range(900, 908), 7, 24], (*(f"number {n}" for n in range(902, 908)), "poll", "sched_yield")),
    ],
)
def test_the_newest_calls_are_read_in_their_order(numbers, last):
    raw = memory(numbers)
    assert len(raw) == SIZE_BYTES
    assert calls_in(raw) == Calls(len(numbers), last)


def test_only_calls_since_virtual_time_stopped_are_named():
    said, hint = polling(Calls(10, ("write",)), Calls(12, ("write", "write", "epoll_wait", "read")))
    assert said == "; its last system calls of 2 since: epoll_wait, read"
    assert "no longer ask for, what stays ready" in hint


def test_what_to_do_follows_from_what_was_called():
    before = Calls(0, ())
    assert "made no system call" in polling(before, before)[0]
    assert "OMP_NUM_THREADS=1" in polling(before, before)[1]
    assert "read the clock" in polling(before, Calls(1, ("lseek",)))[1]
    assert polling(None, before)[0] == polling(before, None)[0] == ""
