# SPDX-License-Identifier: Apache-2.0
"""Tests of the study's claims on synthetic results, for both outcomes, without the guest."""

from dataclasses import replace

import numpy as np
import pytest

from leowarp.study.claim import judged
from leowarp_studies.huston2024 import material, runs
from leowarp_studies.huston2024 import pings as pg
from leowarp_studies.huston2024.claims import CLAIMS
from leowarp_studies.huston2024.groups import OFF_PEAK, PEAK
from support.studies import huston2024 as synthetic

S, MS = 1_000_000_000, 1_000_000


@pytest.fixture(scope="module")
def as_the_study_says():
    return synthetic.frames()


def outcome(number, frames):
    (claim,) = (claim for claim in CLAIMS if claim.number == number)
    return judged(claim, [("made up", frames)])


def test_all_claims_of_the_list_are_there_and_say_how_they_are_tested():
    assert [claim.number for claim in CLAIMS] == [f"3.{number}" for number in range(1, 31)]
    for claim in CLAIMS:
        assert claim.test
        assert set(claim.runs) <= set(material.CLAIM_FRAMES)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.number)
# Tests claims 3.1 to 3.30 of huston2024.
def test_every_claim_holds_where_all_is_as_the_study_says(claim, as_the_study_says):
    row = judged(claim, [("made up", as_the_study_says)])
    assert row["verdict"] == "holds", row["measured"]
    assert not row["cause"]


def replaced(frames, **sets):
    return frames | sets


def flood(**how):
    return {runs.REGULAR: [synthetic.pings(1, 10 * MS, **how)], runs.ANSWERED: [synthetic.pings(1, 27 * MS, **how)]}


STEADY = synthetic.traces() | {
    ("bbr", PEAK): [replace(one, bbr_bps=np.full(len(one.bbr_bps), 260e6)) for one in synthetic.traces()["bbr", PEAK]]
}
FLAT = synthetic.traces() | {
    ("cubic", preset): [
        replace(one, goodput_bps=np.full(len(one.t_s), 45e6)) for one in synthetic.traces()["cubic", preset]
    ]
    for preset in (PEAK, OFF_PEAK)
}
ALIKE = synthetic.traces() | {("cubic", PEAK): synthetic.traces()["cubic-nosack", PEAK]}


def losing(name, others=None):
    """Return goodput as a function of loss. At every loss ratio above 0, the goodput of the congestion control `name`
    is halved. If `others` is given, all other congestion controls have this goodput."""
    rows = synthetic.loss_rows()
    mine, lossy = rows["variant"] == name, rows["loss_ratio"] > 0
    rows.loc[mine, "goodput_bps"] = np.where(lossy[mine], 100e6, 200e6)
    if others is not None:
        rows.loc[~mine, "goodput_bps"] = others
    return rows


CUTTING = synthetic.traces() | {("cubic_handover-marks", PEAK): synthetic.traces()["cubic", PEAK]}


