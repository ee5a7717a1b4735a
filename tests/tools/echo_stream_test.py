# SPDX-License-Identifier: Apache-2.0
"""Tests the sender of the guide on real links. The tests use no link. `leowarp reorder` must read the sender's packets
and their times."""

import doctest
import importlib.util
from pathlib import Path

import pytest

from leowarp.reordering import measure_file
from support.captures import ipv4, write_pcap

SPEC = importlib.util.spec_from_file_location(
    "echo_stream", Path(__file__).parents[2] / "examples" / "programs" / "echo_stream.py"
)
echo_stream = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(echo_stream)


def test_its_examples_hold():
    assert doctest.testmod(echo_stream).failed == 0


def test_a_captured_stream_is_measured_in_its_order_of_arrival(tmp_path):
    sent = []
    echo_stream.send_all(sent.append, 100, 1e9, 1472, identifier=7)
    assert {len(ipv4(1, packet)) for packet in sent} == {1500}
    # If a packet contains its correct checksum, the checksum of the whole packet is 0.
    assert {echo_stream.checksum(packet) for packet in sent} == {0}
    # Packet 40 arrives after three packets that were sent later.
    arrived = sent[:40] + sent[41:44] + [sent[40]] + sent[44:]
    found = measure_file(write_pcap(tmp_path / "received.pcap", [ipv4(1, packet) for packet in arrived])).reordering
    assert found.received_pkts == 100
    assert found.reordered_pkts == 1
    assert found.mean_displacement_pkts == pytest.approx(6 / 100)


def test_packets_leave_at_their_times_and_lateness_is_told():
    clock_ns = iter([1_000, 1_000, 1_500, 2_000, 3_700, 4_000])
    left = []
    took_ns, late_ns = echo_stream.send_all(left.append, 4, 1e6, 8, identifier=1, now_ns=lambda: next(clock_ns))
    # Packets are due at 1,000, 2,000, 3,000 and 4,000 ns, and the third leaves 700 ns late.
    assert (took_ns, late_ns, len(left)) == (3_000, 700, 4)
