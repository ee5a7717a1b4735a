# SPDX-License-Identifier: Apache-2.0
"""Tests which runs a started study makes, keeps or rejects, and which runs fail."""

import errno
import fcntl
import json
import os
import re
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import leowarp
from leowarp.base.errors import GuestError, HostError, LeowarpError, ScenarioError, TraceError
from leowarp.study.sweep import disk, engine
from leowarp.study.sweep.again import run_again
from leowarp.study.sweep.estimate import dry_run
from leowarp.study.sweep.outstanding import BATCH_S, LARGEST_BATCH, batch_size
from leowarp.study.sweep.plans import read_facts
from leowarp.study.sweep.status import study_status
from leowarp.study.sweep.store import Store
from support.sweep.in_process import Unsynced, made_so_far


def say(fake, seed, what):
    (fake / f"seed-{seed}").write_text(what)


def test_results_are_one_data_set_for_every_reader(quick, study_file, tmp_path):
    result = quick(study_file())
    results = tmp_path / "out" / "results"
    assert sorted(path.name for path in results.iterdir()) == ["cc=bic", "cc=cubic"]
    assert len(list(results.glob("*/*.parquet"))) == 2
    whole = ds.dataset(results, partitioning="hive").to_table()
    frame = pd.read_parquet(results)
    assert len(whole) == len(frame) == len(result.table()) == 12
    assert set(frame.columns) == set(whole.column_names) == set(result.table().column_names)
    assert set(frame["cc"]) == {"bic", "cubic"}
    best = frame[(frame.cc == "bic") & (frame.delay_ns == 1_500_000)].sort_values("seed")
    assert best["flow0_goodput_mean_bps"].tolist() == [1.5e6 / 7 + seed for seed in (1, 2, 3)]
    types = {field.name: str(field.type) for field in result.table().schema}
    assert types == types | {
        "run_id": "string", "seed": "int64", "delay_ns": "int64", "delay": "string", "cc": "string",
        "status": "string", "drops_queue_pkts": "int64", "flow0_goodput_mean_bps": "double", "cpu_s": "double",
        "warnings": "list<item: string>",
    }  # fmt: skip
    row = result.table().to_pylist()[4]
    assert row == row | {
        "number": 4, "in_study": True, "status": "ok", "seed": 2, "delay": "0 ms", "delay_ns": 0, "cc": "bic",
        "drops_pkts": 3, "drops_queue_pkts": 2, "drops_loss_pkts": 1, "flow0_goodput_mean_bps": 2.0,
        "flow0_completion_ns": 10**9 + 2, "flow0_lost_pkts": None, "cpu_s": 0.5, "wall_s": 0.25,
        "warnings": ["look twice"], "error": None, "leowarp_version": leowarp.__version__,
    }  # fmt: skip
    assert "name" not in row
    unit = result.table().schema.field("flow0_completion_ns").metadata[b"unit"]
    assert unit == b"ns"


def test_a_second_start_makes_what_is_missing_and_nothing_else(quick, study_file, fake):
    file = study_file()
    first = quick(file, only=lambda run: run.seed < 3 and run.values["chain.delay"] == "0 ms")
    assert (len(first.table()), made_so_far(fake)) == (4, 4)
    assert len(quick(file).table()) == 12
    assert made_so_far(fake) == 12
    again = quick(file)
    assert (made_so_far(fake), again.table().num_rows, again.failures) == (12, 12, {})


def test_the_directory_alone_is_enough_to_go_on(quick, study_file, fake, tmp_path):
    file = study_file()
    quick(file, only=lambda run: run.seed == 2)
    file.unlink()
    assert len(quick(tmp_path / "out", out=None).table()) == 12
    assert made_so_far(fake) == 12
    with pytest.raises(ScenarioError, match="--out names another"):
        quick(tmp_path / "out", out=tmp_path / "other")


def test_a_changed_study_adds_runs_and_keeps_what_is_no_longer_asked_for(quick, study_file, fake, tmp_path):
    quick(study_file())
    changed = study_file(('["0 ms", "1.5 ms"]', '["0 ms", "3 ms"]'), ("count = 3", "count = 2"))
    result = quick(changed)
    assert (result.removed, len(result.table())) == (8, 8)
    assert made_so_far(fake) == 12 + 4
    frame = pd.read_parquet(tmp_path / "out" / "results")
    assert (len(frame), frame["in_study"].sum()) == (16, 8)
    status = study_status(tmp_path / "out")
    assert (status.total, status.done, status.removed) == (8, 8, 8)
    # The study gets another parameter, whose only value is the scenario's own value. The plans and therefore the runs
    # remain the same, but the table of results gets one more column.
    result = quick(study_file(("[parameters]\n", '[parameters]\n"chain.hops" = [3]\n')))
    assert made_so_far(fake) == 16
    assert set(result.table()["chain_hops"].to_pylist()) == {3}
    assert result.table()["number"].to_pylist() == list(range(12))
    # Rows are partitioned by the first parameter that is a word or a count. This rule also applies to rows that were
    # stored before the parameter was added.
    names = sorted(path.name for path in (tmp_path / "out" / "results").iterdir())
    assert names == ["chain_hops=3", "chain_hops=__HIVE_DEFAULT_PARTITION__"]


