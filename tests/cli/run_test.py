# SPDX-License-Identifier: Apache-2.0
"""Tests a run of a short chain, with all steps from the scenario file to the report."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import leowarp as lw
from leowarp.base.layout import ARTEFACTS
from leowarp.base.recorded import text_of_json
from leowarp.trace import packets_from_captures, read
from leowarp.trace.manifest import files_of_run
from support.loaded import OF_EVERY_VERB, modules_of
from support.synthetic.whole import forge
from support.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAIN = EXAMPLES / "chain.toml"
SHORT = ("--set", "run.duration=3 s", "--progress", "none")


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A complete run of the chain, with a duration of 3 s."""
    return lw.run(CHAIN, {"run.duration": "3 s"}, tmp_path_factory.mktemp("chain") / "run", progress=False)


def test_a_run_directory_holds_every_stage_and_nothing_else(chain):
    assert {entry.name for entry in chain.path.iterdir()} <= set(ARTEFACTS)
    for name in ("00-plan.toml", "10-routes.parquet", "20-timeline.parquet", "40-metrics.parquet", "summary.json"):
        assert (chain.path / name).is_file()
    assert chain.report == chain.path / "50-report" / "index.html"
    assert not (chain.path / ".guest").exists()
    assert not (chain.path / "INCOMPLETE").exists()


def test_the_manifest_says_what_made_the_run_and_lists_what_is_there(chain):
    manifest = chain.manifest
    assert manifest["seed"] == 1
    assert manifest["kernel"]["linux_sha256"]
    assert manifest["agent"]["agent_sha256"]
    assert manifest["costs"]["virtual_s"] == 3
    assert manifest["costs"]["cpu_s"] > 0
    assert manifest["files"] == files_of_run(chain.path)


def test_every_table_opens_as_a_frame_with_units(chain):
    for name in (
        "sockets",
        "packets",
        "bins",
        "delays",
        "flows",
        "echoes",
        "drops",
        "counters",
        "queues",
        "linktotals",
    ):
        frame = getattr(chain, name)()
        assert frame.attrs["units"] is not None
    assert chain.sockets(flow=0)["cwnd_pkts"].max() > 10
    assert set(chain.counters()["host"]) == {"host:A", "host:B"}
    assert set(chain.linktotals()["from"]) == {"r0", "r1", "r2", "r3"}
    assert len(chain.routes()) == 2
    assert len(chain.timeline()) > 10
    assert len(chain.metrics()) > 10


def test_a_notebook_shows_summary_and_figure(chain):
    page = chain._repr_html_()
    assert "goodput" in page
    assert "data:image/png;base64," in page
    assert chain.figure("goodput").axes


def test_json_is_one_object_on_stdout(leowarp, tmp_path):
    answer = leowarp("run", CHAIN, "--out", tmp_path / "run", "--no-report", "--json", *SHORT)
    assert answer.status == 0, answer.err
    told = answer.json()
    assert told["run"] == str(tmp_path / "run")
    assert told["report"] is None
    assert told["summary"]["virtual_s"] == 3


def test_a_run_without_a_report_loads_only_what_it_needs(tmp_path):
    modules = modules_of("run", CHAIN, "--out", tmp_path / "run", "--no-report", *SHORT)
    libraries = {name.split(".")[0] for name in modules}
    assert libraries - OF_EVERY_VERB <= {"cloudpickle", "dateutil", "numpy", "pandas", "pyarrow", "sgp4"}
    rooms = {name.split(".")[1] for name in modules if name.startswith("leowarp.")}
    assert rooms.isdisjoint({"exam", "fitting", "report", "reordering", "study", "validation", "verification", "view"})
    assert {name for name in modules if name.startswith("leowarp.cli.")} & {
        "leowarp.cli.results", "leowarp.cli.studies", "leowarp.cli.timelines"
    } == set()  # fmt: skip


