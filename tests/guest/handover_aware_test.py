# SPDX-License-Identifier: Apache-2.0
"""Tests that bbr_handover and cubic_handover differ from the kernel's BBR and CUBIC only around a reconfiguration."""

import pandas as pd
import pytest

import leowarp as lw
from leowarp.guest.building import shelf
from leowarp.guest.building.kernel import is_built

pytestmark = pytest.mark.guest

BEFORE_S, AFTER_S = 0.1, 0.4
WINDOW = {"before_ns": "100 ms", "after_ns": "400 ms"}
RECOVERY, LOSS = "Recovery", "Loss"


def transfer(
    tmp_path,
    name,
    rows,
    *,
    parameters,
    window=WINDOW,
    duration="5 s",
    start="0 s",
    queue="400 pkts",
    alone=None,
    keys=(),
):
    """Return a run of one flow over a measured path, and the samples of the flow's socket. `rows` are the rows of the
    path: (t_s, delay_ms, rate_mbps, loss_ratio of data).

    `parameters` are set in both modules. `alone` is a dict from module to the parameters that only this module gets.
    `keys` are further scenario keys.
    """
    tmp_path.mkdir(exist_ok=True)
    table = tmp_path / "path.csv"
    head = "t_s,delay_ms,rate_mbps,loss_ratio,loss_up_ratio"
    table.write_text("\n".join([head, *(",".join(map(str, (*row, 0))) for row in rows)]) + "\n")
    lines = [
        'name = "handover"', "[run]", f'duration = "{duration}"',
        "[measured]", f'file = "{table}"', f'queue = "{queue}"',
        "[observe]", 'sockets = "10 ms"', 'packets = "all"',
    ]  # fmt: skip
    # Both modules are loaded in every run. Otherwise guests would do different things before the run, and draw
    # different random numbers.
    for module in ("bbr_handover", "cubic_handover"):
        own = window | parameters | (alone or {}).get(module, {})
        lines += [f"[modules.{module}]", *(f'{key} = "{value}"' for key, value in own.items())]
    lines += ["[[flows]]", 'source = "A"', 'destination = "B"', f'start = "{start}"', f'congestion_control = "{name}"']
    scenario = tmp_path / f"{name}.toml"
    scenario.write_text("\n".join(lines) + "\n")
    run = lw.run(scenario, keys, tmp_path / name, report=False, progress=False)
    return run, run.sockets().set_index("t_ns")


def between(sockets: pd.DataFrame, from_s: float, to_s: float) -> pd.DataFrame:
    return sockets[(sockets.index > from_s * 1e9) & (sockets.index < to_s * 1e9)]


def at(sockets: pd.DataFrame, t_s: float) -> pd.Series:
    return sockets.loc[round(t_s * 1e9)]


BURST = [(0, 20, 50, 0), (2, 20, 50, 0.3), (2.03, 20, 50, 0)]
OUTAGE = [(0, 20, 50, 0), (2, 20, 50, 1), (2.6, 20, 50, 0)]
NOW = {"phase_ns": "2 s"}
FAR = {"phase_ns": "1000 s"}


@pytest.mark.parametrize(("own", "kernels"), [("cubic_handover", "cubic"), ("bbr_handover", "bbr")])
def test_far_from_any_reconfiguration_they_are_the_kernels_own(tmp_path, own, kernels):
    made = [transfer(tmp_path, name, BURST, parameters=FAR) for name in (own, kernels)]
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
    # CUBIC's beta is 717 / 1024
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


# In the second half of the handover window, the path is longer and slower. At the beginning of this half, it also loses
# a few packets.
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
    # the RTT of the empty path is 2 x 40 ms plus the transmission of a packet of 1514 bytes at 30 Mbit/s. The
    # transmission of the ACK is left out, and the wires add nothing
    base_us = 80_000 + 1514 * 8 / 30
    after = between(sockets, 4.0 + AFTER_S, 7)
    assert after.cwnd_pkts.min() == 4, "PROBE_RTT"
    assert at(sockets, 5.5).bbr_min_rtt_us == pytest.approx(base_us, abs=1000)
    # a segment has 1448 bytes of payload, or up to 40 bytes less if it carries SACK options
    assert at(sockets, 5.5).bbr_bw_bps == pytest.approx(30e6 * 1448 / 1514, rel=0.01)


def test_the_kernels_bbr_holds_nothing(tmp_path):
    _, sockets = transfer(tmp_path, "bbr", STEP, parameters=STEP_NOW, duration="7 s")
    window = between(sockets, 4.0 - BEFORE_S + 0.01, 4.0 + AFTER_S)
    assert set(window.bbr_pacing_gain) == {0.75, 1, 1.25}
    # the minimum RTT is still that of the old path, because BBR's filter keeps it for 10 s
    assert at(sockets, 5.5).bbr_min_rtt_us < 45_000


