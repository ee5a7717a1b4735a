# SPDX-License-Identifier: Apache-2.0
"""Runs with damaged tables, or with tables of another run. If leowarp reads them, it raises an error or returns the
correct tables, never wrong numbers."""

import random
import shutil

import pytest

from leowarp.base import layout
from leowarp.base.errors import LeowarpError, TraceError
from leowarp.metrics import read_tables
from leowarp.results.run import Run
from support.synthetic.access import write_synthetic_access
from support.synthetic.run import write_synthetic_run
from support.synthetic.whole import complete

FLIPS, MIXTURES = 500, 200


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "one"
    write_synthetic_run(path)
    return complete(path)


def tables_in(path):
    """Return the relative file names of the tables of a run."""
    return sorted(file.relative_to(path).as_posix() for file in path.rglob("*.parquet"))


def table_of(run, name):
    own = {layout.ROUTES: "routes", layout.TIMELINE: "timeline", layout.METRICS: "metrics"}
    return run.table(own.get(name, name.removeprefix(f"{layout.TRACE}/").removesuffix(".parquet")))


def test_a_flipped_bit_gives_an_error_or_the_same_table(one, tmp_path):
    run = shutil.copytree(one, tmp_path / "run")
    names = tables_in(run)
    whole = {name: table_of(Run(one), name) for name in names}
    draw = random.Random(41)
    told = 0
    for _ in range(FLIPS):
        name = draw.choice(names)
        file = run / name
        content = file.read_bytes()
        bit = draw.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        try:
            assert table_of(Run(run), name).equals(whole[name], check_metadata=True), (name, bit)
        except LeowarpError as error:
            told += name in error.message
        file.write_bytes(content)
    # Every flipped bit is detected, because the manifest has the sha256 of every file.
    assert told == FLIPS


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Return a run that has another medium and other flows."""
    return complete(write_synthetic_access(tmp_path_factory.mktemp("damage") / "other"))


def test_mixtures_of_two_runs_are_read_or_end_in_an_error_that_a_rule_foresees(one, other, tmp_path):
    """Any exception that is not a `LeowarpError` fails this test, because the program would end with exit status 70."""
    names = [*tables_in(one), layout.PLAN, layout.SUMMARY, layout.MANIFEST]
    names = [name for name in names if (other / name).exists()]
    draw = random.Random(41)
    refused = 0
    run = shutil.copytree(one, tmp_path / "run")
    for _ in range(MIXTURES):
        taken = draw.sample(names, draw.randint(1, len(names) - 1))
        for name in taken:
            shutil.copyfile(other / name, run / name)
        try:
            opened = Run(run)
            _ = opened.plan, opened.summary, opened.flow(0), opened.tables, opened.flows()
        except LeowarpError:
            refused += 1
        for name in taken:
            shutil.copyfile(one / name, run / name)
    # Each of these directories mixes tables of two runs, or has the tables of one run and the manifest of the other.
    # Nearly all mixtures of two runs are detected.
    assert refused > MIXTURES * 0.9
    assert len(Run(run).tables.sockets) > 0


def test_a_table_that_no_manifest_lists_is_refused_and_without_a_manifest_all_are_read(one, tmp_path):
    run = shutil.copytree(one, tmp_path / "run")
    content = trace_manifest(run)
    del content["files"][f"{layout.TRACE}/flows.parquet"]
    write(run, content)
    with pytest.raises(TraceError, match="does not list it"):
        read_tables(run)
    (run / layout.MANIFEST).unlink()
    read_tables(run)


def trace_manifest(run):
    return Run(run).manifest


def write(run, content):
    from leowarp.base.checksums import manifest_text

    (run / layout.MANIFEST).write_text(manifest_text(content))


def test_a_file_is_hashed_once_and_again_when_it_changed(one, tmp_path, monkeypatch):
    run = shutil.copytree(one, tmp_path / "run")
    hashed = []
    from leowarp.base import recorded

    real = recorded.sha256_of_file
    monkeypatch.setattr(recorded, "sha256_of_file", lambda path: hashed.append(path.name) or real(path))
    read_tables(run)
    assert len(hashed) == len(set(hashed)) > 5
    count = len(hashed)
    read_tables(run)
    assert len(hashed) == count
