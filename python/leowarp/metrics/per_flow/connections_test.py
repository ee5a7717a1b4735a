# SPDX-License-Identifier: Apache-2.0
"""Tests the traffic of programs' UDP connections against the packets of the synthetic run."""

import dataclasses

import pytest

from leowarp.metrics import read_tables
from leowarp.metrics.per_flow.connections import datagram_scalars
from leowarp.metrics.per_flow.goodput import Life
from support.synthetic.run import DROPPED_PKTS, END_NS, PAYLOAD_BYTES, S, write_synthetic_run

CONNECTION = {"flow": 0, "program": 7, "kind": "udp"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return read_tables(write_synthetic_run(tmp_path_factory.mktemp("runs") / "one"))


def test_the_goodput_of_a_connection_is_the_payload_that_arrived_over_its_life(tables):
    mine = dataclasses.replace(tables, connections=(CONNECTION,))
    found = datagram_scalars(mine, 0, Life(0, END_NS, payload_bytes=1))
    assert found["program"] == 7
    # The delay is 45 ms, so packets that are sent in the last 45 ms do not arrive in time. Ten packets are sent twice,
    # and the three that were dropped are retransmitted.
    arrived = 60_000 - 45 + 10 + DROPPED_PKTS - DROPPED_PKTS
    assert found["payload_mean_bps"] == pytest.approx(arrived * PAYLOAD_BYTES * 8 / (END_NS / S))
    # The connection is still open when the run ends. In an open connection, packets sent in the last 50 ms do not
    # count, because they may arrive after the end.
    cut = datagram_scalars(mine, 0, Life(0, END_NS))["payload_mean_bps"]
    assert cut == pytest.approx((arrived - 5) * PAYLOAD_BYTES * 8 / (END_NS / S))
    assert found["payload_back_mean_bps"] == 0


def test_what_is_no_program_s_or_was_not_counted_is_unknown(tables):
    assert set(datagram_scalars(tables, 0, Life(0, END_NS)).values()) == {None}
    uncounted = dataclasses.replace(tables, connections=(CONNECTION,), missing=frozenset({"bins"}))
    assert datagram_scalars(uncounted, 0, Life(0, END_NS))["payload_mean_bps"] is None
    at_once = dataclasses.replace(tables, connections=(CONNECTION,))
    assert datagram_scalars(at_once, 0, Life(S, S)) == {"program": 7, "payload_mean_bps": None,
                                                    "payload_back_mean_bps": None}  # fmt: skip