@pytest.mark.parametrize(
    ("number", "changed", "verdict"),
    [
        ("3.2", {"paced": [synthetic.pings(1, S, loses=range(0))], "flood": flood(loses=range(0))}, "cannot be told"),
        ("3.3", {"flood": flood(rise_ms=5.0)}, "partly"),
        ("3.4", {"flood": flood(jitter_ms=8.0)}, "partly"),
        ("3.4", {"flood": flood(jitter_ms=2.0)}, "does not hold"),
        ("3.5", {"paced": [synthetic.pings(1, S, seconds=1800, loses=range(7))]}, "does not hold"),
        ("3.6", {"capacity": synthetic.capacity(down_bps=200e6)}, "partly"),
        ("3.16", {"flood": flood(rise_ms=100.0)}, "partly"),
        ("3.8", {"sessions": synthetic.sessions({"cubic": 150e6})}, "partly"),
        ("3.9", {"sessions": synthetic.sessions({"bbr": 60e6})}, "partly"),
        # In the traces `STEADY`, the estimate stays constant although goodput changes.
        ("3.9", {"traces": STEADY}, "partly"),
        ("3.10", {"sessions": synthetic.sessions({"reno": 100e6})}, "does not hold"),
        ("3.11", {"sessions": synthetic.sessions({"cubic-nosack": 30e6})}, "partly"),
        ("3.11", {"sessions": synthetic.sessions({"cubic-nosack": 45e6})}, "does not hold"),
        ("3.12", {"sessions": synthetic.sessions({"bbr_handover-defer": 200e6})}, "partly"),
        (
            "3.12",
            {"sessions": synthetic.sessions({"bbr_handover-defer": 200e6}).assign(retransmissions_pkts=90.0)},
            "does not hold",
        ),
        ("3.13", {"sessions": synthetic.sessions({"cubic_handover": 45e6})}, "partly"),
        ("3.14", {"sessions": synthetic.sessions({"cubic_handover-marks": 45e6})}, "partly"),
        # With the traces `CUTTING`, the modified CUBIC reduces its window at losses, as unmodified CUBIC does.
        ("3.14", {"sessions": synthetic.sessions({"cubic_handover-marks": 45e6}), "traces": CUTTING}, "does not hold"),
        ("3.15", {"beside": synthetic.beside({"bbr": 0.4})}, "partly"),
        ("3.15", {"beside": synthetic.beside({"bbr": 0.5})}, "does not hold"),
        ("3.17", {"beside": synthetic.beside({"bbr3_handover": 0.08})}, "partly"),
        (
            "3.17",
            {
                "beside": synthetic.beside({"bbr3_handover": 0.08}),
                "sessions": synthetic.sessions({"bbr3_handover": 150e6}),
            },
            "does not hold",
        ),
        # The estimate follows the capacity instead of the base delay.
        ("3.18", {"conditions": synthetic.conditions(("capacity",))}, "partly"),
        ("3.18", {"conditions": synthetic.conditions(("capacity",), 1.2)}, "does not hold"),
        # Beside other customers, BBR loses as much as CUBIC.
        ("3.19", {"shared": synthetic.shared_rows(50e6)}, "partly"),
        ("3.19", {"shared": synthetic.shared_rows(50e6).assign(goodput_bps=150e6)}, "does not hold"),
        ("3.20", {"programs": synthetic.program_rows(90e6)}, "partly"),
        ("3.20", {"programs": synthetic.program_rows().assign(goodput_bps=[90e6, 40e6, 40e6])}, "does not hold"),
        ("3.20", {"programs": synthetic.program_rows()[:1]}, "cannot be told"),
        ("3.21", {"sessions": synthetic.sessions().assign(dropped_queue_pkts=5.0)}, "partly"),
        ("3.22", {"jitter": synthetic.jitter_rows(mean_kept_bps=45e6)}, "partly"),
        ("3.22", {"jitter": synthetic.jitter_rows(45e6, 40e6)}, "does not hold"),
        ("3.23", {"sessions": synthetic.sessions().assign(timeouts=1.0)}, "partly"),
        # Every isolated loss causes a cut, with and without SACK.
        ("3.23", {"traces": ALIKE, "sessions": synthetic.sessions().assign(timeouts=1.0)}, "does not hold"),
        ("3.23", {"traces": {key: found for key, found in ALIKE.items() if key[0] == "cubic"}}, "cannot be told"),
        ("3.24", {"losses": synthetic.loss_rows().assign(goodput_bps=1e8)}, "partly"),
        ("3.24", {"losses": losing("bbr")}, "partly"),
        ("3.24", {"losses": losing("bbr", others=1.0)}, "does not hold"),
        ("3.25", {"sessions": synthetic.sessions({"cubic": 200e6})}, "partly"),
        ("3.25", {"sessions": synthetic.sessions({"cubic": 200e6, "reno": 210e6})}, "does not hold"),
        ("3.26", {"conditions": synthetic.conditions(("base",))}, "partly"),
        ("3.26", {"conditions": synthetic.conditions(("capacity",))}, "does not hold"),
        ("3.27", {"traces": FLAT}, "does not hold"),
        ("3.28", {"traces": FLAT}, "does not hold"),
        ("3.29", {"beside": synthetic.beside({"bbr": 0.5})}, "does not hold"),
        ("3.30", {"sessions": synthetic.sessions({"cubic-fq_codel": 45e6})}, "does not hold"),
    ],
)
# Tests claims 3.2 to 3.6 of huston2024.
# Tests claims 3.8 to 3.30 of huston2024.
def test_a_claim_that_does_not_hold_says_why(number, changed, verdict, as_the_study_says):
    row = outcome(number, as_the_study_says | changed)
    assert row["verdict"] == verdict, row["measured"]
    assert bool(row["cause"]) == (verdict != "cannot be told")


# Tests claim 3.1 of huston2024.
def test_minimum_that_never_moves_refutes_the_slots_in_part(as_the_study_says):
    still = synthetic.pings(1, 10 * MS)
    delay_ns = np.where(still.probes.is_lost, np.nan, 30e6)
    flat = pg.Pings(1, type(still.probes)(still.probes.sent_ns, delay_ns), still.changes_ns, still.end_ns)
    row = outcome("3.1", as_the_study_says | {"flood": {runs.REGULAR: [flat], runs.ANSWERED: [flat]}})
    # In the pings `flat`, the losses show the period, but the delays do not.
    assert row["verdict"] == "partly"
    assert row["numbers"]["changed_over_1_ms_ratio"] == 0


# Tests claim 3.1 of huston2024.
def test_the_period_is_that_of_the_pings_whatever_the_plan_says(as_the_study_says):
    told = synthetic.pings(1, 10 * MS)
    wrong = pg.Pings(1, told.probes, np.arange(5 * S, 380 * S, 20 * S), told.end_ns)
    row = outcome("3.1", as_the_study_says | {"flood": {runs.REGULAR: [wrong]}})
    assert row["verdict"] == "holds"
    assert row["numbers"]["period_s"] == [pytest.approx(15, rel=0.01)]
    silent = pg.Pings(
        1, type(told.probes)(told.probes.sent_ns, np.full(len(told.probes.sent_ns), 3e7)), told.changes_ns, told.end_ns
    )
    row = outcome("3.1", as_the_study_says | {"flood": {runs.REGULAR: [silent]}})
    assert row["verdict"] == "does not hold"


# Tests claim 3.7 of huston2024.
def test_cubic_that_keeps_the_path_at_peak_refutes_the_claim_in_part(as_the_study_says):
    frames = as_the_study_says | {"sessions": synthetic.sessions({"cubic": 200e6})}
    row = outcome("3.7", frames)
    assert row["verdict"] == "partly"
    assert "4.0 cuts a session" in row["cause"]
    assert "link, at a handover 2.0" in row["cause"]
    assert row["numbers"]["cuts"] == {"queue": 1.0, "handover": 2.0, "isolated": 1.0, "other": 0.0, "none": 0.0}
