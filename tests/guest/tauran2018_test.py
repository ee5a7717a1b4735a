# SPDX-License-Identifier: Apache-2.0
"""Tests a small part of the study in the guest: its scenario, and the values that its claims read."""

import shutil

import numpy as np
import pytest

from leowarp.study.sweep import StudyFile, run_study
from leowarp_studies.tauran2018 import material, results, runs
from leowarp_studies.tauran2018.runs import OFF, ON

pytestmark = pytest.mark.guest

SHORT = {"first": "120 s", "growth": "10 s", "growth_by_acks": "10 s", "rto_floor": "60 s", "capacity": "60 s"}
TICK_US = 8_000
"""The largest error from rounding to the 4 ms ticks of the kernel's clock. Both SRTT and RTO are rounded, so the error
is up to 8 ms."""
SESSIONS = ("first", "rto_floor", "capacity")
"""The groups that have several SNRs. This test runs only one of these SNRs."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The rows and traces of each group. The runs of the groups are shortened. They are NewReno runs at 10 dB, and runs
    that show NewReno's window without loss."""
    folder = tmp_path_factory.mktemp("tauran2018")
    found = {}
    for part in runs.parts():
        if part.name not in SHORT:
            continue
        content = dict(part.content)
        content["set"] = content["set"] | {"run.duration": SHORT[part.name]}
        if part.name == "rto_floor":
            # The study itself does not keep the traces of these runs.
            content["keep"] = {"runs": "all"}

        def wanted(run, part=part):
            return (
                run.values["flows.0.congestion_control"] in ("reno", runs.BY_ACKS["reno"])
                and (part.name not in SESSIONS or run.values["mobile.snr"] == "10 dB")
                and run.seed == 1
                and run.values["tcp.delayed_ack"] in (ON, OFF)
            )

        done = run_study(StudyFile.of(content), folder / part.name, only=wanted, at_once=1, progress=False)
        assert not done.failures
        rows = done.table().to_pandas()
        kept = material._views(rows, folder / part.name) if "keep" in content else []
        traces = {(row["delayed_ack"], bool(row["resequencing"])): material.trace_of(view) for row, view in kept}
        found[part.name] = (rows, traces)
    yield found
    shutil.rmtree(folder, ignore_errors=True)


def known(trace):
    """Return `(srtt_us, rttvar_us, rto_us)` of the samples after the first measured round trip."""
    measured = (trace.srtt_us > 0) & np.isfinite(trace.rto_us)
    return trace.srtt_us[measured], trace.rttvar_us[measured], trace.rto_us[measured]


def test_every_column_of_a_session_is_known(made):
    sessions = results.sessions(made["first"][0])
    assert len(sessions) == 4
    assert sessions[list(results.COLUMNS)].notna().all(axis=None)
    assert (sessions["lost_ratio"] < 0.2).all()


def test_the_kernel_obeys_delayed_acks_and_the_link_keeps_order(made):
    sessions = results.sessions(made["first"][0]).set_index(["delayed_ack", "resequencing"])
    for ordered in (True, False):
        # A link that restores the order delivers packets in bursts; packets that arrive while the reader reads are
        # acknowledged together (docs/concepts/delayed-acks.md)
        assert sessions.loc[(OFF, ordered), "acks_per_segment_ratio"] > (0.93 if ordered else 0.99)
        assert sessions.loc[(ON, ordered), "acks_per_segment_ratio"] < 0.85
        assert (sessions.loc[(ON, ordered), "late_pkts"] == 0) == ordered
    waits = {key: trace.pair_waits() for key, trace in made["first"][1].items()}
    wait_ms, count = waits[ON, True]
    assert count.sum() > 100
    assert wait_ms.max() <= 44


def test_without_a_floor_the_timeout_follows_the_variation(made):
    floored, floorless = (
        {key: known(trace) for key, trace in made[name][1].items() if key[1]} for name in ("first", "rto_floor")
    )
    for delayed in (ON, OFF):
        (srtt_us, rttvar_us, rto_us), (with_srtt_us, _, with_rto_us) = floorless[delayed, True], floored[delayed, True]
        # Linux's minimum RTO is SRTT plus 200 ms; 10 ms are subtracted because of the rounding to ticks
        assert (with_rto_us >= with_srtt_us + 190e3).all()
        # By RFC 6298, 2.3, the RTO would equal SRTT + 4 RTTVAR. The kernel's RTO may be larger, because it uses the
        # largest variation within a round trip, and a timeout doubles the RTO.
        assert (rto_us >= srtt_us + 4 * rttvar_us - TICK_US).all()
    # The sessions with and without resequencing do not lose the same packets. Without the minimum of the RTO, an RTO
    # can still be large, because timeouts have doubled it.
    assert any(np.median(rto_us - srtt_us) < 190e3 for srtt_us, _, rto_us in floorless.values())


def test_retransmissions_that_take_capacity_change_nothing_of_what_the_channel_loses(made):
    sessions = results.sessions(made["capacity"][0])
    assert len(sessions) == 4
    assert (sessions["lost_ratio"] < 0.2).all()
    # Losses leave a capacity of at least a fifth of 40 Mbit/s. The goodput is far below this capacity
    assert (sessions["goodput_bps"] < 8e6).all()


def test_without_fading_the_window_grows_to_the_link_and_nothing_is_lost(made):
    rows, traces = made["growth"]
    assert (rows["flow0_lost_pkts"] == 0).all()
    for trace in traces.values():
        assert trace.reaches_s(500) < 5
        assert trace.goodput_bps[-3:].mean() > 0.9 * 40e6 * 1075 / 1115


def test_a_window_that_grows_by_acks_is_slowed_by_delayed_acks_and_one_that_grows_by_segments_is_not(made):
    took_s = {
        name: {key[0]: trace.reaches_s(500) for key, trace in made[name][1].items()}
        for name in ("growth", "growth_by_acks")
    }
    by_acks, by_segments = took_s["growth_by_acks"], took_s["growth"]
    # If the window grew by half as much per round trip, filling the path would take 1.7 times as long. The ratio is
    # smaller because Linux's receiver opens its window sooner with delayed ACKs.
    assert by_acks[ON] > 1.2 * by_acks[OFF]
    assert by_segments[ON] < 1.1 * by_segments[OFF]
    assert by_acks[OFF] == pytest.approx(by_segments[OFF], rel=0.1)
