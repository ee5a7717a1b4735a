# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Capacity, Measurement, Schedule, Series, describe
from leowarp.timeline.recordings.description import Gap
from leowarp.timeline.recordings.measurement import UNSHAPED
from support.synthetic.dish import MS, S, dish

NOON_NS = 1_715_947_200 * S  # 2024-05-17T12:00:00Z


def test_a_dish_is_described_by_what_it_was_made_of() -> None:
    t_ns, rtt_ns, base_ns = dish(phase_ns=12 * S, lost_probes=2, jitter_ns=MS)
    description = describe(Measurement.of_round_trips(t_ns, rtt_ns, wall_ns=NOON_NS))
    assert description.seconds_of_minute == pytest.approx((12, 27, 42, 57), abs=0.1)
    assert (description.samples, description.interval_ns, description.gaps) == (15_000, 20 * MS, ())
    # 20 reconfigurations in 300 s give 21 slots; the first and the last are incomplete.
    assert len(description.slots) == 21
    assert [slot.base_ns / MS for slot in description.slots] == pytest.approx(base_ns / MS, abs=0.5)
    assert np.array(description.steps_ns) / MS == pytest.approx(np.diff(base_ns) / MS, abs=0.6)
    assert (description.loss.lost, description.loss.runs, description.loss.in_handover_ratio) == (40, (2,) * 20, 1.0)
    assert description.loss.ratio_without == 0
    assert description.loss.ratio_within == pytest.approx(40 / (20 * 101), rel=0.02)
    near = {round((spike.t_ns - 12 * S) / (15 * S)) for spike in description.spikes if spike.height_ns > 15 * MS}
    assert near == set(range(20))  # The jitter's tail causes additional low spikes at other times.
    assert description.spikes_at_reconfigurations is not None
    assert 20 <= description.spikes_at_reconfigurations < len(description.spikes)
    heights_ms = [slot.spike_ns / MS for slot in description.slots if slot.spike_ns is not None]
    assert 20 < np.median(heights_ms) < 40  # the spike's highest probes were lost


def test_mean_difference_is_over_replies_one_after_the_other() -> None:
    description = describe(Measurement.of_round_trips(np.arange(4) * S, [10.0, 13.0, np.nan, 12.0]))
    assert description.mean_abs_step_ns == 2.0
    assert (description.loss.sent, description.loss.lost, description.loss.ratio) == (4, 1, 0.25)
    assert description.schedule is None
    assert (description.loss.in_handover, description.loss.in_handover_ratio, description.seconds_of_minute) == (
        None,
        None,
        None,
    )


def test_a_given_schedule_is_taken() -> None:
    t_ns, rtt_ns, _ = dish(phase_ns=12 * S)
    description = describe(Measurement.of_round_trips(t_ns, rtt_ns), schedule=Schedule(15 * S, 5 * S))
    assert description.schedule_given
    assert description.loss.in_handover_ratio == 0
    assert description.seconds_of_minute is None  # The wall clock of this recording is unknown.


def test_gaps_of_probes_are_long_silences_and_of_a_table_rows_that_say_so() -> None:
    t_ns = np.concatenate([np.arange(10), np.arange(30, 40)]) * S
    description = describe(Measurement.of_round_trips(t_ns, np.full(20, 30.0 * MS)))
    assert description.gaps == (Gap(9 * S, 21 * S),)
    cut = np.array([False, True, True, False])
    delay_ns = np.where(cut, np.nan, 5.0 * MS)
    table = Series(t_ns=np.array([0, 1, 2, 90]) * S, delay_ns=delay_ns, lost=np.zeros(4, dtype=bool), cut=cut)
    description = describe(Measurement(source="a.csv", format="csv", down=table, probes=False))
    assert description.gaps == (Gap(1 * S, 89 * S),)
    assert (description.samples, description.loss.sent, description.loss.lost) == (4, 101, 0)


def test_rows_of_a_table_weigh_as_long_as_they_hold() -> None:
    table = Series.of([0, 9 * S, 10 * S], [20.0 * MS, 40.0 * MS, 40.0 * MS])
    description = describe(Measurement(source="a.csv", format="csv", down=table, probes=False, end_ns=10 * S))
    assert description.mean_ns == 22 * MS
    assert description.quantiles_ns[0.75] == 20 * MS
    assert description.mean_abs_step_ns == 10 * MS


def test_capacity_is_weighed_by_time() -> None:
    capacity = Capacity(
        t_ns=np.array([0, 1, 4, 5]) * S, rate_bps=np.array([40_000_000, 80_000_000, 0, UNSHAPED]), end_ns=9 * S
    )
    alone = Measurement(source="rate.csv", format="csv").with_capacity(capacity, None)
    assert describe(alone).samples == 0
    description = describe(Measurement.of_one_way([0, S], [1.0, 2.0]).with_capacity(capacity, None)).capacity_down
    assert description == describe(alone).capacity_down
    assert description is not None
    assert description.mean_bps == (40e6 + 3 * 80e6) / 5
    assert (description.quantiles_bps[0.0], description.quantiles_bps[0.5], description.quantiles_bps[1.0]) == (
        0,
        80e6,
        80e6,
    )
    assert (description.rows, description.zero_ns, description.steps_bps[1.0]) == (4, S, 80e6)


def test_capacity_in_short_rows_is_described_by_its_means_over_100_ms() -> None:
    """The capacity is zero for three rows of 1 ms, then 48 Mbit/s for one row. In the second half of the rows,
    every capacity is twice as high."""
    rate_bps = np.tile([0, 0, 0, 48_000_000], 500) * np.repeat([1, 2], 1000)
    capacity = Capacity(t_ns=np.arange(2000) * MS, rate_bps=rate_bps, end_ns=2 * S)
    description = describe(Measurement(source="trace", format="mahimahi").with_capacity(capacity, None)).capacity_down
    assert description is not None
    assert (description.mean_bps, description.rows, description.interval_ns, description.zero_ns) == (
        18_000_000,
        2000,
        100 * MS,
        1500 * MS,
    )
    assert (description.quantiles_bps[0.0], description.quantiles_bps[0.25], description.quantiles_bps[1.0]) == (
        12e6,
        12e6,
        24e6,
    )
    assert description.steps_bps[1.0] == 12e6


def test_what_was_not_measured_cannot_be_described() -> None:
    with pytest.raises(ScenarioError, match=r"no delays to describe \(up\)"):
        describe(Measurement.of_one_way([0], [1.0]), series="up")
    with pytest.raises(ScenarioError, match="no delays to describe"):
        describe(Measurement.of_one_way([], []))


def test_arrays_of_other_shapes_and_times_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        Series.of([0, 1], [1.0])
    with pytest.raises(ValueError, match="increase"):
        Series.of([0, 0], [1.0, 2.0])
