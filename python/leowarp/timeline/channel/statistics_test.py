# SPDX-License-Identifier: Apache-2.0
"""Tests the statistics of series against values that are computed by hand."""

import math

import numpy as np
import pytest

from leowarp.timeline.channel.lms import LandMobile, PowerSeries, power_series
from leowarp.timeline.channel.statistics import (
    COLUMNS,
    autocorrelation,
    crossings,
    statistics,
)

SECOND = 1_000_000_000

RAYLEIGH = """
[[environments]]
name = "rayleigh"
elevation_deg = 40
states = [{ mean_db = -200, deviation_db = 0, multipath_db = 0 }]
transitions = [[1]]
correlation_m = 1
state_lengths_m = [1]
transition_m = 0
"""


def rayleigh_crossings(level_over_mean, doppler_hz):
    """Return the rate and mean duration of fades for Clarke's spectrum (Jakes, "Microwave Mobile Communications", 1974,
    section 1.3.4). With rho the amplitude divided by its root mean square, the rate is sqrt(2 pi) fd rho exp(-rho^2),
    and the mean duration is (exp(rho^2) - 1) / (sqrt(2 pi) fd rho)."""
    scale = math.sqrt(2 * math.pi * level_over_mean) * doppler_hz
    return scale * math.exp(-level_over_mean), math.expm1(level_over_mean) / scale


def test_crossings_and_fades_of_pure_rayleigh_fading_are_the_closed_form(tmp_path):
    path = tmp_path / "rayleigh.toml"
    path.write_text(RAYLEIGH, encoding="utf-8")
    channel = LandMobile(environment="rayleigh", environments_path=path, samples_per_wavelength=32)
    power = power_series(channel, 200 * SECOND, 1)
    for level_db in (-15.0, -10.0, -3.0, 0.0):
        rate, duration = crossings(power, level_db)
        doppler_hz = channel.speed_m_per_s / channel.wavelength_m
        expected_rate, expected_duration = rayleigh_crossings(10 ** (level_db / 10), doppler_hz)
        # A fade between two samples is missed. At -15 dB a fade lasts 7 % of a wavelength, which is only two samples.
        assert rate == pytest.approx(expected_rate, rel=0.06 if level_db < -10 else 0.03)
        assert duration == pytest.approx(expected_duration, rel=0.06 if level_db < -10 else 0.04)
    table = statistics(power, channel).to_pandas()
    assert table[table.statistic == "dwell"].closed_form.isna().all()


def test_the_table_names_every_column_and_gives_the_series_numbers():
    power = PowerSeries(
        SECOND,
        np.array([0, -10, -10, 0, 0, -10, 0, 0, -20, 0], dtype=np.float32),
        np.array([0, 1, 1, 0, 0, 1, 0, 0, 1, 0], dtype=np.int8),
        ("up", "down"),
    )
    table = statistics(power)
    assert table.column_names == list(COLUMNS)
    rows = table.to_pandas().set_index(["statistic", "state"]).value
    assert rows["state_share", "down"] == 0.4
    assert rows["dwell", "down"] == pytest.approx(4 / 3)
    # The first and the last stay are not measured, because the series begins and ends within them.
    assert rows["dwell", "up"] == 2.0
    assert rows["visits", "up"] == 2
    assert crossings(power, -5.0) == (3 / 9, pytest.approx(0.4 * 9 / 3))
    assert crossings(power, -25.0) == (0.0, None)
    assert table.schema.field("at").metadata[b"doc"]


def test_a_series_that_never_varies_has_no_autocorrelation_and_no_rates():
    table = statistics(
        power_series(LandMobile(speed_m_per_s=0.0), SECOND, 1), LandMobile(speed_m_per_s=0.0)
    ).to_pandas()
    assert table[table.statistic == "autocorrelation"].value.isna().all()
    assert table[table.statistic == "crossing_rate"].value.isna().all()
    assert table[table.statistic == "dwell"].value.isna().all()


def test_autocorrelation_of_a_period_is_one_after_it():
    values = np.tile(np.array([1.0, -1.0]), 500)
    assert autocorrelation(values, [1, 2]) == [pytest.approx(-1), pytest.approx(1)]
