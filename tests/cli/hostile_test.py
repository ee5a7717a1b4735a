# SPDX-License-Identifier: Apache-2.0
"""What strangers hand over, class by class: nothing of it is run, written through, or obeyed by a terminal.

No case may end in a traceback, or in an error that no rule foresees (status 70).
"""

import ast
import json
import os
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leowarp as lw
from leowarp import scenario
from leowarp.base import layout
from leowarp.base.errors import LeowarpError, ScenarioError, TraceError
from leowarp.guest.building.image import GuestImage
from leowarp.metrics import metrics, read_tables
from leowarp.running.writing import Writing
from leowarp.study import run_study
from leowarp.study.sweep.status import study_status
from support.sweep.maker import FakeMaker, let_workers_import
from support.synthetic.run import write_synthetic_run

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAIN = EXAMPLES / "chain.toml"
CLI = Path(__file__).parents[2] / "python" / "leowarp" / "cli"

BELOW = "precious"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A complete run whose packets are made up, with all its files but a report."""
    path = tmp_path_factory.mktemp("made") / "run"
    write_synthetic_run(path)
    plan = scenario.plan_of(path / layout.PLAN)
    metrics(read_tables(path), plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    from leowarp import trace

    costs = trace.Stopwatch().costs(1.0, 2.5, 1 << 20)
    (path / layout.MANIFEST).unlink()
    trace.write_manifest(path, 1, {"linux_version": "6.12", "linux_sha256": "0"}, {}, [], costs)
    return path


@pytest.fixture
def run(made, tmp_path):
    """A copy of it to be spoilt."""
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def precious(tmp_path):
    """A file of the user's own, which no case may change."""
    path = tmp_path / "precious"
    path.write_text(BELOW)
    yield path
    assert path.read_text() == BELOW


def refused(answer, *words):
    """Whether a command ended with a clear error."""
    assert "Traceback" not in answer.err
    assert answer.status in (2, 3, 5), answer
    for word in words:
        assert word in answer.err.replace("\n", " "), answer.err
    return True


# Links

WRITTEN = (
    *(name for name in layout.ARTEFACTS if name not in (layout.INPUTS, layout.TRACE, layout.REPORT, layout.GUEST)),
    "00-inputs/table.csv", "30-trace/packets.parquet", "50-report/index.html", "50-report/figures/goodput.svg",
    ".guest/in/setup.json", ".guest/out/end.json", "summary.json.partial",
)  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_run_is_not_written_through_a_link(tmp_path, precious, name):
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).symlink_to(precious)
    for force in (False, True):
        with pytest.raises(ScenarioError, match="symbolic link"), Writing(out, force=force):
            pass
    assert (out / name).is_symlink()


@pytest.mark.parametrize("name", [layout.INPUTS, layout.TRACE, layout.REPORT, layout.GUEST])
def test_a_run_is_not_written_into_a_directory_elsewhere(tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text(BELOW)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ScenarioError, match="symbolic link"), Writing(tmp_path / "out"):
        pass
    assert (tmp_path / "elsewhere" / "file").read_text() == BELOW


def test_a_pipe_is_not_waited_for(tmp_path):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / layout.INCOMPLETE)
    with pytest.raises(ScenarioError, match="a pipe"), Writing(tmp_path / "out"):
        pass


def test_the_directory_itself_may_be_a_link_that_the_user_typed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    with pytest.raises(TraceError, match="without a manifest"), Writing(tmp_path / "out"):
        pass
    assert (tmp_path / "real" / layout.INCOMPLETE).exists()


def test_leowarp_run_says_so(leowarp_within, tmp_path, precious):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / layout.INCOMPLETE).symlink_to(precious)
    with pytest.MonkeyPatch.context() as patch:
        # No kernel is built for it.
        patch.setattr("leowarp.guest.guest_image", lambda *given, **named: GuestImage(Path("linux"), Path("agent")))
        patch.setattr("leowarp.guest.check_fits", lambda *given: None)
        patch.setattr("leowarp.guest.compile_modules", lambda *given: [])
        assert refused(leowarp_within("run", CHAIN, "--out", tmp_path / "out"), "INCOMPLETE in it is a symbolic link")


