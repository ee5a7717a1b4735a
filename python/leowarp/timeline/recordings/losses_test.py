# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pytest

from leowarp.timeline.recordings import describe, read
from leowarp.timeline.recordings.losses import long_losses, loss_of
from leowarp.timeline.recordings.measurement import Measurement, Series
from leowarp.timeline.recordings.period.schedule import Schedule
from support.synthetic.dish import MS, S

T_NS = np.arange(0, 300 * S, 20 * MS)
SCHEDULE = Schedule(15 * S, 0)


def lost_in(*stretches_s: tuple[float, float]) -> Series:
    delay_ns = np.full(len(T_NS), 30.0 * MS)
    for begin_s, end_s in stretches_s:
        delay_ns[(begin_s * S <= T_NS) & (end_s * S > T_NS)] = np.nan
    return Series.of(T_NS, delay_ns)


def test_what_comes_again_between_reconfigurations_is_an_obstacle_and_what_crosses_them_an_outage() -> None:
    behind = [(15 * slot + 4 + slot % 3, 15 * slot + 7) for slot in range(1, 9)]
    series = lost_in(*behind, (200, 219), *((15 * slot, 15 * slot + 0.1) for slot in range(20)))
    of = loss_of(Measurement.of_round_trips(T_NS, series.delay_ns), "round_trip", series, SCHEDULE, series)
    assert [one.t_ns / S for one in of.obstructions] == [begin for begin, _ in behind]
    (outage,) = of.outages
    assert abs(outage.t_ns - 200 * S) < S
    assert abs(outage.length_ns - 19 * S) < S
    assert of.in_handover is not None
    assert of.in_handover >= 20 * 5 - 5


def test_a_few_long_losses_are_outages() -> None:
    series = lost_in((4, 7), (100, 103))
    of = loss_of(Measurement.of_round_trips(T_NS, series.delay_ns), "round_trip", series, SCHEDULE, series)
    assert (len(of.obstructions), len(of.outages)) == (0, 2)


def test_scattered_losses_are_no_stretch() -> None:
    delay_ns = np.full(len(T_NS), 30.0 * MS)
    delay_ns[np.random.default_rng(1).random(len(T_NS)) < 0.2] = np.nan
    assert long_losses(Series.of(T_NS, delay_ns)) == ()
    assert long_losses(lost_in()) == ()


def test_a_tables_share_of_losses_is_weighed_by_time(tmp_path: Path) -> None:
    path = tmp_path / "bursts.csv"
    rows = ["0,250,0", "9.5,250,1", "9.75,250,0.5", "10,250,0"]
    path.write_text("t_s,delay_ms,loss_ratio\n" + "\n".join(rows) + "\n")
    loss = describe(read(path)).loss
    assert loss.over_time_ratio == pytest.approx(0.0375)
    assert [(one.t_ns, one.length_ns) for one in loss.certain] == [(9_500_000_000, 250_000_000)]
    path.write_text("t_s,rtt_ms,loss_ratio,loss_up_ratio\n0,250,0.5,0.1\n10,250,0,0\n")
    loss = describe(read(path)).loss
    assert (loss.over_time_ratio, loss.over_time_up_ratio) == (0.5, 0.1)
    path.write_text("t_s,delay_ms\n0,250\n10,250\n")
    assert describe(read(path)).loss.over_time_ratio is None
