# SPDX-License-Identifier: Apache-2.0
"""Tests with study directories from other people. leowarp must read no file outside of the directory, and run no
program."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base.errors import LeowarpError, TraceError
from leowarp.study import run_study
from leowarp.study.sweep.status import study_status
from support.hostile import CHAIN
from support.sweep.maker import FakeMaker, let_workers_import


@pytest.fixture(scope="module")
def made_study(tmp_path_factory):
    """The directory of a study with invented runs."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(f'name = "s"\nscenario = "{CHAIN}"\n[seeds]\ncount = 2\n')
    with pytest.MonkeyPatch.context() as patch:
        let_workers_import(patch)
        run_study(folder / "study.toml", folder / "study", maker=FakeMaker(folder), at_once=1, progress=False)
    return folder / "study"


@pytest.fixture
def study(made_study, tmp_path):
    """A copy of the study. A test may damage it."""
    return Path(shutil.copytree(made_study, tmp_path / "study"))


def rewritten(study, **changed):
    """Change columns of the study's table of plans. Someone who passes on a study could do so."""
    path = study / "plans.parquet"
    table = pq.read_table(path)
    for name, value in changed.items():
        field = table.schema.field(name)
        table = table.set_column(table.schema.get_field_index(name), field, pa.array([value] * len(table), field.type))
    pq.write_table(table, path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["study.lock", "journal.jsonl", "index.html", "results/a/b.parquet", "runs"])
def test_a_study_is_not_written_through_links(study, precious, name):
    if (study / name).is_file():
        (study / name).unlink()
    (study / name).parent.mkdir(exist_ok=True)
    (study / name).symlink_to(precious)
    for attempt in (lambda: run_study(study, maker=FakeMaker(study), progress=False), lambda: study_status(study)):
        with pytest.raises(LeowarpError, match="symbolic link"):
            attempt()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        {"run_id": "../../precious"},
        {"inputs": ["../../precious"]},
        {"values": "[]"},
        {"origin": "{}"},
        {"columns": "x"},
    ],
)
def test_a_study_names_nothing_outside_it(study, precious, changed):
    rewritten(study, **changed)
    for attempt in (lambda: run_study(study, maker=FakeMaker(study), progress=False), lambda: study_status(study)):
        with pytest.raises(TraceError, match=r"plans\.parquet"):
            attempt()


@pytest.mark.slow
@pytest.mark.parametrize("column", [True, False])
def test_a_study_that_was_handed_over_runs_no_program(study, tmp_path, column):
    program, trace = tmp_path / "linux", tmp_path / "it-ran"
    program.write_text(f"#!/bin/sh\ntouch {trace}\n")
    program.chmod(0o755)
    after = pq.read_table(study / "plans.parquet")["after_seed"][0].as_py()
    changed = {"after_seed": after.replace('kernel = "default"', f'kernel = "{program}"')}
    assert changed["after_seed"] != after
    rewritten(study, **changed, **({"kernel": str(program)} if column else {}))
    with pytest.raises(LeowarpError, match="names the program" if column else "names other code than its row"):
        run_study(study, progress=False, retry_failed=True)
    assert not trace.exists()
