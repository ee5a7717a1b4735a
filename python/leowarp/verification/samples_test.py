# SPDX-License-Identifier: Apache-2.0
"""Tests how leowarp checks studies and reproductions. When runs are repeated, a fake replaces the guest."""

import json
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leowarp
from leowarp import scenario
from leowarp.base import layout
from leowarp.base.errors import TraceError
from leowarp.study import run_study
from leowarp.study.sweep import disk, engine
from leowarp.study.sweep.manifest import REPRODUCTION, write_manifest
from leowarp.trace import maker
from leowarp.verification import samples, second_run
from leowarp.verification.files import files_of
from leowarp.verification.kinds import kind_of
from leowarp.verification.verdicts import first_difference
from support.sweep.in_process import InThisProcess, Unsynced
from support.sweep.maker import FakeMaker, summary
from support.sweep.study import STUDY
from support.synthetic.whole import change_a_byte, forge, stand_in_for_a_second_run

KEPT = STUDY + '\n[keep]\nruns = "all"\n'


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that makes a study of 12 runs in a directory."""
    monkeypatch.setattr(disk, "os", Unsynced())
    monkeypatch.setattr(engine, "_workers", lambda *given: InThisProcess(tmp_path / "scratch"))
    monkeypatch.setattr(leowarp, "run", run)

    def make(name="study", text=STUDY, **options):
        (tmp_path / "trial.toml").write_text(text)
        run_study(tmp_path / "trial.toml", tmp_path / name, maker=FakeMaker(tmp_path), progress=False, **options)
        return tmp_path / name

    return make


def run(plan, set_, out, **options):
    """Return the result of `FakeMaker` for the plan, in place of `leowarp.run`."""
    seed = scenario.plan_of(plan).run.seed
    manifest = {
        "kernel": {"linux_sha256": "k" * 64}, "agent": {"agent_sha256": "a" * 64}, **maker(),
        "warnings": ["look twice"] if seed == 2 else [],
    }  # fmt: skip
    out.mkdir(parents=True)
    (out / layout.MANIFEST).write_text(json.dumps(manifest))
    return SimpleNamespace(path=out, summary=summary(scenario.plan_of(plan)), manifest=manifest)


def found_of(path, tmp_path, count=12, seed=1):
    """Repeat each run of a sample, and return a dict with an entry per run. The key is the run's name. The value is the
    first difference in the second run, or None."""
    found = {}
    for candidate in samples.chosen(path, count, seed):
        scratch = Path(tempfile.mkdtemp(dir=tmp_path))
        again = samples.rerun(candidate, scratch, progress=False, trust=False)
        differs = first_difference(again.stages)
        found[candidate.name(path)] = None if differs is None else differs.why
    return found


def rewritten(path, change):
    """Change a stored table of a study, and its hash in the manifest."""
    table = change(pq.read_table(path, partitioning=None))
    pq.write_table(table, path)
    for folder in path.parents:
        if (folder / layout.MANIFEST).exists():
            forge(folder)
            return


def with_value(column, value):
    def change(table):
        place = table.schema.get_field_index(column)
        values = [value, *table[column].to_pylist()[1:]]
        return table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))

    return change


def test_the_files_of_a_study_are_listed_at_its_end(made):
    study = made()
    assert kind_of(study) == "study"
    found = files_of(study)
    assert not found.wrong
    assert found.manifest["runs"] == {"planned": 12, "made": 12, "failed": 0}
    names = {name.partition("/")[0] for name in found.verdicts}
    assert names == {"index.html", "journal.jsonl", "plans.parquet", "results", "study.toml"}
    for name in found.verdicts:
        content = (study / name).read_bytes()
        (study / name).write_bytes(content + b"\0")
        assert files_of(study).wrong == {name: "changed since the run"}
        (study / name).write_bytes(content)


def test_a_study_that_is_not_at_its_end_says_how_far_it_is(made, monkeypatch, tmp_path):
    def interrupted(*given):
        raise KeyboardInterrupt

    study = made(only=lambda run: run.seed == 1)
    assert kind_of(study) == "study"
    with monkeypatch.context() as patch:
        patch.setattr(engine, "Session", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_study(study, maker=FakeMaker(tmp_path), progress=False)
    with pytest.raises(TraceError, match="it was interrupted, and 4 of 12 runs have a result") as raised:
        kind_of(study)
    assert raised.value.hint.startswith(f"leowarp study {study}")
    made()
    assert kind_of(study) == "study"
    # Without the manifest, the directory has no lists of files, like a directory of an older version of leowarp.
    (study / layout.MANIFEST).unlink()
    with pytest.raises(TraceError, match="made by an older leowarp"):
        kind_of(study)


def test_rows_of_a_sample_are_those_that_their_plans_give(made, tmp_path):
    study = made()
    found = found_of(study, tmp_path, count=5)
    assert len(found) == 5
    assert set(found.values()) == {None}
    assert list(found_of(study, tmp_path, count=5)) == list(found)
    assert list(found_of(study, tmp_path, count=5, seed=2)) != list(found)
    assert len(found_of(study, tmp_path, count=50)) == 12


@pytest.mark.parametrize(
    ("column", "value"),
    [("flow0_goodput_mean_bps", 1e9), ("drops_pkts", 4), ("seed", 3), ("delay", "7 ms"), ("plan_sha256", "0" * 64),
     ("flow0_lost_pkts", 0.0), ("warnings", ["all is well"])],
)  # fmt: skip
def test_a_row_forged_with_its_hash_is_found(made, tmp_path, column, value):
    study = made()
    path = sorted(study.glob("results/*/*.parquet"))[0]
    forged = pq.read_table(path, partitioning=None)["run_id"][0].as_py()
    rewritten(path, with_value(column, value))
    assert not files_of(study).wrong
    found = found_of(study, tmp_path)
    assert {name for name, why in found.items() if why} == {forged}
    assert found[forged][0].startswith(f"results: {column} is {value!r}, and ")


def test_a_row_put_into_the_folder_of_another_value_is_found(made, tmp_path):
    study = made()
    bic, cubic = (study / "results" / name for name in ("cc=bic", "cc=cubic"))
    bic.rename(study / "results" / "x")
    cubic.rename(bic)
    (study / "results" / "x").rename(cubic)
    manifest = json.loads((study / layout.MANIFEST).read_text())
    names = [path.relative_to(study).as_posix() for path in study.rglob("*") if path.is_file()]
    forge(study, files={name: "" for name in names if name not in (layout.MANIFEST, "study.lock")})
    assert manifest["kind"] == "study"
    assert not files_of(study).wrong
    assert all(why[0].startswith("results: cc is ") for why in found_of(study, tmp_path).values())


def test_rows_of_another_version_are_reported_and_no_failure(made, tmp_path):
    study = made()
    path = sorted(study.glob("results/*/*.parquet"))[0]
    rewritten(path, with_value("drops_pkts", 4))
    forge(study, package_sha256="0" * 64)
    assert set(found_of(study, tmp_path).values()) == {None}


def test_a_reproduction_has_its_groups_and_their_runs(made, tmp_path):
    folder = tmp_path / "reproduction"
    folder.mkdir()
    groups = [made("reproduction/main", only=lambda run: run.seed == 1), made("reproduction/others", text=KEPT)]
    (folder / "claims.json").write_text("{}")
    with pytest.raises(TraceError, match="it was interrupted, or made by an older leowarp"):
        kind_of(folder)
    write_manifest(folder, REPRODUCTION, {"name": "made-up"}, groups)
    assert kind_of(folder) == "reproduction"
    assert not files_of(folder).wrong
    found = found_of(folder, tmp_path, count=50)
    assert [name.partition("/")[0] for name in found] == ["main"] * 4 + ["others"] * 12
    assert set(found.values()) == {None}
    path = sorted((folder / "main").glob("results/*/*.parquet"))[0]
    rewritten(path, with_value("drops_pkts", 4))
    assert files_of(folder).wrong == {"main/manifest.json": "changed since the run"}
    forge(folder)
    assert not files_of(folder).wrong
    assert sum(why is not None for why in found_of(folder, tmp_path, count=50).values()) == 1


def test_a_study_whose_plans_were_changed_is_not_rerun(made):
    study = made()
    assert files_of(study).why_not_rerun is None
    with (study / "plans.parquet").open("ab") as plans:
        plans.write(b"more")
    assert files_of(study).why_not_rerun == "plans.parquet: changed since the run"


def test_whole_runs_of_a_reproduction_are_compared_with_its_results(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(second_run, "run", stand_in_for_a_second_run(whole))
    folder = tmp_path / "reproduction"
    shutil.copytree(whole, folder / "runs" / "cubic")
    copy = folder / "results" / "run=cubic" / "metrics.parquet"
    copy.parent.mkdir(parents=True)
    shutil.copyfile(whole / layout.METRICS, copy)
    write_manifest(folder, REPRODUCTION, {"name": "made-up"})
    assert json.loads((folder / layout.MANIFEST).read_text())["directories"] == ["runs/cubic"]
    assert not files_of(folder).wrong
    # The pages of the reproduction were drawn in a directory named "run".
    assert found_of(folder, tmp_path) == {"runs/cubic": None}
    change_a_byte(copy)
    forge(folder)
    assert not files_of(folder).wrong
    (why,) = found_of(folder, tmp_path)["runs/cubic"]
    assert why == "results/run=cubic/metrics.parquet: it is no copy of runs/cubic/40-metrics.parquet"
    change_a_byte(folder / "runs" / "cubic" / layout.METRICS)
    shutil.copyfile(folder / "runs" / "cubic" / layout.METRICS, copy)
    forge(folder / "runs" / "cubic")
    forge(folder)
    assert not files_of(folder).wrong
    assert found_of(folder, tmp_path)["runs/cubic"][0].startswith("40-metrics.parquet: ")
