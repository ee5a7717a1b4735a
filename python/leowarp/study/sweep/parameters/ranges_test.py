# SPDX-License-Identifier: Apache-2.0
"""Tests how seeds are written as text, and which parameters have ordered numbers."""

import pytest

from leowarp.study.sweep.parameters.keys import plan_key
from leowarp.study.sweep.parameters.ranges import is_in_order, seeds_in_words


@pytest.mark.parametrize(
    ("seeds", "words"),
    [((1, 7), "1, 7"), ((4,), "4"), ((1, 2), "1, 2"), (range(1, 31), "1 to 30"), ((1, 2, 4), "1, 2, 4"),
     (range(0, 40, 2), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ..., 38")],
)  # fmt: skip
def test_only_seeds_that_follow_one_another_are_a_range(seeds, words):
    assert seeds_in_words(tuple(seeds)) == words


@pytest.mark.parametrize(
    ("key", "values", "in_order"),
    [
        ("chain.delay", ["500 us", "1 ms", "0.1 s"], True),
        ("chain.delay", ["3 ms", "2 ms", "1 ms"], True),
        ("chain.delay", ["1 ms", "3 ms", "2 ms"], False),
        ("chain.hops", [1, 2, 5], True),
        ("chain.queue", ["25 pkts", "50 pkts"], True),
        ("chain.queue", ["25 pkts", "50 kB"], False),
        ("measured.rate", ["1 Mbit/s", "unshaped"], False),
        ("flows.0.congestion_control", ["reno", "cubic", "bbr"], False),
        ("cures.hold", [False, True], False),
        ("routing.in_flight", ["drain", "drop"], False),
        ("tcp.sysctl", [{"net.ipv4.tcp_recovery": "0"}], False),
        ('hosts."x.y".tcp.ecn', ["on", "off"], False),
    ],
)
def test_a_line_joins_numbers_in_order_and_nothing_else(key, values, in_order):
    assert is_in_order(values, plan_key(key.split("."))) is in_order