def test_what_another_agent_makes_are_other_runs(quick, study_file, fake, tmp_path):
    quick(study_file())
    (fake / "image").write_text("b" * 64)
    result = quick(study_file())
    assert (made_so_far(fake), result.removed) == (24, 12)
    assert set(result.table()["agent_sha256"].to_pylist()) == {"b" * 64}


def test_parameters_of_modules_are_checked_for_all_runs_before_the_first(quick, study_file, fake, tmp_path):
    def study(values):
        return study_file(("[parameters]\n", f'[parameters]\n"modules.tcp_bic.beta" = {values}\n'))

    with pytest.raises(ScenarioError) as caught:
        quick(study('["1", "x", "y"]'))
    assert caught.value.message.startswith("the study trial sets what its modules do not take; 2 errors:\n")
    for value in ("x", "y"):
        assert f'modules.tcp_bic.beta = "{value}": the module tcp_bic takes no such value' in caught.value.message
        assert f"in the combination modules.tcp_bic.beta = {value}, " in caught.value.message
    assert made_so_far(fake) == 0
    assert not (tmp_path / "out").exists()
    # The modules of the guest are checked once per guest, not once per combination.
    assert (fake / "declared").read_text() == "asked\n"
    assert len(quick(study('["1", "2"]')).table()) == 24


def test_a_study_without_parameters_of_modules_looks_at_none(quick, study_file, fake):
    quick(study_file(), only=lambda run: run.number == 0)
    assert not (fake / "declared").exists()


def test_a_failed_run_is_a_row_and_is_made_again_only_when_asked(quick, study_file, fake):
    say(fake, 2, "fail")
    result = quick(study_file())
    assert len(result.failures) == 4
    (error, *_) = result.failures.values()
    assert isinstance(error, GuestError)
    assert (error.message, error.hint) == ("the guest of seed 2 panicked", "look at its console")
    rows = [row for row in result.table().to_pylist() if row["status"] == "failed"]
    assert {(row["seed"], row["error_kind"], row["flow0_goodput_mean_bps"]) for row in rows} == {
        (2, "GuestError", None)
    }
    assert made_so_far(fake) == 12
    (fake / "seed-2").unlink()
    assert len(quick(study_file()).failures) == 4
    assert made_so_far(fake) == 12
    assert quick(study_file(), retry_failed=True).failures == {}
    assert made_so_far(fake) == 16
    assert len(quick(study_file()).table()) == 12


def test_a_mistake_of_ours_fails_the_run_that_it_meets(quick, study_file, fake):
    say(fake, 3, "raise")
    result = quick(study_file())
    assert len(result.failures) == 4
    assert all(type(error) is LeowarpError and "a mistake of ours" in str(error) for error in result.failures.values())
    assert set(result.table()["status"].to_pylist()) == {"ok", "failed"}


def test_a_run_that_kills_its_workers_fails_after_three_of_them(quick, study_file, fake):
    say(fake, 1, "kill")
    result = quick(study_file())
    assert len(result.failures) == 4
    assert all("its worker was killed 3 times" in error.message for error in result.failures.values())
    assert result.table().num_rows == 12


def test_what_the_machine_lacks_ends_the_study_and_fails_no_run(quick, study_file, fake, tmp_path):
    for seed in (2, 3):
        say(fake, seed, "host")
    with pytest.raises(
        HostError, match=r"the study stopped at the run .* the file system of the scratch is full"
    ) as told:
        quick(study_file())
    assert told.value.hint == "free some space; then start the study again"
    status = study_status(tmp_path / "out")
    assert (status.done, status.failed) == (4, 0)
    say(fake, 2, "")
    say(fake, 3, "")
    assert quick(study_file()).failures == {}


def test_one_run_that_no_machine_is_large_enough_for_fails_alone(quick, study_file, fake):
    only_one = ('["0 ms", "1.5 ms"]', '["0 ms"]'), ('["bic", "cubic"]', '["bic"]')
    say(fake, 2, "host")
    result = quick(study_file(*only_one))
    assert [type(error) for error in result.failures.values()] == [HostError]


