# SPDX-License-Identifier: Apache-2.0
"""Kills and restarts: nothing is lost, nothing that has a row is made again."""

import json
import re
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.study.sweep import disk, engine
from leowarp.study.sweep import store as stores
from leowarp.study.sweep.in_process_for_tests import Disk, InProcess, Kill

KILLS = st.lists(st.tuples(st.integers(1, 60), st.sampled_from(["before", "half", "after"])), max_size=4)


def rows_on_disk(out):
    """Run ids that whoever looks after a power cut finds, by other means than the store's."""
    found = []
    for path in (out / "results").glob("*/*.parquet"):
        found += pq.ParquetFile(path).read(["run_id"])["run_id"].to_pylist()
    assert len(found) == len(set(found)), "a run has two rows"
    journal = out / "journal.jsonl"
    for line in journal.read_text().splitlines() if journal.exists() else []:
        if line.endswith("}"):
            found.append(json.loads(line)["run_id"])
    return set(found)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kills=KILLS, flush_rows=st.sampled_from([2, 5, 1000]), exchange=st.booleans())
def test_any_kills_and_restarts_give_each_run_once(kills, flush_rows, exchange, make, study_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "out"
    file = study_file()
    plans = {}
    for at, when in [*kills, (10**9, "after")]:
        before = rows_on_disk(out)
        workers = InProcess()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "_workers", lambda *given, workers=workers: workers)
            patch.setattr(stores, "FLUSH_ROWS", flush_rows)
            patch.setattr(stores, "MOST_FILES", 3)
            patch.setattr(disk, "os", Disk(at, when))
            if not exchange:
                patch.setattr(disk, "_exchanged", lambda new, old: False)
            try:
                result = make(file, out)
            except Kill:
                result = None
        after = rows_on_disk(out)
        if (out / "results").exists() or not before:
            assert before <= after, "a row is lost"
        for plan in workers.made:
            plans.setdefault(plan, []).append(len(before))
        if (out / "plans.parquet").exists():
            table = pq.read_table(out / "plans.parquet").to_pylist()
            ids = {row["before_seed"] + str(row["seed"]) + row["after_seed"]: row["run_id"] for row in table}
            assert not before & {ids[plan] for plan in workers.made}, "a run with a row was made again"
    assert result is not None
    whole = ds.dataset(out / "results", partitioning="hive").to_table()
    assert len(whole) == 12
    assert len(set(whole["run_id"].to_pylist())) == 12
    assert (out / "journal.jsonl").read_bytes() == b""
    assert result.table()["flow0_goodput_mean_bps"].null_count == 0
    assert not list(out.rglob("*.partial"))
    assert sorted(re.sub(r"\..*", "", p.name) for p in out.iterdir() if not p.name.startswith(".")) == sorted(
        ["journal", "plans", "results", "study", "study"]
    )


def test_a_torn_line_of_the_journal_is_a_run_that_was_not_made(make, study_file, tmp_path):
    file = study_file()
    first = make(file).table()
    out = tmp_path / "out"
    row = first.to_pylist()[0]
    # As after a power cut between the journal's write and its fsync
    for path in (out / "results").rglob("*.parquet"):
        path.unlink()
    whole = json.dumps(row | {"number": 0})
    (out / "journal.jsonl").write_bytes(
        whole.encode() + b"\n" + whole[: len(whole) // 2].encode() + b"\0\0\n" + b"\0" * 9
    )
    again = make(file)
    assert len(again.table()) == 12
    assert len((Path(tmp_path) / "fake" / "made").read_text().splitlines()) == 12 + 11
