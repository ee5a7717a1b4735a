# SPDX-License-Identifier: Apache-2.0
"""Tests commands with run directories that are oversized or mixed. A command must report one error, use at most 1 GiB
of memory, and never return status 70."""

import json
import random
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base import layout, recorded
from leowarp.base.checksums import sha256_of_file
from support.parquet import repeat_row_groups
from support.synthetic.access import write_synthetic_access
from support.synthetic.run import write_synthetic_run
from support.synthetic.whole import complete, forge

MOST_MIB = 1024

QUICK = (
    ("show", "R"), ("show", "R", "--metrics"), ("show", "R", "--links"), ("show", "R", "--again"),
    ("export", "R", "drops", "-o", "OUT"), ("verify", "R", "--files"), ("compare", "R", "OTHER", "--diff"),
)  # fmt: skip
VERBS = (
    *QUICK, ("report", "R"), ("report", "R", "--plot", "goodput,srtt", "-o", "OUT.svg"), ("view", "R", "-o", "OUT"),
    ("export", "R", "packets", "-o", "OUT"), ("export", "R", "routes", "-o", "OUT"),
    ("export", "R", "--czml", "-o", "OUT"), ("compare", "R", "OTHER", "-o", "DIR"), ("plan", "R"),
    ("timeline", "describe", "R"),
)  # fmt: skip

LOADED = ("leowarp.media.constellation", "leowarp.metrics", "leowarp.report", "leowarp.view", "scipy.spatial")
"""The modules that the verbs import."""

# Each call runs in a forked process, because a new Python process would need two seconds to load libraries. The tests
# share the process that forks.
CALLS = """
import importlib, json, os, resource, sys
from leowarp.cli import main
for module in sys.argv[1:]:
    importlib.import_module(module)
for words in map(json.loads, sys.stdin):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))  # so that a test that fails leaves the machine alone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(write, 2)
        sys.argv = ["leowarp", *words]
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        sys.stderr.flush()
        os._exit(status)
    os.close(write)
    with open(read, errors="replace") as file:
        text = file.read()
    _, status, usage = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss >> 10, text]), flush=True)
"""