def test_only_runs_in_a_row_that_the_machine_lacks_something_for_end_the_study(quick, study_file, fake):
    only_one = ('["0 ms", "1.5 ms"]', '["0 ms"]'), ('["bic", "cubic"]', '["bic"]'), ("count = 3", "count = 9")
    for seed in range(1, 9):
        say(fake, seed, "host" if seed % 2 else "fail")
    failures = quick(study_file(*only_one)).failures
    assert sorted(type(error).__name__ for error in failures.values()) == ["GuestError"] * 4 + ["HostError"] * 4


def test_a_start_from_the_directory_makes_the_study_that_another_start_has_left(
    quick, study_file, tmp_path, monkeypatch
):
    quick(study_file())
    taken = engine.holding

    def after_another_start(folder):
        monkeypatch.setattr(engine, "holding", taken)
        quick(study_file(("count = 3", "count = 4")))
        return taken(folder)

    monkeypatch.setattr(engine, "holding", after_another_start)
    result = quick(tmp_path / "out", out=None)
    assert (result.removed, len(result.table())) == (0, 16)
    assert study_status(tmp_path / "out").total == 16


def test_another_study_that_begins_in_the_directory_meanwhile_is_not_written_over(
    quick, study_file, tmp_path, monkeypatch
):
    taken = engine.holding

    def after_another_start(folder):
        monkeypatch.setattr(engine, "holding", taken)
        quick(study_file(('"trial"', '"other"'), name="other.toml"))
        return taken(folder)

    monkeypatch.setattr(engine, "holding", after_another_start)
    with pytest.raises(ScenarioError, match="it holds the study other"):
        quick(study_file())
    assert study_status(tmp_path / "out").name == "other"


def test_a_run_again_whose_plan_is_gone_is_told(quick, study_file, tmp_path):
    [run_id, *_] = quick(study_file()).table()["run_id"].to_pylist()
    plans = tmp_path / "out" / "plans.parquet"
    pq.write_table(pq.read_table(plans).slice(1), plans)
    with pytest.raises(TraceError, match=rf"a result of the run {run_id}, but its plans\.parquet has no plan of it"):
        run_again(tmp_path / "out", run_id, tmp_path / "again")


def test_a_dry_run_beside_a_study_counts_the_journal_and_the_runs_of_the_study_alone(quick, study_file, tmp_path):
    file = study_file()
    quick(file)
    # As in a running study, the journal has two rows. The run of one row is no longer in the study.
    store = Store(tmp_path / "out", read_facts(tmp_path / "out").layout)
    rows = store.table().to_pylist()
    store.drop([rows[0]["run_id"]])
    store.close()
    with (tmp_path / "out" / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps({**rows[0], "cpu_s": 12.5}) + "\n")
        journal.write(json.dumps({**rows[0], "run_id": "gone", "plan_sha256": "gone", "cpu_s": 1e6}) + "\n")
    told = dry_run(file, tmp_path / "out")
    assert (told["runs"], told["made"]) == (12, 12)
    assert told["cpu_s_per_run"] == pytest.approx((11 * 0.5 + 12.5) / 12)


@pytest.mark.parametrize(("keep", "seeds"), [("none", set()), ("failed", {2}), ("all", {1, 2, 3})])
def test_run_directories_are_kept_as_asked(quick, study_file, fake, tmp_path, keep, seeds):
    say(fake, 2, "fail")
    result = quick(study_file(("[seeds]", f'[keep]\nruns = "{keep}"\n[seeds]')))
    runs = tmp_path / "out" / "runs"
    kept = {path.name for path in runs.iterdir()} if runs.exists() else set()
    rows = result.table().to_pylist()
    assert kept == {row["run_id"] for row in rows if row["seed"] in seeds}
    assert not (tmp_path / "out" / ".scratch").exists()


def test_two_studies_in_one_directory_are_refused_and_the_first_is_named(quick, study_file, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with (out / "study.lock").open("w") as other:
        other.write("process 77 on host far since yesterday\n")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ScenarioError, match=r"at work there already \(process 77 on host far") as told:
            quick(study_file())
        assert "study status" in told.value.hint
    # A lock file that no process holds does not lock the directory.
    assert quick(study_file()).failures == {}


