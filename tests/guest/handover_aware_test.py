# SPDX-License-Identifier: Apache-2.0
"""What bbr_handover and cubic_handover do in the window around a reconfiguration; elsewhere they do nothing."""

import pandas as pd
import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

BEFORE_S, AFTER_S = 0.1, 0.4
WINDOW = {"before_ns": "100 ms", "after_ns": "400 ms"}
RECOVERY, LOSS = "Recovery", "Loss"


def transfer(tmp_path, name, rows, *, parameters, window=WINDOW, duration="5 s", start="0 s", queue="400 pkts"):
    """Run and sockets of one flow over a measured path of rows (t_s, delay_ms, rate_mbps, loss_ratio of data)."""
    tmp_path.mkdir(exist_ok=True)
    table = tmp_path / "path.csv"
    head = "t_s,delay_ms,rate_mbps,loss_ratio,loss_up_ratio"
    table.write_text("\n".join([head, *(",".join(map(str, (*row, 0))) for row in rows)]) + "\n")
    lines = [
        'name = "handover"', "[run]", f'duration = "{duration}"',
        "[measured]", f'file = "{table}"', f'queue = "{queue}"',
        "[observe]", 'sockets = "10 ms"', 'packets = "all"',
    ]  # fmt: skip
    # Both, whichever is used: the guest must do the same before the run for the random numbers to be the same.
    for module in ("bbr_handover", "cubic_handover"):
        own = window | parameters
        lines += [f"[modules.{module}]", *(f'{key} = "{value}"' for key, value in own.items())]
    lines += ["[[flows]]", 'source = "A"', 'destination = "B"', f'start = "{start}"', f'congestion_control = "{name}"']
    scenario = tmp_path / f"{name}.toml"
    scenario.write_text("\n".join(lines) + "\n")
    run = lw.run(scenario, (), tmp_path / name, report=False, progress=False)
    return run, run.sockets().set_index("t_ns")


def between(sockets: pd.DataFrame, from_s: float, to_s: float) -> pd.DataFrame:
    return sockets[(sockets.index > from_s * 1e9) & (sockets.index < to_s * 1e9)]


def at(sockets: pd.DataFrame, t_s: float) -> pd.Series:
    return sockets.loc[round(t_s * 1e9)]


BURST = [(0, 20, 50, 0), (2, 20, 50, 0.3), (2.03, 20, 50, 0)]
OUTAGE = [(0, 20, 50, 0), (2, 20, 50, 1), (2.6, 20, 50, 0)]
NOW = {"phase_ns": "2 s"}


@pytest.mark.parametrize(("own", "kernels"), [("cubic_handover", "cubic"), ("bbr_handover", "bbr")])
def test_far_from_any_reconfiguration_they_are_the_kernels_own(tmp_path, own, kernels):
    far = {"phase_ns": "1000 s"}
    made = [transfer(tmp_path, name, BURST, parameters=far) for name in (own, kernels)]
    (first, first_sockets), (second, second_sockets) = made
    pd.testing.assert_frame_equal(first_sockets, second_sockets)
    pd.testing.assert_frame_equal(first.packets(), second.packets())
    assert first_sockets.retrans_pkts.max() > 0


def test_without_a_period_there_are_no_windows(tmp_path):
    _, sockets = transfer(tmp_path, "cubic_handover", BURST, parameters={**NOW, "period_ns": "0 s"})
    assert between(sockets, 2.1, 2.4).cwnd_pkts.min() < 0.8 * at(sockets, 2.0).cwnd_pkts


def test_cubic_repairs_losses_in_the_window_with_its_window_as_it_was(tmp_path):
    _, sockets = transfer(tmp_path, "cubic_handover", BURST, parameters=NOW)
    before = at(sockets, 2.0)
    repair = between(sockets, 2.0, 2.4)
    assert (repair.ca_state == RECOVERY).sum() >= 3
    assert repair.retrans_pkts.max() > before.retrans_pkts + 10
    assert repair.cwnd_pkts.is_monotonic_increasing
    after = repair[repair.index > repair.index[repair.ca_state == RECOVERY].max()]
    assert (after.ca_state == "Open").all()
    assert (after.ssthresh_pkts == before.ssthresh_pkts).all()


def test_cubic_reduces_its_window_for_losses_outside(tmp_path):
    _, sockets = transfer(tmp_path, "cubic_handover", BURST, parameters={"phase_ns": "1 s"}, queue="2000 pkts")
    before = at(sockets, 2.0)
    # beta is 717 / 1024
    assert between(sockets, 2.2, 2.4).cwnd_pkts.min() == pytest.approx(0.7 * before.cwnd_pkts, rel=0.06)


