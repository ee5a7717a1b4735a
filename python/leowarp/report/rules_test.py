# SPDX-License-Identifier: Apache-2.0
"""The foot of a figure names what in the plan shapes the result."""

import pytest

from leowarp.report.view import _rules

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
    rules = dict(_rules({"chain": CHAIN, "network": {"mtu": mtu}, "tcp": tcp}, {}))
    assert {name: rules[name] for name in ("TCP", "packets") if name in rules} == said
