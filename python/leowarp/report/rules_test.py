# SPDX-License-Identifier: Apache-2.0
"""Tests that the text below a figure lists those settings of the plan that affect the results."""

import pytest

from leowarp.report.rules import rules_of

CHAIN = {"hops": 1, "delay": "1 ms", "rate": "1 Mbit/s", "queue": "5 pkts", "overhead": "14 B"}


@pytest.mark.parametrize(
    ("tcp", "mtu", "said"),
    [
        ({"delayed_ack": "adaptive", "delayed_ack_timer": "40 ms"}, "1500 B", {"TCP": "linux"}),
        (
            {"delayed_ack": "on", "delayed_ack_timer": "40 ms", "profile": "newreno"},
            "1115 B",
            {"TCP": "newreno, ACKs delayed by up to 40 ms", "packets": "of 1115 B at most"},
        ),
        ({"delayed_ack": "off", "pacing": "fq"}, "1500 B", {"TCP": "linux, paced by fq, ACKs not delayed"}),
    ],
)
def test_the_rules_tell_how_receivers_acknowledge_and_that_packets_are_short(tcp, mtu, said):
    rules = dict(rules_of({"chain": CHAIN, "network": {"mtu": mtu}, "tcp": tcp}, {}))
    assert {name: rules[name] for name in ("TCP", "packets") if name in rules} == said


MOBILE = {
    "environment": "suburban", "elevation": "60 deg", "speed": "16.666666666666668 m/s", "snr": "10 dB",
    "harq": "incremental", "resequencing": True, "rate": "40 Mbit/s", "queue": "500 pkts", "forward_delay": "80 ms",
}  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "channel"),
    [
        ({}, "suburban at 60 deg, speed 60 km/h, SNR 10 dB, hybrid ARQ II, in order; 80 ms to the satellite"),
        (
            {"speed": "0 m/s", "harq": "chase", "resequencing": False, "delays": "constellation"},
            "suburban at 60 deg, speed 0 km/h, SNR 10 dB, hybrid ARQ I, order not kept",
        ),
        ({"fading": False}, "no fading, SNR 10 dB, hybrid ARQ II, in order; 80 ms to the satellite"),
    ],
)
def test_the_rules_of_a_mobile_channel_are_words(keys, channel):
    rules = dict(rules_of({"mobile": MOBILE | keys}, {}))
    assert rules["mobile channel"] == channel
    assert rules["link"] == "40 Mbit/s, queue 500 pkts"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"chain": CHAIN}, "fifo"),
        ({"chain": CHAIN | {"queue_discipline": "fq_codel", "ecn": True}}, "fq_codel with ECN"),
        ({"chain": CHAIN, "network": {"link_model": "netem"}}, "fifo (netem)"),
        ({"constellation": {}, "isl": {"queue_discipline": "cake"}, "ground": {}}, "ISL cake; ground fifo"),
        ({"constellation": {}, "isl": {"queue_discipline": "pie"}, "mobile": MOBILE}, "fifo"),
    ],
)
def test_the_queue_discipline_is_the_one_of_the_plan(document, said):
    assert dict(rules_of(document, {}))["queue discipline"] == said
