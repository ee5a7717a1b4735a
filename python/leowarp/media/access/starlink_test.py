# SPDX-License-Identifier: Apache-2.0
"""Probes over the tables of several seeds, half an hour each, must show the published statistics of Starlink."""

import numpy as np
import pytest

from leowarp.timeline.recordings import Measurement, Schedule, describe
from support.probes import SECOND_NS, passed, pings, pings_by_reply, profile_for

pytestmark = pytest.mark.slow

MINUTES = 30
SEEDS = range(1, 7)
FLOOD_NS = 10_000_000
"""The time between two pings of an iputils flood if replies take longer than this time."""
KNOWN = Schedule(period_ns=15 * SECOND_NS, phase_ns=12 * SECOND_NS)


@pytest.fixture(scope="module")
def profiles():
    return {seed: profile_for(MINUTES, seed) for seed in SEEDS}


@pytest.fixture(scope="module")
def floods(profiles):
    t_ns = np.arange(0, MINUTES * 60 * SECOND_NS, FLOOD_NS, dtype=np.int64)
    return {seed: (t_ns, pings(profile, t_ns, seed)) for seed, profile in profiles.items()}


def test_the_least_rtt_steps_by_milliseconds_at_every_reconfiguration(floods):
    description = describe(Measurement.of_round_trips(*floods[1]), schedule=KNOWN)
    steps_ms = np.abs(description.steps_ns) / 1e6
    assert len(steps_ms) >= MINUTES * 4 - 3
    # The smallest change of the base RTT (`base_step_min`) is 3 ms. The description measures each slot's smallest RTT,
    # which may contain up to 1 ms of jitter, so a measured change may be smaller.
    assert steps_ms.min() > 1.5
    assert 5 < steps_ms.mean() < 9
    bases_ms = np.array([slot.base_ns for slot in description.slots]) / 1e6
    assert 20 < bases_ms.min() < 24
    assert 33 < bases_ms.max() < 40


def test_the_schedule_can_be_found_in_what_a_flood_sees(floods):
    description = describe(Measurement.of_round_trips(*(part[:60_000] for part in floods[2])))
    assert description.schedule is not None
    assert description.schedule.period_ns == pytest.approx(15 * SECOND_NS, rel=1e-3)
    off_ns = KNOWN.distance_ns(np.array([description.schedule.phase_ns]))
    assert off_ns < SECOND_NS


@pytest.mark.parametrize("seed", SEEDS)
def test_successive_replies_of_a_flood_differ_as_published(floods, seed):
    rtt_ms = floods[seed][1] / 1e6
    assert np.abs(np.diff(rtt_ms[~np.isnan(rtt_ms)])).mean() == pytest.approx(6.7, rel=0.15)


def test_so_do_those_of_a_flood_that_waits_for_each_reply(profiles):
    _, rtt_ns = pings_by_reply(profiles[1], 300 * SECOND_NS)
    rtt_ms = rtt_ns[~np.isnan(rtt_ns)] / 1e6
    assert np.abs(np.diff(rtt_ms)).mean() == pytest.approx(6.7, rel=0.15)


def test_a_handover_puts_30_to_50_ms_on_top(profiles, floods):
    over_ms = np.concatenate([spikes_over_ms(profiles[seed], *floods[seed]) for seed in SEEDS])
    # A handover lasts at most 50 ms, and jitter varies by some ms around its median. If an outage covers the beginning
    # of a handover, the RTTs show only the end of the handover.
    assert 38 < np.median(over_ms) < 50
    assert np.quantile(over_ms, 0.9) < 57
    assert (over_ms > 30).mean() > 0.8


def spikes_over_ms(profile, t_ns, rtt_ns):
    """For each slot, return the largest RTT around its reconfiguration, minus the median RTT of the slot. A slot is
    left out if no pings near its reconfiguration were answered."""
    over_ms = []
    for begin_ns in profile.slots.begin_ns[1:-1]:
        spike = rtt_ns[(t_ns > begin_ns - 60_000_000) & (t_ns < begin_ns + 250_000_000)]
        rest = rtt_ns[(t_ns > begin_ns + SECOND_NS) & (t_ns < begin_ns + 14 * SECOND_NS)]
        if not np.isnan(spike).all():
            over_ms.append((np.nanmax(spike) - np.nanmedian(rest)) / 1e6)
    return np.array(over_ms)


def test_pings_once_a_second_lose_1_to_2_percent_at_any_phase_of_the_second(profiles):
    ratios = {}
    for phase_ns in (0, 250_000_000, 500_000_000, 750_000_000):
        lost = [lost_once_a_second(profiles[seed], phase_ns, seed) for seed in SEEDS]
        ratios[phase_ns] = np.concatenate(lost).mean()
    assert all(0.01 <= ratio <= 0.02 for ratio in ratios.values()), ratios


def lost_once_a_second(profile, phase_ns, seed):
    t_ns = phase_ns + SECOND_NS * np.arange(MINUTES * 60, dtype=np.int64)
    return np.isnan(pings(profile, t_ns, seed))


def test_nearly_all_of_it_lies_within_a_second_of_a_reconfiguration(profiles):
    t_ns = SECOND_NS * np.arange(MINUTES * 60, dtype=np.int64)
    lost = np.array([lost_once_a_second(profiles[seed], 0, seed) for seed in SEEDS])
    near = KNOWN.distance_ns(t_ns) <= SECOND_NS
    assert lost[:, near].sum() / lost.sum() >= 0.95