VERBS = (
    ("verify",), ("show", "--metrics"), ("show", "--again"), ("report",), ("export", "sockets"), ("export", "pcapng"),
    ("timeline", "describe"), ("compare",), ("view",), ("export", "--czml"),
)  # fmt: skip


def typed(verb, run, leowarp_within):
    words = [verb[0], run, *verb[1:]] if verb[0] == "export" else [*verb, run]
    return leowarp_within(*words, *([run] if verb == ("compare",) else []))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "name", [layout.PLAN, "summary.json", "30-trace/packets.parquet", "30-trace/more", "50-report"]
)
def test_no_verb_reads_a_run_with_links(leowarp_within, run, precious, verb, name):
    if (run / name).exists():
        (run / name).unlink()
    (run / name).symlink_to(precious)
    assert refused(typed(verb, run, leowarp_within), "is a symbolic link")
    assert (run / name).is_symlink()


@pytest.mark.parametrize("verb", ["plan", "routes", "timeline"])
def test_no_stage_is_read_through_a_link(leowarp_within, run, precious, verb):
    (run / layout.PLAN).unlink()
    (run / layout.PLAN).symlink_to(precious)
    answer = leowarp_within(verb, run)
    assert refused(answer, "it is a symbolic link")
    assert BELOW not in answer.err


def test_python_opens_none_either(run, precious):
    (run / "30-trace" / "bins.parquet").unlink()
    (run / "30-trace" / "bins.parquet").symlink_to(precious)
    from leowarp.report import RunView

    for attempt in (lw.open, read_tables, RunView):
        with pytest.raises(TraceError, match="symbolic link"):
            attempt(run)


@pytest.mark.parametrize(
    "words", [("export", "RUN", "sockets", "--out"), ("plan", "RUN", "--out"), ("view", "RUN", "--out")]
)
def test_files_that_the_user_names_are_not_written_through_links(leowarp_within, run, precious, tmp_path, words):
    (tmp_path / "out.csv").symlink_to(precious)
    typed_words = [run if word == "RUN" else word for word in words]
    assert refused(leowarp_within(*typed_words, tmp_path / "out.csv"), "nothing is written through one")


def test_the_demo_is_not_written_into_directories_elsewhere(leowarp_within, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "reno").symlink_to(tmp_path / "elsewhere")
    assert refused(leowarp_within("demo", "--out", tmp_path / "demo"), "reno in it is a symbolic link")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.slow
def test_a_comparison_is_not_written_through_links(leowarp_within, made, precious, tmp_path):
    from leowarp.report import write_comparison

    for name in ("figures/srtt.svg", "index.html"):
        out = tmp_path / name.replace("/", "-")
        (out / name).parent.mkdir(parents=True)
        (out / name).symlink_to(precious)
        if name == "index.html":
            write_comparison([made, made], out)
            assert not (out / name).is_symlink(), "the link gave way to the page"
        else:
            with pytest.raises(ScenarioError, match="symbolic link"):
                write_comparison([made, made], out)


# Plans and their files


def with_inputs(tmp_path, name, *, content=b"t_s,delay_ms\n0,5\n"):
    """A run directory, as far as a plan goes, whose plan names a file."""
    folder = tmp_path / "theirs"
    folder.mkdir(exist_ok=True)
    flow = '[[flows]]\nkind = "ping"\nsource = "A"\ndestination = "B"\n'
    (folder / layout.PLAN).write_text(f'name = "theirs"\n[measured]\nfile = "{name}"\n{flow}')
    (tmp_path / "secret.csv").write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["../secret.csv", "ABSOLUTE", "sub/secret.csv", ".."])
def test_the_plan_of_a_run_names_nothing_outside_it(leowarp_within, tmp_path, name):
    folder = with_inputs(tmp_path, str(tmp_path / "secret.csv") if name == "ABSOLUTE" else name)
    (folder / "sub").mkdir()
    shutil.copy(tmp_path / "secret.csv", folder / "sub")
    for path in (folder, folder / layout.PLAN):
        assert refused(leowarp_within("plan", path), "leads out of the run directory")


