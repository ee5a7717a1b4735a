# SPDX-License-Identifier: Apache-2.0
"""Tests that the gains of the kernel's BBR show its mode at every sample, and that modes follow BBR's state machine."""

from pathlib import Path

import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

CHAIN = Path(__file__).parents[2] / "examples" / "chain.toml"


@pytest.mark.parametrize("control", ["bbr", "bbr_handover"])
def test_every_sample_has_a_mode_and_modes_come_in_bbrs_order(tmp_path, control):
    # PROBE_RTT begins 10 s after the minimum round trip was measured (bbr_min_rtt_win_sec), and lasts 200 ms plus a
    # round trip.
    keys = {"run.duration": "12 s", "flows.0.congestion_control": control, "flows.1.start": "11 s"}
    run = lw.run(CHAIN, keys, tmp_path / "run", report=False, progress=False)
    sockets = run.sockets(flow=0)
    assert len(sockets) > 200
    assert sockets["bbr_mode"].notna().all()
    changed = sockets[sockets["bbr_mode"] != sockets["bbr_mode"].shift()]
    assert changed["bbr_mode"].tolist() == ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT", "PROBE_BW"]
    probing = sockets[sockets["bbr_mode"] == "PROBE_RTT"]
    # the value of bbr_cwnd_min_target
    assert (probing["cwnd_pkts"].iloc[1:] == 4).all()
    assert 9e9 < probing["t_ns"].min() < 11e9
    assert run.sockets(flow=1).empty
    cubic = lw.run(CHAIN, {"run.duration": "1 s"}, tmp_path / "cubic", report=False, progress=False)
    assert cubic.sockets()["bbr_mode"].isna().all()
