# SPDX-License-Identifier: Apache-2.0
"""Tests that BBR's modes are derived from its gains."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.tables.metadata import encode_metadata
from leowarp.trace.bbr import bbr_modes, with_bbr_mode
from leowarp.trace.schema.hosts import BBR_MODES

# In net/ipv4/tcp_bbr.c of Linux 6.12, bbr_high_gain is 739, bbr_drain_gain 88 and BBR_UNIT 256. `sockets` contains the
# kernel's gains divided by 256.
HIGH, DRAIN = 739 / 256, 88 / 256
GAINS = {
    (HIGH, HIGH): "STARTUP", (DRAIN, HIGH): "DRAIN", (1.25, 2.0): "PROBE_BW", (0.75, 2.0): "PROBE_BW",
    (1.0, 2.0): "PROBE_BW", (1.0, 1.0): "PROBE_RTT", (0.0, 0.0): "STARTUP",
}  # fmt: skip


def words(pacing, cwnd):
    modes = bbr_modes(np.array(pacing, dtype="float64"), np.array(cwnd, dtype="float64"))
    return [None if np.isnan(mode) else BBR_MODES[int(mode)] for mode in modes]


def test_each_pair_of_gains_is_a_mode():
    assert words(*zip(*GAINS, strict=True)) == list(GAINS.values())


# In the kernel, a gain has 10 bits.
@given(st.integers(0, 1023), st.integers(0, 1023))
def test_gains_of_no_mode_are_none(pacing, cwnd):
    assert words([pacing / 256], [cwnd / 256]) == [GAINS.get((pacing / 256, cwnd / 256))]


def test_unknown_gains_are_none_and_so_are_those_that_a_timeout_leaves_to_startup_and_drain():
    assert words([np.nan, HIGH, 1.0], [np.nan, np.nan, HIGH]) == [None, None, None]


@pytest.mark.parametrize(
    ("control", "known"), [("bbr", True), ("bbr_handover", True), ("cubic", False), ("my_bbr", False), (None, False)]
)
def test_only_the_kernels_own_bbr_has_a_mode(control, known):
    table = pa.table({"flow": [0], "bbr_pacing_gain": [HIGH], "bbr_cwnd_gain": [HIGH]})
    table = table.replace_schema_metadata(encode_metadata({"flows": [{"congestion_control": control}]}))
    assert with_bbr_mode(table).column("bbr_mode").to_pylist() == [0 if known else None]


def test_a_table_of_an_older_run_has_no_mode():
    assert with_bbr_mode(pa.table({"flow": [0, 0]})).column("bbr_mode").to_pylist() == [None, None]
