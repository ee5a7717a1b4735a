# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
from contextlib import ExitStack, closing

import pytest

from leowarp.guest.machine.processor import Processor

# Guests that run beside the tests also reserve processors. A separate family name keeps the tests' reservations apart
# from the guests' reservations.
FAMILY = f"leowarp test {os.getpid()}"

needs_two = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only")


@pytest.fixture
def sleeper(spawn):
    """Start a process that sleeps as long as the test lasts."""
    return spawn([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE).pid


@pytest.fixture
def processor():
    """Make `Processor` objects, and release them at the end."""
    with ExitStack() as held:
        yield lambda: held.enter_context(closing(Processor(FAMILY)))


def test_a_process_is_held_to_one_processor(sleeper, processor):
    processor().keep([sleeper])
    assert len(os.sched_getaffinity(sleeper)) == 1


@needs_two
def test_two_guests_get_two_processors_and_a_third_is_left_free(sleeper, processor):
    everything = os.sched_getaffinity(0)
    held = [processor() for _ in everything]
    numbers = set()
    for each in held:
        each.keep([sleeper])
        numbers |= os.sched_getaffinity(sleeper)
    assert numbers == everything
    os.sched_setaffinity(sleeper, everything)
    processor().keep([sleeper])
    assert os.sched_getaffinity(sleeper) == everything


@needs_two
def test_a_starved_guest_moves_once_per_window(sleeper, processor):
    held = processor()
    held.keep([sleeper])
    before = os.sched_getaffinity(sleeper)
    assert not held.starved(0.0, 0.0)
    assert not held.starved(2.0, 0.1)
    assert held.starved(4.0, 0.2)
    held.keep([sleeper])
    assert os.sched_getaffinity(sleeper) != before
    assert not held.starved(8.0, 3.9)


def test_a_process_that_has_ended_is_no_error(processor):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    processor().keep([process.pid])