@pytest.fixture(scope="module")
def call():
    """A function that calls a command in a process of its own. It returns the status, the largest memory in MiB, and
    the output on stderr."""
    command = [sys.executable, "-c", CALLS, *LOADED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as caller:

        def of(words):
            caller.stdin.write(json.dumps(words) + "\n")
            caller.stdin.flush()
            return json.loads(caller.stdout.readline())

        yield of
        caller.stdin.close()


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    path = tmp_path_factory.mktemp("bounds") / "one"
    write_synthetic_run(path)
    return complete(path)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A run whose medium and flows differ from the run `one`."""
    return complete(write_synthetic_access(tmp_path_factory.mktemp("bounds") / "other"))


def typed(verb, run, other, tmp_path):
    names = {"OUT": "out", "OUT.svg": "out.svg", "DIR": "dir"}
    places = {"R": run, "OTHER": other} | {word: tmp_path / name for word, name in names.items()}
    return [str(places.get(word, word)) for word in verb]


def rows(name, count):
    """Return a function that writes the table `name` of a run with `count` equal rows."""

    def make(run):
        path = run / layout.TRACE / f"{name}.parquet"
        schema = pq.read_schema(path)
        group = pa.table([pa.array(np.zeros(1 << 20, "u1")).cast(field.type) for field in schema], schema=schema)
        pq.write_table(group, path, compression="zstd", row_group_size=1 << 20)
        repeat_row_groups(path, count >> 20)

    return make


def long_texts(run):
    """Write one text of 1 MB, which a dictionary repeats 100,000 times."""
    path = run / layout.ROUTES
    table = pq.read_table(path)
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, "i4")), pa.array(["x" * 1_000_000]))
    columns = {name: text if name == "source" else pa.nulls(100_000) for name in table.schema.names}
    pq.write_table(pa.table(columns), path)


def long_lists(run):
    """Write lists of paths. Each path has a single node."""
    path = run / layout.ROUTES
    schema = pq.read_schema(path)
    paths = pa.array([["x"]] * (1 << 18))
    group = pa.table(
        [paths if name == "path" else pa.array(np.zeros(1 << 18, "u1")).cast(schema.field(name).type)
         for name in schema.names], schema=schema,
    )  # fmt: skip
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(group)


def row_groups(run):
    path = run / layout.TRACE / "drops.parquet"
    schema = pq.read_schema(path)
    row = pa.table([pa.array([0]).cast(field.type) for field in schema], schema=schema)
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(4000):
            writer.write_table(row)


def metadata(run):
    path = run / layout.TRACE / "drops.parquet"
    table = pq.read_table(path)
    text = b"[" + b"[]," * 2_000_000 + b"[]]"
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"programs": text}), path)


def json_of(name, text):
    def make(run):
        content = (run / name).read_text().rstrip().removesuffix("}")
        (run / name).write_text(f'{content}, "x": {text}}}')

    return make


def plan_of(text):
    def make(run):
        with (run / layout.PLAN).open("a") as file:
            file.write(text)

    return make


# Small summaries that are no JSON, or that Python cannot decode
UNREADABLE = {
    "nested lists": json_of(layout.SUMMARY, "[" * 100_000 + "]" * 100_000),
    "a whole number": json_of(layout.SUMMARY, "1" * 5000),
    "no number": json_of(layout.SUMMARY, "NaN"),
}
BOMBS = {
    "32 million rows": rows("drops", 32 << 20),
    "long texts": long_texts,
    "lists in a summary": json_of(layout.SUMMARY, "[" + "[]," * 10_000_000 + "[]]"),
}
MORE_BOMBS = {
    "300 million rows": rows("drops", 300 << 20),
    "8 million rows": rows("packets", 8 << 20),
    "8 million samples": rows("links", 8 << 20),
    "long lists": long_lists,
    "row groups": row_groups,
    "metadata": metadata,
    "flows of a plan": plan_of("\n" + "[[flows]]\n" * 500_000),
    # The text is in single quotes, because tomllib takes seconds for a text of this length in double quotes. Each verb
    # would take these seconds.
    "a text of a plan": plan_of("\nx = '" + "y" * (7 << 20) + "'\n"),
    "lists of a plan": plan_of("\nx = [" + "[]," * 2_000_000 + "]\n"),
}
# If the oversized file is the manifest itself, the test forges no hashes.
OF_MANIFESTS = {
    "objects in a manifest": json_of(layout.MANIFEST, "[" + '{"a":0},' * 3_500_000 + "{}]"),
    "a text in a manifest": json_of(layout.MANIFEST, '"' + "\U0001f6f0" + "x" * (30 << 20) + '"'),
}


def answers(call, bomb, one, other, tmp_path, verbs):
    """Make a directory with an oversized file. The manifest has the file's hash. Yield the status and message of each
    command for the directory."""
    run = shutil.copytree(one, tmp_path / "run")
    bomb(run)
    if bomb not in OF_MANIFESTS.values():
        forge(run)
    for verb in verbs:
        words = typed(verb, run, other, tmp_path)
        status, peak_mib, text = call(words)
        assert status in (0, 1, 2, 3, 5), (words, status, text[-2000:])
        assert "Traceback" not in text, (words, text[-2000:])
        assert peak_mib < MOST_MIB, (words, peak_mib)
        yield status, text


@pytest.mark.parametrize("name", BOMBS)
def test_a_directory_that_would_take_all_memory_is_refused_within_a_gibibyte(call, one, other, tmp_path, name):
    verbs = (("show", "R", "--metrics"), ("show", "R", "--links"))
    found = list(answers(call, BOMBS[name], one, other, tmp_path, verbs))
    assert any(status == 5 and "cannot read" in text for status, text in found), found


@pytest.mark.slow
@pytest.mark.parametrize("name", [*(BOMBS | MORE_BOMBS | UNREADABLE), *OF_MANIFESTS])
def test_no_verb_takes_more_than_a_gibibyte_for_any_of_them(call, one, other, tmp_path, name):
    bomb = (BOMBS | MORE_BOMBS | UNREADABLE | OF_MANIFESTS)[name]
    # All verbs read summaries by one function, and "lists in a summary" is tried with all verbs.
    verbs = QUICK if name in UNREADABLE else VERBS
    found = list(answers(call, bomb, one, other, tmp_path, verbs))
    assert any(status in (2, 5) for status, _ in found), found


def compared_files(leowarp, run, other, tmp_path, verbs):
    """Return the files that each verb checks against the manifest before it reads them."""
    compared: dict[str, set[str]] = {}
    for number, verb in enumerate(verbs):
        # Each verb works on a new copy of the run, because a process compares each file only once.
        place = shutil.copytree(run, tmp_path / f"whole-{number}")
        mine = compared[" ".join(verb)] = set()

        def listen(path, place=place, mine=mine):
            if path.is_relative_to(place):
                mine.add(path.relative_to(place).as_posix())
            return sha256_of_file(path)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recorded, "sha256_of_file", listen)
            leowarp(*typed(verb, place, other, tmp_path))
        shutil.rmtree(place)
    return compared


def mixtures(one, other, tmp_path, count, seed, verbs):
    """Yield random directories that mix the files of two runs. Each yielded tuple also contains a command and a dict.
    The dict maps each file to the run from which it comes. In half of the directories, the manifest has the files'
    hashes."""
    draw = random.Random(seed)
    names = sorted({file.relative_to(run).as_posix() for run in (one, other) for file in run.rglob("*.*")})
    for number in range(count):
        run = tmp_path / f"mixture-{number}"
        origin = {}
        for name in names:
            origin[name] = draw.choice([run for run in (one, other) if (run / name).exists()])
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin[name] / name, run / name)
        is_forged = draw.random() < 0.5
        if is_forged:
            listed = {name: "" for name in names if name != layout.MANIFEST}
            forge(run, files=listed)
        yield run, draw.choice(verbs), is_forged, origin
        shutil.rmtree(run)


def must_be_refused(verb, is_forged, origin, compared):
    """Return whether the command would read files of both runs, and could see in these files that the runs differ.

    compared: The files of `compared_files` for each run. The function uses the entry of the run from which the manifest
        comes. If the manifest is forged, it uses the entry of the run from which the plan comes.
    """
    if not is_forged:
        mine = origin[layout.MANIFEST]
        # The manifest has the hashes of all other files of its run.
        return any(origin[name] != mine for name in compared[mine][" ".join(verb)])
    # Plan, summary and tables contain the names of the flows; routes and timeline contain the names of the stations.
    mine = origin[layout.PLAN]
    read = compared[mine][" ".join(verb)]
    own = (layout.SUMMARY, layout.ROUTES, layout.TIMELINE)
    telling = {name for name in read if name in own or name.startswith(layout.TRACE)}
    return any(origin[name] != mine for name in telling)


def try_mixtures(leowarp, one, other, tmp_path, count, seed, verbs):
    compared = {run: compared_files(leowarp, run, other, tmp_path, verbs) for run in (one, other)}
    expected = 0
    for run, verb, is_forged, origin in mixtures(one, other, tmp_path, count, seed, verbs):
        answer = leowarp(*typed(verb, run, other, tmp_path))
        assert answer.status in (0, 1, 2, 3, 5), (verb, answer)
        assert "Traceback" not in answer.err, (verb, answer.err)
        if must_be_refused(verb, is_forged, origin, compared):
            expected += 1
            assert answer.status == 5, (verb, is_forged, answer)
        if answer.status == 5 and not is_forged:
            words = (".json has another sha256", "does not list it", "are of different runs")
            assert any(word in answer.err for word in words), (verb, answer.err)
    return expected


def test_mixtures_of_runs_end_in_a_sentence_that_names_the_file(leowarp, one, other, tmp_path):
    assert try_mixtures(leowarp, one, other, tmp_path, 20, 1, QUICK) > 5


@pytest.mark.slow
def test_200_mixtures_of_runs_end_in_a_sentence_and_never_in_status_70(leowarp, one, other, tmp_path):
    # A verb refuses a mixture of two runs if the verb reads files of both. About half of the random mixtures are
    # refused.
    assert try_mixtures(leowarp, one, other, tmp_path, 200, 41, VERBS) >= 100
