# SPDX-License-Identifier: Apache-2.0
"""Tests of the estimated burst length on transfers with known burst length."""

import numpy as np
import pytest

from leowarp.fitting.bursts import fit_bursts
from leowarp.media.access.outages import bursts_ns
from leowarp.scenario.schema import Access
from leowarp.timeline.recordings.measurement import Transfer

SECOND_NS = 1_000_000_000
RTT_NS = 50_000_000
SPACING_NS = 8 * 1514 * SECOND_NS // 15_000_000


def transfer(burst_ns: int, seed: int, *, told: bool = True) -> Transfer:
    """Return a simulated transfer of 300 s in the uplink. In each round trip, 20 segments are sent one after another at
    15 Mbit/s. If segments are lost in a burst, they are retransmitted one RTT later."""
    access = Access(loss_burst_ns=burst_ns)
    begins_ns, ends_ns = bursts_ns(access, "up", 0.004, seed=seed, duration_ns=300 * SECOND_NS)
    rows_ns = np.arange(0, 299 * SECOND_NS, RTT_NS, dtype=np.int64)
    sent_ns = (rows_ns[:, None] + SPACING_NS * np.arange(20)).ravel()
    lost = np.searchsorted(begins_ns, sent_ns, side="right") > np.searchsorted(ends_ns, sent_ns, side="right")
    again = np.bincount((sent_ns[lost] + RTT_NS) // (SECOND_NS // 10), minlength=3000)
    return Transfer(
        t_ns=np.arange(3000, dtype=np.int64) * (SECOND_NS // 10),
        length_ns=np.full(3000, SECOND_NS // 10),
        way="up",
        rate_bps=np.full(3000, 20 * 1448 * 8 * SECOND_NS / RTT_NS),
        retransmissions=again.astype(np.float64) if told else np.full(3000, np.nan),
        cwnd_bytes=np.full(3000, np.nan),
        rtt_ns=np.full(3000, float(RTT_NS)),
    )


@pytest.mark.parametrize("burst_ns", [3_000_000, 8_000_000])
def test_the_length_of_bursts_comes_back(burst_ns):
    found = [fit_bursts(transfer(burst_ns, seed), Access())[0] for seed in range(1, 21)]
    # A burst that begins or ends within a row of 16 ms loses fewer segments than its length suggests.
    assert np.median([each.value for each in found]) == pytest.approx(burst_ns, rel=0.25)
    assert all(each.low < each.value < each.high for each in found)


def test_bursts_are_longer_where_they_are():
    short, long = (fit_bursts(transfer(burst_ns, 1), Access())[0] for burst_ns in (3_000_000, 8_000_000))
    assert short.high < long.low


def test_without_when_and_with_few_the_reason_is_said():
    (untold,) = fit_bursts(transfer(3_000_000, 1, told=False), Access())
    assert "when segments were sent again" in untold.why
    once = transfer(3_000_000, 1)
    once.retransmissions[100:] = 0.0
    (untold,) = fit_bursts(once, Access())
    assert "too few" in untold.why
