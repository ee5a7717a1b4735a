# SPDX-License-Identifier: Apache-2.0
"""Tests verbs that need no kernel: what they print on stdout and stderr, and their exit status."""

import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pacsv
import pytest
import typer

import leowarp as lw
from leowarp import scenario
from leowarp.base import layout
from leowarp.cli.app import program
from leowarp.cli.runs import guest_verbs
from leowarp.metrics import metrics, read_tables
from leowarp.scenario.schema import Shell
from leowarp.version import sources
from support.element_sets import lines_of
from support.element_sets import written as written_set
from support.elements import orbits_of, written
from support.synthetic.bbr import write_synthetic_bbr
from support.synthetic.run import write_synthetic_run

EXAMPLES = Path(__file__).parents[2] / "examples"
MADRID_TOKYO = EXAMPLES / "madrid-tokyo.toml"
CHAIN = EXAMPLES / "chain.toml"
MOBILE = EXAMPLES / "mobile.toml"


def test_a_shell_completes_verbs(leowarp_process):
    env = {"_LEOWARP_COMPLETE": "complete_bash", "COMP_WORDS": "leowarp ro", "COMP_CWORD": "1"}
    assert leowarp_process(env=env).out.split() == ["routes"]


def test_help_names_every_verb(leowarp):
    answer = leowarp("--help")
    assert answer.status == 0
    for verb in (
        "run", "report", "reproduce", "compare", "plan", "ephemeris", "routes", "timeline", "export",
        "kernel", "doctor", "verify", "demo", "show", "reorder", "view",
    ):  # fmt: skip
        assert verb in answer.out


