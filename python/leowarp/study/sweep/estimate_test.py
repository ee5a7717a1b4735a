# SPDX-License-Identifier: Apache-2.0
"""Tests that the estimated cost of a run depends on the traffic of its flows and on the rate of its medium."""

import dataclasses

import pytest

from leowarp.scenario.schema import Access, Flow, Measured, Mobile
from leowarp.scenario.text.key import InputFile
from leowarp.study.sweep.estimate import (
    HOP_CPU_S,
    PACKET_CPU_S,
    RUN_CPU_S,
    SEGMENT_BYTES,
    UNSHAPED_BPS,
    guessed_cpu_s,
)
from support.plans import S, chain


def packets(plan):
    """Return the estimated number of packets of a plan. Each packet must use only one link."""
    return (guessed_cpu_s(plan) - RUN_CPU_S) / (PACKET_CPU_S + HOP_CPU_S)


def over(medium):
    return dataclasses.replace(chain(duration_s=10), medium=medium)


def tcp_packets(rate_bps):
    """Return the number of packets in 10 s: the sent segments, and one ACK for every second segment."""
    return pytest.approx(1.5 * rate_bps * 10 / 8 / SEGMENT_BYTES)


@pytest.mark.parametrize(
    ("pace", "sent"),
    [
        ({"packet_rate_pkts_per_s": 1000.0, "interval_ns": None}, 10_000),
        ({"packet_rate_pkts_per_s": 1000.0, "interval_ns": None, "packets": 7}, 7),
        ({"interval_ns": S // 10}, 100),
    ],
)
def test_a_ping_costs_its_packets_and_their_replies(pace, sent):
    flow = Flow(kind="ping", source="A", destination="B", stop_ns=10 * S, payload_bytes=56, **pace)
    assert packets(dataclasses.replace(chain(hops=1), flows=(flow,))) == pytest.approx(2 * sent)


def test_tcp_takes_what_its_medium_carries():
    assert packets(chain(hops=1, rate_bps=8_000_000)) == tcp_packets(8_000_000)
    assert packets(over(Access(capacity_bps=300_000_000))) == tcp_packets(300_000_000)
    assert packets(over(Access(capacity_bps=None))) == tcp_packets(Access.schedule_median_bps)
    assert packets(over(Mobile(rate_bps=2_000_000))) == tcp_packets(2_000_000)
    assert packets(chain(hops=1, rate_bps=None)) == tcp_packets(UNSHAPED_BPS)


def test_tcp_over_a_measured_path_takes_what_was_measured(tmp_path):
    table = tmp_path / "path.csv"
    table.write_text("t_s,delay_ms,rate_mbps\n0,10,20\n5,10,40\n")
    file = InputFile(table.name, "0" * 64, table)
    assert packets(over(Measured(file=file))) == tcp_packets(30_000_000)
    table.write_text("t_s,delay_ms\n0,10\n5,10\n")
    assert packets(over(Measured(file=file))) == tcp_packets(UNSHAPED_BPS)
    assert packets(over(Measured(file=file, rate_bps=4_000_000))) == tcp_packets(4_000_000)