def test_a_run_again_from_its_directory_gives_the_same_bytes(leowarp, chain):
    answer = leowarp("verify", chain.path, "--json", "--progress", "none")
    assert answer.json()["identical"] is True, answer.json()
    assert answer.status == 0
    assert set(answer.json()["files"].values()) == {"as listed"}
    (made,) = answer.json()["second_runs"].values()
    verdicts = {name: stage["verdict"] for name, stage in made["stages"].items()}
    assert set(verdicts.values()) == {"identical"}, verdicts
    assert {"routes", "timeline", "trace", "metrics", "summary", "warnings", "figures", "report"} <= verdicts.keys()


def test_verify_notices_one_changed_byte(leowarp, tmp_path):
    run = lw.run(CHAIN, {"run.duration": "1 s"}, tmp_path / "run", report=False, progress=False)
    path = run.path / "30-trace" / "flows.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    answer = leowarp("verify", run.path, "--json", "--progress", "none")
    assert answer.status == 1
    assert answer.json()["files"]["30-trace/flows.parquet"] == "changed since the run"
    (made,) = answer.json()["second_runs"].values()
    assert made["first_difference"] == "trace"


def test_verify_names_the_stage_of_a_number_that_was_forged_with_its_hash(leowarp, tmp_path):
    run = lw.run(CHAIN, {"run.duration": "1 s"}, tmp_path / "run", report=False, progress=False)
    summary = json.loads((run.path / "summary.json").read_text())
    summary["flows"][0]["goodput_mean_bps"] = 99_999_999
    (run.path / "summary.json").write_text(text_of_json(summary))
    assert leowarp("verify", run.path, "--files").status == 1
    forge(run.path)
    assert leowarp("verify", run.path, "--files").status == 0
    answer = leowarp("verify", run.path, "--progress", "none")
    assert answer.status == 1
    assert "is summary: summary.json: flows.0.goodput_mean_bps is 99999999, and " in answer.out


def test_a_second_run_into_the_same_directory_needs_force(leowarp, tmp_path):
    words = ("run", CHAIN, "--out", tmp_path / "run", "--no-report", *SHORT)
    assert leowarp(*words).status == 0
    refused = leowarp(*words)
    assert refused.status == 2
    assert "--force" in refused.err
    assert leowarp(*words, "--force").status == 0


def test_a_run_can_be_made_again_in_its_own_place_from_its_own_inputs(tmp_path):
    settings = {"run.duration": "1 s"}
    first = lw.run(EXAMPLES / "measured-path.toml", settings, tmp_path / "run", report=False, progress=False)
    before = files_of_run(first.path / "30-trace")
    again = lw.run(first.path, (), first.path, force=True, report=False, progress=False)
    assert files_of_run(again.path / "30-trace") == before
    assert (again.path / "00-inputs" / "measured-path.csv").is_file()


