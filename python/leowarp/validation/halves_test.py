# SPDX-License-Identifier: Apache-2.0
"""Tests how a measurement is divided into halves. No probe is in both halves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.timeline.recordings.measurement import Measurement, Transfer
from leowarp.validation.halves import halves

SECOND_NS = 1_000_000_000


@given(st.lists(st.integers(1, 10 * SECOND_NS), min_size=2, max_size=60))
def test_halves_of_probes_are_the_whole_in_two_parts_each_from_its_own_zero(apart_ns):
    t_ns = np.concatenate([[0], np.cumsum(apart_ns)])
    whole = Measurement.of_round_trips(t_ns, np.arange(len(t_ns)) * 1e6, wall_ns=5)
    first, second = halves(whole)
    assert (
        first.round_trip.delay_ns.tolist() + second.round_trip.delay_ns.tolist() == whole.round_trip.delay_ns.tolist()
    )
    zero_ns = second.wall_ns - first.wall_ns
    assert (first.round_trip.t_ns.tolist() + (second.round_trip.t_ns + zero_ns).tolist()) == t_ns.tolist()
    assert second.round_trip.t_ns[0] == 0
    # The recording is divided at the middle of its time, which may differ from the middle of its probes.
    assert first.round_trip.t_ns[-1] <= t_ns[-1] // 2 <= second.round_trip.t_ns[0] + zero_ns


def test_halves_of_a_transfer_carry_and_send_again_all_of_it():
    count = 100
    columns = {name: np.arange(count, dtype=np.float64) for name in ("rate_bps", "retransmissions", "cwnd_bytes")}
    whole = Transfer(
        t_ns=np.arange(count, dtype=np.int64) * SECOND_NS,
        length_ns=np.full(count, SECOND_NS),
        way="down",
        rtt_ns=np.full(count, np.nan),
        all_retransmissions=1000,
        **columns,
    )
    first, second = (half.transfer for half in halves(Measurement(source="x", format="iperf3", transfer=whole)))
    assert first.rate_bps.sum() + second.rate_bps.sum() == whole.rate_bps.sum()
    assert first.retransmissions.tolist() + second.retransmissions.tolist() == whole.retransmissions.tolist()
    assert second.t_ns[0] == 0
    assert first.all_retransmissions == pytest.approx(1000 * first.rate_bps.sum() / whole.rate_bps.sum(), abs=1)
    assert first.all_retransmissions + second.all_retransmissions == pytest.approx(1000, abs=1)
