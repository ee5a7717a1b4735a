# SPDX-License-Identifier: Apache-2.0
"""What a timer of the kernel's wheel is rounded to (guest/clock/wheel.c)."""

import pytest

pytestmark = pytest.mark.guest


def test_a_timer_is_rounded_alike_whatever_expired_in_the_tick_in_which_it_was_set(end_of, guest_directory):
    end = end_of("timers_init", guest_directory)
    assert end["waits"] == 400
    # From the middle of a tick 63 ticks, and one more since none comes early. Before, some were rounded to 8 ticks.
    assert 63_500_000 <= end["least_ns"] == end["most_ns"] < 63_510_000