def test_a_shorter_path_is_not_learnt_in_the_window_but_after_it(tmp_path):
    shorter = [(0, 40, 50, 0), (4, 20, 50, 0)]
    _, sockets = transfer(tmp_path, "bbr_handover", shorter, parameters=STEP_NOW, duration="6 s")
    assert between(sockets, 4.0, 4.0 + AFTER_S).bbr_min_rtt_us.min() > 80_000
    assert at(sockets, 5.5).bbr_min_rtt_us == pytest.approx(40_000, abs=1000)


def test_by_default_cubic_holds_for_a_second_to_either_side(tmp_path):
    """The burst comes half a second after the reconfiguration. The other tests use narrower windows around a
    reconfiguration, which would not include the burst."""
    late = {"phase_ns": "1.45 s"}
    _, wide = transfer(tmp_path / "default", "cubic_handover", BURST, parameters=late, window={})
    _, narrow = transfer(tmp_path / "narrow", "cubic_handover", BURST, parameters=late)
    before = at(wide, 2.0).cwnd_pkts
    assert between(wide, 2.1, 2.4).cwnd_pkts.min() >= before
    assert between(narrow, 2.1, 2.4).cwnd_pkts.min() < before


DEFER = {"bbr_handover": {"only_defer": "1"}}


def test_deferring_alone_holds_the_pacing_and_nothing_else(tmp_path):
    # The handover window `wide` lasts longer than the rounds that BBR's bandwidth filter covers
    wide = {"before_ns": "100 ms", "after_ns": "3000 ms"}
    _, sockets = transfer(tmp_path, "bbr_handover", STEP, parameters=STEP_NOW, window=wide, duration="9 s", alone=DEFER)
    window = between(sockets, 4.0 - BEFORE_S + 0.01, 7)
    assert (window.bbr_pacing_gain == 1).all()
    assert at(sockets, 7).bbr_bw_bps == pytest.approx(30e6 * 1448 / 1514, rel=0.02)
    assert 1.25 in set(between(sockets, 7, 7.8).bbr_pacing_gain)
    # BBR keeps the minimum RTT of the old path until its own 10 s are over
    assert at(sockets, 8).bbr_min_rtt_us < 45_000
    assert between(sockets, 2, 9).cwnd_pkts.min() > 4


def test_deferring_alone_is_the_kernels_bbr_until_the_window(tmp_path):
    pd.testing.assert_frame_equal(*(
        between(transfer(tmp_path, name, STEP, parameters=STEP_NOW, alone=DEFER)[1], 0, 4.0 - BEFORE_S)
        for name in ("bbr_handover", "bbr")
    ))  # fmt: skip


def test_bbrs_own_probe_of_the_rtt_comes_in_a_window_that_only_defers(tmp_path):
    longer = [(0, 20, 20, 0), (1, 40, 20, 0)]
    _, kernels = transfer(tmp_path, "bbr", longer, parameters=FAR, duration="12 s")
    probes = kernels[(kernels.cwnd_pkts == 4) & (kernels.index > 5e9)]
    probes_s = probes.index.min() / 1e9
    for alone, comes in (({}, False), (DEFER, True)):
        now = {"phase_ns": f"{round(probes_s * 1000)} ms"}
        folder = tmp_path / f"{comes}"
        _, sockets = transfer(folder, "bbr_handover", longer, parameters=now, duration="12 s", alone=alone)
        window = between(sockets, probes_s - BEFORE_S, probes_s + AFTER_S)
        assert (window.cwnd_pkts.min() == 4) == comes


def test_bbr_holds_its_filters_without_a_forced_probe_of_the_rtt(tmp_path):
    alone = {"bbr_handover": {"force_probe_rtt": "0"}}
    _, sockets = transfer(tmp_path, "bbr_handover", STEP, parameters=STEP_NOW, duration="7 s", alone=alone)
    window = between(sockets, 4.0 - BEFORE_S + 0.01, 4.0 + AFTER_S)
    assert (window.bbr_pacing_gain == 1).all()
    assert window.bbr_bw_bps.nunique() == 1
    assert between(sockets, 2, 7).cwnd_pkts.min() > 4
    assert at(sockets, 5.5).bbr_min_rtt_us < 45_000


MARKS = {"cubic_handover": {"marks_only": "1"}}
ECN = {"tcp.ecn": "on"}
MARKING = {**ECN, "measured.queue_discipline": "codel", "measured.ecn": True}


@pytest.mark.parametrize("alone", [{}, MARKS])
def test_with_ecn_losses_outside_of_windows_reduce_unless_marks_alone_do(tmp_path, alone):
    _, sockets = transfer(tmp_path, "cubic_handover", BURST, parameters=FAR, queue="2000 pkts", alone=alone, keys=ECN)
    before = at(sockets, 2.0)
    repair = between(sockets, 2.0, 2.5)
    assert (repair.ca_state == RECOVERY).sum() >= 3
    if alone:
        assert repair.cwnd_pkts.min() >= before.cwnd_pkts
    else:
        assert repair.cwnd_pkts.min() < 0.75 * before.cwnd_pkts


