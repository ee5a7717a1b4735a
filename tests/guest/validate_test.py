# SPDX-License-Identifier: Apache-2.0
"""Tests that a recording made with the profile agrees with its replay, and with pings in the guest."""

import numpy as np
import pytest

from leowarp.validation import Validated, validate
from leowarp.validation.quantities import DIFFERENCES, STEPS
from support.fitted import Kind, recording

pytestmark = pytest.mark.guest


def test_a_recording_of_the_profile_holds_over_its_replay_and_the_default_profile(tmp_path):
    made = recording(Kind(100_000_000, 8), 1)
    # The file has lines `time sequence rtt` without a header, because a table with a header would be read as rows
    # instead of probes.
    rows = zip((made.round_trip.t_ns / 1e9).tolist(), made.round_trip.delay_ns.tolist(), strict=True)
    lines = [
        f"{1715947200 + t_s:.9f} {n} {rtt_ns / 1e6:.1f}" for n, (t_s, rtt_ns) in enumerate(rows) if rtt_ns == rtt_ns
    ]
    (tmp_path / "made.txt").write_text("\n".join(lines) + "\n")
    (found,) = validate([str(tmp_path / "made.txt")], tmp_path / "out", recordings_folder=tmp_path)
    assert isinstance(found, Validated)
    rows_by_name = {row.quantity: row for row in found.rows}
    assert rows_by_name[DIFFERENCES].distances["replay"] < 0.1
    assert rows_by_name[DIFFERENCES].distances["default"] < 0.1
    assert rows_by_name[STEPS].distances["replay"] < 0.2
    assert np.isfinite(list(rows_by_name[DIFFERENCES].distances.values())).all()
