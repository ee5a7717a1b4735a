# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest

from leowarp.guest.processor import Processor

# Guests that run beside the tests have processors too.
FAMILY = f"leowarp test {os.getpid()}"

needs_two = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only")


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process.pid
    process.kill()
    process.wait()


def test_a_process_is_held_to_one_processor(sleeper):
    processor = Processor(FAMILY)
    processor.keep([sleeper])
    assert len(os.sched_getaffinity(sleeper)) == 1
    processor.close()


@needs_two
def test_two_guests_get_two_processors_and_a_third_is_left_free(sleeper):
    everything = os.sched_getaffinity(0)
    held = [Processor(FAMILY) for _ in everything]
    numbers = set()
    for processor in held:
        processor.keep([sleeper])
        numbers |= os.sched_getaffinity(sleeper)
    assert numbers == everything
    os.sched_setaffinity(sleeper, everything)
    one_too_many = Processor(FAMILY)
    one_too_many.keep([sleeper])
    assert os.sched_getaffinity(sleeper) == everything
    for processor in held:
        processor.close()


@needs_two
def test_a_starved_guest_moves_once_per_window(sleeper):
    processor = Processor(FAMILY)
    processor.keep([sleeper])
    before = os.sched_getaffinity(sleeper)
    assert not processor.starved(0.0, 0.0)
    assert not processor.starved(2.0, 0.1)
    assert processor.starved(4.0, 0.2)
    processor.keep([sleeper])
    assert os.sched_getaffinity(sleeper) != before
    assert not processor.starved(8.0, 3.9)
    processor.close()


def test_a_process_that_has_ended_is_no_error():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    processor = Processor(FAMILY)
    processor.keep([process.pid])
    processor.close()
