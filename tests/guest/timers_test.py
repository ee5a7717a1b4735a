# SPDX-License-Identifier: Apache-2.0
"""Tests how the timer wheel of the kernel rounds timers. It is Linux's own timer wheel."""

import pytest

pytestmark = pytest.mark.guest

TICK_NS = 1_000_000
READINGS_NS = 10_000


def test_timers_below_63_ticks_end_with_a_tick_and_others_with_an_eighth_tick(end_of, guest_directory):
    waits = end_of("timers_init", guest_directory)["waits"]
    assert len(waits) == 400
    short, longer = waits[::2], waits[1::2]
    # A wait of 62 ticks begins in the middle of a tick. A timer never ends early, so the rest of the tick in which the
    # wait began is added.
    assert all(
        62 * TICK_NS + TICK_NS // 2 <= waited_ns < 62 * TICK_NS + TICK_NS // 2 + READINGS_NS for _, waited_ns in short
    )
    ends_ns = [tick * TICK_NS + TICK_NS // 2 + waited_ns for tick, waited_ns in longer]
    rounded = [end_ns for end_ns in ends_ns if end_ns % (8 * TICK_NS) < READINGS_NS]
    # After another timer has expired in a tick, the wheel's own time is one tick ahead until this tick ends. If the
    # wheel is one tick ahead, a wait of 63 ticks is only 62 ticks of the wheel's time. Every 104 ticks, a timer of the
    # kernel's housekeeping (tcp_orphan_update) expires.
    early = [waited_ns for _, waited_ns in longer if waited_ns < 63 * TICK_NS + TICK_NS // 2 + READINGS_NS]
    assert len(rounded) + len(early) == len(longer)
    assert 0 < len(early) < len(longer) // 20
    assert all(63 * TICK_NS < waited_ns < 72 * TICK_NS for _, waited_ns in longer)