@pytest.mark.parametrize("linked", ["file", "folder", "beside"])
def test_the_plan_of_a_run_names_no_links(leowarp_within, tmp_path, linked):
    folder = with_inputs(tmp_path, "secret.csv")
    if linked == "folder":
        (folder / layout.INPUTS).symlink_to(tmp_path)
    elif linked == "file":
        (folder / layout.INPUTS).mkdir()
        (folder / layout.INPUTS / "secret.csv").symlink_to(tmp_path / "secret.csv")
    else:
        (folder / "secret.csv").symlink_to(tmp_path / "secret.csv")
    assert refused(leowarp_within("plan", folder), "no file" if linked == "beside" else "symbolic link")


def test_a_scenario_of_ones_own_names_files_anywhere(leowarp_within, tmp_path):
    folder = with_inputs(tmp_path, "../secret.csv")
    shutil.copy(folder / layout.PLAN, folder / "mine.toml")
    (tmp_path / "link.toml").symlink_to(folder / "mine.toml")
    assert leowarp_within("plan", folder / "mine.toml").status == 0


def test_the_plan_of_a_run_extends_nothing(leowarp_within, tmp_path):
    (tmp_path / layout.PLAN).write_text(f'extends = "{CHAIN}"\nname = "theirs"\n')
    assert refused(leowarp_within("plan", tmp_path), "stands alone")


TEXTS = {
    "NUL": b'name = "a"\0',
    "no UTF-8": b'name = "\xff\xfe"',
    "cut short": b'name = "a',
    "types": b'name = 3\nrun = 7\nflows = "x"\nstations = {}\nhosts = [1]\nguest = [[]]\nchain = true\nmodules = 1\n',
    "numbers": b'name = "a"\n[run]\nduration = 1e400\nseed = ' + b"9" * 5000,
    "quantities": b'name = "a"\n[run]\nduration = "' + b"9" * 5000 + b' s"\nseed = -1',
    "deep lists": b"x = " + b"[" * 100_000,
    "deep tables": b"x" + b".x" * 2_000_000 + b" = 1",
    "deep tables in quotes": b'"\\"".' * 2_000_000 + b"x = 1",
    "many problems": b'name = "a"\n' + b"".join(b"x%d = 1\n" % number for number in range(3000)),
    "a name for terminals": b'name = "\\u001b]0;owned\\u0007"',
    "a key for terminals": b'"\\u001b[31m\\u202e" = 1',
    "endless": None,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEXTS)
def test_a_hostile_plan_is_an_error(leowarp_within, tmp_path, kind):
    path = tmp_path / layout.PLAN
    if TEXTS[kind] is None:
        with path.open("wb") as file:
            file.truncate(100 << 20)
    else:
        path.write_bytes(TEXTS[kind])
    answer = leowarp_within("plan", tmp_path)
    assert refused(answer)
    assert not set("\x1b\x07\u202e") & set(answer.err)


@pytest.mark.parametrize("table", ["guest", "tcp"])
def test_a_plan_names_no_program_to_the_guests_kernel(leowarp_within, table):
    setting = f'{table}.sysctl.kernel.core_pattern="|/host/in/events.bin"'
    assert refused(leowarp_within("plan", CHAIN, "--set", setting), "start a program")


@pytest.mark.slow
def test_a_hostile_study_file_is_an_error(leowarp_within, tmp_path):
    for number, text in enumerate(text for text in TEXTS.values() if text is not None):
        (tmp_path / f"{number}.toml").write_bytes(text)
        assert refused(leowarp_within("study", tmp_path / f"{number}.toml"))


# Summary, manifest, tables