def test_loss_is_bursty_and_usually_short(profiles, floods):
    t_ns, rtt_ns = floods[3]
    description = describe(Measurement.of_round_trips(t_ns, rtt_ns), schedule=KNOWN)
    runs = np.array(description.loss.runs)
    # If losses were independent at the measured loss ratio, the mean length of a run of losses would be 1.02 packets.
    assert runs.mean() > 5
    assert np.median(runs) < runs.mean() / 1.5
    assert runs.max() > 30
    assert 0.2 < share_without_loss(profiles[3]) < 0.45


def share_without_loss(profile):
    table = profile.slot_table()
    return (np.array(table["outages"])[1:-1] == 0).mean()


def test_outside_of_outages_loss_is_what_was_asked_for_in_each_direction():
    off_peak = profile_for(1, residual_loss_ratio=1e-5, residual_loss_up_ratio=2e-5)
    assert set(off_peak.down.loss_ratio) == {1e-5, 1.0}
    assert set(off_peak.up.loss_ratio) == {2e-5, 1.0}


def test_outages_are_the_same_up_and_down(profiles):
    profile = profiles[4]
    for way in (profile.up, profile.down):
        for begin_ns, end_ns in zip(profile.drawn.outage_begin_ns, profile.drawn.outage_end_ns, strict=True):
            at = np.searchsorted(way.channel_t_ns, [max(begin_ns, 0), (begin_ns + end_ns) // 2, end_ns], side="right")
            within = way.loss_ratio[at - 1]
            assert (within[:2] == 1).all()
            assert within[2] < 1 or end_ns > way.channel_t_ns[-1]


def test_up_is_busier_than_down_and_a_busy_flow_meets_little_more_than_a_probe(profiles):
    t_ns = np.arange(13 * SECOND_NS, 26 * SECOND_NS, 100_000, dtype=np.int64)
    standing_ms = {}
    for name, way in (("up", profiles[1].up), ("down", profiles[1].down)):
        rows = np.searchsorted(way.channel_t_ns, t_ns, side="right") - 1
        alone_ns = way.delay_ns[rows]
        together_ns = passed(way, t_ns, np.random.default_rng(1))[0] - t_ns
        standing_ms[name] = (together_ns - alone_ns).mean() / 1e6
        assert (together_ns >= alone_ns).all()
    assert standing_ms["down"] < 0.1
    assert standing_ms["down"] < standing_ms["up"] < 4


def test_equal_seeds_give_equal_tables_and_others_others(profiles):
    again = profile_for(MINUTES, 1)
    for way in ("up", "down"):
        for column in ("capacity_t_ns", "rate_bps", "channel_t_ns", "delay_ns", "loss_ratio"):
            mine, same, other = (getattr(getattr(p, way), column) for p in (profiles[1], again, profiles[2]))
            assert np.array_equal(mine, same)
            assert not np.array_equal(mine, other)


@pytest.mark.parametrize(
    ("key", "value", "changed"),
    [
        ("jitter_ns", 5_000_000, {"down.delay"}),
        ("jitter_up_ns", 5_000_000, {"up.delay"}),
        ("capacity_bps", 50_000_000, {"down.rate"}),
        ("modulation_ratio", 0.3, {"down.rate", "up.rate"}),
        ("residual_loss_up_ratio", 0.3, {"up.loss"}),
        ("outage_share_ratio", 0.0, {"up.loss", "down.loss"}),
        ("server_delay_ns", 7_000_000, {"up.delay", "down.delay"}),
    ],
)
def test_a_key_changes_what_it_is_about_and_no_other_dice(key, value, changed):
    before, after = profile_for(3), profile_for(3, **{key: value})
    differing = set()
    for way in ("up", "down"):
        mine, other = getattr(before, way), getattr(after, way)
        for what, times, values in (
            ("rate", "capacity_t_ns", "rate_bps"),
            ("delay", "channel_t_ns", "delay_ns"),
            ("loss", "channel_t_ns", "loss_ratio"),
        ):
            at = [np.searchsorted(getattr(w, times), INSTANTS_NS, side="right") - 1 for w in (mine, other)]
            if not np.array_equal(getattr(mine, values)[at[0]], getattr(other, values)[at[1]]):
                differing.add(f"{way}.{what}")
    assert differing == changed


INSTANTS_NS = np.arange(0, 180 * SECOND_NS, 1_000_003, dtype=np.int64)


def test_tables_begin_at_0_ascend_and_end_with_the_run(profiles):
    for way in (profiles[1].up, profiles[1].down):
        for t_ns in (way.capacity_t_ns, way.channel_t_ns):
            assert t_ns[0] == 0
            assert (np.diff(t_ns) > 0).all()
            assert t_ns[-1] < MINUTES * 60 * SECOND_NS
        assert (way.delay_ns > 10_000_000).all()


def test_what_was_drawn_can_be_shown(profiles):
    slots = profiles[1].slot_table().to_pylist()
    assert [slot["slot"] for slot in slots] == list(range(len(slots)))
    assert slots[1]["begin_ns"] == 12 * SECOND_NS
    assert {slot["begin_ns"] // SECOND_NS % 60 for slot in slots} == {12, 27, 42, 57}
    assert all(35_000_000 <= slot["handover_ns"] <= 50_000_000 for slot in slots)
    outages = profiles[1].outage_table()
    lasts_ns = np.array(outages["end_ns"]) - np.array(outages["begin_ns"])
    assert sum(slot["outages"] for slot in slots) == outages.num_rows > 50
    assert sum(slot["outage_ns"] for slot in slots) == lasts_ns.sum()