def test_a_directory_of_something_else_is_refused(quick, study_file, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("")
    with pytest.raises(ScenarioError, match=r"'thesis\.tex', which is not part of a study"):
        quick(study_file())
    quick(study_file(), tmp_path / "fine")
    with pytest.raises(ScenarioError, match="it holds the study trial"):
        quick(study_file(('"trial"', '"other"')), tmp_path / "fine")


class Full(Unsynced):
    """An `os` whose disk has space for only `left` more bytes."""

    def __init__(self, left):
        self._left = left

    def write(self, descriptor, content):
        if not self._left:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = min(self._left, len(content))
        self._left -= taken
        return os.write(descriptor, content[:taken])


@pytest.mark.parametrize("left", [0, 20_000, 24_000, 32_000])
def test_a_full_disk_ends_the_study_and_what_was_done_stays(quick, study_file, fake, tmp_path, monkeypatch, left):
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os", Full(left))
        with pytest.raises(HostError, match="its disk is full") as told:
            quick(study_file())
    assert "free some space" in told.value.hint
    out = tmp_path / "out"
    done = study_status(out).done if (out / "plans.parquet").exists() else 0
    made = made_so_far(fake)
    assert not list(out.rglob("*.partial"))
    assert len(quick(study_file()).table()) == 12
    assert made_so_far(fake) == made + 12 - done


def test_the_page_shows_what_was_varied_what_failed_and_a_scalar_over_the_parameters(quick, study_file, fake):
    say(fake, 3, "fail")
    text = quick(study_file()).page.read_text()
    text = re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", text, flags=re.S))
    words = re.sub(r"\s+", " ", text)
    assert "chain.delay 2 0 ms, 1.5 ms flows.0.congestion_control 2 bic, cubic run.seed 3 1 to 3" in words
    assert "4 runs failed 4 runs: look twice" in words
    assert "flow0_goodput_mean_bps in Mbit/s, by flows.0.congestion_control: medians over seeds" in words
    # The fake goodput is 1.5 ms / 7 = 214,286 bit/s. The seeds are 1 and 2.
    assert "1.5 ms 0.2143 (0.2143 to 0.2143); n = 2 0.2143 (0.2143 to 0.2143); n = 2" in words
    assert "the rate at which an application at the receiver gets data" in words
    assert "the guest of seed 3 panicked" in words
    with_fewer = quick(study_file(("count = 3", "count = 1"))).page.read_text()
    assert "8 runs are in results/ (in_study is false)" in with_fewer


@pytest.mark.parametrize(("delays", "joined"), [('["0 ms", "1.5 ms", "2 ms"]', True), ('["1.5 ms"]', False)])
def test_the_page_joins_numbers_by_lines_and_congestion_controls_by_none(quick, study_file, delays, joined):
    # The horizontal axis is the parameter with the most values: the delays in the first case, the congestion controls
    # in the second.
    page = quick(study_file(('["0 ms", "1.5 ms"]', delays))).page.read_text()
    assert "<svg" in page
    assert ('stroke: #0072b2; stroke-width: 1.1; stroke-linecap: square"' in page) == joined


def test_batches_grow_with_cheap_runs_and_shrink_towards_the_end():
    assert batch_size(1000, 2, None) < 10
    assert batch_size(1000, 2, 0.5) == BATCH_S / 0.5
    assert batch_size(1000, 2, 0.01) == LARGEST_BATCH
    assert batch_size(1000, 2, 1000.0) == 1
    assert [batch_size(left, 2, 0.5) for left in (40, 8, 1)] == [10, 2, 1]


def test_columns_have_one_type_in_all_files_whatever_comes_first(quick, study_file, tmp_path, monkeypatch):
    from leowarp.study.sweep import store
    from support.sweep import maker

    def summary(plan):
        late = {1: None, 2: 5, 3: 2.5}[plan.run.seed]
        more = {"words": "text"} if plan.run.seed == 3 else {"words": None}
        return {"late_pkts": late, **more, "flows": []}

    monkeypatch.setattr(maker, "summary", summary)
    monkeypatch.setattr(store, "FLUSH_ROWS", 1)
    seen = set()

    def look(progress):
        files = list((tmp_path / "out" / "results").glob("*/*.parquet"))
        assert len({pq.read_schema(path).remove_metadata().to_string() for path in files}) <= 1
        seen.add(len(files))

    table = quick(study_file(), progress=look).table()
    assert max(seen) > 2
    assert table.schema.field("late_pkts").type == pa.float64()
    assert table.schema.field("words").type == pa.string()
    assert table["late_pkts"].to_pylist() == [None] * 4 + [5.0] * 4 + [2.5] * 4


def test_a_name_of_the_summary_gives_way_to_a_label(quick, study_file):
    table = quick(study_file(('label = "cc"', 'label = "drops_pkts"'))).table()
    assert set(table["drops_pkts"].to_pylist()) == {"bic", "cubic"}
    assert set(table["summary_drops_pkts"].to_pylist()) == {3}


@pytest.mark.slow
def test_importing_studies_needs_no_dask():
    code = "import sys, leowarp.study.sweep.engine; sys.exit('distributed' in sys.modules or 'dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