@pytest.mark.parametrize("name", ["cubic_handover", "cubic"])
def test_cubic_has_its_window_back_after_a_timeout_in_the_window(tmp_path, name):
    _, sockets = transfer(tmp_path, name, OUTAGE, parameters=NOW, queue="1000 pkts")
    before = at(sockets, 2.5)
    repair = between(sockets, 2.5, 5)
    assert (repair.ca_state == LOSS).any()
    assert repair.cwnd_pkts.min() == 1
    after = repair[repair.index > repair.index[repair.ca_state == LOSS].max()].iloc[0]
    if name == "cubic_handover":
        assert before.cwnd_pkts <= after.cwnd_pkts <= before.cwnd_pkts + 20
        assert after.ssthresh_pkts == before.ssthresh_pkts
    else:
        assert after.cwnd_pkts < 0.8 * before.cwnd_pkts


@pytest.mark.parametrize("name", ["cubic_handover", "cubic"])
def test_cubic_does_not_leave_slow_start_because_the_path_got_longer(tmp_path, name):
    longer = [(0, 20, 50, 0), (2, 40, 50, 0)]
    _, sockets = transfer(tmp_path, name, longer, parameters=NOW, start="1.85 s", queue="2000 pkts", duration="3 s")
    in_window = between(sockets, 1.9, 2.0 + AFTER_S)
    assert in_window.ssthresh_pkts.isna().all() == (name == "cubic_handover")


# The path of the window's second half is longer and slower; a few packets are lost where it begins.
STEP = [(0, 20, 50, 0), (4, 40, 30, 0.3), (4.02, 40, 30, 0)]
STEP_NOW = {"phase_ns": "4 s"}


def test_bbr_holds_its_probing_and_its_filters_in_the_window(tmp_path):
    _, sockets = transfer(tmp_path, "bbr_handover", STEP, parameters=STEP_NOW, duration="7 s")
    window = between(sockets, 4.0 - BEFORE_S + 0.01, 4.0 + AFTER_S)
    assert (window.bbr_pacing_gain == 1).all()
    assert window.bbr_bw_bps.nunique() == 1
    assert window.bbr_min_rtt_us.nunique() == 1
    assert window.retrans_pkts.max() > window.retrans_pkts.min()
    assert window.cwnd_pkts.min() > 4
    probing = between(sockets, 2.5, 4.0 - BEFORE_S)
    assert set(probing.bbr_pacing_gain) == {0.75, 1, 1.25}


def test_bbr_takes_the_new_paths_delay_and_rate_right_after_the_window(tmp_path):
    _, sockets = transfer(tmp_path, "bbr_handover", STEP, parameters=STEP_NOW, duration="7 s")
    # 2 x 40 ms, a packet of 1514 bytes out and an ACK of 66 back at 30 Mbit/s and unshaped wires
    base_us = 80_000 + 1514 * 8 / 30
    after = between(sockets, 4.0 + AFTER_S, 7)
    assert after.cwnd_pkts.min() == 4, "PROBE_RTT"
    assert at(sockets, 5.5).bbr_min_rtt_us == pytest.approx(base_us, abs=1000)
    # payload of segments of 1448 bytes, 40 bytes of it SACK or not
    assert at(sockets, 5.5).bbr_bw_bps == pytest.approx(30e6 * 1448 / 1514, rel=0.01)


def test_the_kernels_bbr_holds_nothing(tmp_path):
    _, sockets = transfer(tmp_path, "bbr", STEP, parameters=STEP_NOW, duration="7 s")
    window = between(sockets, 4.0 - BEFORE_S + 0.01, 4.0 + AFTER_S)
    assert set(window.bbr_pacing_gain) == {0.75, 1, 1.25}
    # the old path's, for as long as its 10 s filter remembers it
    assert at(sockets, 5.5).bbr_min_rtt_us < 45_000


def test_a_shorter_path_is_not_learnt_in_the_window_but_after_it(tmp_path):
    shorter = [(0, 40, 50, 0), (4, 20, 50, 0)]
    _, sockets = transfer(tmp_path, "bbr_handover", shorter, parameters=STEP_NOW, duration="6 s")
    assert between(sockets, 4.0, 4.0 + AFTER_S).bbr_min_rtt_us.min() > 80_000
    assert at(sockets, 5.5).bbr_min_rtt_us == pytest.approx(40_000, abs=1000)


def test_by_default_cubic_holds_for_a_second_to_either_side(tmp_path):
    """A burst half a second after the instant, which the narrower window of the other tests does not reach."""
    late = {"phase_ns": "1.45 s"}
    _, wide = transfer(tmp_path / "default", "cubic_handover", BURST, parameters=late, window={})
    _, narrow = transfer(tmp_path / "narrow", "cubic_handover", BURST, parameters=late)
    before = at(wide, 2.0).cwnd_pkts
    assert between(wide, 2.1, 2.4).cwnd_pkts.min() >= before
    assert between(narrow, 2.1, 2.4).cwnd_pkts.min() < before
