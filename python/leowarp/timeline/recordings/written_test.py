# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Capacity, Measurement, read, read_capacity
from leowarp.timeline.recordings.written import csv_of, csv_path, write_csv
from support.synthetic.dish import MS, S

NOON_NS = 1_715_947_200 * S


def again(measurement: Measurement, folder: Path) -> Measurement:
    path = folder / "again.csv"
    path.write_text("".join(csv_of(measurement)))
    return read(path, "csv")


def test_what_was_measured_comes_back_to_the_ns(tmp_path: Path) -> None:
    t_ns, rtt_ns = np.array([0, 10 * MS + 1, 20 * MS]), np.array([30_123_456.0, np.nan, 29e6])
    of = again(Measurement.of_round_trips(t_ns, rtt_ns, wall_ns=NOON_NS + 7), tmp_path)
    assert of.round_trip is not None
    assert of.wall_ns == NOON_NS + 7
    assert np.array_equal(of.round_trip.t_ns, t_ns)
    assert np.array_equal(of.round_trip.delay_ns, rtt_ns, equal_nan=True)
    assert of.round_trip.lost.tolist() == [False, True, False]


def test_our_own_table_comes_back_as_it_was(tmp_path: Path) -> None:
    text = (
        "t_s,delay_ms,loss_ratio,delay_up_ms,loss_up_ratio,rate_mbps,rate_up_mbps\n"
        "0,20.5,0,21,0.5,100,10\n1,down,,,,,\n2,lost,0.25,22,0,unshaped,0\n"
    )
    path = tmp_path / "own.csv"
    path.write_text(text)
    lines = [line for line in csv_of(read(path)) if not line.startswith("#")]
    assert lines[0].strip().split(",") == [
        "t_s", "delay_ms", "delay_up_ms", "loss_ratio", "loss_up_ratio", "rate_mbps", "rate_up_mbps",
    ]  # fmt: skip
    assert [line.strip() for line in lines[1:]] == [
        "0,20.5,21,0,0.5,100,10", "1,down,,,,,", "2,lost,22,0.25,0,unshaped,0",
    ]  # fmt: skip


def test_capacity_alone_is_a_table_of_capacity(tmp_path: Path) -> None:
    capacity = Capacity(t_ns=np.array([0, 5 * MS]), rate_bps=np.array([24_000_000, 1_234_567]), end_ns=9 * MS)
    path = tmp_path / "rates.csv"
    assert write_csv(csv_of(Measurement(source="a", format="mahimahi").with_capacity(capacity, None)), path) == 2
    down, _, _ = read_capacity(path)
    assert (down.t_ns.tolist(), down.rate_bps.tolist()) == ([0, 5 * MS], [24_000_000, 1_234_567])
    with pytest.raises(ScenarioError, match="neither delays nor rates"):
        list(csv_of(Measurement(source="a", format="arrays")))


def test_nothing_is_written_over_or_through(tmp_path: Path) -> None:
    source = tmp_path / "pings.txt"
    source.write_text("x")
    assert csv_path(source, None, force=False) == tmp_path / "pings.csv"
    with pytest.raises(ScenarioError, match="what is read"):
        csv_path(source, source, force=True)
    (tmp_path / "pings.csv").write_text("y")
    with pytest.raises(ScenarioError, match="it is there"):
        csv_path(source, None, force=False)
    assert csv_path(source, None, force=True) == tmp_path / "pings.csv"
    (tmp_path / "link.csv").symlink_to(source)
    with pytest.raises(ScenarioError, match="symbolic link"):
        csv_path(source, tmp_path / "link.csv", force=True)


def test_names_cannot_break_out_of_a_comment(tmp_path: Path) -> None:
    of = Measurement.of_round_trips([0], [1e6], source="a\n0,1\x1b")
    assert [line for line in csv_of(of) if not line.startswith("#")] == ["t_s,rtt_ms\n", "0,1\n"]
