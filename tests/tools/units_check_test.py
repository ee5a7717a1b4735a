# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/units_check.py finds a wrong factor from the names and texts beside the factor. For names without a
unit, it must report nothing."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def units():
    spec = importlib.util.spec_from_file_location("units_check", ROOT / "tools" / "units_check.py")
    module = importlib.util.module_from_spec(spec)
    # The module's dataclass can be created only if sys.modules contains the module.
    sys.modules["units_check"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start_s = start_ns / 1e6", "s and ms"),
        ("text = f'{delay_ns / 1e9:g} ms'", "ms and s"),
        ("text = f'{2 * duration_s * 1000:.1f} s'", "s and ms"),
        ("row = {'rate_mbps': rate_bps / 1e3}", "Mbit/s and kbit/s"),
        ("end_ns = start_ns + length_s", "ns and s"),
        ("late = t_ns > 1_000_000 * at_s", "ns and us"),
        ("def longest_s(frame): return frame['t_ns'].max() / 10**6", "s and ms"),
        ("axis(at_km=np.round(frame.loc[0, 'range_m'] / 1e6))", "km and 10^6 of length"),
        ("low_ms, high_ms = low_ns / 1e6, high_ns / 1e9", "ms and s"),
        ("if (wait_ns or 0) / 1e6 < limit_s: pass", "ms and s"),
    ],
)
def test_a_factor_that_does_not_fit_the_names_is_found(units, text, said):
    ((line, fault),) = units.faults_of(text)[0]
    assert line == 1
    assert fault.endswith(said)


@pytest.mark.parametrize(
    "text",
    [
        "start_s = start_ns / 1e9",
        "text = f'{delay_ns / 1e6:g} ms, {rate_bps / 1e6:g} Mbit/s'",
        "frame = make(t_s=frame['t_ns'].to_numpy(dtype='int64') * 1e-9, length_km=length_m / 1000)",
        "way_m = speed_m_per_s * step_ns * 1e-9",
        "wait_ns = 10**9 * pkts // rate_pkts_per_s",
        "size_bytes = rate_bps * lasts_s / 8",
        "text = f'{median / 1e6:.0f} Mbit/s'",
        "rate_bps = 7 * MBIT_S",
    ],
)
def test_what_fits_or_says_nothing_is_left_alone(units, text):
    assert units.faults_of(text)[0] == []


def test_most_conversions_of_the_package_are_told_by_their_names(units):
    # `make check` checks all files. An eighth of all files is enough to show that the script finds factors to compare.
    found = [units.faults_of(path.read_text()) for path in sorted(units.sources())[::8]]
    assert sum(conversions for _, conversions, _ in found) > 40
    assert sum(compared for _, _, compared in found) > 125
