# SPDX-License-Identifier: Apache-2.0
"""Tests a small study of real runs. The study is killed and continued. One of its runs is then repeated."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from support.synthetic.whole import forge
from support.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.guest

STUDY = """\
name = "tiny"
scenario = "jittered-transfer"

[set]
"flows.0.size" = "1 MB"

[parameters]
"jittered.jitter" = ["0 ms", "0.5 ms", "1 ms"]
"tcp.pacing" = { values = ["internal", "fq"], label = "pacing" }
"""


@pytest.fixture
def started(spawn, tmp_path):
    """A function that starts `leowarp study` in a session of its own."""

    def start(*words: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "leowarp", "study", *words]
        return spawn(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    return start


def rows(folder: Path) -> dict[str, int]:
    """Return the id and the number of each run that has a row in the results."""
    found = {}
    for line in (folder / "out" / "journal.jsonl").read_text().splitlines():
        row = json.loads(line)
        found[row["run_id"]] = row["number"]
    if list((folder / "out" / "results").glob("*/*.parquet")):
        frame = pd.read_parquet(folder / "out" / "results")
        found |= dict(zip(frame["run_id"], frame["number"], strict=True))
    return found


def guests_below(folder: Path) -> list[int]:
    """Return the ids of the processes whose working directory is in the study's directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if str(path.readlink()).startswith(str(folder)):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def verified(folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Return the exit status and output of `leowarp verify`."""
    command = [sys.executable, "-m", "leowarp", "verify", str(folder), "--json", "--progress", "none", *options]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_study_killed_in_the_middle_goes_on_and_its_runs_can_be_made_again(tmp_path, started):
    (tmp_path / "tiny.toml").write_text(STUDY)
    first = started("tiny.toml", "--out", "out", "--jobs", "1")
    journal = tmp_path / "out" / "journal.jsonl"
    wait_until(lambda: journal.exists() and rows(tmp_path), first)
    first.kill()
    first.communicate()
    before = rows(tmp_path)
    assert 0 < len(before) < 6
    wait_until_gone(lambda: guests_below(tmp_path / "out"))

    second = started("out", "--json")
    answer, words = second.communicate()
    assert second.returncode == 0, words
    assert json.loads(answer)["runs"] == 6
    frame = pd.read_parquet(tmp_path / "out" / "results").sort_values("number").set_index("number")
    assert frame["run_id"].is_unique
    assert frame["status"].tolist() == ["ok"] * 6
    assert before.items() <= dict(zip(frame["run_id"], frame.index, strict=True)).items()
    assert set(frame["flow0_bytes"]) == {1_000_000}
    # In slow start from 10 segments, with 100 ms in one direction, a transfer of 1 MB takes at least 0.9 s.
    assert frame["flow0_completion_ns"].between(800_000_000, 3_000_000_000).all()

    for number in (2, 3):
        again = started("run-again", "out", frame["run_id"][number], "--out", f"again-{number}", "--json")
        answer, words = again.communicate()
        told = json.loads(answer)
        assert told["identical"], told
        assert told["scalars"] > 20
        assert again.returncode == 0, words
        assert (tmp_path / f"again-{number}" / "manifest.json").exists()
    # `verify` checks every file, and makes some of the runs a second time.
    status, told = verified(tmp_path / "out", "--sample", "2")
    assert status == 0, told
    assert set(told["files"].values()) == {"as listed"}
    assert len(told["second_runs"]) == 2
    # The test changes a value in a row, and `verify` must report the change.
    (path,) = (tmp_path / "out" / "results" / "pacing=internal").glob("*.parquet")
    table = pq.ParquetFile(path).read()
    place = table.column_names.index("flow0_completion_ns")
    later = pc.add(table["flow0_completion_ns"], 1)
    pq.write_table(table.set_column(place, table.schema.field(place), later), path)
    assert verified(tmp_path / "out", "--files")[0] == 1
    forge(tmp_path / "out")
    assert verified(tmp_path / "out", "--files")[0] == 0
    status, told = verified(tmp_path / "out", "--sample", "6")
    assert status == 1
    stages = {name: made["stages"]["results"] for name, made in told["second_runs"].items()}
    assert {name for name, stage in stages.items() if stage["verdict"] == "differs"} == set(
        frame.loc[frame["pacing"] == "internal", "run_id"]
    )
    again = started("run-again", "out", frame["run_id"][2], "--out", "again-2", "--force", "--json")
    answer, _ = again.communicate()
    assert again.returncode == 1
    assert set(json.loads(answer)["differences"]) == {"flow0_completion_ns"}