JSONS = {
    "nothing": "", "cut short": '{"flows": [', "a list": "[]", "deep": "[" * 200_000, "NaN": '{"flows": [], "a": NaN}',
    "large": '{"flows": [], "a": 1e999}', "digits": '{"flows": [], "a": ' + "9" * 5000 + "}",
    "flows are a number": '{"flows": 3}', "flows of numbers": '{"flows": [1]}', "no flows": "{}",
    "a text for a number": '{"flows": [{"goodput_mean_bps": "x"}]}',
    "a list for a number": '{"flows": [], "drops": [1]}',
    "a kind": '{"flows": [{"kind": "quic"}]}', "no number": '{"flows": [{"flow": "x"}]}', "not UTF-8": "\udcff",
}  # fmt: skip


@pytest.mark.parametrize("kind", JSONS)
def test_a_hostile_summary_is_an_error(leowarp_within, run, kind):
    (run / layout.SUMMARY).write_bytes(JSONS[kind].encode(errors="surrogateescape"))
    assert refused(leowarp_within("show", run, "--metrics"), layout.SUMMARY)
    with pytest.raises(TraceError):
        _ = lw.open(run).summary


def test_an_endless_summary_is_not_read(leowarp_within, run):
    with (run / layout.SUMMARY).open("wb") as file:
        file.truncate(1 << 40)
    assert refused(leowarp_within("show", run, "--metrics"), "more than 32 MiB")


