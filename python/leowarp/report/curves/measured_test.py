# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.report.curves.measured import measured_figure
from leowarp.report.style import CHANGE_COLOUR, draw_file
from leowarp.timeline.recordings import Capacity, Measurement, describe
from support.synthetic.dish import MS, S, dish


def measurement() -> Measurement:
    t_ns, rtt_ns, _ = dish(phase_ns=9 * S, span_ns=150 * S)
    rates = Capacity(t_ns=np.array([0, 70 * S]), rate_bps=np.array([100_000_000, 20_000_000]), end_ns=150 * S)
    return Measurement.of_round_trips(t_ns, rtt_ns).with_capacity(rates, None)


def draw(of: Measurement, file: Path) -> None:
    draw_file(file, "--figure", lambda: measured_figure([(of, describe(of))]))


def test_delays_break_at_lost_probes_and_reconfigurations_are_marked() -> None:
    of = measurement()
    delays, capacity = measured_figure([(of, describe(of))]).axes
    drawn = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), line.get_color()) for line in delays.lines]
    (broken,) = [y for x, y, _ in drawn if x.size == len(of.series["round_trip"])]
    assert np.isnan(broken).sum() == describe(of).loss.lost == 10
    assert sorted(round(float(x[0])) for x, _, colour in drawn if colour == CHANGE_COLOUR) == list(range(9, 150, 15))
    assert capacity.get_ylabel() == "capacity, Mbit/s"


@pytest.mark.slow
def test_equal_measurements_give_equal_bytes(tmp_path: Path) -> None:
    of = measurement()
    for name in ("a.svg", "b.svg"):
        draw(of, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_measurement_of_capacity_alone_is_drawn(tmp_path: Path) -> None:
    rates = Capacity(t_ns=np.array([0, MS]), rate_bps=np.array([0, -1]), end_ns=2 * MS)
    of = Measurement(source="down.trace", format="mahimahi").with_capacity(rates, None)
    draw(of, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 0


def test_other_formats_are_refused(tmp_path: Path) -> None:
    of = measurement()
    with pytest.raises(ScenarioError, match="cannot draw gif") as raised:
        draw(of, tmp_path / "a.gif")
    assert ".svg" in str(raised.value.hint)
