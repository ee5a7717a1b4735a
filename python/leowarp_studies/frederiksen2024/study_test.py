# SPDX-License-Identifier: Apache-2.0
"""Tests of the study's directory, resuming, claims and page, on synthetic runs without the guest."""

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp import GuestError, Run, ScenarioError, TraceError, scenario
from leowarp.base import layout
from leowarp.metrics import metrics, read_tables
from leowarp.study import Claim, Outcome, reproduce, studies
from leowarp.study import directory as directories
from leowarp.study.claim import holds_if, judged
from leowarp_studies.frederiksen2024 import figures as study_figures
from leowarp_studies.frederiksen2024 import material
from leowarp_studies.frederiksen2024.claims import CLAIMS
from leowarp_studies.frederiksen2024.runs import ALGORITHMS, CORE, SCENARIOS, all_runs
from support.synthetic.run import write_synthetic_run


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Write a synthetic run with metrics, which the tests copy."""
    path = write_synthetic_run(tmp_path_factory.mktemp("template") / "run")
    view = Run(path, complete=False)
    metrics(read_tables(path), view.plan).with_cost(cpu_s=1.0, wall_s=1.0).write(path)
    return path


@pytest.fixture
def made(monkeypatch, template):
    """Replace `run_many` by another function. For each job, this function copies the template, adds the job's plan, and
    records the requested run."""
    asked = []

    def run_many(jobs, *, report, **options):
        # The page of a study links to the reports of its runs.
        assert report
        results = []
        for job in jobs:
            out = Path(job.out)
            asked.append(out.name)
            if out.name in broken:
                results.append(GuestError(f"the run {out.name} failed: the guest ran out of memory"))
                continue
            shutil.copytree(template, out, dirs_exist_ok=True)
            plan = scenario.resolve(scenario.load(job.scenario, job.set)).to_toml()
            (out / layout.PLAN).write_text(plan, encoding="utf-8")
            if "Aalborg" in plan:
                renamed(out, {"Madrid": "Aalborg", "Tokyo": "Cape Town"})
            results.append(out)
        return results

    broken: set[str] = set()
    run_many.asked, run_many.broken = asked, broken
    monkeypatch.setattr(directories, "run_many", run_many)
    # Only one figure with several runs is drawn here, because drawing all figures takes half a minute, and other tests
    # check them.
    monkeypatch.setattr(study_figures, "STUDY_FIGURES", study_figures.STUDY_FIGURES[3:4])
    return run_many


def renamed(run, names):
    """Rename the stations of a run. One of the names contains a blank."""

    def name(value):
        if isinstance(value, list):
            return [name(inner) for inner in value]
        if isinstance(value, str):
            prefix, _, rest = value.rpartition(":")
            return f"{prefix}:{names[rest]}" if prefix and rest in names else names.get(value, value)
        return value

    for path in [run / layout.ROUTES, run / layout.TIMELINE, *sorted((run / layout.TRACE).glob("*.parquet"))]:
        table = pq.read_table(path)
        schema = table.schema
        meta = dict(schema.metadata or {})
        for key in (b"directions", b"hosts"):
            if key in meta:
                meta[key] = json.dumps(name(json.loads(meta[key]))).encode()
        if path.parent == run:
            table = pa.Table.from_pylist(
                [{k: name(v) for k, v in row.items()} for row in table.to_pylist()], schema=schema
            )
        pq.write_table(table.replace_schema_metadata(meta), path)
    summary = json.loads((run / layout.SUMMARY).read_text())
    summary["flows"] = [{key: name(value) for key, value in flow.items()} for flow in summary["flows"]]
    (run / layout.SUMMARY).write_text(json.dumps(summary))


def redo(folder, **options):
    return reproduce("frederiksen2024", folder, samples=1, duration="60 s", progress=False, **options)


def test_all_claims_of_the_list_are_there():
    assert [claim.number for claim in CLAIMS] == [f"1.{number}" for number in range(1, 31)]
    slugs = {run.slug for run in all_runs()}
    for claim in CLAIMS:
        assert set(claim.runs) <= slugs, claim.number
        assert claim.test
        assert claim.says


def test_the_first_five_runs_are_the_studys():
    assert [run.slug for run in CORE][:5] == [*ALGORITHMS, *SCENARIOS[1:]]
    for run in all_runs():
        plan = scenario.resolve(scenario.load(directories.example_file(run.example), run.set))
        lasts_s = 200 if "unchanging" in run.slug else 300 if "capacity" in run.slug else 1000
        assert plan.run.duration_ns == lasts_s * 10**9
    assert len({run.slug for run in all_runs()}) == len(all_runs())


@pytest.mark.slow
def test_reproduction_leaves_everything_behind(made, tmp_path):
    done = redo(tmp_path / "study")
    assert len(made.asked) == len(all_runs(1))
    claims = json.loads((done.path / "claims.json").read_text())
    assert [row["number"] for row in claims["claims"]] == [claim.number for claim in CLAIMS]
    for row in claims["claims"]:
        assert row["verdict"] in ("holds", "partly", "does not hold", "cannot be told")
        # Every verdict except "holds" must give its cause.
        assert row["cause"] or row["verdict"] in ("holds", "cannot be told"), row["number"]
    study = tomllib.loads((done.path / "study.toml").read_text())
    assert study["study"] == "frederiksen2024"
    assert len(study["runs"]) == len(all_runs(1))
    assert all(len(run["plan_sha256"]) == 64 for run in study["runs"])
    results = pq.read_table(done.path / "results")
    assert set(results.column("run").to_pylist()) == {run.slug for run in all_runs(1)}
    text = done.page.read_text(encoding="utf-8")
    assert "cannot absorb it without completely breaking" in text
    assert text.count('id="claim-1.') == 30
    assert "runs/reno/50-report/index.html" in text


@pytest.mark.slow
def test_complete_runs_of_the_same_plan_are_kept(made, tmp_path, monkeypatch):
    # Figures are left out, because this test only checks the requested runs.
    monkeypatch.setattr(study_figures, "STUDY_FIGURES", ())
    monkeypatch.setattr(material, "CLAIMS", CLAIMS[:1])
    redo(tmp_path / "study")
    made.asked.clear()
    shutil.rmtree(tmp_path / "study" / "runs" / "bbr")
    (tmp_path / "study" / "runs" / "reno" / layout.INCOMPLETE).write_text("interrupted")
    plan = tmp_path / "study" / "runs" / "cubic" / layout.PLAN
    plan.write_text(plan.read_text().replace("seed = 1", "seed = 2"))
    redo(tmp_path / "study")
    assert sorted(made.asked) == ["bbr", "cubic", "reno"]
    made.asked.clear()
    redo(tmp_path / "study", force=True)
    assert len(made.asked) == len(all_runs(1))


@pytest.mark.slow
def test_a_run_that_fails_leaves_its_claims_open_and_the_others_judged(made, tmp_path):
    made.broken.add("bbr")
    done = redo(tmp_path / "study")
    verdicts = {row["number"]: row for row in done.claims}
    assert verdicts["1.11"]["verdict"] == "cannot be told"
    assert "ran out of memory" in verdicts["1.11"]["measured"]
    assert verdicts["1.1"]["verdict"] == "does not hold"
    assert list(done.failures) == ["bbr"]
    assert "the run bbr failed" in done.page.read_text(encoding="utf-8")


def test_when_all_runs_fail_the_first_failure_is_raised(made, tmp_path):
    made.broken.update(run.slug for run in all_runs(1))
    with pytest.raises(GuestError, match="ran out of memory"):
        redo(tmp_path / "study")


def test_unknown_studies_and_samples_are_refused(tmp_path):
    with pytest.raises(ScenarioError, match="no study 'frederiksen'") as caught:
        reproduce("frederiksen", tmp_path)
    assert list(studies())[1] in str(caught.value)
    with pytest.raises(ScenarioError, match="must be 1 to 9"):
        reproduce("frederiksen2024", tmp_path, samples=10)


def test_samples_are_judged_each_and_the_first_decides(template):
    views = {"a": Run(template, complete=False)}
    seen = []

    def evaluate(sample):
        seen.append(sample)
        return Outcome("holds" if len(seen) == 1 else "partly", f"{len(seen)}")

    row = judged(Claim("9.9", "says", "1", "test", ("a",), evaluate), [("x", views), ("y", {}), ("z", views)])
    assert row["verdict"] == "holds"
    assert [(sample["sample"], sample["verdict"]) for sample in row["samples"]] == [("x", "holds"), ("z", "partly")]
    arithmetic = judged(
        Claim("9.8", "says", "1", "test", (), lambda sample: Outcome("holds", "")), [("x", {}), ("y", {})]
    )
    assert [sample["sample"] for sample in arithmetic["samples"]] == ["x"]
    with pytest.raises(TraceError, match="no run b"):
        judged(Claim("9.9", "says", "1", "test", ("b",), evaluate), [("x", views)])


@pytest.mark.parametrize(
    ("parts", "verdict"), [((True, True), "holds"), ((True, False), "partly"), ((False, False), "does not hold")]
)
def test_parts_make_a_verdict(parts, verdict):
    assert holds_if(dict(enumerate(parts))) == verdict


def test_evidence_of_the_synthetic_run(template):
    from leowarp_studies.frederiksen2024 import effects
    from leowarp_studies.frederiksen2024 import evidence as ev
    from support.synthetic import run as syn

    run = Run(template, complete=False)
    assert ev.isl_delay_span_ns(run) == (31 - 20) * syn.MS
    assert ev.repair_delays_ns(run).tolist() == [119_750_000] * 3
    assert ev.counters(run)["TCPDSACKRecv"] == syn.SPURIOUS_PKTS
    assert ev.capacity_bps(run) == pytest.approx(100e6 * 1448 / 1514)
    # The window grows from 700 packets at 20.1 s to 1000 packets at 22 s.
    assert ev.growth_pkts_per_s(run) == [60.0]
    assert ev.full_queue_ratio(run, 15 / 500) == pytest.approx(0.5 / 50, abs=1e-9)
    assert len(ev.reordered(run)) == 1
    # Three dropped packets at 50 s stop in-order delivery for 0.12 s: two complete bins and part of a third.
    assert ev.dips_by_cause(run, 0.5) == {"overflow": 2, "route change": 0, "other": 0}
    # At 40 s the delay rises by 15 ms, so one bin lacks 15 of 50 packets.
    assert ev.dips_by_cause(run, 0.75)["route change"] == 1
    # The first two paths have three satellites, each in a different plane; the third path has two, which are also in
    # different planes.
    within, between = effects.isls_by_kind(run)
    assert within == 0
    assert 1 < between < 2
    assert np.isnan(ev.median([]))
    assert np.isnan(ev.share([]))