@pytest.mark.parametrize("parameters", [FAR, NOW])
@pytest.mark.parametrize("rows", [BURST, OUTAGE])
def test_without_ecn_a_sender_of_marks_alone_is_the_kernels_cubic(tmp_path, parameters, rows):
    made = [
        transfer(tmp_path, name, rows, parameters=parameters, alone=MARKS)[1] for name in ("cubic_handover", "cubic")
    ]
    pd.testing.assert_frame_equal(*made)
    assert made[0].retrans_pkts.max() > 0


@pytest.mark.parametrize("parameters", [FAR, NOW])
def test_a_timeout_outside_of_windows_reduces_where_marks_alone_do(tmp_path, parameters):
    _, sockets = transfer(
        tmp_path, "cubic_handover", OUTAGE, parameters=parameters, queue="1000 pkts", alone=MARKS, keys=ECN
    )
    before = at(sockets, 2.5)
    in_loss = sockets.index[sockets.ca_state == LOSS]
    assert len(in_loss)
    after = sockets[sockets.index > in_loss.max()].iloc[0]
    # CUBIC's beta is 717 / 1024
    left_pkts = 0.7 * before.cwnd_pkts if parameters == FAR else before.ssthresh_pkts
    assert after.ssthresh_pkts == pytest.approx(left_pkts, abs=2)


def test_marks_reduce_where_marks_alone_do(tmp_path):
    steady = [(0, 20, 50, 0)]
    run, sockets = transfer(tmp_path, "cubic_handover", steady, parameters=FAR, alone=MARKS, keys=MARKING)
    assert run.summary["flows"][0]["lost_pkts"] == 0
    assert (sockets.ca_state == "CWR").any()
    reductions = sockets.ssthresh_pkts.dropna().diff()
    assert (reductions < 0).sum() >= 2


def test_a_mark_during_a_repair_reduces_once_where_marks_alone_do(tmp_path):
    # A queue grows while lost packets are retransmitted.
    slower = [(0, 20, 50, 0), (2, 20, 50, 0.3), (2.03, 20, 20, 0)]
    rare = {"measured.queue_parameters.target": "15 ms", "measured.queue_parameters.interval": "60 ms"}
    _, sockets = transfer(tmp_path, "cubic_handover", slower, parameters=FAR, alone=MARKS, keys={**MARKING, **rare})
    before = at(sockets, 2.0)
    span = between(sockets, 2.0, 2.6)
    repair = span[span.ca_state == RECOVERY]
    first, last = repair.ssthresh_pkts.iloc[0], repair.ssthresh_pkts.iloc[-1]
    assert first >= before.cwnd_pkts
    assert last == pytest.approx(0.7 * first, abs=1)
    # The ACK that ends the repair may echo earlier marks; only a later mark reduces the window once more.
    assert span[span.index > repair.index.max()].ssthresh_pkts.iloc[0] == last


VERSION_3 = "6.12+bbr3"


@pytest.fixture(scope="module")
def version_3():
    if not is_built(shelf.kernel_of(VERSION_3)):
        pytest.skip(f"its kernel is not built: leowarp kernel build {VERSION_3}")
    return {"guest.kernel": VERSION_3}


@pytest.mark.parametrize("name", ["bbr_handover", "bbr"])
def test_version_3_of_bbr_probes_after_the_window(tmp_path, version_3, name):
    # The handover window of 6 s is longer than the 2 to 3 s between two probes of BBR
    window = {"before_ns": "0 s", "after_ns": "6 s"}
    path = [(0, 20, 50, 0)]
    _, sockets = transfer(
        tmp_path, name, path, parameters=STEP_NOW, window=window, duration="11 s",
        keys=version_3,
    )  # fmt: skip
    gains = {span: set(between(sockets, *span).bbr_pacing_gain) for span in ((1, 4), (4.06, 10), (10, 10.5))}
    assert max(gains[1, 4]) == 1.25
    assert (gains[4.06, 10] == {1}) == (name == "bbr_handover")
    if name == "bbr_handover":
        assert max(gains[10, 10.5]) == 1.25
    else:
        assert max(gains[4.06, 10]) == 1.25


def test_version_3_of_bbr_far_from_any_reconfiguration_is_the_kernels_own(tmp_path, version_3):
    made = [transfer(tmp_path, name, BURST, parameters=FAR, keys=version_3)[1] for name in ("bbr_handover", "bbr")]
    pd.testing.assert_frame_equal(*made)


def test_version_3_of_bbr_refuses_what_it_does_not_have(tmp_path, version_3):
    with pytest.raises(lw.LeowarpError, match="only_defer"):
        transfer(
            tmp_path, "bbr_handover", BURST, parameters=FAR, keys=version_3, alone={"bbr_handover": {"only_defer": "0"}}
        )
