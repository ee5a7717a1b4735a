# SPDX-License-Identifier: Apache-2.0
"""Tests the profile `starlink` in the guest with half an hour of a flood ping and a ping once per second."""

import numpy as np
import pytest

import leowarp as lw
from leowarp.scenario import load, resolve
from leowarp.timeline.recordings import Measurement, Schedule, describe
from support.probes import profile_of, walked_ns

pytestmark = pytest.mark.guest

SECOND_NS = 1_000_000_000
KNOWN = Schedule(period_ns=15 * SECOND_NS, phase_ns=12 * SECOND_NS)
SCENARIO = """
name = "access"
[run]
duration = "1800 s"
[access]
preset = "peak"
[observe]
queues = "none"
counters = "none"
packets = "none"
reordering_window = "none"
[[flows]]
kind = "ping"
source = "dish"
destination = "server"
flood = true
interval = "10 ms"
[[flows]]
kind = "ping"
source = "dish"
destination = "server"
interval = "1 s"
"""
PING_BYTES = 20 + 8 + 56 + 14
"""The length of a probe on the link: IP header, ICMP header, payload, and the link's overhead."""


@pytest.fixture(scope="module")
def echoes(tmp_path_factory):
    """The sending times and RTTs of each flow in ns, with nan for a lost probe."""
    folder = tmp_path_factory.mktemp("access")
    (folder / "access.toml").write_text(SCENARIO)
    run = lw.run(folder / "access.toml", out=folder / "run", report=False, progress=False)
    return run.echoes(), resolve(load(folder / "access.toml"))


@pytest.fixture(scope="module")
def flood(echoes):
    return described(echoes[0], 0)


@pytest.fixture(scope="module")
def once_a_second(echoes):
    return described(echoes[0], 1)


def described(echoes, flow):
    mine = echoes[echoes["flow"] == flow]
    rtt_ns = mine["reply_ns"].to_numpy(float, na_value=np.nan) - mine["sent_ns"].to_numpy(float)
    return describe(Measurement.of_round_trips(mine["sent_ns"].to_numpy(), rtt_ns), schedule=KNOWN)


def test_the_least_rtt_steps_at_each_reconfiguration(flood):
    assert len(flood.slots) >= 118
    assert np.abs(flood.steps_ns).min() > 1_500_000
    assert 5_000_000 < np.abs(flood.steps_ns).mean() < 9_000_000


def test_successive_replies_differ_by_6_7_ms(flood):
    assert flood.mean_abs_step_ns == pytest.approx(6_700_000, rel=0.15)


def test_one_to_two_percent_of_pings_are_lost_nearly_all_at_reconfigurations(once_a_second):
    assert once_a_second.loss.sent == 1800
    assert 0.01 <= once_a_second.loss.ratio <= 0.02
    assert once_a_second.loss.in_handover_ratio >= 0.95


def test_loss_is_bursty(flood):
    runs = np.array(flood.loss.runs)
    assert runs.mean() > 5
    assert runs.max() > 30
    assert 0.5 < len(runs) / len(flood.slots) < 3


def test_handovers_put_30_to_50_ms_on_top(echoes, flood):
    spikes_ms = np.array([slot.spike_ns for slot in flood.slots if slot.spike_ns is not None]) / 1e6
    # The measured value is relative to the minimum RTT of the slot, and includes about 15 ms of jitter.
    level_ms = (flood.quantiles_ns[0.5] - np.mean([slot.base_ns for slot in flood.slots])) / 1e6
    assert 30 < np.median(spikes_ms) - level_ms < 50
    assert np.quantile(spikes_ms, 0.9) - level_ms < 60


def test_every_probe_arrives_when_the_tables_say(echoes):
    found, plan = echoes
    profile = profile_of(plan)
    # If two probes are sent at one instant, the first to arrive is taken as the first one sent.
    sent = found.sort_values(["sent_ns", "received_ns"], kind="stable")
    sent_ns = sent["sent_ns"].to_numpy()
    expected_ns = walked_ns(profile.up, sent_ns, 8 * PING_BYTES)
    late_ns = (sent["received_ns"].to_numpy(float, na_value=np.nan) - expected_ns)[sent["received_ns"].notna()]
    # The clock that gives packets their timestamps has steps of 256 ns.
    assert np.abs(late_ns).max() < 2_000


def test_both_directions_lose_in_the_same_outages(echoes):
    found, plan = echoes
    drawn = profile_of(plan).drawn
    sent_ns = found["sent_ns"][found["received_ns"].isna()].to_numpy()
    # A packet may leave just before an outage, be held until the outage begins, and then be lost.
    begun = np.searchsorted(drawn.outage_begin_ns - 51_000_000, sent_ns, side="right")
    within = begun > np.searchsorted(drawn.outage_end_ns, sent_ns, side="right")
    assert (~within).mean() < 0.02
    residual = (~within).sum() / len(found)
    assert residual == pytest.approx(1e-4, abs=1e-4)
