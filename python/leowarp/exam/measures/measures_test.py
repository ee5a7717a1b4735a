# SPDX-License-Identifier: Apache-2.0
"""Tests of the measures on synthetic runs with known values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base import units
from leowarp.exam.measures import MEASURES, in_words
from leowarp.exam.measures.reading import rates_bps, received_bytes
from leowarp.results.run import Run
from support.synthetic.access import CHANGES_NS, write_synthetic_access
from support.synthetic.run import (
    DROPPED_PKTS,
    FRAME_BYTES,
    PAYLOAD_BYTES,
    RATE_BPS,
    SPURIOUS_PKTS,
    write_synthetic_run,
)

S = 1_000_000_000
SENT_BPS = PAYLOAD_BYTES * 8 * 1000
"""The sending rate in bit/s of payload, with one packet per millisecond."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(write_synthetic_run(tmp_path_factory.mktemp("exam") / "run"), complete=False)


@pytest.fixture(scope="module")
def dish(tmp_path_factory):
    return Run(write_synthetic_access(tmp_path_factory.mktemp("exam") / "dish"), complete=False)


def measured(name, run, **written):
    return MEASURES[name].of(run, None, MEASURES[name].parsed(written))


@pytest.mark.parametrize("name", ["used", "worst_second"])
def test_goodput_is_compared_with_the_payload_that_the_path_carries(run, name):
    found = measured(name, run, flow=0, **{"from": "5 s", "until": "15 s"})
    could_bps = RATE_BPS * PAYLOAD_BYTES / FRAME_BYTES
    # Socket samples are 50 ms apart. At 10 s the delay grows by 1 ms, so one packet less arrives in that second.
    assert found.value == pytest.approx(SENT_BPS / could_bps, rel=2e-3)


def test_losses_are_counted_and_the_first_is_named(run):
    found = measured("lost", run, flow=0, **{"from": "45 s", "until": "55 s"})
    assert found.value == pytest.approx(DROPPED_PKTS / 10_000, rel=1e-3)
    assert found.at_ns == 50 * S + 500_000
    assert "lost by queue" in found.decided
    assert measured("lost", run, flow=0, **{"from": "5 s", "until": "15 s"}).value == 0


def test_spurious_retransmissions_are_counted_and_the_first_is_named(run):
    found = measured("spurious", run, flow=0)
    assert found.decided.startswith(f"{SPURIOUS_PKTS} of ")
    assert found.at_ns == pytest.approx(20.08 * S, abs=1e6)


def test_a_level_is_reached_at_once_or_never(run):
    assert measured("time_to", run, flow=0, after="5 s", level="80 %").value == pytest.approx(0.2 * S)
    never = measured("time_to", run, flow=0, after="5 s", level="300 %")
    assert never.value is None
    assert never.decided.startswith("never")


def test_the_longest_silence_has_its_ends(run):
    found = measured("silence", run, flow=0, **{"from": "45 s", "until": "55 s"})
    # At 50 s a packet is lost, and its retransmission arrives after 120 ms plus a one-way delay.
    assert 0.1 * S < found.value < 0.3 * S
    assert 49.9 * S < found.at_ns < 50.2 * S


def test_the_rate_of_packets_is_that_of_the_sender(run):
    found = measured("sent_rate", run, flow=0, **{"from": "5 s", "until": "15 s"})
    assert found.value == pytest.approx(1000)


def test_delay_of_a_ping_names_the_probe(dish):
    found = measured("delay_beside", dish, probe=0, percentile=100, **{"from": "5 s", "until": "20 s"})
    # The base delays of the downlink are 15 ms before the change and 22 ms after it. The probe sent at the change is
    # lost, and the next probe has no spike.
    assert found.value == (22 - 15) * 1e6
    assert found.at_ns > CHANGES_NS[0]
    assert measured("delay_beside", dish, probe=0, percentile=50, **{"from": "70 s", "until": "80 s"}).value is None


def test_the_least_of_two_shares_is_found(dish):
    found = measured("least_share", dish, flows=[1, 2], **{"from": "15 s", "until": "25 s"})
    # One of the flows has a packet every 2 ms, the other flow every 6 ms. The two flows' goodputs are 3/4 and 1/4 of
    # the sum, that is 1.5 and 0.5 times the mean.
    assert found.value == pytest.approx(0.5, rel=0.02)
    assert found.decided.startswith("flow 2")


def test_what_another_keeps_is_1_where_nothing_changes(dish):
    how = MEASURES["kept"]
    found = how.of(dish, dish, how.parsed({"flow": 1, "from": "5 s", "until": "25 s"}))
    assert found.value == 1


@given(st.integers(0, 60 * S - 1), st.integers(1, 20 * S))
def test_bytes_of_two_halves_are_those_of_the_whole(run, from_ns, length_ns):
    import numpy as np

    edges_ns = np.array([from_ns, from_ns + length_ns, from_ns + 2 * length_ns])
    halves = rates_bps(run, 0, edges_ns) * length_ns / 8e9
    whole = np.diff(received_bytes(run, 0, edges_ns[[0, 2]]))[0]
    assert halves.sum() == pytest.approx(whole, abs=1e-3)
    assert (halves >= 0).all()


@given(st.floats(1e-6, 20))
def test_a_ratio_in_words_is_the_number(value):
    words = in_words(units.RATIO, value).replace(",", "")
    assert units.RATIO.parse(words) == pytest.approx(value, rel=6e-3, abs=1e-7)
