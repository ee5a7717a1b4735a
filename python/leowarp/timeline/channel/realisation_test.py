# SPDX-License-Identifier: Apache-2.0
"""Tests that a realisation can be truncated, and that its power series can be written to a file."""

import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.timeline.channel import Harq, LandMobile, PowerSeries, channel_rows, realisation
from leowarp.timeline.channel import series as series_module
from leowarp.timeline.channel.series import write_series

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def realised():
    # The rule `equal` needs no expected levels, so the receiver does not need time to learn them.
    return realisation(LandMobile(samples_per_wavelength=4), Harq(rule="equal"), 8.0, SECOND, 1)


def test_a_part_has_the_codewords_that_begin_before_and_the_samples_until_then(realised):
    part = realised.until(SECOND // 2)
    count = -(-SECOND // 2 // Harq().codeword_period_ns)
    assert len(part.starts_ns) == len(part.outcomes.lost) == len(part.outcomes.sent_bits) == count
    assert part.starts_ns[-1] < SECOND // 2 <= realised.starts_ns[count]
    assert np.array_equal(part.outcomes.retransmissions, realised.outcomes.retransmissions[:count])
    assert SECOND // 2 - part.power.spacing_ns < part.power.duration_ns <= SECOND // 2
    assert np.array_equal(part.power.level_db, realised.power.level_db[: len(part.power.level_db)])
    assert part.outcomes.first_bits == realised.outcomes.first_bits


def test_a_power_that_never_changes_keeps_both_samples_however_short_the_part():
    part = realisation(None, Harq(), 8.0, SECOND, 1).until(1)
    assert part.power.level_db.tolist() == [0, 0]
    assert len(part.starts_ns) == 1


def test_rows_are_those_of_the_realisation(realised):
    rows, outcomes = channel_rows(LandMobile(samples_per_wavelength=4), Harq(rule="equal"), 8.0, SECOND, 1)
    assert np.array_equal(rows.t_ns, realised.rows().t_ns)
    assert outcomes.loss_ratio == realised.outcomes.loss_ratio


@pytest.mark.parametrize("name", ["power.parquet", "power.csv"])
def test_a_series_is_written_sample_by_sample_in_blocks(tmp_path, monkeypatch, name):
    monkeypatch.setattr(series_module, "BLOCK_ROWS", 3)
    level_db = np.array([0, -1.5, -3, -20.25, -2, 0.5, 1], np.float32)
    power = PowerSeries(250, level_db, np.array([0, 0, 1, 1, 1, 0, 0], np.int8), ("open", "shut"))
    file = tmp_path / name
    write_series(power, 10.0, file, {"seed": 3})
    table = (pq.read_table if name.endswith("parquet") else pyarrow.csv.read_csv)(file)
    assert table["t_ns"].to_pylist() == list(range(0, 7 * 250, 250))
    assert table["level_db"].to_pylist() == level_db.tolist()
    assert table["snr_db"].to_pylist() == (level_db + 10).tolist()
    assert table["state"].to_pylist() == ["open", "open", "shut", "shut", "shut", "open", "open"]
    if name.endswith("parquet"):
        assert json.loads(table.schema.metadata[b"channel"]) == {"seed": 3}
        assert table.schema.field("snr_db").metadata[b"unit"] == b"dB"


def test_other_formats_and_places_that_are_not_there_are_refused(tmp_path):
    power = PowerSeries(250, np.zeros(2, np.float32), np.zeros(2, np.int8), ("open",))
    with pytest.raises(ScenarioError, match=r"cannot write \.xlsx") as caught:
        write_series(power, 10.0, tmp_path / "power.xlsx", {})
    assert ".parquet, .csv" in str(caught.value.hint)
    with pytest.raises(ScenarioError, match="No such file"):
        write_series(power, 10.0, tmp_path / "none" / "power.csv", {})
