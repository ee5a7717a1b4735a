# SPDX-License-Identifier: Apache-2.0
"""Flows are told apart by pair, kind and congestion control; by number only where these are equal."""

from leowarp.flownames import FlowKey, flow_names

CUBIC = FlowKey(0, "Madrid", "Tokyo", "tcp", "cubic")
BBR = FlowKey(1, "Madrid", "Tokyo", "tcp", "bbr")
PING = FlowKey(2, "Madrid", "Tokyo", "ping", None)


def test_a_flow_is_called_by_its_pair_and_its_congestion_control_or_kind():
    assert flow_names([CUBIC, BBR, PING]) == ["Madrid to Tokyo, cubic", "Madrid to Tokyo, bbr", "Madrid to Tokyo, ping"]


def test_equal_flows_have_their_numbers_and_the_others_none():
    again = CUBIC._replace(number=3)
    assert flow_names([CUBIC, BBR, again], pairs=False) == ["cubic (flow 0)", "bbr", "cubic (flow 3)"]
    back = FlowKey(4, "Tokyo", "Madrid", "tcp", "cubic")
    assert flow_names([CUBIC, back]) == ["Madrid to Tokyo, cubic", "Tokyo to Madrid, cubic"]


def test_of_an_older_summary_without_ends_the_number_is_left():
    assert flow_names([FlowKey.of_summary({"flow": 7})]) == ["flow 7"]
