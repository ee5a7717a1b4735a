# SPDX-License-Identifier: Apache-2.0
"""States over time."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from leowarp.metrics import SERIES, flow_bbr_modes

SAMPLES = pd.DataFrame({"bbr_pacing_gain": [1.0, 1.25], "bbr_cwnd_gain": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("control", "modes"), [("bbr", [3, 2]), ("bbr_handover", [3, 2]), ("cubic", None), ("my_bbr", None), (None, None)]
)
def test_only_the_kernels_own_bbr_has_a_mode(control, modes):
    found = flow_bbr_modes(SimpleNamespace(congestion_control=control), SAMPLES)
    assert found.tolist() == modes if modes else np.isnan(found).all()


def test_a_table_of_an_older_run_has_no_mode():
    old = SAMPLES.drop(columns="bbr_cwnd_gain")
    assert np.isnan(flow_bbr_modes(SimpleNamespace(congestion_control="bbr"), old)).all()


def test_a_state_without_a_word_is_its_digits():
    assert [SERIES["bbr_mode"].word(number) for number in (2, 9)] == ["PROBE_BW", "9"]