MANIFESTS = (
    '{"warnings": 3}', '{"warnings": [3]}', '{"warnings": [], "files": []}', '{"warnings": [], "files": {"a": 1}}',
    '{"warnings": [], "costs": {"cpu_s": "x"}}', '{"warnings": [], "kernel": 7}', "[]", "x", "[" * 200_000,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", MANIFESTS, ids=range(len(MANIFESTS)))
def test_a_hostile_manifest_is_an_error(leowarp_within, made, run, text):
    (run / layout.MANIFEST).write_text(text)
    assert refused(leowarp_within("compare", made, run, "--out", run.parent / "out"), layout.MANIFEST)


@pytest.mark.parametrize("text", [*MANIFESTS, '{"later": [{}]}', '{"drawn": {"a": 1}}'])
def test_a_hostile_manifest_is_not_verified(leowarp_within, run, text):
    (run / layout.MANIFEST).write_text(text)
    assert refused(leowarp_within("verify", run, "--files"), layout.MANIFEST)


LISTS = (
    '{"files": {"../precious": ""}}', '{"files": {"30-trace/../../precious": ""}}', '{"files": {"PRECIOUS": ""}}',
    '{"directories": [".."]}', '{"directories": ["PARENT"]}', '{"directories": [7]}', '{"files": {"": ""}}',
    '{"kind": "study", "directories": ["../run"]}', '{"kind": "reproduction", "files": {"a\\u0000b": ""}}',
)  # fmt: skip


@pytest.mark.parametrize("text", LISTS)
def test_a_manifest_leads_nowhere_outside_its_directory(leowarp_within, run, precious, text, monkeypatch):
    text = text.replace("PRECIOUS", str(precious)).replace("PARENT", str(run.parent))
    (run / layout.MANIFEST).write_text(text)
    monkeypatch.setattr("leowarp.base.checksums.sha256_of_file", None)
    assert refused(leowarp_within("verify", run), "is no file below its directory")


def test_a_manifest_with_a_long_list_is_gone_through_and_a_longer_one_refused(leowarp_within, run):
    many = dict.fromkeys((f"30-trace/{number}" for number in range(50_000)), "")
    (run / layout.MANIFEST).write_text(json.dumps({"files": many}))
    answer = leowarp_within("verify", run, "--files")
    assert answer.status == 1
    assert re.search(r"and 49,9\d\d more", answer.out)
    assert len(answer.out) < 10_000
    (run / layout.MANIFEST).write_text(json.dumps({"files": many}) + " " * (33 << 20))
    assert refused(leowarp_within("verify", run, "--files"), "more than 32 MiB")


def test_names_of_a_manifest_are_not_obeyed(leowarp_within, run):
    (run / layout.MANIFEST).write_text(json.dumps({"files": {NASTY.replace("/", ""): ""}}))
    for options in ((), ("--json",)):
        answer = leowarp_within("verify", run, "--files", *options)
        assert answer.status == 1
        assert not OBEYED & set(answer.out + answer.err)


@pytest.mark.parametrize("key", ["seed", "warnings", "logs", "files", "drawn", "later", "costs", "more"])
def test_a_manifest_that_is_nested_deeply_is_an_error(leowarp_within, run, key):
    (run / layout.MANIFEST).write_text(f'{{"{key}": {"[" * 500}{"]" * 500}}}')
    assert refused(leowarp_within("verify", run, "--files"), "nested too deeply")


TABLES = ("10-routes", "20-timeline", *(f"30-trace/{name}" for name in ("packets", "bins", "links", "sockets")))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_cut_short_is_an_error(leowarp_within, run, name, share):
    path = run / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert refused(leowarp_within("show", run, "--again"), "cannot read")


def spoilt(path, how):
    table = pq.read_table(path)
    first = table.schema.names[0]
    match how:
        case "no column":
            table = table.drop_columns([first])
        case "texts":
            table = table.set_column(0, first, pa.array(["x"] * len(table)))
        case "lists":
            table = table.set_column(0, first, pa.array([[1]] * len(table)))
        case "nothing":
            table = table.set_column(0, first, pa.nulls(len(table), table.schema.field(0).type))
        case "metadata":
            table = table.replace_schema_metadata({"directions": "[[1]]", "hosts": "7", "virtual_ns": "[]"})
    pq.write_table(table, path)


@pytest.mark.parametrize("how", ["no column", "texts", "lists", "nothing"])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_other_columns_is_an_error(leowarp_within, run, name, how):
    spoilt(run / f"{name}.parquet", how)
    assert refused(leowarp_within("show", run, "--again"), "cannot read")


def test_metadata_of_another_shape_are_an_error(leowarp_within, run):
    spoilt(run / "30-trace" / "links.parquet", "metadata")
    assert refused(leowarp_within("show", run, "--again"), "is not as leowarp writes it")
    assert refused(leowarp_within("report", run), "is not as leowarp writes it")


def test_a_table_that_unpacks_to_terabytes_is_not_unpacked(tmp_path, monkeypatch):
    from leowarp.base import parquetfiles

    pq.write_table(pa.table({"a": pa.array([1] * 1000)}), tmp_path / "a.parquet")
    monkeypatch.setattr(parquetfiles, "MOST_VALUES", 999)
    with pytest.raises(TraceError, match="it says that it holds 1000 rows"):
        parquetfiles.read_table(tmp_path / "a.parquet")


# Studies


@pytest.fixture(scope="module")
def made_study(tmp_path_factory):
    """The directory of a study whose runs were made up."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(f'name = "s"\nscenario = "{CHAIN}"\n[seeds]\ncount = 2\n')
    with pytest.MonkeyPatch.context() as patch:
        let_workers_import(patch)
        run_study(folder / "study.toml", folder / "study", maker=FakeMaker(folder), at_once=1, progress=False)
    return folder / "study"


@pytest.fixture
def study(made_study, tmp_path):
    """A copy of it to be spoilt."""
    return Path(shutil.copytree(made_study, tmp_path / "study"))


def rewritten(study, **changed):
    """Its plans with other columns, as somebody else could write them."""
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


# Terminals and pages

NASTY = "\x1b]0;owned\x07\x1b[31m\u202e[red]<script>alert(1)</script>\x9b\udcff"
OBEYED = set("\x1b\x07\x9b\u202e")


@pytest.mark.slow
def test_nothing_of_a_file_is_obeyed_by_a_terminal(leowarp_within, run):
    summary = json.loads((run / layout.SUMMARY).read_text())
    summary["flows"][0] |= {"source": NASTY, "congestion_control": NASTY}
    (run / layout.SUMMARY).write_text(json.dumps(summary | {"name": NASTY}))
    manifest = json.loads((run / layout.MANIFEST).read_text())
    (run / layout.MANIFEST).write_text(json.dumps(manifest | {"warnings": [NASTY]}))
    show = ("show", run, "--metrics")
    for words in (show, (*show, "--json"), ("compare", run, run, "--out", run.parent / "out")):
        answer = leowarp_within(*words)
        assert answer.status == 0, answer.err
        assert not OBEYED & set(answer.out + answer.err)
        assert "[red]" in answer.out
        if "--json" in words:
            assert answer.json()["name"] == NASTY
        else:
            assert "\\x1b" in answer.out


def test_a_reason_why_a_run_is_incomplete_is_not_obeyed(leowarp_within, run):
    (run / layout.INCOMPLETE).write_bytes(NASTY.encode(errors="surrogateescape"))
    answer = leowarp_within("show", run, "--metrics")
    assert refused(answer, "owned", "\\x1b")
    assert not OBEYED & set(answer.out + answer.err)


def test_names_of_files_are_not_obeyed(leowarp_within, run, tmp_path):
    strange = tmp_path / "a\x1b[31m[red]\udcff.toml"
    strange.write_text("x = 1")
    (run / "\x1b[31m").symlink_to("nowhere")
    for answer in (leowarp_within("plan", strange), leowarp_within("show", run, "--metrics")):
        assert refused(answer)
        assert not OBEYED & set(answer.err)


def test_progress_shows_names_as_they_are(capsys):
    from leowarp.base.progress import Progress, building, shown

    with shown(True) as show:
        show(Progress("[/red]\x1b[31m", "guest", 10**9, 10**9, 1.0))
    with building(True) as built:
        built.message("warning: \x1b[31m")
    said = capsys.readouterr().err
    assert "[/red]\\x1b[31m" in said
    assert not OBEYED & set(said)


def test_verbs_print_by_one_function():
    for path in CLI.glob("*.py"):
        if path.name in ("output.py", "__init__.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                # The one that moves a line of its own
                assert "\\r" in ast.unparse(node), f"{path.name}:{node.lineno}: use say()"


@pytest.mark.slow
def test_pages_show_markup_and_do_not_obey_it(run):
    from leowarp.report import write_comparison, write_report

    markup = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    summary = json.loads((run / layout.SUMMARY).read_text())
    summary["flows"][0] |= {"source": markup, "congestion_control": markup}
    (run / layout.SUMMARY).write_text(json.dumps(summary))
    manifest = json.loads((run / layout.MANIFEST).read_text())
    manifest |= {"warnings": [markup], "kernel": {"linux_version": markup, "source": markup}}
    (run / layout.MANIFEST).write_text(json.dumps(manifest))
    other = run.parent / "<img src=x onerror=alert(1)>"
    shutil.copytree(run, other)
    pages = [write_report(run), write_comparison([run, other], run.parent / "out")]
    for page in pages:
        text = page.read_text()
        assert "alert(1)&lt;/script&gt;" in text
        assert "<script>alert" not in text
        assert "<img src=x" not in text


def test_names_are_not_set_as_formulas(tmp_path):
    from matplotlib.figure import Figure

    from leowarp.report import save
    from leowarp.report.style import styled

    with styled():
        figure = Figure()
        figure.subplots().set_title("$\\frac$ and $")
        save(figure, tmp_path / "figure", ["svg"])
    assert (tmp_path / "figure.svg").exists()


@pytest.mark.slow
def test_what_no_rule_foresees_is_no_traceback(leowarp_within, run, monkeypatch):
    def broken(*given, **named):
        raise KeyError("\x1b[31m")

    monkeypatch.setattr("leowarp.cli.printed.tables.print_scalars", broken)
    answer = leowarp_within("show", run, "--metrics")
    assert answer.status == 70
    assert "KeyError" in answer.err
    assert "hostile_test.py" in answer.err
    assert "Traceback" not in answer.err
    assert not OBEYED & set(answer.err)
    assert leowarp_within("show", run, "--metrics", "--json").status == 0
    monkeypatch.setenv("LEOWARP_DEBUG", "1")
    monkeypatch.setattr("sys.argv", ["leowarp", "show", str(run), "--metrics"])
    from leowarp.cli import main

    with pytest.raises(KeyError):
        main()
