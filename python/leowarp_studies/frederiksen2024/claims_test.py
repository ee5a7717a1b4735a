# SPDX-License-Identifier: Apache-2.0
"""Tests of each claim on synthetic evidence: once with runs as the study describes them, and once with different runs.

The tests of functions that read the tables of a run are in `study_test.py`.
"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from leowarp.study.claim import judged
from leowarp_studies.frederiksen2024 import effects
from leowarp_studies.frederiksen2024 import evidence as ev
from leowarp_studies.frederiksen2024.claims import CLAIMS
from leowarp_studies.frederiksen2024.runs import (
    ALGORITHMS,
    BBR_SCENARIOS,
    CAPACITY_RUNS,
    SCENARIOS,
    control_slug,
    ordered_slug,
)

MS = 1_000_000
CAPACITY_BPS = 95.64e6
CHANGE_NS = 20_000 * MS


@pytest.fixture(autouse=True)
def evidence(monkeypatch):
    """Replace the functions that read the tables of a run. The new functions return values that a synthetic run
    stores."""
    told = {
        "mean_bps": lambda run: run.mean_bps,
        "capacity_bps": lambda run: CAPACITY_BPS,
        "shortfall_ratio": lambda run: run.shortfall_ratio,
        "rates_bps": lambda run, reading="in_order": run.acked_bps if reading == "acked" else run.rates_bps,
        "srtt_ms": lambda run, q: float(np.quantile(run.srtt_ms, q)),
        "full_queue_ratio": lambda run, limit: run.full_ratio[limit],
        "isl_delay_span_ns": lambda run: 0,
        "reordered": lambda run: run.reordered,
        "disturbed": lambda run: run.reordered,
        "counters": lambda run: dict.fromkeys(ev.COUNTERS, 0) | run.counters,
        "dips_by_cause": lambda run, share: {"overflow": 0, "route change": 0, "other": 0},
        "growth_pkts_per_s": lambda run: run.growth_pkts_per_s,
        "repair_delays_ns": lambda run: np.array(run.repair_ms) * MS,
        "falls_after": lambda run, series, instants_ns: round(run.falls_ratio * len(instants_ns)),
        "estimates_around": lambda run, span_ns: pd.DataFrame(run.estimates, columns=["before_bps", "after_bps"]),
        "delay_steps": lambda run: run.delay_steps,
        "window_weights": lambda run: (run.sockets, np.ones(len(run.sockets))),
    }
    for name, tell in told.items():
        monkeypatch.setattr(ev, name, tell)
    monkeypatch.setattr(effects, "sending_falls_after", lambda run, instants_ns: run.sending_falls)
    monkeypatch.setattr(effects, "isls_by_kind", lambda run: run.isls)
    monkeypatch.setattr(effects, "in_flight_pkts", lambda run, instants_ns: run.flight_pkts)


def change(**different):
    """Return a row of `ev.reordered`. The row is a route change with late packets, as the study describes such changes
    for Reno and BBR."""
    row = {
        "t_ns": CHANGE_NS, "late_pkts": 150, "lost_pkts": 0, "retransmissions_pkts": 40,
        "spurious_retransmissions_pkts": 40, "cwnd_fell_after_ns": 1000 * MS, "cwnd_min_pkts": 100.0,
        "first_retransmission_after_ns": 1000 * MS, "last_retransmission_after_ns": 2500 * MS,
        "recovery_state_ns": 1500 * MS, "srtt_before_us": 100_000, "fell_after_ns": 1000 * MS,
        "duration_ns": 1000 * MS, "is_shorter": True, "delay_step_ns": -10 * MS, "queue_left_wait_ns": 15 * MS,
        "queue_met_wait_ns": 0, "queue_left_pkts": 100,
    }  # fmt: skip
    return pd.DataFrame([row | different])


def rtt_frame(before_ms, lowest_ms, highest_ms, after_ms):
    """Return a frame with the smoothed RTT before and after a change."""
    at_s = (15, 20.5, 21, 24)
    values_ms = (before_ms, lowest_ms, highest_ms, after_ms)
    return pd.DataFrame({"t_ns": [int(1000 * s) * MS for s in at_s], "srtt_us": [1000 * value for value in values_ms]})


def made_up_run(**different):
    """Return a synthetic run for which every claim about a single run holds."""
    depth_ratio, drops = different.pop("depth_ratio", 0.95), different.pop("drops", 2)
    delay_span_ms = different.pop("delay_span_ms", 2.0)
    flow = {"spurious_retransmissions_pkts": 0, "data_drops_pkts": 1, "goodput_mean_bps": 90e6, "late_pkts": 150,
            "late_by_changes_pkts": 150}  # fmt: skip
    flow |= different.pop("flow", {})
    mine = {
        "main_flow": 0, "mean_bps": 93e6, "shortfall_ratio": 0.01, "rates_bps": np.full(1000, 95e6),
        "falls_ratio": 0.0, "sending_falls": 0, "isls": (5.0, 5.0), "flight_pkts": 500.0,
        "delay_steps": 60, "estimates": [(95e6, 110e6)],
        "srtt_ms": np.linspace(150, 250, 101), "full_ratio": {0.9: 0.6, 0.5: 0.9}, "reordered": change(),
        "counters": {}, "growth_pkts_per_s": [20.0], "repair_ms": [100.0],
        "sockets": pd.DataFrame({
            "cwnd_pkts": [300.0] * 4, "unacked_pkts": [300.0] * 4, "sacked_pkts": [0.0] * 4,
            "pacing_bps": [120e6] * 4, "bbr_bw_bps": [100e6] * 4, "bbr_min_rtt_us": [11_584.0] * 4,
            "snd_mss_bytes": [1448.0] * 4,
        }),
        "srtt": rtt_frame(100, 90, 101, 100),
    } | different  # fmt: skip
    # By default, `acked_bps` equals `rates_bps`, and `changes` has three changes within one minute. A test may override
    # both values.
    mine = {"acked_bps": mine["rates_bps"], "changes": pd.concat([mine["reordered"]] * 3)} | mine
    numbers = SimpleNamespace(
        summary={"path_delay_min_ns": 50 * MS, "path_delay_max_ns": int((50 + delay_span_ms) * MS),
                 "path_delay_mean_ns": 51 * MS, "flows": [flow]},
        recoveries=pd.DataFrame([{"flow": 0, "t_ns": CHANGE_NS, "depth_ratio": depth_ratio}] * drops),
        srtt={0: mine.pop("srtt")},
        end_ns=300_000 * MS,
    )  # fmt: skip
    tables = SimpleNamespace(sockets=mine["sockets"])
    return SimpleNamespace(numbers=numbers, end_ns=numbers.end_ns, tables=tables, **mine)


AS_THE_STUDY_SAYS = {
    "reno": {"mean_bps": 80e6, "shortfall_ratio": 0.2, "srtt_ms": np.linspace(100, 120, 101),
             "growth_pkts_per_s": [5.0], "srtt": rtt_frame(60, 60, 80, 58), "sending_falls": 3,
             "rates_bps": np.repeat([95e6, 20e6], [980, 20])},
    "bbr": {"sending_falls": 3, "rates_bps": np.repeat([95e6, 20e6], [990, 10])},
    "cubic": {"sending_falls": 3, "isls": (5.0, 7.0),
              "srtt_ms": np.linspace(140, 160, 101), "rates_bps": np.repeat([95e6, 20e6], [995, 5]),
              "reordered": change(last_retransmission_after_ns=1300 * MS)},
    "nine-planes": {"srtt_ms": np.linspace(180, 220, 101), "rates_bps": np.repeat([95e6, 20e6], [990, 10])},
    "aalborg-cape-town": {"srtt_ms": np.linspace(195, 205, 101), "isls": (9.0, 1.0),
                          "changes": pd.concat([change(late_pkts=5)] * 3)},
    "classic-cubic": {"flow": {"spurious_retransmissions_pkts": 1000}},
    "threshold-300-lossy": {"repair_ms": [300.0]},
    "threshold-300-thin": {"counters": {"TCPTimeouts": 5}},
    **{run.slug: {"flight_pkts": 200.0, "changes": change(late_pkts=40)} for run in CAPACITY_RUNS[:2]},
    **{run.slug: {"flight_pkts": 1500.0, "changes": change(late_pkts=600)} for run in CAPACITY_RUNS[2:]},
}  # fmt: skip


def row_of(number, changes=None):
    """Check a claim with runs that behave as the study describes. The argument `changes` modifies some runs."""
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    changes = changes or {}
    sample = {slug: made_up_run(**AS_THE_STUDY_SAYS.get(slug, {}) | changes.get(slug, {})) for slug in claim.runs}
    return judged(claim, [("made up", sample)])


@pytest.mark.parametrize("number", [claim.number for claim in CLAIMS])
# Tests claims 1.1 to 1.30 of frederiksen2024.
def test_every_claim_holds_where_all_is_as_the_study_says(number):
    row = row_of(number)
    assert row["verdict"] == "holds", row["measured"]
    assert not row["cause"]


def each(slugs, **different):
    return {slug: dict(different) for slug in slugs}


EVEN = {"srtt_ms": np.linspace(140, 160, 101)}
FEW = np.repeat([95e6, 70e6], [998, 2])
SHORT = change(last_retransmission_after_ns=MS)
UNDISTURBED = change(retransmissions_pkts=2, cwnd_fell_after_ns=pd.NA, first_retransmission_after_ns=100 * MS)


@pytest.mark.parametrize(
    ("number", "changes", "verdict"),
    [
        ("1.1", {"cubic": {"delay_span_ms": 2.6}}, "partly"),
        ("1.1", each(SCENARIOS, delay_span_ms=2.5), "does not hold"),
        ("1.2", {"reno": {"mean_bps": 94e6}}, "partly"),
        ("1.2", {"reno": {"mean_bps": 94e6, "shortfall_ratio": 0.001}}, "does not hold"),
        # Without route changes, the goodput is as low as with route changes, so the cause is a full queue.
        ("1.2", {control_slug("reno"): {"mean_bps": 80e6}}, "partly"),
        ("1.2", {control_slug("cubic"): {"mean_bps": 120e6}}, "partly"),
        ("1.3", {"bbr": {"mean_bps": 0.94 * CAPACITY_BPS}}, "partly"),
        ("1.3", each(("cubic", "bbr"), mean_bps=0.91 * CAPACITY_BPS), "partly"),
        ("1.3", each(("cubic", "bbr"), mean_bps=0.89 * CAPACITY_BPS), "does not hold"),
        # The goodput is close to the capacity on average, but every fifth bin is far below the capacity
        ("1.3", {"bbr": {"rates_bps": np.repeat([95e6, 50e6], [800, 200])}}, "partly"),
        ("1.3", each(("cubic", "bbr"), mean_bps=0.85 * CAPACITY_BPS, rates_bps=np.full(9, 80e6)), "does not hold"),
        ("1.4", {"reno": {"srtt_ms": np.linspace(100, 190, 101)}}, "partly"),
        ("1.4", {"reno": EVEN}, "does not hold"),
        ("1.5", {"bbr": {"full_ratio": {0.9: 0.4, 0.5: 0.4}}}, "partly"),
        ("1.5", each(("cubic", "bbr"), full_ratio={0.9: 0.4, 0.5: 0.6}), "partly"),
        ("1.5", each(("cubic", "bbr"), full_ratio={0.9: 0.4, 0.5: 0.4}), "does not hold"),
        ("1.6", {"reno": {"depth_ratio": 0.4}}, "partly"),
        ("1.6", each(ALGORITHMS, depth_ratio=0.4), "does not hold"),
        # In these cases, only one fall occurs, or falls are as frequent without route changes, or falls occur only
        # after a dropped packet
        ("1.6", {"reno": {"drops": 1}}, "partly"),
        ("1.6", {control_slug("bbr"): {"falls_ratio": 0.6}}, "partly"),
        ("1.6", {"cubic": {"changes": pd.concat([change(lost_pkts=3)] * 2)}}, "partly"),
        ("1.7", {"cubic": {"growth_pkts_per_s": [4.0]}}, "partly"),
        ("1.7", {"reno": {"growth_pkts_per_s": [30.0]}}, "does not hold"),
        ("1.7", {"reno": {"growth_pkts_per_s": []}}, "cannot be told"),
        ("1.8", {"reno": {"reordered": UNDISTURBED}}, "partly"),
        # The spike of retransmissions and the fall of the window occur, but the first retransmission comes already 100
        # ms after the change.
        ("1.8", each(ALGORITHMS, reordered=change(first_retransmission_after_ns=100 * MS)), "partly"),
        ("1.8", each(ALGORITHMS, reordered=UNDISTURBED), "does not hold"),
        ("1.8", each(ALGORITHMS, reordered=change().iloc[:0]), "cannot be told"),
        ("1.9", {"cubic": {"reordered": change()}}, "partly"),
        ("1.9", {"cubic": {"reordered": change()}} | each(("reno", "bbr"), reordered=SHORT), "does not hold"),
        ("1.9", each(ALGORITHMS, reordered=change(retransmissions_pkts=0)), "cannot be told"),
        ("1.10", {"bbr": {"srtt": rtt_frame(100, 98, 101, 100)}}, "partly"),
        ("1.10", {"reno": {"srtt": rtt_frame(100, 100, 120, 98)}}, "partly"),
        ("1.10", {"reno": {"reordered": change(retransmissions_pkts=9)}}, "partly"),
        ("1.10", each(ALGORITHMS, srtt=rtt_frame(100, 98, 101, 100)), "does not hold"),
        ("1.12", {"nine-planes": {"srtt_ms": np.linspace(300, 320, 101)}}, "partly"),
        ("1.12", {"cubic": {"srtt_ms": np.full(101, 400)}, "nine-planes": {"srtt_ms": np.full(101, 300)}},
         "does not hold"),
        ("1.13", {"aalborg-cape-town": {"srtt_ms": np.repeat([100, 200, 300], [3, 95, 3])}}, "partly"),
        ("1.13", {"aalborg-cape-town": {"srtt_ms": np.linspace(100, 300, 101)}}, "does not hold"),
        ("1.14", {"aalborg-cape-town": {"rates_bps": FEW}}, "partly"),
        ("1.14", {"aalborg-cape-town": {"rates_bps": np.repeat([95e6, 20e6], [998, 2])}}, "does not hold"),
        ("1.14", {"aalborg-cape-town": {"acked_bps": np.repeat([95e6, 20e6], [998, 2])}}, "partly"),
        ("1.15", {"nine-planes": {"rates_bps": FEW}}, "partly"),
        ("1.15", {"cubic": {"acked_bps": FEW}}, "partly"),
        ("1.15", each(("cubic", "nine-planes"), rates_bps=FEW), "does not hold"),
        ("1.16", {"cubic": {"mean_bps": 90e6}}, "partly"),
        ("1.16", {"cubic": {"mean_bps": 80e6}}, "does not hold"),
        ("1.16", {control_slug("nine-planes"): {"mean_bps": 95.5e6}}, "partly"),
        ("1.17", each(ALGORITHMS, reordered=change(duration_ns=4000 * MS)), "does not hold"),
        ("1.17", each(ALGORITHMS, reordered=change(fell_after_ns=pd.NA)), "cannot be told"),
        ("1.18", each(ALGORITHMS, reordered=change(late_pkts=99)), "partly"),
        ("1.18", each(ALGORITHMS, reordered=change(late_pkts=20, is_shorter=False, delay_step_ns=MS,
                                                   queue_left_wait_ns=5 * MS)), "does not hold"),
        ("1.20", {"cubic": {"flow": {"late_pkts": 151}}}, "partly"),
        ("1.20", each(SCENARIOS, flow={"late_by_changes_pkts": 0}), "does not hold"),
        ("1.20", each(SCENARIOS, delay_steps=0), "cannot be told"),
        ("1.21", {"cubic": {"changes": change()}}, "partly"),
        ("1.21", each(SCENARIOS, changes=pd.concat([change()] * 6)), "does not hold"),
        ("1.22", {"bbr": {"estimates": [(110e6, 110e6)]}}, "partly"),
        ("1.22", {"bbr": {"estimates": [(96e6, 96e6)]}}, "does not hold"),
        ("1.22", {"bbr": {"estimates": []}}, "cannot be told"),
        ("1.23", {"nine-planes-bbr": {"mean_bps": 90e6}}, "partly"),
        ("1.23", each(BBR_SCENARIOS, mean_bps=90e6), "does not hold"),
        ("1.24", each(ALGORITHMS[1:], reordered=change(queue_left_wait_ns=5 * MS)), "partly"),
        ("1.24", each(ALGORITHMS, reordered=change(queue_left_wait_ns=5 * MS)), "does not hold"),
        ("1.24", each(ALGORITHMS, reordered=change().iloc[:0]), "cannot be told"),
        # The first two cases change a run in which the path keeps the order. In the first case, the goodput of reno is
        # as low as with reordering. In the second case, the sending rate of bbr falls almost as often as with
        # reordering.
        ("1.25", {ordered_slug("reno"): {"mean_bps": 80e6}}, "partly"),
        ("1.25", {ordered_slug("bbr"): {"sending_falls": 2}}, "partly"),
        ("1.25", each(map(ordered_slug, ALGORITHMS), mean_bps=80e6, sending_falls=3), "does not hold"),
        ("1.25", each(ALGORITHMS, sending_falls=1, mean_bps=93e6), "cannot be told"),
        ("1.26", each(ALGORITHMS, reordered=change(recovery_state_ns=0)), "partly"),
        ("1.26", each(ALGORITHMS, reordered=change(spurious_retransmissions_pkts=20)), "partly"),
        ("1.26", each(ALGORITHMS, reordered=change(recovery_state_ns=0, retransmissions_pkts=0,
                                                   spurious_retransmissions_pkts=0)), "does not hold"),
        # A packet was dropped after each change, so recovery was necessary.
        ("1.26", each(ALGORITHMS, reordered=change(lost_pkts=1)), "cannot be told"),
        ("1.27", {"nine-planes": {"isls": (5.0, 8.0)}}, "partly"),
        ("1.27", {"aalborg-cape-town": {"rates_bps": np.repeat([95e6, 20e6], [990, 10])}}, "partly"),
        ("1.27", {"cubic": {"isls": (5.0, 4.0)}, "aalborg-cape-town": {
            "isls": (1.0, 9.0), "rates_bps": np.repeat([95e6, 20e6], [990, 10]), "changes": change()}},
         "does not hold"),
        ("1.28", {"capacity-400-bbr": {"changes": change(late_pkts=150)}}, "partly"),
        ("1.28", each([run.slug for run in CAPACITY_RUNS], flight_pkts=500.0, changes=change()), "does not hold"),
        ("1.28", {"capacity-25-cubic": {"changes": change(is_shorter=False)}}, "cannot be told"),
        ("1.29", {"nine-planes": {"changes": change()}}, "partly"),
        ("1.29", each(SCENARIOS, changes=change(late_pkts=0)), "does not hold"),
        ("1.30", {"bbr": {"mean_bps": 94e6}}, "partly"),
        ("1.30", {"bbr": {"mean_bps": 94e6, "rates_bps": np.full(1000, 95e6)}}, "does not hold"),
        # The threshold absorbs reordering, and harms no recovery
        ("1.19", {"threshold-300-lossy": {"repair_ms": [150.0]}, "threshold-300-thin": {"counters": {}}},
         "does not hold"),
        ("1.19", {"threshold-300-lossy": {"repair_ms": [150.0]}}, "partly"),
    ],
)  # fmt: skip
# Tests claims 1.1 to 1.10 of frederiksen2024.
# Tests claims 1.12 to 1.30 of frederiksen2024.
def test_a_claim_that_does_not_hold_says_why(number, changes, verdict):
    row = row_of(number, changes)
    assert row["verdict"] == verdict, row["measured"]
    assert bool(row["cause"]) == (verdict != "cannot be told")


def test_changes_count_that_make_packets_late_or_leave_them_without_a_route(monkeypatch):
    monkeypatch.undo()
    changes = pd.DataFrame({"t_ns": [30_000 * MS, 60_000 * MS, 90_000 * MS], "late_pkts": [5, 0, 0]})
    # The drop at 60 s comes from a full queue. The packet that finds no route was sent shortly before 90 s.
    drops = pd.DataFrame({"flow": 0, "flow_direction": 0, "cause": [1, 4], "t_ns": [60_100 * MS, 89_900 * MS]})
    run = SimpleNamespace(
        main_flow=0, changes=changes, tables=SimpleNamespace(drops=drops),
        numbers=SimpleNamespace(recoveries=changes.assign(flow=0, duration_ns=1)[["flow", "t_ns", "duration_ns"]]),
    )  # fmt: skip
    assert ev.disturbed(run)["t_ns"].tolist() == [30_000 * MS, 90_000 * MS]
    assert ev.reordered(run)["t_ns"].tolist() == [30_000 * MS]


NEVER = change(retransmissions_pkts=0, first_retransmission_after_ns=pd.NA, last_retransmission_after_ns=pd.NA)


@pytest.mark.parametrize(
    ("number", "said"),
    [("1.8", "BBR: spike in 0%, window falls in 100% of 1, no retransmission"), ("1.9", "BBR unknown")],
)
def test_what_did_not_happen_is_said_in_words(number, said):
    measured = row_of(number, {"bbr": {"reordered": NEVER}})["measured"]
    assert said in measured
    assert "nan" not in measured


@pytest.mark.parametrize(
    ("column", "value", "ratio"),
    [("pacing_bps", 90e6, "paced_above_ratio"), ("unacked_pkts", 280.0, "window_limited_ratio"),
     ("bbr_min_rtt_us", 18_000.0, "window_over_bdp_ratio"), ("bbr_bw_bps", 95.7e6, "bw_over_capacity_ratio")],
)  # fmt: skip
# Tests claim 1.11 of frederiksen2024.
def test_bbr_held_by_its_window_has_four_parts(column, value, ratio):
    whole = made_up_run().sockets
    row = row_of("1.11", {"bbr": {"sockets": whole.assign(**{column: value})}})
    assert row["verdict"] == "partly"
    assert row["numbers"][ratio] != row_of("1.11")["numbers"][ratio]
    assert "cwnd_gain 2 times" in row["cause"]
    other = whole.assign(pacing_bps=90e6, unacked_pkts=280.0, bbr_min_rtt_us=18_000.0, bbr_bw_bps=95.7e6)
    assert row_of("1.11", {"bbr": {"sockets": other}})["verdict"] == "does not hold"


def test_the_sending_rate_falls_where_a_bin_sends_less_than_half(monkeypatch):
    monkeypatch.undo()
    # A transfer in 50 ms bins over 10 s. Each bin has 100 kB, except the bins from 5 to 5.1 s. The bin at 8 s has
    # exactly half of 100 kB, which does not count as a fall.
    t_ns = np.arange(0, 10_000 * MS, ev.BIN_NS)
    sent_bytes = np.full(len(t_ns), 100_000)
    sent_bytes[t_ns == 8000 * MS] = 50_000
    bins = pd.DataFrame({"t_ns": t_ns, "flow": 0, "direction": 0, "sent_bytes": sent_bytes})
    silent = (bins["t_ns"] >= 5000 * MS) & (bins["t_ns"] < 5100 * MS)
    run = SimpleNamespace(main_flow=0, tables=SimpleNamespace(bins=bins[~silent]), end_ns=10_000 * MS)
    assert effects.sending_falls_after(run, [4000 * MS]) == 1
    assert effects.sending_falls_after(run, [2000 * MS, 7000 * MS]) == 0
    # At 500 ms and at 9000 ms, bins are missing on one side of the instant
    assert effects.sending_falls_after(run, [500 * MS, 9000 * MS]) == 0


def test_packets_in_flight_are_those_of_the_last_sample_before(monkeypatch):
    monkeypatch.undo()
    samples = pd.DataFrame({"t_ns": [1000, 2000, 3000], "unacked_pkts": [10, 30, 50], "sacked_pkts": [0, 5, 50]})
    run = SimpleNamespace(main_flow=0, tables=SimpleNamespace(of_flow=lambda table, flow: samples))
    # The instants 500 and 1000 have no sample before them: a sample at exactly 1000 counts as later.
    assert effects.in_flight_pkts(run, [500, 1000, 2000, 3000]) == (10 + 25) / 2
    assert np.isnan(effects.in_flight_pkts(run, []))
