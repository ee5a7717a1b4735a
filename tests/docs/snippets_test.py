# SPDX-License-Identifier: Apache-2.0
"""Tests that every Python snippet in the documentation runs, and that all names in it are defined.

Some snippets read runs. In the fast suite, every directory from which they read contains the same small run. Snippets
that make runs are executed in the guest suite, with shorter durations.
"""

import ast
import builtins
import contextlib
import importlib
import io
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leowarp
from leowarp import scalars, trace
from leowarp.base import layout
from leowarp.metrics import metrics, read_tables
from leowarp.scenario import plan_of
from support.pages import PAGES, ROOT, blocks, files, name_of
from support.synthetic.run import write_synthetic_run

SNIPPETS = [
    pytest.param(page, text, id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, (_, text) in enumerate(blocks(page, "python"), 1)
]
RUNS = ("runs/demo/cubic", "runs/demo/bbr", "first", "tokyo", "three")
"""The directories in which snippets look for a run."""

MAKES_RUNS = re.compile(r"lw\.run\(|lw\.run_many\(|run_study\(")
ELSEWHERE = {
    "dask_jobqueue": "needs a Slurm cluster, and a package that leowarp does not bring",
    "read_parquet": "needs the results of a whole study: the columns are checked below",
    'protocol="rtp"': "needs a capture of RTP",
    "trace.json.gz": "needs a recording by irtt",
}
"""A dict from text to reason. A snippet that contains the text cannot run here, for this reason."""


def needs(text: str) -> str | None:
    return next((why for mark, why in ELSEWHERE.items() if mark in text), None)


def test_there_are_snippets_to_look_at() -> None:
    assert len(SNIPPETS) > 10


@pytest.mark.parametrize(("page", "text"), SNIPPETS)
def test_names_are_defined(page: Path, text: str) -> None:
    tree = ast.parse(text, name_of(page))
    defined = set(dir(builtins)) | {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    defined |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    defined |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    defined |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert {node.id for node in names} <= defined
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("leowarp"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lw":
            assert hasattr(leowarp, node.attr), f"leowarp.{node.attr}"


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_synthetic_run(tmp_path_factory.mktemp("runs") / "small")
    answered = [{"flow": 0, "segments_pkts": 2, "wait_ns": 1_000_000, "acks_pkts": 5}]
    acks = pa.Table.from_pylist(answered, schema=trace.TABLES["acks"].arrow({}))
    pq.write_table(acks, path / layout.TRACE / "acks.parquet")
    plan = plan_of(path / layout.PLAN)
    metrics(read_tables(path), plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    trace.write_manifest(path, plan.run.seed, {"linux_version": "6.12"}, {}, [], trace.Stopwatch().costs(1.0, 2.0, 1))
    return path


def execute(page: Path, text: str, place: Path) -> None:
    # Snippets print nothing, and figures are not shown
    with contextlib.chdir(place), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, name_of(page), "exec"), {"__name__": "__main__"})


@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), SNIPPETS)
def test_snippets_over_runs_run(page: Path, text: str, small_run: Path, tmp_path: Path) -> None:
    if MAKES_RUNS.search(text):
        pytest.skip("it makes runs: a test in the guest")
    if why := needs(text):
        pytest.skip(why)
    for run in RUNS:
        (tmp_path / run).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / run).symlink_to(small_run)
    execute(page, text, tmp_path)


@pytest.mark.guest
@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), [each for each in SNIPPETS if MAKES_RUNS.search(each.values[1])])
def test_snippets_that_make_runs_run(page: Path, text: str, tmp_path: Path) -> None:
    if why := needs(text):
        pytest.skip(why)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name, content in files(page).items():
        (tmp_path / name).write_text(shorter(content))
    if "lw.open(" in text:
        leowarp.run(tmp_path / "first.toml", out=tmp_path / "first", report=False)
    execute(page, text, tmp_path)


def shorter(text: str) -> str:
    """Return the text of a scenario or study, changed so that runs last 2 s."""
    return re.sub(r'(duration"?\s*[=:]\s*")\d+ s"', r'\g<1>2 s"', text)


def test_columns_of_study_results_in_snippets_exist() -> None:
    """Check the names `flow0_...` in snippets about study results. The rest of each name must be the name of a
    scalar."""
    known = {f"flow0_{name}" for name in scalars.FLOW_SCALARS}
    quoted = {name for page in PAGES for name in re.findall(r"\bflow0_\w+", page.read_text(encoding="utf-8"))}
    # the documentation contains the text `flow0_...` itself
    assert quoted - known <= {"flow0_"}
    assert len(quoted & known) >= 2