@pytest.mark.parametrize(
    ("words", "now"),
    [
        (("metrics", "RUN"), "leowarp show RUN --metrics"),
        (("links", "RUN", "--top", "3"), "leowarp show RUN --links"),
        (("plot", "RUN", "cwnd"), "leowarp report RUN --plot SERIES"),
        (("diff", "A", "B"), "leowarp compare A B --diff"),
        (("version",), "leowarp doctor --versions"),
    ],
)
def test_a_verb_that_became_an_option_says_what_to_type_now(leowarp, words, now):
    answer = leowarp(*words)
    assert answer.status == 2
    assert f"hint: {now}" in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ("show", "RUN", "--metrics", "--links"),
        ("show", "RUN", "--all", "--top", "3"),
        ("report", "RUN", "--to", "3 s"),
        ("report", "RUN", "--plot", "cwnd", "--figures", "srtt"),
        ("compare", "RUN", "RUN", "--diff", "--out", "page"),
        ("compare", "RUN", "RUN", "RUN", "--diff"),
        ("doctor", "--versions", "--build"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(leowarp, write_run, words):
    run = write_run()
    answer = leowarp(*(run if word == "RUN" else word for word in words))
    assert answer.status == 2
    assert "hint:" in answer.err


def test_no_verb_and_no_option_is_hidden_from_help():
    left = [("leowarp", typer.main.get_command(program()))]
    seen = 0
    while left:
        name, command = left.pop()
        assert not command.hidden, name
        assert not [parameter.name for parameter in command.params if getattr(parameter, "hidden", False)], name
        left += [(f"{name} {each}", below) for each, below in getattr(command, "commands", {}).items()]
        seen += 1
    # Every verb except `run` is a group of verbs. If the loop did not enter groups, it would see only the help of the
    # program itself.
    assert seen > 20


def test_each_word_of_each_help_is_printed_those_in_square_brackets_too(leowarp, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    with monkeypatch.context() as without:
        without.setattr("leowarp.cli.app._escape", lambda command: None)
        left = [((), typer.main.get_command(program()))]
    bracketed = set()
    while left:
        words, command = left.pop()
        printed = set(leowarp(*words, "--help").out.split())
        for owner in (command, *command.params):
            written = set(" ".join(vars(owner).get(name) or "" for name in ("help", "epilog")).split())
            assert written <= printed, words
            bracketed |= {word for word in written if word.startswith("[")}
        for name, below in getattr(command, "commands", {}).items():
            assert set((below.help or "").split("\n\n")[0].split()) <= printed, words
            left.append(((*words, name), below))
    assert "[measured]" in bracketed


@pytest.mark.slow
def test_plan_is_a_scenario_and_gives_itself(leowarp, tmp_path):
    first = leowarp("plan", MADRID_TOKYO, "--set", "run.duration=60 s")
    assert first.status == 0
    (tmp_path / "plan.toml").write_text(first.out)
    assert leowarp("plan", tmp_path / "plan.toml").out == first.out
    assert leowarp("plan", tmp_path / "plan.toml", "--json").json()["run"]["duration"] == "60 s"


@pytest.mark.slow
def test_verbs_show_the_planes_that_were_found_in_elements(leowarp, tmp_path):
    shell = Shell(planes=9, satellites_per_plane=8, phasing=2, altitude_m=1200e3, inclination_deg=70.0)
    orbits = orbits_of(shell)
    written(tmp_path / "set.tle", [*orbits, dataclasses.replace(orbits[0], altitude_m=900e3)])
    (tmp_path / "elements.toml").write_text("""\
name = "elements"
constellation = { tle = "set.tle", epoch = "2025-06-01T00:00:00Z" }
stations = [{ name = "Madrid" }, { name = "Tokyo" }]
isl = { rule = "plus-grid" }
flows = [{ source = "Madrid", destination = "Tokyo" }]
""")
    planned = leowarp("plan", "elements.toml")
    assert planned.out.startswith("# A plan")
    told = " ".join(planned.err.split())
    assert "set.tle: +Grid found in the elements: 9 planes of 8 slots at 70.0 deg" in told
    assert "set.tle: 1 of 73 satellites are in no slot and have no links to others: S-72" in told
    places = [one["place"] for one in leowarp("ephemeris", "elements.toml", "--json").json()["satellites"]]
    assert places == [f"1-{plane:02d}-{places[8 * plane + slot][-2:]}" for plane in range(9) for slot in range(8)] + [
        None
    ]
    assert sorted(places[:8]) == [f"1-00-{slot:02d}" for slot in range(8)]
    assert "1-08-07" in leowarp("ephemeris", "elements.toml").out
    written(tmp_path / "set.tle", orbits[::11])
    for verb in ("plan", "routes"):
        refused = leowarp(verb, "elements.toml")
        assert refused.status == 2
        assert 'isl.rule = "plus-grid" finds no planes' in refused.err
        assert 'set isl.rule = "range"' in refused.err


@pytest.mark.slow
def test_plans_are_written_and_compared_as_utf_8_whatever_the_locale(tmp_path):
    # Python's option of PEP 597 gives a warning wherever a file is opened in the locale's encoding.
    script = """
import json, sys, warnings
from pathlib import Path
from leowarp.cli.results.look_verbs import plan
from leowarp.running.many import Job
from leowarp.running.seeds import stands

scenario, run = Path(sys.argv[1]), Path(sys.argv[2])
(run / "30-trace").mkdir()
(run / "summary.json").write_bytes(b'{"flows": []}')
manifest = {"leowarp_version": "", "seed": 1, "warnings": [], "costs": {}, "kernel": {}, "agent": {}}
(run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
warnings.filterwarnings("error", category=EncodingWarning, module="leowarp")
plan(scenario, out=run / "00-plan.toml")
assert not stands(Job(scenario, run), None, None), "another version made it"
"""
    command = [sys.executable, "-X", "warn_default_encoding", "-c", script, str(CHAIN), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_congestion_control_of_ones_own_is_named_by_its_file(leowarp, tmp_path):
    (tmp_path / "my_cc.c").write_text("int x;\n")
    flow = ("--set", "flows.0.congestion_control=my_own")
    assert leowarp("plan", CHAIN, *flow).status == 2
    plan = leowarp("plan", CHAIN, *flow, "--cc-module", tmp_path / "my_cc.c", "--json").json()
    assert plan["guest"]["cc_modules"] == ["my_cc.c"]
    assert plan["guest"]["cc_modules_sha256"] == [hashlib.sha256(b"int x;\n").hexdigest()]
    assert plan["modules"] == {"my_cc": {}}
    gone = leowarp("plan", CHAIN, "--cc-module", tmp_path / "gone.c")
    assert gone.status == 2
    assert "there is no file" in gone.err
    assert "gone.c" in gone.err


@pytest.mark.slow
def test_satellites_are_left_out_by_an_option_with_the_plan_that_says_so(leowarp, tmp_path):
    written_set(tmp_path, "SAT 1", *lines_of(1), "SAT 2", *lines_of(2), "SAT 3", *lines_of(3))
    (tmp_path / "a.toml").write_text(
        'name = "a"\n[run]\nduration = "10 s"\n[constellation]\ntle = "set.tle"\nepoch = "2025-10-27T12:00:00Z"\n'
        'leave_out = ["SAT 3"]\n[isl]\nrule = "range"\n[ground]\nrule = "min-elevation"\n'
        '[[stations]]\nname = "Madrid"\n[[stations]]\nname = "Tokyo"\n'
        '[[flows]]\nkind = "ping"\nsource = "Madrid"\ndestination = "Tokyo"\n'
    )
    # The options `--leave-out` replace the list `leave_out` in the scenario.
    options = ("--leave-out", "decayed", "--leave-out", "SAT 2")
    assert leowarp("plan", tmp_path / "a.toml", *options, "--json").json()["constellation"]["leave_out"] == [
        "decayed",
        "SAT 2",
    ]
    told = leowarp("ephemeris", tmp_path / "a.toml", *options)
    assert told.status == 0
    assert "SAT_1" in told.out
    assert "SAT_3" in told.out
    assert "1 of 3 satellites left out by name: SAT_2" in told.err


@pytest.mark.slow
def test_routes_show_each_change_with_both_delays(leowarp):
    answer = leowarp("routes", MADRID_TOKYO, "--set", "run.duration=120 s", "--json").json()
    rows = answer["routes"]
    assert [row["t_ns"] for row in rows] == [0, 30_000_000_000, 60_000_000_000, 90_000_000_000]
    assert all(row["path"][0] == "Madrid" and row["path"][-1] == "Tokyo" for row in rows)
    assert answer["summary"]["route_changes"] == sum(row["is_change"] for row in rows)
    table = leowarp("routes", MADRID_TOKYO, "--set", "run.duration=120 s").out
    assert all(" ".join(row["path"]) in table for row in rows)


@pytest.mark.slow
def test_ephemeris_gives_positions_and_elevations(leowarp):
    answer = leowarp("ephemeris", MADRID_TOKYO, "--at", "30 s", "--json").json()
    assert answer["t_ns"] == 30_000_000_000
    assert len(answer["satellites"]) == 648
    first = answer["satellites"][0]
    assert sum(metres**2 for metres in first["position_ecef_m"]) ** 0.5 == pytest.approx(7_578_137, abs=0.01)
    assert first["elevation_deg"].keys() == {"Madrid", "Tokyo"}


@pytest.mark.slow
def test_ephemeris_of_a_chain_says_that_there_is_none(leowarp):
    answer = leowarp("ephemeris", CHAIN)
    assert answer.status == 2
    assert "no constellation" in answer.err
    assert answer.out == ""


@pytest.mark.parametrize(
    ("words", "telling"),
    [
        (("plan", "nowhere.toml"), "nowhere.toml"),
        (("plan", MADRID_TOKYO, "--set", "run.duration=60"), "unit"),
        (("plan", MADRID_TOKYO, "--set", "run.durration=60 s"), "duration"),
        pytest.param(
            ("plan", MOBILE, "--set", "mobile.environment=suburbam"), 'did you mean "suburban"', marks=pytest.mark.slow
        ),
        (("ephemeris", MADRID_TOKYO, "--at", "30"), "--at"),
        pytest.param(("compare", "a-run"), "two runs", marks=pytest.mark.slow),
        (("fly",), "fly"),
    ],
)
def test_what_was_typed_wrong_ends_with_status_2_and_one_message(leowarp, words, telling):
    answer = leowarp(*words)
    assert answer.status == 2
    assert telling in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""


@pytest.mark.slow
def test_a_directory_that_is_no_run_ends_with_status_5(leowarp, tmp_path):
    answer = leowarp("show", tmp_path, "--metrics")
    assert answer.status == 5
    assert str(tmp_path) in answer.err


@pytest.mark.slow
def test_an_error_is_one_json_object_when_json_was_asked_for(leowarp):
    answer = leowarp("plan", "nowhere.toml", "--json")
    assert answer.status == 2
    told = answer.json()
    assert told["kind"] == "ScenarioError"
    assert told["exit_code"] == 2
    assert "nowhere.toml" in told["error"]


@pytest.mark.slow
def test_debugging_shows_the_traceback(leowarp_process):
    assert "Traceback" in leowarp_process("plan", "nowhere.toml", env={"LEOWARP_DEBUG": "1"}).err


@pytest.mark.slow
def test_csv_has_a_header_and_an_empty_field_for_what_is_missing(leowarp, write_run, tmp_path):
    run = write_run()
    answer = leowarp("export", run, "sockets", "--out", tmp_path / "sockets.csv")
    assert answer.status == 0
    table = pacsv.read_csv(tmp_path / "sockets.csv")
    assert table.column("cwnd_pkts").to_pylist() == [10, 20]
    assert table.column("ssthresh_pkts").to_pylist() == [None, 15]
    assert leowarp("export", run, "counters").out.splitlines()[1] == '0,0,"TcpRetransSegs",7'
    assert leowarp("export", run, "echoes", "--flow", "0").out.count("\n") == 1
    assert leowarp("export", run, "packets").out.splitlines()[1].startswith('0,"data",1,3,')


@pytest.mark.slow
def test_captures_are_exported_or_the_command_that_makes_them_is_told(leowarp, write_run, tmp_path):
    with_capture = write_run("a", captures=("source.pcapng",))
    answer = leowarp("export", with_capture, "pcapng", "--out", tmp_path / "out")
    assert answer.out.strip() == str(tmp_path / "out" / "a-source.pcapng")
    assert (tmp_path / "out" / "a-source.pcapng").read_bytes().startswith(b"\x0a\x0d\x0d\x0a")
    assert (tmp_path / "out" / "a-source.pcapng").read_bytes() == (with_capture / "30-trace/source.pcapng").read_bytes()
    without = leowarp("export", write_run("b"), "pcapng")
    assert without.status == 5
    assert "--set observe.pcap=both" in without.err


@pytest.mark.slow
def test_the_moving_page_of_a_run_is_one_of_its_files(leowarp, tmp_path):
    run = write_synthetic_run(tmp_path / "run")
    metrics(read_tables(run), scenario.plan_of(run / layout.PLAN)).write(run)
    answer = leowarp("view", run, "--json")
    page = run / "50-report" / "view.html"
    assert json.loads(answer.out) == {"runs": [str(run)], "view": str(page), "bytes": page.stat().st_size}
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "50-report/view.html" in lw.open(run).manifest["files"]


def test_what_does_not_move_is_not_exported_as_czml(leowarp, write_run):
    run = write_run()
    answer = leowarp("export", run, "--czml")
    assert answer.status == 2
    assert "no constellation" in answer.err
    for words in ((), ("sockets", "--czml"), ("--czml", "--flow", "0")):
        answer = leowarp("export", run, *words)
        assert answer.status == 2
        assert "--czml" in answer.err


def test_a_flow_is_asked_for_by_its_name(leowarp, tmp_path):
    run = write_synthetic_bbr(tmp_path / "run")
    metrics(read_tables(run), scenario.plan_of(run / layout.PLAN)).write(run)
    by_name, by_number = (leowarp("export", run, "sockets", "--flow", flow) for flow in ("upload", "0"))
    assert by_name.status == 0
    assert by_name.out == by_number.out
    assert by_name.out.splitlines()[1].endswith('"STARTUP"')
    drawn = leowarp("report", run, "--plot", "bbr_mode", "--flow", "upload", "-o", tmp_path / "mode.svg")
    assert (drawn.status, drawn.out.strip()) == (0, str(tmp_path / "mode.svg"))
    for words in (("export", run, "packets"), ("report", run, "--plot", "cwnd"), ("report", run)):
        answer = leowarp(*words, "--flow", "uplod")
        assert answer.status == 2
        assert 'did you mean "upload"?' in answer.err


@pytest.mark.slow
def test_metrics_print_what_is_missing_only_if_asked_and_as_a_dash(leowarp, write_run):
    run = write_run()
    lines = [line.split() for line in leowarp("show", run, "--metrics").out.splitlines() if line.strip()]
    assert ["goodput_mean_bps", "9,500,000"] in lines
    assert not [line for line in lines if "drops_pkts" in line]
    lines = [line.split() for line in leowarp("show", run, "--metrics", "--all").out.splitlines() if line.strip()]
    assert ["drops_pkts", "–"] in lines


@pytest.mark.slow
def test_output_into_a_narrow_terminal_cuts_no_value(leowarp, write_run):
    answer = leowarp("show", write_run(), "--metrics", env={"COLUMNS": "40"})
    assert "9,500,000" in answer.out
    assert "…" not in answer.out


@pytest.mark.slow
def test_cleaning_removes_the_cache_only_when_told(leowarp, tmp_path):
    cache = tmp_path / "cache"
    (cache / "kernel").mkdir(parents=True)
    (cache / "kernel" / "linux").write_bytes(b"x" * 100)
    env = {"LEOWARP_CACHE": str(cache)}
    refused = leowarp("kernel", "clean", env=env)
    assert refused.status == 3
    assert "--yes" in refused.err
    assert cache.is_dir()
    assert leowarp("kernel", "clean", "--yes", "--json", env=env).json()["freed_bytes"] == 100
    assert not cache.exists()


@pytest.mark.slow
def test_version_names_the_libraries_and_builds_nothing(leowarp, tmp_path):
    told = leowarp("doctor", "--versions", "--json", env={"LEOWARP_CACHE": str(tmp_path / "cache")}).json()
    assert told["kernels_built"] == []
    assert not (tmp_path / "cache").exists()
    assert told["leowarp"]
    assert {name: told[name] for name in sources()} == sources()
    assert {"python", "numpy", "pyarrow"} <= told.keys()


@pytest.mark.slow
def test_a_broken_pipe_is_no_error(leowarp, tmp_path):
    script = tmp_path / "pipe.sh"
    script.write_text(f'"{sys.executable}" -m leowarp plan {MADRID_TOKYO} | head -1\necho "${{PIPESTATUS[0]}}"\n')
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.splitlines()[-1] == "0"


def test_the_demo_makes_the_reports_of_its_runs(leowarp, monkeypatch, tmp_path):
    asked = []

    def run_many(jobs, **options):
        asked.append(([job.label for job in jobs], options["report"]))
        raise lw.GuestError("enough")

    monkeypatch.setattr(lw, "run_many", run_many, raising=False)
    monkeypatch.setattr(guest_verbs, "built_image", lambda choice: None)
    assert leowarp("demo", "--out", tmp_path / "demo").status == lw.GuestError.exit_code
    assert asked == [(["reno", "cubic", "bbr"], True)]


def test_frames_carry_units_and_missing_values_stay_missing(write_run):
    run = lw.open(write_run())
    sockets = run.sockets()
    assert sockets.attrs["units"]["cwnd_pkts"] == "pkts"
    assert sockets["ssthresh_pkts"].isna().tolist() == [True, False]
    assert run.packets()["is_late"].isna().tolist() == [False, True]
    assert run.packets()["sent_ns"].dtype == "int64"
    assert len(run.sockets(flow=1)) == 0
    with pytest.raises(lw.ScenarioError, match="no flow 9"):
        run.sockets(flow=9)
    assert run.plan.name == "chain"
    assert run.warnings == ["look twice"]


def test_the_manifest_says_which_sources_made_the_run(write_run):
    assert lw.open(write_run()).manifest.items() >= sources().items()


def test_the_manifest_lists_each_file_with_its_sha256(write_run):
    run = write_run()
    files = json.loads((run / "manifest.json").read_text())["files"]
    assert files.keys() == {
        path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file() and path.name != "manifest.json"
    }
    for name, digest in files.items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest
