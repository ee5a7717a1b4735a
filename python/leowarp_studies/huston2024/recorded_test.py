# SPDX-License-Identifier: Apache-2.0
"""Tests of sessions over a recording: its windows, its schedule, the groups of runs, and the claims that are left
out."""

import numpy as np
import pytest

from leowarp import ScenarioError
from leowarp.media import timeline_of
from leowarp.metrics.inputs.channels import split_timeline
from leowarp.study import reproduce
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.expand import expand
from leowarp_studies.huston2024 import material, recorded
from support.studies import huston2024 as synthetic

S, MS = 1_000_000_000, 1_000_000


def written(path, seconds=380, *, rate=True, still=False):
    """Write a table with a round-trip time every 50 ms. Reconfigurations occur every 15 s from 12 s on, unless `still`
    is true."""
    pings = synthetic.pings(1, 50 * MS, seconds=seconds)
    rtt_ms = pings.probes.delay_ns / MS
    rtt_ms = np.where(np.isnan(rtt_ms), 30.0, rtt_ms)
    if still:
        rtt_ms = np.full(len(rtt_ms), 30.0)
    lines = [f"{t_ns / S:.3f},{rtt:.3f}" + (",200" if rate else "")
             for t_ns, rtt in zip(pings.probes.sent_ns, rtt_ms, strict=True)]  # fmt: skip
    path.write_text("\n".join(["t_s,rtt_ms" + (",rate_mbps" if rate else ""), *lines]) + "\n")
    return path


def test_a_recording_is_cut_into_windows_and_its_schedule_goes_to_each(tmp_path):
    recording = recorded.read(written(tmp_path / "dish.csv"), None)
    assert recording.starts_ns == tuple(number * 60 * S for number in range(6))
    assert recording.schedule is not None
    assert recording.schedule.period_ns == pytest.approx(15 * S, rel=0.01)
    for start_ns in recording.starts_ns:
        changes_ns = recording.changes_ns(start_ns)
        assert changes_ns[0] == recording.phase_ns(start_ns)
        assert len(changes_ns) in (4, 5)
    for part in recorded.parts(recording, bbr3=True):
        planned = expand(StudyFile.of(part.content))
        assert len(planned) == part.runs
        assert sum(part.in_quick(run.values, run.seed) for run in planned) == part.runs * 2 // 6
        for run in planned:
            plan = run.combination.plan
            assert plan.medium.file.path == recording.path
            phase_ns = recording.phase_ns(plan.run.start_ns)
            assert {plan.modules[name]["phase_ns"] for name in ("bbr_handover", "cubic_handover")} == {str(phase_ns)}


def test_capacity_is_that_of_the_replayed_link(tmp_path):
    recording = recorded.read(written(tmp_path / "dish.csv"), None)
    (part, *_) = recorded.parts(recording, bbr3=False)
    for run in expand(StudyFile.of(part.content))[:2]:
        _, channels = split_timeline(timeline_of(run.combination.plan))
        t_ns, rate_bps = channels.capacity_bps[recorded.LINK]
        assert t_ns[0] <= 0
        assert set(rate_bps.tolist()) == {200_000_000}


def test_without_a_period_no_sender_is_told_of_one(tmp_path):
    recording = recorded.read(written(tmp_path / "still.csv", still=True), None)
    assert recording.schedule is None
    assert len(recording.changes_ns(0)) == 0
    names = {name for part in recorded.parts(recording, bbr3=True) for name in part.content["together"][0]["name"]}
    assert {"bbr", "cubic", "dctcp-ecn-fq_codel"} <= names
    assert not any("handover" in name for name in names)
    assert set(recorded.skipped(recording)) == {"aware", "bbr3"}


def test_a_capacity_beside_the_delays_is_taken_and_its_end_counts(tmp_path):
    path, capacity = written(tmp_path / "dish.csv", rate=False), tmp_path / "rate.csv"
    capacity.write_text("t_s,rate_mbps\n" + "".join(f"{second},200\n" for second in range(150)))
    recording = recorded.read(path, capacity)
    assert len(recording.starts_ns) == 2
    (run, *_) = expand(StudyFile.of(recorded.parts(recording, bbr3=False)[0].content))
    assert run.combination.plan.medium.capacity.path == capacity


@pytest.mark.parametrize(
    ("made", "message"),
    [({"rate": False}, "does not say what the path could carry"), ({"seconds": 50}, "and a session 60 s")],
)
def test_what_cannot_be_replayed_is_refused_before_any_run(made, message, tmp_path):
    file = written(tmp_path / "dish.csv", **made)
    with pytest.raises(ScenarioError, match=message):
        reproduce("huston2024", tmp_path / "out", path=file, progress=False)


def test_a_capacity_without_a_recording_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="none is given"):
        reproduce("huston2024", tmp_path / "out", capacity=tmp_path / "rate.csv", progress=False)


def test_claims_on_the_path_and_on_two_hours_are_left_out_and_those_on_tcp_are_judged():
    judged = {claim.number for claim in material.CLAIMS if set(claim.runs) <= set(recorded.FRAMES)}
    of_tcp = {"3.7", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.17"}
    assert judged == of_tcp | {"3.23", "3.28", "3.29", "3.30"}