@pytest.mark.parametrize(("deadly", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9), (signal.SIGTERM, -15)])
def test_an_interrupted_run_is_marked_and_leaves_no_process(tmp_path, spawn, deadly, status):
    out = tmp_path / "run"
    command = [sys.executable, "-m", "leowarp", "run", CHAIN, "--out", out, "--set", "run.duration=100000 s"]
    child = spawn(command, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    wait_until(lambda: _working_in(out), child)
    child.send_signal(deadly)
    assert child.wait() == status
    wait_until_gone(lambda: _working_in(out))
    assert (out / "INCOMPLETE").read_text()
    with pytest.raises(lw.TraceError, match="not complete"):
        lw.open(out)


@pytest.mark.slow
@pytest.mark.parametrize("congestion_control", ["cubic", "bbr"])
def test_neither_place_nor_environment_nor_niceness_shows_in_a_trace(leowarp, tmp_path, congestion_control):
    scenario = EXAMPLES / "madrid-tokyo.toml"
    settings = {"run.duration": "35 s", "flows.0.congestion_control": congestion_control}
    first = lw.run(scenario, settings, tmp_path / "first", report=False, progress=False)
    elsewhere = tmp_path / "a directory with a long name" / "second"
    env = {"TZ": "Asia/Tokyo", "LANG": "C", "NOISE": "x" * 5000}
    os_nice = [sys.executable, "-c", "import os, sys; os.nice(10); os.execv(sys.argv[1], sys.argv[1:])"]
    words = [sys.executable, "-m", "leowarp", "run", first.path, "--out", elsewhere, "--no-report", "--json"]
    subprocess.run([*os_nice, *map(str, words)], env={**os.environ, **env}, cwd="/", check=True, capture_output=True)
    for path in sorted((first.path / "30-trace").iterdir()):
        assert (elsewhere / "30-trace" / path.name).read_bytes() == path.read_bytes(), path.name


def test_killing_the_parent_of_several_runs_ends_them_all(tmp_path, spawn):
    script = (
        "import leowarp as lw\n"
        f"jobs = [lw.Job({str(CHAIN)!r}, {str(tmp_path)!r} + '/' + n, {{'run.duration': '100000 s'}}) for n in 'ab']\n"
        "lw.run_many(jobs)"
    )
    parent = spawn([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    wait_until(lambda: _working_in(tmp_path / "a"), parent)
    # If the parent of a run is killed, the run ends when it next reports progress.
    parent.kill()
    parent.wait()
    wait_until_gone(lambda: _working_in(tmp_path))
    assert (tmp_path / "a" / "INCOMPLETE").exists()


def test_several_runs_at_once_equal_each_alone(tmp_path, chain):
    jobs = [lw.Job(CHAIN, tmp_path / name, {"run.duration": "3 s"}) for name in ("a", "b", "c")]
    seen = []
    for run in lw.run_many(jobs, at_once=2, progress=seen.append):
        for path in sorted((chain.path / "30-trace").iterdir()):
            assert (run.path / "30-trace" / path.name).read_bytes() == path.read_bytes(), path.name
        # A report is made only if the command asks for one.
        assert run.report is None
    assert {progress.run for progress in seen} == {"a", "b", "c"}


def test_compare_writes_a_table_and_a_page(leowarp, chain, tmp_path):
    reno = lw.run(
        CHAIN, {"run.duration": "3 s", "flows.0.congestion_control": "reno", "name": "chain-reno"}, tmp_path / "reno",
        report=False, progress=False,
    )  # fmt: skip
    answer = leowarp("compare", chain.path, reno.path, "--out", tmp_path / "page")
    assert answer.status == 0, answer.err
    assert "TCP, A to B" in answer.out
    assert (tmp_path / "page" / "index.html").is_file()


def test_what_the_agent_says_of_packets_is_what_the_captures_of_both_ends_say(leowarp, tmp_path):
    run = lw.run(
        CHAIN, {"run.duration": "5 s", "observe.packets": "all", "observe.pcap": "both", "flows": [_TCP]},
        tmp_path / "run", report=False, progress=False,
    )  # fmt: skip
    assert leowarp("export", run.path, "pcapng", "--out", tmp_path / "out").status == 0
    source, destination = (tmp_path / "out" / f"run-{end}.pcapng" for end in ("source", "destination"))
    captured = packets_from_captures(source, destination).to_pandas()
    told = read(run.path / "30-trace", "packets").to_pandas()
    # The times in the captures are relative to the first packet, and not to the run's start; the captures also contain
    # packets after the run's end.
    captured[["sent_ns", "received_ns"]] += told["sent_ns"].min()
    captured = captured[captured["sent_ns"] < 5_000_000_000]
    assert len(captured) == len(told) > 1000
    keys = ["direction", "sent_ns", "seq", "len_bytes"]
    captured, told = (frame.sort_values(keys).reset_index(drop=True) for frame in (captured, told))
    for column in (*keys, "received_ns", "ack", "extent_pkts"):
        assert captured[column].astype("float64").equals(told[column].astype("float64")), column
    for column in ("is_retransmission", "is_spurious"):
        assert captured[column].fillna(False).astype(bool).equals(told[column].fillna(False).astype(bool)), column
    assert json.loads((run.path / "summary.json").read_text())["drops_pkts"] > 0


_TCP = {"kind": "tcp", "source": "A", "destination": "B", "congestion_control": "cubic"}


def _working_in(out: Path) -> list[int]:
    """Return the ids of the processes in the guest's directory below the run directory `out`."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{entry}/cwd").startswith(str(out.resolve())):
                found.append(int(entry))
        except OSError:
            continue
    return found
