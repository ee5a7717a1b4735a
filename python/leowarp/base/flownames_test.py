# SPDX-License-Identifier: Apache-2.0
"""Tests the names of flows. A name is from the scenario, or consists of the pair, and of the congestion control or the
kind. Equal names get numbers."""

from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.flownames import FlowKey, common_name, flow_names, matched, named

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


def test_the_name_in_the_scenario_takes_the_place_of_everything_else():
    upload = CUBIC._replace(name="upload")
    assert flow_names([upload, BBR]) == ["upload", "Madrid to Tokyo, bbr"]
    assert flow_names([upload], pairs=False) == ["upload"]
    assert named(upload) == "upload (flow 0)"


def test_a_name_that_is_what_another_flow_is_called_has_its_number():
    assert flow_names([CUBIC._replace(name="bbr"), BBR], pairs=False) == ["bbr (flow 0)", "bbr (flow 1)"]


def test_over_several_runs_a_flow_is_called_by_what_they_have_in_common():
    upload, reno = CUBIC._replace(name="upload"), CUBIC._replace(congestion_control="reno")
    assert common_name([upload, upload], alone=False) == "upload, Madrid to Tokyo, cubic (flow 0)"
    assert common_name([upload, reno], alone=False) == "Madrid to Tokyo (flow 0)"
    assert common_name([upload, reno], alone=True) == "Madrid to Tokyo"
    assert common_name([upload, upload._replace(number=3)], alone=False) == "upload, Madrid to Tokyo, cubic"


@st.composite
def run_of_flows(draw):
    """Return the flows of a run, numbered from 0. Some flows have names. These names are unique."""
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True))
    names += [None] * draw(st.integers(0, 3))
    return [CUBIC._replace(number=number, name=name) for number, name in enumerate(draw(st.permutations(names)))]


@given(st.lists(run_of_flows(), max_size=4))
def test_flows_of_one_name_stand_beside_each_other_and_no_place_is_taken_twice(runs):
    placed = matched(runs)
    assert [len(set(places)) for places in placed] == [len(flows) for flows in runs]
    place_of = {}
    for flows, places in zip(runs, placed, strict=True):
        for flow, place in zip(flows, places, strict=True):
            if flow.name is not None:
                assert place_of.setdefault(flow.name, place) == place
    # Flows with different names never get the same index.
    assert len(set(place_of.values())) == len(place_of)


@given(st.lists(st.integers(0, 5), max_size=4))
def test_flows_without_names_are_matched_by_their_numbers(counts):
    runs = [[CUBIC._replace(number=number) for number in range(count)] for count in counts]
    assert matched(runs) == [list(range(count)) for count in counts]
