# SPDX-License-Identifier: Apache-2.0
"""Tests that kill and restart a study. No row may be lost. A run that has a row must not be repeated."""

import json
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from leowarp.base.checksums import check_files, names_listed
from leowarp.study.sweep import disk, engine, page
from leowarp.study.sweep import store as stores
from support.sweep.in_process import Disk, InProcess, Kill

KILLS = st.lists(st.tuples(st.integers(1, 60), st.sampled_from(["before", "half", "after", "interrupt"])), max_size=4)


def rows_on_disk(out):
    """Return the run ids that would remain on disk after a power cut. The function reads the files itself, without the
    code of the store."""
    found = []
    for path in (out / "results").glob("*/*.parquet"):
        found += pq.ParquetFile(path).read(["run_id"])["run_id"].to_pylist()
    assert len(found) == len(set(found)), "a run has two rows"
    journal = out / "journal.jsonl"
    for line in journal.read_text().splitlines() if journal.exists() else []:
        if line.endswith("}"):
            found.append(json.loads(line)["run_id"])
    return set(found)


class Study:
    """A study that is started repeatedly. Each time, it is killed at a chosen disk call."""

    def __init__(self, make, file, out, *, flush_rows=5, exchange=True):
        self._make, self._file, self.out = make, file, out
        self._flush_rows, self._exchange = flush_rows, exchange

    def start(self, at=10**9, when="after"):
        """Start the study, and return its result, or None if it was killed."""
        before = rows_on_disk(self.out)
        workers = InProcess()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "_workers", lambda *given: workers)
            patch.setattr(stores, "FLUSH_ROWS", self._flush_rows)
            patch.setattr(stores, "MOST_FILES", 3)
            patch.setattr(disk, "os", Disk(at, when))
            # The page's chart takes half of the time, and does not depend on the disk.
            patch.setattr(page, "chart", lambda *given, **options: "")
            if not self._exchange:
                patch.setattr(disk, "_exchanged", lambda new, old: False)
            try:
                result = self._make(self._file, self.out)
            except (Kill, KeyboardInterrupt):
                result = None
        self._look(before, workers.made, result is None)
        return result

    def _look(self, before, made, was_killed):
        aside = (self.out / ".results.aside").exists()
        assert aside or before <= rows_on_disk(self.out), "a row is lost"
        assert was_killed or not aside
        # The manifest is written last. If the manifest exists, all files listed in it exist.
        assert was_killed or (self.out / "manifest.json").exists()
        if (self.out / "manifest.json").exists():
            listed = json.loads((self.out / "manifest.json").read_text())["files"]
            found = check_files(self.out, listed, names_listed(self.out))
            assert (found.changed, found.missing, found.unlisted) == ((), (), ())
        if (self.out / "plans.parquet").exists():
            table = pq.read_table(self.out / "plans.parquet").to_pylist()
            ids = {row["before_seed"] + str(row["seed"]) + row["after_seed"]: row["run_id"] for row in table}
            assert not before & {ids[plan] for plan in made}, "a run with a row was made again"

    def end(self):
        """Start the study for the last time, and check that everything is complete."""
        result = self.start()
        whole = ds.dataset(self.out / "results", partitioning="hive").to_table()
        assert len(whole) == len(set(whole["run_id"].to_pylist())) == 12
        assert result.table()["flow0_goodput_mean_bps"].null_count == 0
        assert (self.out / "journal.jsonl").read_bytes() == b""
        left = {path.name for path in self.out.iterdir()}
        written = {"index.html", "journal.jsonl", "manifest.json", "plans.parquet", "results", "study.toml"}
        assert left == written | {"study.lock"}
        assert all(path.suffix == ".parquet" for path in self.out.glob("results/*/*"))


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(kills=KILLS, flush_rows=st.sampled_from([2, 5, 1000]), exchange=st.booleans())
@example(kills=[(12, "before"), (35, "interrupt")], flush_rows=1000, exchange=True)
def test_any_kills_and_restarts_give_each_run_once(kills, flush_rows, exchange, make, study_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "out"
    study = Study(make, study_file(), out, flush_rows=flush_rows, exchange=exchange)
    for at, when in kills:
        study.start(at, when)
    study.end()


def test_the_rest_of_an_interrupted_row_does_not_stand_behind_the_next(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    file = disk.AppendedFile(path)
    file.append(b"first\n")
    with monkeypatch.context() as patch:
        # The test interrupts the second call that changes the file, after the complete row is written, and before
        # `append` records its length.
        patch.setattr(disk, "os", Disk(2, "interrupt"))
        with pytest.raises(KeyboardInterrupt):
            file.append(b"a longer one\n")
    assert path.read_bytes() == b"first\na longer one\n"
    file.append(b"short\n")
    file.append(b"last\n")
    file.close()
    assert path.read_bytes() == b"first\nshort\nlast\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("when", "exchange"), [("before", True), ("half", True), ("interrupt", True), ("before", False)]
)
def test_a_kill_at_every_call_to_the_disk(make, study_file, tmp_path, when, exchange):
    at, result = 0, None
    while result is None:
        at += 1
        study = Study(make, study_file(), tmp_path / str(at), exchange=exchange)
        result = study.start(at, when)
        study.end()
    assert at > 40


def test_a_torn_line_of_the_journal_is_a_run_that_was_not_made(quick, study_file, tmp_path):
    file = study_file()
    first = quick(file).table()
    out = tmp_path / "out"
    row = first.to_pylist()[0]
    # A power cut comes after the journal is written, but before its fsync. The files are in the state after this power
    # cut.
    for path in (out / "results").rglob("*.parquet"):
        path.unlink()
    whole = json.dumps(row | {"number": 0})
    (out / "journal.jsonl").write_bytes(
        whole.encode() + b"\n" + whole[: len(whole) // 2].encode() + b"\0\0\n" + b"\0" * 9
    )
    again = quick(file)
    assert len(again.table()) == 12
    assert len((Path(tmp_path) / "fake" / "made").read_text().splitlines()) == 12 + 11
