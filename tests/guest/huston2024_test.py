# SPDX-License-Identifier: Apache-2.0
"""Tests a small part of the study in the guest: its groups, and the values that its claims read."""

import shutil

import numpy as np
import pandas as pd
import pytest

from leowarp.running import summaries
from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.expand import expand
from leowarp.study.sweep.rows import flat
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024 import groups, material, questions, results, runs

pytestmark = pytest.mark.guest

SHORT = {
    "flood": {"run.duration": "60 s"},
    "paced": {"run.duration": "60 s"},
    "main": {"run.duration": "20 s"},
    "cures": {"run.duration": "20 s"},
    "beside": {"run.duration": "20 s"},
    "capacity": {},
}
KEPT = {"main": ("reno", "cubic", "bbr"), "cures": ("bbr_handover", "cubic_handover", "cubic-ecn-fq_codel"),
        "beside": ("bbr",)}  # fmt: skip


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """The data sets of the study, from the first seed of some groups. The runs are shorter, and only variants at peak
    hours are included."""
    folder = tmp_path_factory.mktemp("huston2024")
    rows = {}
    for part in (part for part in runs.parts() if part.name in SHORT):
        planned = [run for run in expand(StudyFile.of(shortened(part))) if wanted(part, run)]
        out = [folder / part.name / "runs" / str(run.number) for run in planned]
        kept = out if "keep" in part.content else None
        made = summaries.make([run.combination.plan for run in planned], folder / "scratch", out=kept)
        rows[part.name] = pd.DataFrame([row(planned[one.index], one) for one in made])
    # Groups that are left out have no rows, but have the same columns as the other groups.
    rows |= {name: rows["main"][:0] for name in ("others", "repairs", "clean")}
    rows |= {questions.shared_name(customers): rows["main"][:0] for customers in questions.CUSTOMERS}
    rows |= {"jitter": rows["main"][:0].assign(residual_loss_ratio=0.0)}
    rows |= {"losses": rows["main"][:0].assign(loss_ratio=0.0),
             "phases": rows["main"][:0].assign(phase_bbr_handover="12 s")}  # fmt: skip
    found, _ = material._frames(rows, folder)
    yield found, rows, folder
    shutil.rmtree(folder, ignore_errors=True)


def shortened(part):
    content = dict(part.content)
    content["set"] = content["set"] | SHORT[part.name]
    if part.name == "capacity":
        (together,) = content["together"]
        content["together"] = [
            {key: {"label": given["label"], "values": given["values"][:2]} for key, given in together.items()}
        ]
    return content


def wanted(part, run):
    if part.name == "capacity":
        return True
    names = KEPT.get(part.name, (run.values.get("name"),))
    peak = run.values.get("access.preset", groups.PEAK) == groups.PEAK
    return run.seed == 1 and peak and run.values.get("name") in names


def row(run, made):
    assert made.error is None, made.error
    identity = {"run_id": str(run.number), "status": "ok", "seed": run.seed}
    return identity | dict(run.combination.columns) | flat(made.summary) | {"cpu_s": made.costs["cpu_s"]}


def test_pings_meet_a_path_that_changes_every_15_seconds(frames):
    for sends, (pings,) in frames[0]["flood"].items():
        assert np.diff(pings.changes_ns).tolist() == [15_000_000_000] * 3, sends
        assert pings.changes_ns[0] == 12_000_000_000
        assert np.nanmin(pings.probes.delay_ns) > 15e6
    regular, answered = (frames[0]["flood"][sends][0].probes.sent_ns for sends in (runs.REGULAR, runs.ANSWERED))
    assert np.diff(regular).max() <= 10_000_000
    assert len(regular) > 2 * len(answered)
    assert len(frames[0]["paced"][0].probes.sent_ns) in (59, 60)


def test_sessions_are_explained_by_losses_of_their_own(frames):
    rows = frames[1]["main"]
    traces = [material.trace_of(view) for _, view in material._views(rows, frames[2] / "main")]
    by_name = dict(zip(rows.sort_values("seed", kind="stable")["name"], traces, strict=True))
    for name, trace in by_name.items():
        assert trace.reconfigurations_s.tolist() == [12.0]
        # A flow's mean rate can exceed the path's capacity only if packets were already waiting when the first bin
        # began.
        assert trace.mean_bps < trace.mean_capacity_bps, name
        assert len(trace.losses) > 0
    assert len(by_name["cubic"].cuts) >= 1
    assert set(by_name["cubic"].cuts["kind"]) <= {"queue", "handover", "isolated", "none"}
    assert 0.5 < np.median(ev.estimate_ratio(by_name["bbr"])) < 2
    assert by_name["bbr"].mean_bps > by_name["cubic"].mean_bps


def test_every_column_of_the_table_is_known(frames):
    sessions = frames[0]["sessions"]
    assert set(sessions["variant"]) == {*KEPT["main"], *KEPT["cures"]}
    for column in ("goodput_bps", "rtt_p99_ns", "retransmitted_ratio", "recovered_ratio", "marked_pkts"):
        assert sessions[column].notna().all(), column
    (pair,) = frames[0]["beside"].to_dict("records")
    assert 0 < pair["share_ratio"] < 1
    assert 0.5 <= pair["jain_index"] <= 1


def test_a_capacity_test_carries_something_both_ways(frames):
    tests = results.capacity(frames[1]["capacity"])
    assert tests["hour"].tolist() == [0, 4]
    assert (tests[["down_bps", "up_bps"]] > 1e6).all(axis=None)
